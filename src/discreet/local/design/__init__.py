"""Choose a protocol and predict its error before anything is collected.

Modules: choose, poisoning, shuffle_amplification, simulate, variance.
"""
