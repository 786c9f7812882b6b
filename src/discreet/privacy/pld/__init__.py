"""Account for plans by their privacy loss distribution, with certified bounds.

Modules: dominating_pairs, grid_choice, lattice, normal, profile, staircase, tilted_fft.
"""
