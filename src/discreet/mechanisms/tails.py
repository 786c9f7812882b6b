"""Bound the size of noise: tail probabilities of the laws themselves, always rounded up.

Discrete Laplace noise Z of scale t has, with q = e^{−1/t} and m ≥ 0,

    P(Z > m) = q^{m+1}/(1 + q)      and      P(|Z| > m) = 2·q^{m+1}/(1 + q).

Closed forms are taken in decimal arithmetic of 100 digits, whose exp and ln are correctly rounded, and rounded
up to the next integer with a margin of 10⁻⁴⁰. Sums over a law are taken in floats: every term is positive and
good to a relative 10⁻¹², and the sum is raised by 10⁻⁹ before it is compared.

No law is built that could leave int64: `noise` takes Laplace scales up to 2⁵² and Gaussian variances up to 2¹⁰⁴,
and what it would not draw is refused when the mechanism is made, before anything is charged for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, LawTooWide, ParameterError
from discreet.mechanisms.exact import LIMIT
from discreet.rational import Rational, rational, shown, whole

WIDEST = 2**52
"""The largest scale of Laplace noise; its square is the largest variance of Gaussian noise."""

_DECIMAL = Context(prec=100, Emin=MIN_EMIN, Emax=MAX_EMAX)
_MARGIN = Fraction(1, 10**40)
_RAISE = 1 + 1e-9
_PIECES = 2**15  # to each side of zero; a law of more integers than that is taken many at a time
# Noise of this scale or variance is zero but for a chance of about e⁻³⁵⁰: less than any confidence (1 − 10⁻³⁰ at
# most) for any count (below 2⁶²) asks about. Narrower noise has the same errors, and floats need not follow it.
_NARROWEST = Fraction(1, 700)
_SUMMED = 10_000  # standard deviations up to here are summed term by term

Floats = NDArray[np.float64]


def refuse_too_wide(name: str, scale: Fraction, widest: int = WIDEST) -> None:
    """Refuse a scale, or a variance, at which noise could leave int64.

    >>> refuse_too_wide("scale", Fraction(10**16))
    Traceback (most recent call last):
    discreet.errors.LawTooWide: The scale is too wide for noise in int64: the most is 2**52 (found: 1.00e+16).
    Spend more epsilon, or count in coarser units.
    """
    if scale > widest:
        raise LawTooWide(
            f"The {name} is too wide for noise in int64: the most is 2**{widest.bit_length() - 1}.",
            found=f"{_decimal(scale):.2e}",
            fix="Spend more epsilon, or count in coarser units.",
        )


def count(value: Rational, name: str) -> int:
    """Return how many there are of something that an int64 can count.

    >>> count(100, "candidates")
    100
    """
    number = whole(value, name)
    if number > LIMIT:
        raise ParameterError(f"{name} must be below 2**62.", found=f"{_decimal(Fraction(number)):.2e}")
    return number


def alpha(confidence: Rational, dimension: int = 1) -> Fraction:
    """Return the chance 1 − confidence^{1/dimension} that each of `dimension` independent noises may fail with.

    >>> alpha("0.95"), round(float(alpha("0.95", dimension=2)), 6)
    (Fraction(1, 20), 0.025321)
    """
    sure = rational(confidence, "confidence", floats="exact")
    if not 0 < sure <= 1 - Fraction(1, 10**30):
        raise ParameterError(
            "confidence must lie between 0 and 1.", found=shown(confidence), fix=Fix("confidence", "0.95")
        )
    if count(dimension, "dimension") == 1:
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
    v, limit = _float(variance), float(chance) / _RAISE
    if v > _SUMMED**2:
        return smallest(lambda m: math.erfc(m / math.sqrt(2 * v)) <= limit)
    x = np.arange(int(40 * math.sqrt(v)) + 40, dtype=np.float64)
    beyond = np.cumsum(np.exp(-(x[::-1] ** 2) / (2 * v)))[::-1]  # Σ_{y ≥ x}
    return int(np.argmax(2 * beyond[1:] <= limit * (1 + 2 * beyond[1])))


class Pieces(NamedTuple):
    """A discrete Laplace law cut into runs of consecutive integers, and the mass of both ends left out."""

    first: Floats
    last: Floats
    mass: Floats
    beyond: float


def laplace_pieces(scale: Fraction, chance: Fraction) -> Pieces:
    """Cut the law so that what is left out is below e⁻⁴⁰ of `chance`; pieces are single integers if that suffices.

    >>> law = laplace_pieces(Fraction(2), Fraction(1, 20))
    >>> round(float(law.mass.sum()), 12)
    1.0
    """
    t = _float(scale)
    width = max(1, math.ceil((40 - math.log(chance)) * t / _PIECES))
    pieces = min(_PIECES, math.ceil((40 - math.log(chance)) * t / width) + 1)
    start = np.arange(pieces) * float(width)
    upper = np.exp(-start / t) * -math.expm1(-width / t) / (1 + math.exp(-1 / t))
    return Pieces(
        first=np.concatenate([-start[::-1] - width, start]),
        last=np.concatenate([-start[::-1] - 1, start + width - 1]),
        mass=np.concatenate([upper[::-1] * math.exp(-1 / t), upper]),
        beyond=2 * math.exp(-pieces * width / t),
    )


def laplace_above(scale: Fraction, m: Floats) -> Floats:
    """Return P(Z > m) for discrete Laplace noise Z and every integer m.

    >>> [round(float(p), 6) for p in laplace_above(Fraction(1), np.array([-1.0, 0.0]))]
    [0.731059, 0.268941]
    """
    t = _float(scale)
    q = math.exp(-1 / t)
    tail = np.exp(-np.where(m >= 0, m + 1, -m) / t) / (1 + q)
    return np.where(m >= 0, tail, 1 - tail)


def any_of(chance: Floats, events: int) -> Floats:
    """Return 1 − (1 − chance)^events: that one of so many independent events happens.

    >>> float(any_of(np.array([0.5]), 2)[0])
    0.75
    """
    with np.errstate(divide="ignore"):  # log 0 = −∞ is a certain event
        return -np.expm1(events * np.log1p(-chance)) if events else np.zeros_like(chance)


def at_most(probability: float, chance: Fraction) -> bool:
    """Return whether a sum over a law, raised by what floats may have lost, is at most `chance`.

    >>> at_most(0.05, Fraction(1, 20)), at_most(0.04, Fraction(1, 20))
    (False, True)
    """
    return probability * _RAISE <= chance


def smallest(holds: Callable[[int], bool]) -> int:
    """Return the smallest integer, from 0 on, from which `holds` is true.

    >>> smallest(lambda m: m * m >= 50)
    8
    """
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _float(scale: Fraction) -> float:
    return float(max(scale, _NARROWEST))


def _decimal(x: Fraction) -> Decimal:
    return _DECIMAL.divide(Decimal(x.numerator), Decimal(x.denominator))
