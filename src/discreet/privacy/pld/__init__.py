"""Account for plans by their privacy loss distribution, with certified bounds.

dominating_pairs   the pair of laws of each loss
lattice            a loss on a lattice, never below the true one
grid_choice        the step of that lattice
tilted_fft         the law of a sum of losses
profile            δ(ε) and ε(δ) from that law
normal             the normal law with certified bounds
staircase          closed bounds of pure losses
"""
