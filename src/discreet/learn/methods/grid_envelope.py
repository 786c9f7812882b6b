"""Draw from a law on the points of a grid exactly, by rejection from Gaussians that live on the same grid.

    target   e^{−E(g)} for integer vectors g with ‖g‖ ≤ limit,   bounded by Gaussians of v = g − centre on shells

A Gaussian of precision P = UᵀDU, U unit upper triangular, is drawn from its last coordinate to its first:
v_i = n_i − ⌊Σ_{l>i} U_il·v_l⌉, where n_i = a_i·q_i + u_i, a_i is a discrete Gaussian of variance S = 2²⁴ and u_i
is uniform on q_i values around 0, q_i²·S ≥ (1 + t)/D_i: a Gaussian in stairs. So the chance of v is exactly
proportional to Π e^{−a_i²/2S}/q_i, whatever floats did to U and to the sums: the same sums, bit for bit, say which
a_i belong to a v. With x the real value that n_i rounds, |a_i| ≤ |x|/q_i + e, e = ½ + 1/(2q_i), and (y + e)² ≤
(1 + t)·y² + (1 + 1/t)·e²; so Σ a_i²/2S is at most vᵀPv/2 + Σ (1 + 1/t)·e²/2S: a small constant of the envelope.

Claim. A point that is drawn has the law of the target up to a factor within e^{±2c}, c = `ERROR`, if E exceeds the
envelope as the caller promises; what floats add is bounded without looking at the rows: exponents in the ball stay
below 2²⁵, because precisions are lowered to `STEEPEST`. Theory: docs/theory/posterior-sampling.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.learn.methods.envelope import Shells

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GRID = 28
"""Points are multiples of 2⁻²⁸."""

STEEPEST = 2.0**16
"""The largest eigenvalue of a precision, in units of 1."""

WIDEST = 512
"""The most coordinates for which `ERROR` is proven."""

ERROR = Fraction(1, 2**17)
"""More than floats are off in the logarithm of a chance: (d + 8)·2⁻²⁷ + 2⁻²⁴ for d coordinates."""

_CHANCE = 2**24  # exponents of chances are multiples of 1/_CHANCE
_WIDER = 1e-3  # t
_STEPS = 2**12  # √S
_FIRST, _AT_ONCE = 8, 256  # proposals in the first round, and the most in a later one


@dataclass(frozen=True)
class _Gaussian:
    """One Gaussian on the grid."""

    upper: Floats  # U without its diagonal
    widths: list[int]  # q
    norm: float  # Σ ln q
    slack: float

    @classmethod
    def of(cls, precision: Floats) -> _Gaussian:
        lower = np.linalg.cholesky(precision)
        diagonal = np.diag(lower)
        widths = [math.ceil(math.sqrt(1 + _WIDER) / float(one) * 2.0**GRID / _STEPS) for one in diagonal]
        slack = sum((1 + 1 / _WIDER) * (0.5 + 0.5 / q) ** 2 / (2 * _STEPS**2) for q in widths)
        return cls(np.triu((lower / diagonal).T, 1), widths, sum(map(math.log, widths)), slack)

    def drawn(self, count: int) -> tuple[Integers, bool]:
        size = len(self.widths)
        stairs = noise.discrete_gaussian(_STEPS**2, size=(count, size))
        points = np.zeros((count, size), np.int64)
        for i in reversed(range(size)):
            q = self.widths[i]
            steps = np.asarray(stairs[:, i], np.int64) * q - q // 2
            steps += np.asarray(noise.uniform_below(q, size=count), np.int64)
            points[:, i] = steps - self._sums(points, i)
        return points, noise.is_test_noise(stairs)

    def exponents(self, points: Integers) -> Floats:
        """Return −ln of the chance of each point, up to a constant that is the same for all Gaussians."""
        total = np.full(len(points), self.norm)
        for i, q in enumerate(self.widths):
            stairs = (points[:, i] + self._sums(points, i) + q // 2) // q
            total += np.square(stairs.astype(np.float64)) / (2 * _STEPS**2)
        return total

    def _sums(self, points: Integers, i: int) -> Integers:
        # Along the last axis numpy adds in an order that depends on its length alone: the same sums again later.
        products = points.astype(np.float64) * self.upper[i]
        found: Integers = np.rint(products.sum(axis=1)).astype(np.int64)
        return found


@dataclass(frozen=True)
class GridEnvelope:
    """A sum of Gaussians on the grid that is nowhere below a target in its ball.

    Args:
        centre: The point from which v is counted.
        limit: The radius of the ball around 0, in steps of the grid.
        gaussians: One for each shell.
        gaps: How far the logarithm of each mass is below the largest, over `_CHANCE`.
        ceiling: What is subtracted so that no chance is above 1.
    """

    centre: Integers
    limit: int
    gaussians: Sequence[_Gaussian]
    gaps: Integers
    ceiling: float

    @classmethod
    def of(
        cls, centre: Integers, limit: int, shells: Shells, basis: Floats, scale: float, slack: float
    ) -> GridEnvelope:
        """Return the envelope of a target with E(g) − E(centre) ≥ scale/2·vᵀPv + shift − slack on each shell.

        Args:
            centre: The point from which v is counted.
            limit: The radius of the ball around 0, in steps of the grid.
            shells: Precisions and shifts, in an orthogonal basis.
            basis: That basis, in columns.
            scale: The factor of the precisions.
            slack: How far the target may be above.
        """
        reach = (np.linalg.norm(centre.astype(float)) + limit) * 2.0**-GRID
        gaussians, heights = [], []
        for (inner, _), precision, shift in zip(
            pairwise(shells.radii), shells.precision, shells.shift, strict=True
        ):
            if inner > reach * (1 + 1e-9):
                break  # no point of the ball is there
            steep = np.minimum(scale * precision * (1 - 1e-9), STEEPEST)
            made = _Gaussian.of((basis * steep) @ basis.T)
            gaussians.append(made)
            heights.append(made.norm + made.slack - float(shift))
        most = max(heights)
        gaps = np.rint((most - np.array(heights)) * _CHANCE).astype(np.int64)
        return cls(centre, limit, gaussians, gaps, most + slack + 1e-5)

    def draw(self, exponent: Callable[[Integers], Sequence[Fraction]]) -> tuple[Integers, bool]:
        """Return one point, and whether its bits were for tests.

        Args:
            exponent: E(g) − E(centre), exactly, for each of several points in the ball.
        """
        count, tested = _FIRST // 2, False
        while True:
            count = min(2 * count, _AT_ONCE)
            points, also = self._proposals(count)
            tested = tested or also
            if not len(points):
                continue
            above = np.rint((self._mixture(points) - self.ceiling) * _CHANCE)
            steps = [
                min(max(math.floor(exact * _CHANCE) - int(level), 0), 2**62)
                for exact, level in zip(exponent(points + self.centre), above.tolist(), strict=True)
            ]
            accepted = np.flatnonzero(np.asarray(noise.bernoulli_exp(np.array(steps, np.int64), over=_CHANCE)))
            if len(accepted):
                return points[accepted[0]] + self.centre, tested

    def _proposals(self, count: int) -> tuple[Integers, bool]:
        """Return v of the proposals that lie in the ball."""
        picked = np.array([int(noise.softmax(self.gaps, over=_CHANCE)) for _ in range(count)])
        points, tested = np.empty((count, len(self.centre)), np.int64), False
        for j in np.unique(picked).tolist():
            points[picked == j], also = self.gaussians[j].drawn(int((picked == j).sum()))
            tested = tested or also
        squares = [sum(one * one for one in row) for row in (points + self.centre).tolist()]
        inside = np.array([square <= self.limit**2 for square in squares])
        return points[inside], tested

    def _mixture(self, points: Integers) -> Floats:
        """Return −ln of the chance with which each point is proposed, up to a constant."""
        each = np.stack(
            [one.exponents(points) + gap / _CHANCE for one, gap in zip(self.gaussians, self.gaps, strict=True)]
        )
        least = each.min(axis=0)
        found: Floats = least - np.log(np.exp(least - each).sum(axis=0))
        return found
