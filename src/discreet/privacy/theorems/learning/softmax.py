"""Calibrate objective perturbation of softmax regression.

Claim. Θ̂ minimises Σ wᵢ·(−ln p_{yᵢ}) + λ/2·‖Θ‖² + ⟨b, Θ⟩, p = softmax(Θxᵢ), over all k×d matrices, with N(0, σ²)
on each of the k·d coordinates of b, ‖xᵢ‖ ≤ R, and neighbours that differ by one person of total weight at most
K. Then releasing Θ̂ is (ε, δ)-DP with

    δ = (e^ε − 1)/ε·E(κ(W) − ε)₊,   W = max_{c≠y} V_c − V_y,  V ~ N(0, I_k),
    κ(W) = max_{0≤s≤1} A·(2s − s²·k/(k−1)) + s·M·W,   A = K·R²/λ,  M = K·R/σ.

P(W > w) = 1 − ∫φ(v)·Φ(v + w)^{k−1} dv is bounded by sums over cells, with the left end of each. The bound is
valid, and not tight: for k > 2 noisy gradient descent needs less noise. Proof:
docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.privacy.parameters import nonnegative
from discreet.privacy.pld import normal
from discreet.privacy.rounding import downward, float_above, float_below, upward
from discreet.privacy.theorems.learning.calibration import gaussian_mu, least_sigma
from discreet.privacy.theorems.learning.closed_forms import mean_excess
from discreet.privacy.theorems.learning.loss_law import Floats
from discreet.rational import Rational, positive, whole

_STEP, _LEFT, _RIGHT, _SPREAD = 0.01, -15.0, 40.0, 12.0
_SLACK = 1e-11


def delta(
    epsilon: Rational, *, classes: int, sigma: Rational, lam: Rational, R: Rational = 1, K: Rational = 1
) -> float:
    """Return δ such that the exact minimiser is (ε, δ)-DP.

    Args:
        epsilon: ε, above 0.
        classes: k, 2 or more.
        sigma: Standard deviation of every coordinate of b.
        lam: λ, the strength of the regulariser.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.

    >>> 0 < delta(1, classes=3, sigma=8, lam=16) < delta(1, classes=10, sigma=8, lam=16) < 1e-5
    True
    """
    e, k = positive(epsilon, "epsilon", floats="exact"), whole(classes, "classes", least=2)
    weight, norm = positive(K, "K", floats="exact"), positive(R, "R", floats="exact")
    shift = float_above(weight * norm / positive(sigma, "sigma", floats="exact"))
    return _delta(e, k, shift, float_above(weight * norm**2 / positive(lam, "lam", floats="exact")))


def _delta(epsilon: Fraction, k: int, shift: float, determinant: float) -> float:
    if epsilon > 700:
        return 1.0
    w, tails = _tails(k)
    over = np.maximum(0.0, _score(w, k, shift, determinant) - float_below(epsilon))
    beyond = upward(shift * (k - 1) * math.sqrt(2) * mean_excess(downward(_RIGHT / math.sqrt(2), 4)), 8)
    # E f(W) = f(w₀) + Σ (f(wⱼ₊₁) − f(wⱼ))·P(W > wⱼ) and the rest, in which f grows by at most M per unit.
    expected = float(over[0] + (np.diff(over) * tails[:-1]).sum()) * (1 + _SLACK) + beyond
    growth = upward(math.expm1(float_above(epsilon)), 8) / float_below(epsilon)
    return min(1.0, upward(growth * expected, 8))


def _score(w: Floats, k: int, shift: float, determinant: float) -> Floats:
    """κ(W), made to rise along the grid so that rounding cannot make an increment negative."""
    rho = k / (k - 1)
    s = np.clip((2 * determinant + shift * w) / (2 * determinant * rho), 0.0, 1.0)
    value = determinant * (2 * s - rho * s * s) + shift * s * w
    return np.maximum.accumulate(value + 2.0**-45 * (determinant + shift * np.abs(w)))


def _grid(first: int, last: int) -> Floats:
    return np.linspace(first * _STEP, last * _STEP, last - first + 1)


@lru_cache(maxsize=16)
def _tails(k: int) -> tuple[Floats, Floats]:
    """The grid of w, and P(W > w) rounded up."""
    spread, left, right = round(_SPREAD / _STEP), round(_LEFT / _STEP), round(_RIGHT / _STEP)
    cells = normal.interval_masses(_grid(-spread, spread))
    beyond = normal.upper_tail(_SPREAD)[1]  # left of the grid: counted as certain; right of it: at its last node
    cells[-1] += beyond
    below = np.array([normal.upper_tail(-(i - 1e-9) * _STEP)[0] for i in range(left - spread, right + spread + 1)])
    above = np.array([normal.upper_tail((i - 1e-9) * _STEP)[1] for i in range(left - spread, right + spread + 1)])
    logs = np.where(below > 0.5, np.log1p(-np.minimum(above, 0.5)), np.log(np.maximum(below, 1e-300)))
    w = _grid(left, right)
    tails = np.empty(len(w))
    for j in range(len(w)):
        tails[j] = cells @ -np.expm1((k - 1) * logs[j : j + 2 * spread]) + beyond
    union = np.array([normal.upper_tail(value / math.sqrt(2) - 1e-9)[1] for value in w.tolist()]) * (k - 1)
    return w, np.minimum(1.0, np.minimum(tails, union) * (1 + 1e-9))


def sigma_for(
    epsilon: Rational, delta: Rational, *, classes: int, lam: Rational, R: Rational = 1, K: Rational = 1
) -> Fraction:
    """Return nearly the least σ with δ(ε) ≤ `delta`: a short decimal that has passed the bound.

    Args:
        epsilon: ε, above 0.
        delta: δ, between 0 and 1.
        classes: k, 2 or more.
        lam: λ, the strength of the regulariser; 8·K·R²/ε or more.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.

    >>> float(sigma_for(1, "1e-5", classes=3, lam=16))
    5.68...
    """
    e, small = positive(epsilon, "epsilon", floats="exact"), nonnegative(delta, "delta")
    k, strength = whole(classes, "classes", least=2), positive(lam, "lam", floats="exact")
    weight, norm = positive(K, "K", floats="exact"), positive(R, "R", floats="exact")
    determinant = float_above(weight * norm**2 / strength)
    start = float(weight * norm) / gaussian_mu(e, small)
    return least_sigma(
        lambda sigma: _delta(e, k, float_above(weight * norm / sigma), determinant) <= small, start, strength
    )
