"""Add up the profile of one or two releases, atom by atom.

With P-masses m at the losses x (`atoms`), one release has δ(ε) = Σ m·(1 − e^(ε − x))₊ and two have
Σ m·m′·(1 − e^(ε − x − x′))₊. All terms are at least 0, so nothing cancels: a δ of 10⁻²⁰ is as precise as one of
10⁻². An inversion along a contour has an error near 10⁻¹³ of what it inverts, which hides such a δ where a single
rare loss decides about it and no tilt serves.

**Round-off**, u = 2⁻⁵³. x + x′ and its difference to ε are off by 3u·(|x| + |x′| + |ε|). All losses move by
more than that, up for the upper bound and down for the lower one, and δ is monotone in every loss. What is left is
relative: a product of masses, `expm1`, and a sum of n terms of one sign, (n + 16)·u at most in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.privacy.pld.atoms import Atoms
from discreet.privacy.pld.dominating_pairs import Floats
from discreet.privacy.pld.normal import ROUNDOFF

MOST = 2
"""The most releases that are added up: the pairs of their atoms are listed."""

_SLIP = 1e-9  # more than round-off can do to a sum of 2**22 terms of one sign
_LOST = 1e-300  # more than products of masses can lose to underflow


class DirectSum:
    """The profile of the sum of one or two losses, bounded at every ε.

    Args:
        releases: The atoms of each release.
    """

    def __init__(self, releases: Sequence[Atoms]) -> None:
        x, mass = releases[0].x, releases[0].mass
        size = np.abs(x)
        for other in releases[1:]:
            x = np.add.outer(x, other.x).ravel()
            size = np.add.outer(size, np.abs(other.x)).ravel()
            mass = np.multiply.outer(mass, other.mass).ravel()
        order = np.argsort(x)
        self._x, self._size, self._mass = x[order], size[order], mass[order]

    def upper(self, epsilon: float) -> float:
        """Return a δ at ε that is certainly not too small."""
        return self._total(epsilon, 1.0) * (1 + _SLIP) + _LOST

    def lower(self, epsilon: float) -> float:
        """Return a δ at ε that is certainly not too large."""
        return self._total(epsilon, -1.0) * (1 - _SLIP)

    def share(self, _: float) -> float:
        """Return 0: no error is in sight."""
        return 0.0

    def _total(self, epsilon: float, side: float) -> float:
        # Losses below ε by more than any of them moves count for nothing.
        reach = 16 * ROUNDOFF * (float(self._size.max(initial=0.0)) + abs(epsilon))
        first = int(np.searchsorted(self._x, epsilon - reach))
        x, size, mass = self._x[first:], self._size[first:], self._mass[first:]
        moved: Floats = x + side * 8 * ROUNDOFF * (size + abs(epsilon))
        terms = mass * np.maximum(-np.expm1(np.minimum(epsilon - moved, 0.0)), 0.0)
        return math.fsum(terms.tolist()) if len(terms) < 2**12 else float(terms.sum())
