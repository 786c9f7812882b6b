"""Round up: compute floats that are never below the exact number.

Claim: if a float is within `ulps` units in the last place of the exact result, `upward` of that float is not below
the exact result. `sum_upward` claims the same of a sum whose terms may cancel.

Assumption, stated once for the whole package: `exp`, `expm1`, `log`, `log1p`, `sinh`, `cosh`, `tanh` and `erfc` of
the C library and of numpy are within 4 ulp, and + − × ÷ √ are rounded to nearest, as IEEE 754 asks. An ulp of x is
at most 2⁻⁵²·|x| (or the least positive float), so allowances are relative: a result made of elementary functions f
at arguments that are themselves off by some ulps is off by 4 ulp plus those ulps times the condition number of f.
Each caller counts its own.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", float, NDArray[np.float64])

ULP = 2.0**-52
"""The largest size of a unit in the last place, relative to the number."""

TINY = math.ulp(0.0)
"""The least positive float: what an underflow may have hidden."""


def upward(value: Number, ulps: int = 4) -> Number:
    """Return a float not below any number within `ulps` units in the last place of `value`.

    >>> upward(1.0, ulps=2) > 1 + 2 * ULP
    True
    """
    return value + ((ulps + 1) * ULP * abs(value) + ulps * TINY)  # one more ulp for this line's own rounding


def downward(value: Number, ulps: int = 4) -> Number:
    """Return a float not above any number within `ulps` units in the last place of `value`.

    >>> downward(1.0, ulps=2) < 1 - 2 * ULP
    True
    """
    return -upward(-value, ulps)


def sum_upward(*terms: Number, ulps: int = 4) -> Number:
    """Return a float not below the sum of numbers that are each within `ulps` units in the last place of `terms`.

    >>> sum_upward(1e16, 1.0, -1e16) > 1
    True
    """
    total, magnitude = terms[0], abs(terms[0])
    for term in terms[1:]:
        total, magnitude = total + term, magnitude + abs(term)
    allowance = (ulps + len(terms) + 1) * ULP * magnitude + len(terms) * ulps * TINY
    return total + allowance


def not_below_zero(value: float) -> float:
    """Return an upper bound that must not be negative; what is not a number bounds nothing.

    >>> not_below_zero(-0.5), not_below_zero(math.nan)
    (0.0, inf)
    """
    return math.inf if math.isnan(value) else max(0.0, value)


def float_above(value: Fraction) -> float:
    """Return the least float that is not below `value`.

    >>> Fraction(float_above(Fraction(1, 10))) >= Fraction(1, 10)
    True
    """
    try:
        nearest = value.numerator / value.denominator  # correctly rounded for integers of any size
    except OverflowError:
        return math.inf if value > 0 else -float_below(-value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_below(value: Fraction) -> float:
    """Return the greatest float that is not above `value`.

    >>> Fraction(float_below(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        return math.nextafter(math.inf, 0) if value > 0 else -math.inf
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
