"""Compute the other Rényi curves: bounded range, a curve known at some orders, and Poisson samples.

* Bounded range (the exponential mechanism): the log-ratio of the two laws lies in [t − ε, t] for some t. The worst
  law takes only the two ends, and the worst t gives, with λ = α − 1 (Dong, Durfee, Rogers 2020),
  λ·D_α = λε + λ·log λ − α·log α + α·l(αε) − λ·l(λε) − l(ε),  l(y) = log(1 − e^(−y)),  and D_α ≤ α·ε²/8.
* (α − 1)·D_α is convex in α and 0 at 1, and D_α grows in α: other orders follow from known ones.
* Poisson sample at rate q, whole n: E_P[(1 − q + q·Q/P)^n] = Σ_k C(n, k)·(1 − q)^(n−k)·q^k·e^((k−1)·D_k(Q, P)).
  If an involution of the outputs swaps P and Q, this direction is the larger (docs/theory/subsampling.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.losses import Renyi
from discreet.privacy.pld import staircase
from discreet.privacy.rounding import float_above, float_below, sum_upward, upward
from discreet.rational import rational

Floats = NDArray[np.float64]

LARGEST_ORDER = 256
"""Of a binomial sum; at larger orders sampling is not credited."""


def bounded_range_rho(epsilon: Fraction) -> Fraction:
    """Return ρ of a loss that lies in an interval of width ε.

    >>> bounded_range_rho(Fraction(1))
    Fraction(1, 8)
    """
    return min(epsilon**2 / 8, staircase.rho(epsilon, epsilon))


def bounded_range(epsilon: Fraction, order: Floats) -> Floats:
    """Return the largest divergences of a loss that lies in an interval of width ε, rounded up.

    >>> bounded_range(Fraction(1), np.array([2.0, 1000.0])).round(6)
    array([0.240229, 0.992544])
    """
    if epsilon == 0 or epsilon > staircase.HUGE:
        return np.full(order.shape, float_above(epsilon))
    e, excess = float_above(epsilon), order - 1
    terms = (
        excess * e,
        excess * np.log(excess),
        -order * np.log(order),
        order * _log_one_minus_exp(-e * order),
        -excess * _log_one_minus_exp(-e * excess),
        -_log_one_minus_exp(np.full(order.shape, -e)),
    )
    curve = upward(sum_upward(*terms, ulps=64) / excess)
    return staircase.capped(curve, order, epsilon, bounded_range_rho(epsilon))


def interpolated(loss: Renyi, order: Floats) -> Floats:
    """Return the bounds that a curve known at some orders gives at others; inf above the largest.

    >>> interpolated(Renyi(orders=(2, 8), epsilons=(1, 3)), np.array([1.5, 2.0, 9.0])).round(9)
    array([ 1.,  1., inf])
    """
    curve: dict[float, float] = {}
    for a, e in zip(loss.orders, loss.epsilons, strict=True):
        node = float_below(rational(a, "order"))
        curve[node] = min(float_above(rational(e, "epsilon")), curve.get(node, math.inf))
    nodes = np.array(sorted(curve))
    divergences = np.minimum.accumulate(np.array([curve[a] for a in nodes])[::-1])[::-1]
    moments = upward(divergences * (nodes - 1), 2)
    return upward(np.interp(order, [1.0, *nodes], [0.0, *moments], right=np.inf) / (order - 1), 8)


def poisson_sampled(divergence: Callable[[Floats], Floats], rate: Fraction, order: Floats) -> Floats:
    """Return the divergences on a Poisson sample of a symmetric pair with this curve, 0 < rate < 1; inf beyond
    `LARGEST_ORDER`.

    >>> poisson_sampled(lambda order: order / 2, Fraction(1, 100), np.array([2.0])).round(9)
    array([0.00017181])
    """
    ceilings = np.ceil(order[order <= LARGEST_ORDER]).astype(np.int64)
    whole = np.unique(np.concatenate([[2], ceilings, np.maximum(ceilings - 1, 2)]))
    moments = _sampled_moments(divergence, rate, whole)
    return upward(np.interp(order, [1, *whole], [0.0, *moments], right=np.inf) / (order - 1), 8)


def _sampled_moments(divergence: Callable[[Floats], Floats], rate: Fraction, orders: NDArray[np.int64]) -> Floats:
    """log(1 + Σ_{k ≥ 2} C(n, k)·(1 − q)^(n−k)·q^k·(e^((k−1)·D_k) − 1)): the 1 taken out, no digits cancel."""
    k, n = np.arange(2, orders[-1] + 1), orders[:, None]
    inner = upward((k - 1) * divergence(k.astype(np.float64)), 1)
    logs, left_out = _log_factorials(), np.maximum(n - k, 0)
    chosen = sum_upward(-logs[k], k * math.log(float_above(rate)), inner, _log_one_minus_exp(-inner), ulps=8)
    terms = sum_upward(logs[n], -logs[left_out], left_out * math.log1p(-float_below(rate)), chosen, ulps=8)
    terms[k > n] = -np.inf
    largest = terms.max(axis=1)
    total = np.exp(terms - largest[:, None]).sum(axis=1)
    log_excess = sum_upward(largest, np.log(total), ulps=LARGEST_ORDER + 16)
    moments: Floats = np.logaddexp(0.0, log_excess)
    return upward(moments, 16)


def _log_one_minus_exp(x: Floats) -> Floats:
    """log(1 − e^x) for x < 0, to a few ulp of the result (times |x| where it is next to nothing)."""
    return np.where(x < -0.7, np.log1p(-np.exp(np.minimum(x, -0.5))), np.log(-np.expm1(x)))


@lru_cache(maxsize=1)
def _log_factorials() -> Floats:
    return np.array([math.log(math.factorial(n)) for n in range(LARGEST_ORDER + 1)])
