"""Search the least noise for which a certified claim holds.

The search decides how good σ is, not whether it is valid: what is returned has passed the claim itself, at the
short decimal that is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING
from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.privacy.pld import normal
from discreet.privacy.rounding import float_above, float_below
from discreet.rational import Rational, positive, shown
from discreet.render.numbers import decimal

_DIGITS = 6  # of a calibrated σ: short, and at most 1e-5 above the least one
_WIDEST = 2.0**40  # times the first guess: beyond, no σ helps, λ is too small


def least_sigma(
    holds: Callable[[Fraction], bool], start: float, lam: Fraction | None = None, *, within: float = 1e-5
) -> Fraction:
    """Return nearly the least σ ≥ `start` for which a claim holds that holds for all larger ones.

    Args:
        holds: The certified claim about σ.
        start: Where to begin; below it the claim is not tried.
        lam: λ, for the error when no σ helps.
        within: The relative distance from the least σ at which the search ends.

    >>> least_sigma(lambda sigma: sigma >= Fraction(10, 3), 1.0)
    Fraction(66667, 20000)
    """
    low, high = start * (1 - 1e-9), short(start)
    while not holds(high):
        low, high = float(high), short(float(high) * (1.001 if float(high) < 1.0005 * start else 1.25))
        if high > start * _WIDEST:
            raise ParameterError(
                "lam is too small: no amount of noise reaches this guarantee.",
                found=None if lam is None else f"lam={float(lam):.4g}",
                fix=Fix("lam", float(f"{2 * float(lam or 1):.3g}")),
            )
    while float(high) > low * (1 + within):
        middle = short(math.sqrt(low) * math.sqrt(float(high)))
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (float(middle), high)
    return high


def short(value: float) -> Fraction:
    """Return a decimal of six digits that is not below `value`.

    >>> short(2 / 3)
    Fraction(666667, 1000000)
    """
    return Fraction(decimal(Fraction(value), ROUND_CEILING, _DIGITS))


def gaussian_mu(epsilon: Rational, delta: Rational) -> float:
    """Return the largest μ found such that μ-Gaussian DP implies (ε, δ), certified.

    >>> round(gaussian_mu(1, "1e-5"), 6)
    0.268051
    """
    wanted, small = positive(epsilon, "epsilon", floats="exact"), positive(delta, "delta", floats="exact")
    if small >= 1:
        raise ParameterError("delta must be below 1.", found=shown(delta), fix=Fix("delta", "1e-9"))
    e, d = float_below(wanted), float_below(small)
    top = 1.0
    while normal.gaussian_delta(top, e)[1] <= d:
        top *= 2
    wide = normal.invert(lambda width: normal.gaussian_delta(1 / width, e)[1], d, 1 / top, 1e18)[1]
    return math.nextafter(1 / wide, 0.0) if normal.gaussian_delta(1 / wide, e)[1] <= d else 0.0


def sigma_above(sensitivity: Fraction, mu: float) -> Fraction:
    """Return a short decimal that is not below sensitivity/μ.

    >>> sigma_above(Fraction(2, 3), 0.5)
    Fraction(66667, 50000)
    """
    return Fraction(decimal(sensitivity / Fraction(mu), ROUND_CEILING, _DIGITS))


def root_above(square: Fraction) -> float:
    """Return a float not below the square root of an exact number.

    >>> root_above(Fraction(2)) ** 2 >= 2
    True
    """
    value = math.nextafter(math.sqrt(float_above(square)), math.inf)
    return value if Fraction(value) ** 2 >= square else math.nextafter(value, math.inf)
