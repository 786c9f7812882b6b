"""Bound a profile by a law of privacy losses, alone or composed with Gaussian releases.

Claim. Let θ ~ P, and let a partition of its space have cells with P(cell i) ≤ `masses[i]`, log dP/dQ ≤
`losses[i]` on cell i, and P(no cell) ≤ `lost`. Then for every real ε

    H_ε(P, Q) = E_P[(1 − e^{ε − log dP/dQ})₊] ≤ Σᵢ massesᵢ·(1 − e^{ε − lossesᵢ})₊ + lost.

If afterwards, on seeing θ, a μ-Gaussian-DP release is made, the two together have at most

    Σᵢ massesᵢ·δ_μ(ε − lossesᵢ) + lost,    δ_μ(x) = Φ(μ/2 − x/μ) − eˣ·Φ(−μ/2 − x/μ), for x of either sign:

∫P(θ)·H_{ε − log dP/dQ(θ)}(second | θ) dθ, where the inner term is at most δ_μ, which falls in its argument.
Several Gaussian releases are one with μ² = Σ μᵢ². All sums are rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.pld import normal
from discreet.privacy.rounding import upward

Floats = NDArray[np.float64]

EDGE = 37.0
"""Where the grid of the normal law ends: beyond it lies less than 1e-298, and e^{x²/2} is still a float."""

_CORE, _FINE, _COARSE = 12.0, 5e-4, 0.025  # a cell's width is the slack in a loss, per unit of its slope
_SLACK = 1e-11  # relative: cell masses are good to 4e-13, exp at arguments up to 700 to 2e-13


@lru_cache(maxsize=1)
def nodes() -> Floats:
    """Return the nodes of the grid, from −EDGE to EDGE, symmetric, finest in the middle.

    >>> grid = nodes()
    >>> bool((grid == -grid[::-1]).all()), float(grid[-1])
    (True, 37.0)
    """
    core = np.arange(round(_CORE / _FINE) + 1) * _FINE
    tail = _CORE + np.arange(1, round((EDGE - _CORE) / _COARSE) + 1) * _COARSE
    half = np.concatenate([core, tail])
    half[-1] = EDGE
    return np.concatenate([-half[:0:-1], half])


@lru_cache(maxsize=1)
def cell_masses() -> Floats:
    """Return the mass of the normal law between neighbouring nodes.

    >>> round(float(cell_masses().sum()), 9)
    1.0
    """
    return normal.interval_masses(nodes())


@dataclass(frozen=True, eq=False)
class LossLaw:
    """Cells of P with bounds of their masses and of the loss log dP/dQ on them."""

    masses: Floats
    losses: Floats
    lost: float

    def delta(self, epsilon: float, gaussian_mu: float = 0.0) -> float:
        """Bound H_ε(P, Q), composed with a Gaussian release of parameter `gaussian_mu`.

        >>> law = LossLaw(np.array([0.5, 0.5]), np.array([1.0, -1.0]), 0.0)
        >>> round(law.delta(0.5), 6), law.delta(2.0), law.delta(0.5, gaussian_mu=1.0) > law.delta(0.5)
        (0.196735, 0.0, True)
        """
        beyond = epsilon - self.losses
        terms = self.masses * (profile(beyond, gaussian_mu) if gaussian_mu else _alone(beyond))
        total = float(terms.sum())
        return min(1.0, total * (1 + _SLACK) + upward(self.lost)) if total or self.lost else 0.0


def _alone(x: Floats) -> Floats:
    lowered = x - 2.0**-50 * np.abs(x)
    return np.asarray(-np.expm1(np.minimum(lowered, 0.0)))


def profile(x: Floats, mu: float) -> Floats:
    """Bound δ_μ(x) for every entry of `x`, of either sign.

    δ_μ is convex in eˣ, so a chord between certified points lies above it.

    >>> exact = normal.gaussian_delta(0.5, 1.0)[1]
    >>> bound = float(profile(np.array([1.0]), 0.5)[0])
    >>> exact <= bound <= 1.001 * exact
    True
    """
    odds, deltas = _chords(mu)
    lowered = np.exp(np.minimum(x, 700.0)) * (1 - _SLACK)
    return np.asarray(np.interp(lowered, odds, deltas) * (1 + _SLACK))


@lru_cache(maxsize=64)
def _chords(mu: float) -> tuple[Floats, Floats]:
    """Points (eˣ, δ_μ(x)) with the second rounded up, from (0, 1) to where δ_μ underflows or eˣ overflows."""
    x = mu * (np.arange(-4000, 4001) * 0.01 + mu / 2)
    x = x[(x < 700) & (x > -700)]
    deltas = [1.0, *(_real_profile(mu, value) for value in x.tolist())]
    falling = np.minimum.accumulate(np.array(deltas))  # each point is an upper bound of all to its right
    return np.concatenate([[0.0], np.exp(x)]), falling


def _real_profile(mu: float, x: float) -> float:
    if x >= 0:
        return normal.gaussian_delta(mu, x)[1]
    # H₋ₓ(P, Q) = 1 − e⁻ˣ·(1 − Hₓ(Q, P)), and the Gaussian pair is symmetric.
    kept = math.exp(x) * (1 - normal.gaussian_delta(mu, -x)[1])
    return min(1.0, 1 - kept * (1 - _SLACK) + 2.0**-50)
