"""Bound the integers that an expression can take.

Modules: arithmetic, calendar, comparisons, conditionals, reachable_values.
"""
