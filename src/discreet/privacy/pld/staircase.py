"""Bound the staircase: discrete Laplace noise whose total loss is a, in steps of h.

Every pure mechanism is dominated by one. One step (h = a) is binary randomised response, which dominates all that
is a-DP; Δ steps are discrete Laplace noise; infinitely many (h = 0) are real Laplace noise. With u = α − ½ it has

    E_P[(P/Q)^(α−1)] = e^(−a/2)·(cosh(ua) + tanh(h/2)·coth(uh)·sinh(ua)),

whose logarithm is concave in u², being a product of factors 1 + u²/λ with λ > 0. Hence D_α/α falls in α, and

    ρ = D₁ = a − (h/sinh h)·(1 − e^(−a))       (for randomised response a·tanh(a/2) ≤ a²/2).

The kinks of its trade-off curve lie on αβ = p², p = e^(−a/2)/(2·cosh(h/2)), and Φ is log-concave, so that

    μ = −2·Φ⁻¹(p)                              (for randomised response p = 1/(1 + e^a)).

All three grow in a and in h, so rounding those up is safe. Proofs: docs/theory/conversions.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.pld import normal
from discreet.privacy.rounding import downward, float_above, sum_upward, upward

Floats = NDArray[np.float64]

HUGE = 10**6
"""Beyond this ε, curves are not formed: ε itself is nearly the divergence of every order."""

_FAR = 600  # e^−600 is still a normal float; beyond, the simplest bounds are within a few percent
_NEAR = 1e-3  # below, floats cannot distinguish p from ½
_STEEP = 4.0  # up to here e^s − 1 is formed, beyond, e^s is factored out


def rho(total: Fraction, step: Fraction) -> Fraction:
    """Return ρ of the staircase, rounded up.

    >>> float(rho(Fraction(1), Fraction(0)))  # Laplace noise, ε = 1: exactly 1/e
    0.3678794411714...
    """
    if total > _FAR:
        return total
    a, h = float_above(total), float_above(step)
    bound = upward(_excess(a) - _discreteness(h) * math.expm1(-a), 64)
    return min(Fraction(bound), total**2 / 2, total)


def mu_squared(total: Fraction, step: Fraction) -> Fraction:
    """Return μ² of the staircase, rounded up.

    >>> round(float(mu_squared(Fraction(1), Fraction(1))), 9)
    1.517911191
    """
    if total == 0 or total > _FAR:
        return 4 * (total + step) if total else Fraction(0)  # Φ(−z) ≤ e^(−z²/2)/2, and cosh(h/2) ≤ e^(h/2)
    a, h = float_above(total), float_above(step)
    if a < _NEAR:
        mu = 2 * _small_quantile(math.sqrt(math.pi / 2) * (math.exp(-a / 2) * h * h / 8 - math.expm1(-a / 2)))
    else:
        mu = -2 * normal.quantile(downward(math.exp(-a / 2) / (2 * math.cosh(h / 2)), 12))[0]
    return Fraction(upward(mu * mu, 1))


def response_mu_squared(epsilon: Fraction, categories: int) -> Fraction:
    """Return μ² of k-ary randomised response, rounded up: its curve has a kink at (one lie, all k − 1 lies).

    >>> response_mu_squared(Fraction(1), 10) < mu_squared(Fraction(1), Fraction(1))
    True
    """
    if epsilon == 0 or epsilon > _FAR:
        return 8 * epsilon
    odds = math.exp(-float_above(epsilon))
    lie = odds / (1 + (categories - 1) * odds)
    alarm, miss = downward(lie, 12), downward((categories - 1) * lie, 12)
    mu = -normal.quantile(alarm)[0] - normal.quantile(miss)[0]
    return Fraction(upward(mu * mu, 4))


def divergence(total: Fraction, step: Fraction, order: Floats) -> Floats:
    """Return the Rényi divergences of the staircase, rounded up.

    >>> divergence(Fraction(1), Fraction(1), np.array([2.0])).round(9)
    array([0.73532566])
    """
    if total > HUGE:
        return np.full(order.shape, float_above(total))
    a, h, excess = float_above(total), float_above(step), order - 1
    if h == 0:
        fall_weight = excess / (2 * excess + 1)
    else:
        shrink = math.exp(-h)
        fall_weight = np.expm1(-2 * h * excess) / np.expm1(-h * (2 * excess + 1)) * shrink / (1 + shrink)
    moment = _log_moment(excess * a, order * a, 1 - fall_weight, fall_weight)
    return capped(upward(moment / excess, 4), order, total, rho(total, step))


def response_divergence(epsilon: Fraction, categories: int, order: Floats) -> Floats:
    """Return the Rényi divergences of k-ary randomised response, rounded up.

    >>> response_divergence(Fraction(1), 2, np.array([2.0])).round(9)
    array([0.73532566])
    """
    if epsilon > HUGE:
        return np.full(order.shape, float_above(epsilon))
    a, excess = float_above(epsilon), order - 1
    odds = math.exp(-a)
    truth = 1 / (1 + (categories - 1) * odds)
    moment = _log_moment(excess * a, excess * a, truth, truth * odds)
    return capped(upward(moment / excess, 4), order, epsilon, rho(epsilon, epsilon))


def capped(curve: Floats, order: Floats, epsilon: Fraction, rho: Fraction) -> Floats:
    """Return the least of three bounds: where rounding spoils the curve (tiny ε), α·ρ and ε still hold.

    >>> capped(np.array([9.0]), np.array([2.0]), Fraction(1), Fraction(1, 4)).round(9)
    array([0.5])
    """
    concentrated = upward(order * float_above(rho), 1)
    least: Floats = np.minimum(np.minimum(curve, concentrated), float_above(epsilon))
    return least


def _log_moment(rise: Floats, fall: Floats, rise_weight: Floats | float, fall_weight: Floats | float) -> Floats:
    """Bound log(1 + w₊·(e^rise − 1) + w₋·(e^(−fall) − 1)); arguments within 2 ulp, weights within 12."""
    gentle = np.minimum(rise, _STEEP)
    above_one = sum_upward(rise_weight * np.expm1(gentle), fall_weight * np.expm1(-fall), ulps=40)
    shrink = np.exp(-rise)
    rest = rise_weight + fall_weight * np.exp(-fall) * shrink + (1 - rise_weight - fall_weight) * shrink
    factored = sum_upward(rise, np.log(rest), ulps=40)
    return np.where(rise <= _STEEP, upward(np.log1p(above_one)), factored)


def _small_quantile(y: float) -> float:
    """Bound Φ⁻¹(½ + y/√(2π)) for 0 ≤ y ≤ 0.01, where p = ½ − d has lost its digits and d has not.

    y ≥ z − z³/6 from φ(z) ≥ (1 − z²/2)/√(2π), and z = y + y³/6 + y⁵ satisfies this with room to spare. In d,
    1 − 1/cosh(h/2) was bounded by h²/8.
    """
    return upward(y * (1 + y * y / 6 + y**4), 24)


def _excess(a: float) -> float:
    """a − 1 + e^(−a), by its series where the terms would cancel; within 8 ulp."""
    if a >= 1:
        return a - 1 + math.exp(-a)
    series = 1.0
    for k in range(20, 2, -1):
        series = 1 - a / k * series
    return a * a / 2 * series


def _discreteness(h: float) -> float:
    """1 − h/sinh h, by its series where the terms would cancel; within 48 ulp."""
    if h >= 1:
        return 1 + 2 * h * math.exp(-h) / math.expm1(-2 * h)
    series = 1.0
    for k in range(18, 2, -2):
        series = 1 + h * h / (k * (k + 1)) * series
    return h**3 / 6 * series / math.sinh(h) if h else 0.0
