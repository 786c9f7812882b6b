"""Calibrate objective perturbation of softmax regression.

Claim. Θ̂ minimises Σ wᵢ·(−ln p_{yᵢ}) + λ/2·‖Θ‖² + ⟨b, Θ⟩, p = softmax(Θxᵢ), over all k×d matrices, with N(0, σ²)
on each of the k·d coordinates of b, ‖xᵢ‖ ≤ R, and neighbours that differ by one person of total weight at most
K. Then releasing Θ̂ is (ε, δ)-DP with

    δ = (e^ε − 1)/ε·E(κ(W) − ε)₊,   W = max_{c≠y} V_c − V_y,  V ~ N(0, I_k),
    κ(W) = max_{0≤s≤1} A·(2s − s²·k/(k−1)) + s·M·W,   A = K·R²/λ,  M = K·R/σ.

It is μ-Gaussian DP as well, with μ = sup_z min(Ψ(Φ(z)), Ψ₋(Φ(−z)))/φ(z), where Ψ(P) and Ψ₋(P) are the means of
κ(W) and of M·W₊ over their largest values of probability P (`gdp`). With `gaussian_mu` the release includes
Gaussian releases of that parameter, whose loss is convolved with δ.

P(W > w) = 1 − ∫φ(v)·Φ(v + w)^{k−1} dv is bounded by sums over cells, with the left end of each. The bounds are
valid, and not tight: for k > 2 noisy gradient descent needs less noise. For pure ε see `softmax_pure`. Proofs:
docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.privacy.pld import normal
from discreet.privacy.rounding import downward, float_above, float_below, upward
from discreet.privacy.theorems.learning.calibration import gaussian_mu, least_sigma
from discreet.privacy.theorems.learning.closed_forms import mean_excess
from discreet.privacy.theorems.learning.loss_law import Floats
from discreet.rational import Rational, positive, shown, whole

_STEP, _LEFT, _RIGHT, _SPREAD = 0.01, -15.0, 40.0, 12.0
_SLACK = 1e-11
_BESIDE, _FAR, _LEAST = 0.05, 12.0, 0.05  # cells of the Gaussian loss, their end, and the least share of ε left
_FINE, _EDGE = 0.002, 12.0  # cells of z, and where a closed form takes over


def delta(
    epsilon: Rational,
    *,
    classes: int,
    sigma: Rational,
    lam: Rational,
    R: Rational = 1,
    K: Rational = 1,
    gaussian_mu: Rational = 0,
) -> float:
    """Return δ such that the exact minimiser is (ε, δ)-DP.

    Args:
        epsilon: ε, above 0.
        classes: k, 2 or more.
        sigma: Standard deviation of every coordinate of b.
        lam: λ, the strength of the regulariser.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        gaussian_mu: √(Σ μᵢ²) of Gaussian releases made beside it.

    >>> 0 < delta(1, classes=3, sigma=8, lam=16) < delta(1, classes=10, sigma=8, lam=16) < 1e-5
    True
    >>> delta(1, classes=3, sigma=8, lam=16) < delta(1, classes=3, sigma=8, lam=16, gaussian_mu="0.02") < 1e-5
    True
    """
    e, k = positive(epsilon, "epsilon", floats="exact"), whole(classes, "classes", least=2)
    shift, determinant = _terms(sigma, lam, R, K)
    return _together(e, k, shift, determinant, float_above(nonnegative(gaussian_mu, "gaussian_mu")))


def _terms(sigma: Rational, lam: Rational, R: Rational, K: Rational) -> tuple[float, float]:
    """M and A, rounded up."""
    weight, norm = positive(K, "K", floats="exact"), positive(R, "R", floats="exact")
    shift = float_above(weight * norm / positive(sigma, "sigma", floats="exact"))
    return shift, float_above(weight * norm**2 / positive(lam, "lam", floats="exact"))


def _together(epsilon: Fraction, k: int, shift: float, determinant: float, mu: float) -> float:
    """E δ(ε − μv − μ²/2), v ~ N(0, 1), with the right end of each cell; where little of ε is left, δ is 1."""
    if not mu:
        return _delta(epsilon, k, shift, determinant)
    v = np.linspace(-_FAR, _FAR, round(2 * _FAR / _BESIDE) + 1)
    masses = normal.interval_masses(v)
    masses[0] += normal.upper_tail(_FAR)[1]
    total, e = normal.upper_tail(_FAR)[1], float_below(epsilon)
    for mass, right in zip(masses.tolist(), v[1:].tolist(), strict=True):
        left = downward(e - mu * right - mu * mu / 2 - 2.0**-40 * mu * abs(right), 8)
        total += mass * (_delta(Fraction(left), k, shift, determinant) if left >= _LEAST * e else 1.0)
    return min(1.0, upward(total * (1 + 1e-9), 8))


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


def gdp(*, classes: int, sigma: Rational, lam: Rational, R: Rational = 1, K: Rational = 1) -> float:
    """Return μ such that the exact minimiser is μ-Gaussian DP: what a ledger is charged.

    Args:
        classes: k, 2 or more.
        sigma: Standard deviation of every coordinate of b.
        lam: λ, the strength of the regulariser.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.

    >>> 1.4 < 8 * gdp(classes=3, sigma=8, lam=16) < 8 * gdp(classes=10, sigma=8, lam=16) < 3.5
    True
    """
    return _gdp(whole(classes, "classes", least=2), *_terms(sigma, lam, R, K))


def _gdp(k: int, shift: float, determinant: float) -> float:
    adding, removing = _Tops(k, shift, determinant), _Tops(k, shift, 0.0)
    z = _FINE * np.arange(-round(_EDGE / _FINE), 1)
    low, high = z[:-1], z[1:]
    at_most = np.array([normal.upper_tail(-value)[1] for value in high.tolist()])
    rest = np.array([normal.upper_tail(value)[1] for value in low.tolist()])
    dense = np.exp(-low * low / 2) / math.sqrt(2 * math.pi) * (1 - 1e-12)
    left = np.minimum(adding.top(at_most), removing.top(rest)) / dense  # z below 0
    right = removing.top(at_most) / dense  # z above 0, mirrored, where min takes the second
    tail = math.sqrt(2) * (1 + math.log(max(k - 1, 1)) / _EDGE**2) * shift + determinant / _EDGE
    return upward(max(float(left.max()), float(right.max()), tail) * (1 + 1e-9), 8)


class _Tops:
    """The means of κ(W) over its largest values: Ψ(P) ≤ t·P + E(κ(W) − t)₊ for every t."""

    def __init__(self, k: int, shift: float, determinant: float):
        w, tails = _tails(k)
        self.falling = -tails
        self.scores = _score(w, k, shift, determinant) if determinant else shift * np.maximum(w, 0.0)
        beyond = upward(shift * (k - 1) * math.sqrt(2) * mean_excess(downward(_RIGHT / math.sqrt(2), 4)), 8)
        pieces = np.diff(self.scores) * tails[:-1]
        self.excess = (np.append(np.cumsum(pieces[::-1])[::-1], 0.0) + beyond) * (1 + 1e-9)

    def top(self, share: Floats) -> Floats:
        """Return Ψ of each share: t is the value that about this share exceeds, and the least value if all do."""
        near = np.clip(np.searchsorted(self.falling, -share), 0, len(self.scores) - 1)
        found: Floats = self.scores[near] * share + self.excess[near]
        return found


def sigma_for(
    epsilon: Rational,
    delta: Rational,
    *,
    classes: int,
    lam: Rational,
    R: Rational = 1,
    K: Rational = 1,
    gaussian_mu: Rational = 0,
) -> Fraction:
    """Return nearly the least σ with δ(ε) ≤ `delta`: a short decimal that has passed the bound.

    Args:
        epsilon: ε, above 0.
        delta: δ, between 0 and 1.
        classes: k, 2 or more.
        lam: λ, the strength of the regulariser; 8·K·R²/ε or more.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        gaussian_mu: √(Σ μᵢ²) of Gaussian releases made beside it.

    >>> float(sigma_for(1, "1e-5", classes=3, lam=16))
    5.68...
    """
    e, small = positive(epsilon, "epsilon", floats="exact"), nonnegative(delta, "delta")
    k, strength = whole(classes, "classes", least=2), positive(lam, "lam", floats="exact")
    weight, norm = positive(K, "K", floats="exact"), positive(R, "R", floats="exact")
    return _sigma_for(e, small, k, strength, weight, norm, float_above(nonnegative(gaussian_mu, "gaussian_mu")))


@lru_cache(maxsize=64)  # a grid of fits asks for the same few σ
def _sigma_for(
    e: Fraction, delta: Fraction, k: int, lam: Fraction, K: Fraction, R: Fraction, mu: float
) -> Fraction:
    determinant = float_above(K * R**2 / lam)
    if mu and normal.gaussian_delta(mu, float_below(e))[1] > delta:
        raise ParameterError("gaussian_mu alone exceeds this epsilon and delta.", found=shown(mu))
    return least_sigma(
        lambda sigma: _together(e, k, float_above(K * R / sigma), determinant, mu) <= delta,
        float(K * R) / gaussian_mu(e, delta),
        lam,
        within=1e-3 if mu else 1e-5,  # with μ a step costs more
    )


def sigma_for_gdp(mu: Rational, *, classes: int, lam: Rational, R: Rational = 1, K: Rational = 1) -> Fraction:
    """Return nearly the least σ such that the exact minimiser is μ-Gaussian DP.

    Args:
        mu: μ, above 0.
        classes: k, 2 or more.
        lam: λ, the strength of the regulariser.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.

    >>> gdp(classes=3, sigma=sigma_for_gdp("0.25", classes=3, lam=20), lam=20) <= 0.25
    True
    """
    k, wanted = whole(classes, "classes", least=2), positive(mu, "mu", floats="exact")
    floor = float(positive(K, "K", floats="exact") * positive(R, "R", floats="exact") / wanted)
    strength = positive(lam, "lam", floats="exact")
    return least_sigma(
        lambda sigma: _gdp(k, *_terms(sigma, strength, R, K)) <= wanted, floor, strength, within=1e-3
    )
