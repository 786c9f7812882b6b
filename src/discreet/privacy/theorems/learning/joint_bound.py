"""Bound the privacy loss of objective perturbation for a person with one row.

Claim. F(θ) = Σ wᵢ·ℓ(yᵢ·xᵢ·θ) + λ/2·‖θ‖² + b·θ, b ~ N(0, σ²I), ‖xᵢ‖ ≤ R; neighbours differ by one row of weight
at most K. With M = K·R/σ and A = K·R²·curvature/λ, both directions have a privacy loss of at most g(u), u ~ N(0,
1):

    g(u) = max_{0≤s≤1} ln(1 + A·s(1−s)) + s·M·u + s²·M²/2            if the loss saturates
    g(u) = ln(1 + A) + max(0, M·u + M²/2)                            otherwise

g does not fall in u, so its value at the right end of a cell bounds it on the cell. The maximum over s: for
every c in (0, 1], ln(1 + x) ≤ c·(1 + x) − 1 − ln c, which turns the bracket into a parabola in s. Any c is
valid; the c chosen below is nearly the best. Proof: docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import numpy as np

from discreet.privacy.pld import normal
from discreet.privacy.theorems.learning.loss_law import EDGE, Floats, LossLaw, cell_masses, nodes

_ROUNDS = 12  # the bound at the c found is second order in the error of c
_FLAT = 1e-6  # a parabola flatter than this is bounded by its chord
_SLACK = 2.0**-46  # 64 ulp of each term of the loss


def loss_law(shift: float, determinant: float, saturates: bool) -> LossLaw:
    """Return the law of g(u), cell by cell.

    >>> law = loss_law(0.25, 0.5, saturates=True)
    >>> exact = normal.gaussian_delta(0.25, 1.0)[1]
    >>> exact <= law.delta(1.0) <= 1.01 * exact
    True
    """
    masses = cell_masses().copy()
    masses[0] += normal.upper_tail(EDGE)[1]  # on the left tail g is at most its value at the first right end
    right = nodes()[1:]
    losses = _saturating(right, shift, determinant) if saturates else _bounded(right, shift, determinant)
    rounding = _SLACK * (determinant + shift * shift + shift * np.abs(right))
    return LossLaw(masses, losses + rounding, normal.upper_tail(EDGE)[1])


def _bounded(u: Floats, shift: float, determinant: float) -> Floats:
    return np.asarray(np.log1p(determinant) + np.maximum(0.0, shift * u + shift * shift / 2))


def _saturating(u: Floats, shift: float, determinant: float) -> Floats:
    low, high = np.full_like(u, 1 / (1 + determinant / 4)), np.ones_like(u)
    least = _parabola(u, shift, determinant, high)[0]
    for _ in range(_ROUNDS):  # the bound is convex in c, with the derivative 1 − 1/c + A·s(1−s)
        c = (low + high) / 2
        s = _parabola(u, shift, determinant, c)[1]
        rises = 1 - 1 / c + determinant * s * (1 - s) > 0
        low, high = np.where(rises, low, c), np.where(rises, c, high)
    return np.minimum(least, _parabola(u, shift, determinant, high)[0])


def _parabola(u: Floats, shift: float, determinant: float, c: Floats) -> tuple[Floats, Floats]:
    """The maximum over s of c·A·s(1−s) + s·M·u + s²·M²/2, plus c − 1 − ln c, and where it is reached."""
    curved = 2 * c * determinant - shift * shift
    steep = curved > _FLAT * (determinant + shift * shift)
    ends = shift * u + shift * shift / 2
    inner = np.clip((c * determinant + shift * u) / np.where(steep, curved, 1.0), 0.0, 1.0)
    s = np.where(steep, inner, ends > 0)
    value = c * determinant * s * (1 - s) + s * shift * u + s * s * shift * shift / 2
    chord = np.maximum(0.0, ends) + np.maximum(0.0, curved) / 8
    return np.where(steep, value, chord) + (c - 1 - np.log(c)), s
