"""Implement the mechanisms of the lecture notes for many queries: PMW, Hardt–Rothblum, MWEM, BLR.

Modules: blr, censored, comparison, hardt_rothblum, interaction, multiplicative_weights, mwem, online_release,
plots, pmw, queries, setting, theorem.
"""
