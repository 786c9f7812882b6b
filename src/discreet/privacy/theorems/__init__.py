"""State the theorems: composition, conversions, subsampling, group privacy, odds.

Modules: composition, conversions, group, odds, subsampling.
"""
