"""Convert one measure of privacy into another, always rounded up.

    pure ε ──▶ zCDP  ρ = ε·tanh(ε/2)          every ε-DP pair is dominated by randomised response, and its D_α/α
       │                                       falls in α from D₁ = ε·tanh(ε/2)
       ├────▶ GDP   μ = −2·Φ⁻¹(1/(1 + e^ε))    its trade-off curve is piecewise linear: compare at the kink
       └────▶ (ε′, δ)   ε′ = ln(e^ε − δ·(1 + e^ε))
    GDP μ ──▶ zCDP  ρ = μ²/2, and (ε, δ) by the Gaussian profile, exactly
    zCDP ρ ─▶ Rényi D_α = α·ρ
    Rényi ──▶ (ε, δ)    δ = inf_α e^((α−1)·(D_α − ε))·(1 − 1/α)^α/(α − 1)   (Canonne, Kamath, Steinke 2020)
    (ε, δ) ─▶ only other points of its own profile: with probability δ everything may be revealed, so no Rényi
              divergence is finite and no trade-off curve G_μ lies below.

Any α gives a valid bound, so the search for the best one cannot break the guarantee; the bound at the α found is
rounded up. For zCDP the best α is unique: ε(α) has the derivative ρ − (ln(1/δ) − ln α)/(α−1)².
All functions are monotone up to their last digits, never negative, and return inf where nothing finite holds.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.parameters import log_inverse, nonnegative, probability
from discreet.privacy.pld import normal, staircase
from discreet.privacy.rounding import float_above, float_below, not_below_zero, sum_upward, upward
from discreet.rational import Rational

Floats = NDArray[np.float64]


def pure_to_zcdp(epsilon: Rational) -> Fraction:
    """Return ρ such that every ε-DP mechanism is ρ-zCDP.

    >>> float(pure_to_zcdp("0.1"))
    0.00499583...
    """
    exact = nonnegative(epsilon, "epsilon")
    return staircase.rho(exact, exact)


def pure_to_gdp(epsilon: Rational) -> float:
    """Return μ such that every ε-DP mechanism is μ-GDP.

    >>> pure_to_gdp(1)
    1.23203538...
    """
    exact = nonnegative(epsilon, "epsilon")
    squared = float_above(staircase.mu_squared(exact, exact))
    return upward(math.sqrt(squared), 1) if squared else 0.0


def pure_to_renyi(epsilon: Rational, orders: Floats) -> Floats:
    """Return the largest Rényi divergences of an ε-DP mechanism.

    >>> pure_to_renyi(1, np.array([2.0, 1000.0])).round(6)
    array([0.735326, 0.999686])
    """
    exact = nonnegative(epsilon, "epsilon")
    return staircase.divergence(exact, exact, orders)


def pure_to_approximate(epsilon: Rational, delta: Rational) -> float:
    """Return the ε′ such that every ε-DP mechanism is (ε′, δ)-DP.

    >>> pure_to_approximate(1, "0.1")
    0.85...
    """
    e, d = float_above(nonnegative(epsilon, "epsilon")), float_below(nonnegative(delta, "delta"))
    missed = d * (1 + math.exp(-e)) * (1 - 2**-48)  # rounded down by more than its own rounding
    if d >= 1 or missed >= 1:
        return 0.0
    if math.isinf(e):
        return e
    return min(e, max(0.0, sum_upward(e, math.log1p(-missed))))


def approximate_to_approximate(epsilon: Rational, delta: Rational, target: Rational) -> float:
    """Return the ε′ such that every (ε, δ)-DP mechanism is (ε′, target)-DP; inf if target < δ.

    >>> approximate_to_approximate(1, "1e-6", "0.1")
    0.85...
    """
    known, wanted = probability(delta, "delta"), nonnegative(target, "target")
    if wanted < known:
        return math.inf
    return pure_to_approximate(epsilon, (wanted - known) / (1 - known) if known < 1 else 1)


def zcdp_to_renyi(rho: Rational, orders: Floats) -> Floats:
    """Return the Rényi divergences α·ρ.

    >>> zcdp_to_renyi("0.5", np.array([2.0])).round(9)
    array([1.])
    """
    return upward(orders * float_above(nonnegative(rho, "rho")), 1)


def zcdp_to_approximate(rho: Rational, delta: Rational) -> float:
    """Return ε such that every ρ-zCDP mechanism is (ε, δ)-DP, at the best order.

    >>> zcdp_to_approximate("0.1", "1e-6")
    2.14193892...
    """
    r, log_odds = float_above(nonnegative(rho, "rho")), log_inverse(nonnegative(delta, "delta"))
    if r == 0 or log_odds == 0:
        return 0.0
    if math.isinf(r) or math.isinf(log_odds):
        return math.inf
    top = math.sqrt(log_odds) / math.sqrt(r)
    excess = normal.invert(lambda x: log_odds - math.log1p(x) - r * x * x, 0.0, 0.0, top)[1]
    terms = (r, r * excess, -math.log1p(1 / excess), log_odds / excess, -math.log1p(excess) / excess)
    return max(0.0, min(sum_upward(*terms, ulps=8), _classical(r, log_odds)))


def zcdp_to_approximate_classical(rho: Rational, delta: Rational) -> float:
    """Return ρ + 2·√(ρ·ln(1/δ)), the classical bound of Bun and Steinke (2016).

    >>> zcdp_to_approximate_classical("0.1", "1e-6")
    2.45078...
    """
    r, log_odds = float_above(nonnegative(rho, "rho")), log_inverse(nonnegative(delta, "delta"))
    return _classical(r, log_odds) if r and log_odds else 0.0


def zcdp_delta(rho: Rational, epsilon: Rational) -> float:
    """Return δ such that every ρ-zCDP mechanism is (ε, δ)-DP, at the best order.

    >>> zcdp_delta("0.1", 2)
    4.32521086...e-06
    """
    r, e = float_above(nonnegative(rho, "rho")), float_below(nonnegative(epsilon, "epsilon"))
    if r == 0 or math.isinf(r):
        return 1.0 if r else 0.0
    top = min(1e160, e / (2 * r) + 1 / math.sqrt(2 * r))
    excess = normal.invert(lambda x: e - (2 * x + 1) * r + math.log1p(1 / x) if x else 1.0, 0.0, 0.0, top)[1]
    terms = (excess * r, excess * (excess * r), -excess * e, -excess * math.log1p(1 / excess), -math.log1p(excess))
    return min(1.0, upward(math.exp(min(0.0, sum_upward(*terms, ulps=8)))))


def renyi_to_approximate(orders: Floats, divergences: Floats, delta: Rational) -> float:
    """Return ε such that a mechanism with this Rényi curve is (ε, δ)-DP, at the best of these orders.

    >>> orders = np.linspace(2, 50, 200)
    >>> renyi_to_approximate(orders, 0.1 * orders, "1e-6") >= zcdp_to_approximate("0.1", "1e-6")
    True
    """
    log_odds, excess = log_inverse(nonnegative(delta, "delta")), orders - 1
    if log_odds == 0:
        return 0.0
    terms = (divergences, -np.log1p(1 / excess), log_odds / excess, -np.log(orders) / excess)
    return not_below_zero(float(sum_upward(*terms, ulps=8).min()))


def renyi_delta(orders: Floats, divergences: Floats, epsilon: Rational) -> float:
    """Return δ such that a mechanism with this Rényi curve is (ε, δ)-DP, at the best of these orders.

    >>> orders = np.linspace(2, 50, 200)
    >>> renyi_delta(orders, 0.1 * orders, 2) >= zcdp_delta("0.1", 2)
    True
    """
    e, excess = float_below(nonnegative(epsilon, "epsilon")), orders - 1
    terms = (excess * divergences, -excess * e, -excess * np.log1p(1 / excess), -np.log(orders))
    return min(1.0, upward(math.exp(min(0.0, float(sum_upward(*terms, ulps=8).min())))))


def gdp_to_zcdp(mu: Rational) -> Fraction:
    """Return ρ = μ²/2, exactly.

    >>> gdp_to_zcdp("0.1")
    Fraction(1, 200)
    """
    return nonnegative(mu, "mu") ** 2 / 2


def gdp_to_approximate(mu: Rational, delta: Rational) -> float:
    """Return ε such that every μ-GDP mechanism is (ε, δ)-DP: the profile of the Gaussian mechanism, exactly.

    >>> gdp_to_approximate(1, "1e-6")
    4.886554...
    """
    m, d = float_above(nonnegative(mu, "mu")), float_below(nonnegative(delta, "delta"))
    return normal.gaussian_epsilon(m, d)[1] if m < 1e150 or d >= 1 else math.inf


def gdp_delta(mu: Rational, epsilon: Rational) -> float:
    """Return δ such that every μ-GDP mechanism is (ε, δ)-DP: the profile of the Gaussian mechanism, exactly.

    >>> gdp_delta(1, 1)
    0.12693673750...
    """
    m, e = float_above(nonnegative(mu, "mu")), float_below(nonnegative(epsilon, "epsilon"))
    return normal.gaussian_delta(m, e)[1] if m < 1e150 else 1.0


def _classical(rho: float, log_odds: float) -> float:
    return sum_upward(rho, 2 * math.sqrt(rho) * math.sqrt(log_odds), ulps=8)
