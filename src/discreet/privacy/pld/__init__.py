"""Account for plans by their privacy loss distribution, with certified bounds.

dominating_pairs   the pair of laws of each loss
lattice            a loss on a lattice, never below the true one
grid_choice        the step of that lattice
tilted_fft         the law of a sum of losses
profile            δ(ε) and ε(δ) from that law
atoms              a loss on few uneven points, above or below the true one
contour            δ(ε) by inversion of the transform of a sum
contour_choice     the tilts, nodes and added releases of an inversion
directions         ε and δ by the way that suits a plan, in both directions
normal             the normal law with certified bounds
staircase          closed bounds of pure losses
"""
