"""Bound the normal law, and the privacy profile of the Gaussian mechanism, with certificates.

R(x) = (1 − Φ(x))/φ(x) is Mills' ratio. Up to x = 6 it comes from libm's `erfc` and `exp`, trusted to a few units
in the last place and widened by `_SLACK`; beyond, from the continued fraction R(x) = 1/(x + 1/(x + 2/(x + 3/…))),
whose successive convergents lie on either side of it because all its terms are positive.

Telling N(0, 1) from N(μ, 1) has the profile (Balle and Wang 2018), with a = ε/μ − μ/2 and b = ε/μ + μ/2,

    δ(ε) = Φ(−a) − e^ε·Φ(−b) = Φ(−a) − φ(a)·R(b),

where e^ε·φ(b) = φ(a) has removed the overflow. |∂δ/∂a| ≤ 2φ(a) and |∂δ/∂b| ≤ φ(a), which bounds what rounding a
and b can do. Every function here returns a pair (lower, upper) that holds the true value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ROUNDOFF = 2.0**-53
"""The largest relative error of one rounding to nearest."""

Bounds = tuple[float, float]

_SLACK = 64 * ROUNDOFF  # erfc and exp within 4 ulp, and x/√2, x²/2 rounded: at most x² + 24 ulp together for x ≤ 6
_LARGEST_MU = 1e100  # beyond, squares overflow, and nothing is private
_TERMS = 80  # convergents 80 and 81 agree to 1e-17 from x = 6 on


def mills(x: float) -> Bounds:
    """Bound Mills' ratio (1 − Φ(x))/φ(x) for x ≥ 0.

    >>> low, high = mills(0.0)
    >>> low < math.sqrt(math.pi / 2) < high
    True
    """
    if x > 6:
        low, high = sorted((_convergent(x, _TERMS), _convergent(x, _TERMS + 1)))
        return low * (1 - 8 * ROUNDOFF), high * (1 + 8 * ROUNDOFF)
    ratio = math.sqrt(math.pi / 2) * math.erfc(x / math.sqrt(2)) * math.exp(x * x / 2)
    return ratio * (1 - _SLACK), ratio * (1 + _SLACK)


def _convergent(x: float, terms: int) -> float:
    tail = x
    for k in range(terms, 0, -1):
        tail = x + k / tail
    return 1 / tail


def upper_tail(x: float) -> Bounds:
    """Bound 1 − Φ(x).

    >>> upper_tail(0.0)[0] < 0.5 < upper_tail(0.0)[1]
    True
    """
    if x > 38:
        return 0.0, math.ulp(0.0) * 2**52
    if x <= 6:
        tail = math.erfc(x / math.sqrt(2)) / 2
        return tail * (1 - _SLACK), min(1.0, tail * (1 + _SLACK))
    low, high = mills(x)
    density, slack = _density(x)
    return low * density * (1 - slack), high * density * (1 + slack)


def _density(x: float) -> tuple[float, float]:
    """φ(x) and its relative error: x²/2 is rounded before exp magnifies it."""
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi), (x * x + 16) * ROUNDOFF


def quantile(p: float) -> Bounds:
    """Bound Φ⁻¹(p) for 0 < p < 1.

    >>> low, high = quantile(0.975)
    >>> round(low, 9) == round(high, 9) == 1.959963985
    True
    """
    if p > 0.5:
        low, high = quantile(1 - p)  # 1 − p is exact here
        return -high, -low
    beyond = invert(lambda x: upper_tail(x)[1], p, 0.0, 40.0)[1]
    within = invert(lambda x: upper_tail(x)[0], p, 0.0, 40.0)[0]
    return -beyond, -within


def gaussian_delta(mu: float, epsilon: float) -> Bounds:
    """Bound δ(ε) of telling N(0, 1) from N(μ, 1), ε ≥ 0.

    >>> low, high = gaussian_delta(1.0, 1.0)
    >>> low < 0.126936737506643946 < high
    True
    """
    if mu == 0:
        return 0.0, 0.0
    if not mu <= _LARGEST_MU:
        return 0.0, 1.0
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a > 39:
        return 0.0, math.ulp(0.0)  # Φ(−39) is below the smallest double
    density, slack = _density(a)
    mills_low, mills_high = mills(b)
    rounding = density * 12 * ROUNDOFF * b  # a and b are off by at most 3 ulp of b, and the derivatives above
    if a >= 0:
        # Both terms share the factor φ(a): subtract first, so that what is far in the tail keeps its digits.
        first_low, first_high = mills(a)
        low = density * (1 - slack) * (first_low - mills_high) - rounding
        high = density * (1 + slack) * (first_high - mills_low) + rounding
    else:
        tail_low, tail_high = upper_tail(a)
        low = tail_low - density * (1 + slack) * mills_high - rounding
        high = tail_high - density * (1 - slack) * mills_low + rounding
    # Once the density underflows, nothing but the smallest positive number is safe to say.
    return max(0.0, low), min(1.0, max(high, math.ulp(0.0)))


def gaussian_epsilon(mu: float, delta: float) -> Bounds:
    """Bound the least ε ≥ 0 at which telling N(0, 1) from N(μ, 1) has δ(ε) ≤ `delta`.

    >>> low, high = gaussian_epsilon(1.0, 1e-6)
    >>> round(low, 6), round(high, 6)
    (4.886554, 4.886554)
    """
    if mu == 0 or delta >= 1:
        return 0.0, 0.0
    if delta <= 0:
        return math.inf, math.inf
    if not mu <= _LARGEST_MU:
        return 0.0, math.inf
    top = mu * mu / 2 + mu * 45  # δ underflows before this
    low = invert(lambda e: gaussian_delta(mu, e)[0], delta, 0.0, top)[0]
    high = invert(lambda e: gaussian_delta(mu, e)[1], delta, 0.0, top)[1]
    return low, high if gaussian_delta(mu, high)[1] <= delta else math.inf


def invert(
    decreasing: Callable[[float], float], target: float, low: float, high: float, tolerance: float = 4 * ROUNDOFF
) -> Bounds:
    """Bracket where a decreasing function crosses `target`: above it at the first end, not above at the second.

    Args:
        decreasing: The function.
        target: The value that it crosses.
        low: The left end of the search.
        high: The right end of the search, where the function is not above the target.
        tolerance: The width of the bracket relative to its right end; a few units of round-off by default.

    >>> low, high = invert(lambda x: 1 / x, 0.25, 1.0, 100.0)
    >>> low <= 4 <= high and high - low < 1e-12
    True
    """
    if decreasing(low) <= target:
        return low, low
    while True:
        middle = low + (high - low) / 2
        if middle in (low, high) or high - low <= tolerance * high:
            return low, high
        if decreasing(middle) > target:
            low = middle
        else:
            high = middle


_NARROW = 0.03


@lru_cache(maxsize=1)
def _gauss_legendre() -> list[tuple[float, float]]:
    # numpy loads its polynomials when they are first used, which takes longer than all of this package.
    nodes, weights = np.polynomial.legendre.leggauss(6)
    return list(zip(nodes.tolist(), weights.tolist(), strict=True))


def interval_masses(
    edges: NDArray[np.float64], shift: float = 0.0, widths: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return Φ(edges[i+1] + shift) − Φ(edges[i] + shift), with relative error below 4e-13 where |x| ≤ 38.

    Narrow intervals (up to 0.03) are integrated with six Gauss–Legendre nodes: their error, a twelfth derivative
    of φ times width¹², is below 1e-14 of the mass for |x| ≤ 38, and no digits cancel. Wide ones are differences of
    tails, of the tail that is smaller.

    Args:
        edges: The ends of the intervals, which may be infinite.
        shift: A distance that moves all of them. Their widths stay as they are, to the last digit: of a narrow
            interval, edges that are shifted and rounded would be another one.
        widths: The widths, if they are known more exactly than as differences of the edges.

    >>> round(interval_masses(np.array([-1.0, 1.0])).item(), 12)
    0.682689492137
    >>> interval_masses(np.array([20.0, 20.0 + 2**-40]), shift=-20.0).item() * 2**40  # φ(0), to all its digits
    0.3989422804014327
    """
    left, right = edges[:-1], edges[1:]
    with np.errstate(invalid="ignore"):
        width = right - left if widths is None else widths
    narrow = width <= _NARROW
    masses = np.zeros(len(left))
    centre, half = (left[narrow] + right[narrow]) / 2 + shift, width[narrow] / 2
    for node, weight in _gauss_legendre():
        masses[narrow] += weight * np.exp(-((centre + half * node) ** 2) / 2)
    masses[narrow] *= half / math.sqrt(2 * math.pi)
    wide = ~narrow
    left, right = left[wide] + shift, right[wide] + shift
    with np.errstate(invalid="ignore"):
        swap = left + right < 0  # reflect to the side where tails are small
    near, far = np.where(swap, -right, left), np.where(swap, -left, right)
    masses[wide] = (_erfc(near / math.sqrt(2)) - _erfc(far / math.sqrt(2))) / 2
    return masses


def _erfc(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([math.erfc(value) for value in x.tolist()])
