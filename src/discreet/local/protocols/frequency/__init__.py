"""Estimate how often each value of a known domain occurs.

Modules: frequency_oracle, grr, hadamard, local_hashing, projective_geometry, subset_selection, two_step_grr,
two_step_unary, unary.
"""
