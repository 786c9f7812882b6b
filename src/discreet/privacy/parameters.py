"""Parse the parameters of guarantees as exact fractions, and refuse those without a meaning."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.rounding import sum_upward
from discreet.rational import Rational, rational, shown


def nonnegative(value: Rational, name: str) -> Fraction:
    """Return ε, ρ, μ or δ as a fraction, not below 0. A float is taken at its exact value.

    >>> nonnegative("0.1", "epsilon")
    Fraction(1, 10)
    """
    exact = rational(value, name, floats="exact")
    if exact < 0:
        raise ParameterError(f"{name} must not be below 0.", found=shown(value))
    return exact


def probability(value: Rational, name: str) -> Fraction:
    """Return a number between 0 and 1 as a fraction.

    >>> probability("0.01", "rate")
    Fraction(1, 100)
    """
    exact = nonnegative(value, name)
    if exact > 1:
        raise ParameterError(f"{name} must not be above 1.", found=shown(value))
    return exact


def log_inverse(delta: Fraction) -> float:
    """Return ln(1/δ) rounded up, 0 from δ = 1 on and inf at δ = 0. δ may be below every float.

    >>> log_inverse(Fraction(1, 10**400))
    921.034...
    """
    if delta == 0:
        return math.inf
    return max(0.0, sum_upward(math.log(delta.denominator), -math.log(delta.numerator))) if delta < 1 else 0.0
