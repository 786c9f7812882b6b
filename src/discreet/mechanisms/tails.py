"""How large noise gets: tail probabilities of the laws themselves, rounded against ourselves.

Discrete Laplace noise Z of scale t has, with q = e^{−1/t} and m ≥ 0,

    P(Z > m) = q^{m+1}/(1 + q)      and      P(|Z| > m) = 2·q^{m+1}/(1 + q).

Closed forms are taken in decimal arithmetic of 100 digits, whose exp and ln are correctly rounded, and rounded
up to the next integer with a margin of 10⁻⁴⁰. Sums over a law are taken in floats: every term is positive and
good to a relative 10⁻¹², and the sum is raised by 10⁻⁹ before it is compared. Tested in
tests/mechanisms/test_errors.py.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.rational import Rational, rational, whole

_DECIMAL = Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)
_MARGIN = Fraction(1, 10**40)
_RAISE = 1 + 1e-9
_BLOCKS = 2**15  # blocks to each side of zero; a law of more integers than that is taken a block at a time
_SUMMED = 10_000  # standard deviations up to here are summed term by term

Floats = NDArray[np.float64]


def doubt(confidence: Rational, dimension: int = 1) -> Fraction:
    """Return the chance 1 − confidence^{1/dimension} that each of `dimension` independent noises may fail with.

    >>> doubt("0.95"), round(float(doubt("0.95", dimension=2)), 6)
    (Fraction(1, 20), 0.025321)
    """
    sure = rational(confidence, "confidence", floats="exact")
    if not 0 < sure <= 1 - Fraction(1, 10**30):
        raise ParameterError(f'confidence must lie between 0 and 1, such as "0.95", not {confidence!r}.')
    if whole(dimension, "dimension") == 1:
        return 1 - sure
    return 1 - exp(log(sure) / dimension)


def exp(x: Fraction) -> Fraction:
    """Return e^x to 100 digits, or e⁻²⁰⁰⁰ if that is more: far below every margin, and no huge fraction.

    >>> f"{float(exp(Fraction(1))):.10}"
    '2.718281828'
    """
    return Fraction(_DECIMAL.exp(_decimal(max(x, Fraction(-2000)))))


def log(x: Fraction) -> Fraction:
    """Return ln x to 100 digits.

    >>> f"{float(log(Fraction(2))):.10}"
    '0.6931471806'
    """
    return Fraction(_DECIMAL.ln(_decimal(x)))


def ceiling(x: Fraction) -> int:
    """Return the next integer above x, where x is known to 40 digits.

    >>> ceiling(Fraction(5, 2))
    3
    """
    return math.ceil(x + _MARGIN * (1 + abs(x)))


def laplace_bound(scale: Fraction, chance: Fraction) -> int:
    """Return the smallest m with P(|Z| > m) ≤ chance, for discrete Laplace noise Z.

    >>> laplace_bound(Fraction(10), Fraction(1, 20))
    30
    """
    q = exp(-1 / scale)
    return max(0, ceiling(scale * log(2 / (chance * (1 + q)))) - 1)


def gaussian_bound(variance: Fraction, chance: Fraction) -> int:
    """Return the smallest m with P(|X| > m) ≤ chance, for discrete Gaussian noise X.

    Past a standard deviation of 10⁴ the sum is bounded by its integral, which makes m at most 1 too large:
    Σ_{x>m} e^{−x²/2v} ≤ ∫_m^∞ e^{−x²/2v} dx, and the normaliser is at least √(2πv) by Poisson summation.

    >>> gaussian_bound(Fraction(100), Fraction(1, 20))
    20
    """
    v, limit = float(variance), float(chance) / _RAISE
    if v > _SUMMED**2:
        return smallest(lambda m: math.erfc(m / math.sqrt(2 * v)) <= limit)
    x = np.arange(int(40 * math.sqrt(v)) + 40, dtype=np.float64)
    beyond = np.cumsum(np.exp(-(x[::-1] ** 2) / (2 * v)))[::-1]  # Σ_{y ≥ x}
    return int(np.argmax(2 * beyond[1:] <= limit * (1 + 2 * beyond[1])))


class Blocks(NamedTuple):
    """A discrete Laplace law cut into blocks of consecutive integers, and the mass of both ends left out."""

    first: Floats
    last: Floats
    mass: Floats
    beyond: float


def laplace_blocks(scale: Fraction, chance: Fraction) -> Blocks:
    """Cut the law so that what is left out is below e⁻⁴⁰ of `chance`; blocks are single integers if that suffices.

    >>> law = laplace_blocks(Fraction(2), Fraction(1, 20))
    >>> round(float(law.mass.sum()), 12)
    1.0
    """
    t = float(scale)
    width = max(1, math.ceil((40 - math.log(chance)) * t / _BLOCKS))
    count = min(_BLOCKS, math.ceil((40 - math.log(chance)) * t / width) + 1)
    start = np.arange(count) * float(width)
    upper = np.exp(-start / t) * -math.expm1(-width / t) / (1 + math.exp(-1 / t))
    return Blocks(
        first=np.concatenate([-start[::-1] - width, start]),
        last=np.concatenate([-start[::-1] - 1, start + width - 1]),
        mass=np.concatenate([upper[::-1] * math.exp(-1 / t), upper]),
        beyond=2 * math.exp(-count * width / t),
    )


def laplace_above(scale: Fraction, m: Floats) -> Floats:
    """Return P(Z > m) for discrete Laplace noise Z and every integer m.

    >>> [round(float(p), 6) for p in laplace_above(Fraction(1), np.array([-1.0, 0.0]))]
    [0.731059, 0.268941]
    """
    t = float(scale)
    q = math.exp(-1 / t)
    tail = np.exp(-np.where(m >= 0, m + 1, -m) / t) / (1 + q)
    return np.where(m >= 0, tail, 1 - tail)


def any_of(chance: Floats, count: int) -> Floats:
    """Return 1 − (1 − chance)^count: that one of `count` independent events happens.

    >>> float(any_of(np.array([0.5]), 2)[0])
    0.75
    """
    with np.errstate(divide="ignore"):  # log 0 = −∞ is a certain event
        return -np.expm1(count * np.log1p(-chance)) if count else np.zeros_like(chance)


def at_most(probability: float, chance: Fraction) -> bool:
    """Whether a sum over a law, raised by what floats may have lost, is at most `chance`.

    >>> at_most(0.05, Fraction(1, 20)), at_most(0.04, Fraction(1, 20))
    (False, True)
    """
    return probability * _RAISE <= chance


def smallest(holds: Callable[[int], bool]) -> int:
    """Return the smallest integer, from 0 on, from which `holds` is true.

    >>> smallest(lambda m: m * m >= 50)
    8
    """
    top = 1
    while not holds(top):
        top *= 2
    return bisect_left(range(top), True, key=holds)


def _decimal(x: Fraction) -> Decimal:
    return _DECIMAL.divide(Decimal(x.numerator), Decimal(x.denominator))
