"""Numbers for people: six digits, rounded towards the reader's caution."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction


def decimal(value: Fraction, rounding: str = ROUND_FLOOR, digits: int = 6) -> Decimal:
    """Return a fraction as a decimal of so many digits, down unless told otherwise.

    >>> print(decimal(Fraction(2, 3)), decimal(Fraction(2, 3), ROUND_CEILING), decimal(Fraction(1, 10**9)))
    0.666666 0.666667 1E-9
    """
    context = Context(prec=digits, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)


def spent(value: Fraction) -> str:
    """Return what was spent or is asked for, not below what it is.

    >>> spent(Fraction(1, 3)), spent(Fraction(0)), spent(Fraction(1, 10**9))
    ('0.333334', '0', '1e-9')
    """
    return _plain(decimal(value, ROUND_CEILING))


def left(value: Fraction) -> str:
    """Return what is left, not above what it is.

    >>> left(Fraction(1, 3)), left(Fraction(2000))
    ('0.333333', '2000')
    """
    return _plain(decimal(value, ROUND_FLOOR))


def percent(part: Fraction, whole: Fraction) -> str:
    """Return a share in percent, up.

    >>> percent(Fraction(1, 3), Fraction(1)), percent(Fraction(0), Fraction(0))
    ('33.4 %', '–')
    """
    return f"{decimal(100 * part / whole, ROUND_CEILING, 3):f} %" if whole else "–"


def _plain(number: Decimal) -> str:
    """Small and large numbers in scientific notation, the others in full."""
    return f"{number:f}" if number == 0 or -6 <= number.adjusted() < 12 else str(number).lower()
