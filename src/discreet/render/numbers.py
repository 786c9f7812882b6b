"""Write numbers for people: as many digits as the noise warrants, rounded towards caution.

A margin of error is written with two significant digits, rounded up, and its value to the same place. The ends of
an interval that is not even about its value are rounded outwards. Days and microseconds since 1970 are written as
dates. What was spent of a budget is rounded up to six digits, and what is left is rounded down. Rounding is for
people only: the numbers themselves keep all their digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

UNEVEN = 0.05
"""The share of the wider side by which an interval may be off its value and still be written ±."""

_PLAIN = 15  # digits before the point, and places behind it, up to which numbers are written in full
_ROUNDED = Decimal("1e-6")
_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS = {"date": 86_400_000_000, "datetime": 1}


# -- values with their intervals --------------------------------------------------------------------------------


class Shown(NamedTuple):
    """A value, and what follows it: ± a margin of error, or the ends of the interval."""

    value: str
    rest: str


UNKNOWN = "unknown:"
"""What is written for the value of a number of which nothing is known."""

NOTHING = Shown("–", "")
"""What is written where there is no answer."""


def column(
    values: Sequence[float | None], low: Sequence[float | None], high: Sequence[float | None], axis: str
) -> list[Shown]:
    """Return a column of an answer, all of it written ± or all of it with the ends of intervals.

    Args:
        values: The values, None where there is no answer.
        low: The lower ends of their intervals.
        high: The upper ends.
        axis: "number"; or "date" or "datetime" for days or microseconds since 1970.

    >>> column([1042.3, 17.8], [1026, 1.5], [1058.6, 34.1], "number")
    [Shown(value='1,042', rest='± 17'), Shown(value='18', rest='± 17')]
    >>> column([0.5119], [0.5], [0.6], "number")
    [Shown(value='0.512', rest='0.500 to 0.600')]
    """
    triples = list(zip(values, low, high, strict=True))
    known = [(v, a, b) for v, a, b in triples if v is not None and a is not None and b is not None]
    even = axis == "number" and all(_even(*triple) for triple in known)
    return [_cell(value, least, most, axis, even) for value, least, most in triples]


def unknown(low: float, high: float, axis: str) -> Shown:
    """Return what is written for a number of which nothing is known but its bounds.

    >>> " ".join(unknown(0, 100, "number"))
    'unknown: anything from 0 to 100'
    """
    if axis == "number":
        ends = number(low, 6), number(high, 6)
    else:
        ends = moment(low, axis, ROUND_FLOOR), moment(high, axis, ROUND_CEILING)
    return Shown(UNKNOWN, f"anything from {ends[0]} to {ends[1]}")


def with_margin(value: float, margin: float) -> Shown:
    """Return a value ± its margin of error.

    >>> with_margin(1042.3, 163), with_margin(0.5119, 0.0123), with_margin(3, 0), with_margin(3, math.inf)
    (Shown(value='1,040', rest='± 170'), Shown(value='0.512', rest='± 0.013'), Shown(value='3', rest='± 0'),
    Shown(value='3', rest='± ∞'))
    """
    if not math.isfinite(margin):
        return Shown(f"{value:.3g}", "± ∞")
    place = _place(margin)
    return Shown(_to(value, place), f"± {_to(margin, place, ROUND_CEILING)}")


def number(value: float | Fraction, digits: int = 4) -> str:
    """Return a number with at most this many significant digits.

    >>> number(21600.4, 3), number(5.9914), number(0.0000123), number(1e30), number(math.inf)
    ('21,600', '5.991', '0.0000123', '1e+30', '∞')
    """
    if not math.isfinite(value):
        return str(float(value)).replace("inf", "∞")
    rounded = Decimal(f"{float(value):.{digits}g}")
    return f"{rounded:,f}" if -_PLAIN <= rounded.adjusted() < _PLAIN else f"{float(value):.{digits}g}"


def percent(share: float) -> str:
    """Return a share in percent. A share below one is never rounded up to 100 %.

    It is rounded down, to three digits of what it lacks to 100 %: an interval never claims more than it holds.

    >>> percent(0.95), percent(0.999), percent(1 - 1e-9), percent(1 - 1e-15)
    ('95 %', '99.9 %', '99.9999999 %', '99.9999999999 %')
    >>> percent(1 - 0.05 / 2**10), percent(0.2535), percent(1)
    ('99.99511 %', '25.35 %', '100 %')
    """
    if share >= 1:
        return f"{100 * share:.12g} %"
    exact = Decimal(f"{min(100 * share, 99.9999999999):.12g}")
    places = max(2, 2 - (100 - exact).adjusted())
    return f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_FLOOR).normalize():f} %"


# -- amounts of a budget ----------------------------------------------------------------------------------------


def decimal(value: Fraction, rounding: str = ROUND_FLOOR, digits: int = 6) -> Decimal:
    """Return a fraction as a decimal with this many digits, rounded down by default.

    >>> print(decimal(Fraction(2, 3)), decimal(Fraction(2, 3), ROUND_CEILING), decimal(Fraction(1, 10**9)))
    0.666666 0.666667 1E-9
    """
    context = Context(prec=digits, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)


def spent(value: Fraction) -> str:
    """Return an amount that was spent or is asked for, rounded up.

    >>> spent(Fraction(1, 3)), spent(Fraction(0)), spent(Fraction(1, 10**9))
    ('0.333334', '0', '1e-9')
    """
    return _plain(decimal(value, ROUND_CEILING))


def left(value: Fraction) -> str:
    """Return an amount that is left, rounded down.

    >>> left(Fraction(1, 3)), left(Fraction(2000))
    ('0.333333', '2000')
    """
    return _plain(decimal(value, ROUND_FLOOR))


def share(part: Fraction, whole: Fraction) -> str:
    """Return the share of a budget in percent, rounded up to three digits.

    >>> share(Fraction(1, 3), Fraction(1)), share(Fraction(0), Fraction(0))
    ('33.4 %', '–')
    """
    return f"{decimal(100 * part / whole, ROUND_CEILING, 3):f} %" if whole else "–"


# -- dates ------------------------------------------------------------------------------------------------------


def moment(value: float, axis: str, rounding: str = ROUND_HALF_EVEN, *, fine: bool = True) -> str:
    """Return days or microseconds since 1970 as a date.

    Args:
        value: Days (axis "date") or microseconds (axis "datetime").
        axis: "date" or "datetime".
        rounding: A rounding mode of `decimal`: down, up, or to the nearest by default.
        fine: Whether a datetime is written with its minute; True by default.

    >>> moment(19783.2, "date"), moment(1.7092512e15, "datetime"), moment(1e12, "date")
    ('2024-03-01', '2024-03-01 00:00', 'day 1000000000000')
    """
    minute = axis == "datetime" and fine
    step = 60_000_000 if minute else 86_400_000_000
    units = value * _MICROSECONDS[axis] / step
    whole = {ROUND_FLOOR: math.floor, ROUND_CEILING: math.ceil}.get(rounding, round)(units)
    try:
        when = _EPOCH + timedelta(microseconds=whole * step)
    except OverflowError:
        return f"day {value * _MICROSECONDS[axis] / 86_400_000_000:.15g}"
    return when.strftime("%Y-%m-%d %H:%M") if minute else when.date().isoformat()


def instant(value: float, axis: str) -> datetime:
    """Return days or microseconds since 1970 as a datetime, clamped to the range of Python's datetimes.

    >>> instant(19783.5, "date")
    datetime.datetime(2024, 3, 1, 12, 0)
    """
    try:
        return _EPOCH + timedelta(microseconds=round(value * _MICROSECONDS[axis]))
    except OverflowError:
        return datetime.max if value > 0 else datetime.min


def utc(text: str) -> str:
    """Return an ISO timestamp to the minute, in UTC.

    >>> utc("2026-01-02T03:04:05.000000Z"), utc("yesterday")
    ('2026-01-02 03:04 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


# -- parts ------------------------------------------------------------------------------------------------------


def _plain(amount: Decimal) -> str:
    """Return small and large amounts in scientific notation, the others in full."""
    return f"{amount:f}" if amount == 0 or -6 <= amount.adjusted() < 12 else str(amount).lower()


def _cell(value: float | None, low: float | None, high: float | None, axis: str, even: bool) -> Shown:
    if value is None or low is None or high is None:
        return NOTHING
    if axis != "number":
        fine = (high - low) * _MICROSECONDS[axis] < 4 * 86_400_000_000
        ends = moment(low, axis, ROUND_FLOOR, fine=fine), moment(high, axis, ROUND_CEILING, fine=fine)
        return Shown(moment(value, axis, fine=fine), " to ".join(ends))
    if even:
        return with_margin(value, max(high - value, value - low, 0.0))
    half = (high - low) / 2
    if not math.isfinite(half):
        return Shown(f"{value:.3g}", f"{low:.3g} to {high:.3g}".replace("inf", "∞"))
    place = _place(half)
    return Shown(_to(value, place), f"{_to(low, place, ROUND_FLOOR)} to {_to(high, place, ROUND_CEILING)}")


def _even(value: float, low: float, high: float) -> bool:
    below, above = value - low, high - value
    return below == above or abs(above - below) <= UNEVEN * max(above, below)


def _place(margin: float) -> int | None:
    """Return the power of ten of the second significant digit; None for a margin of zero."""
    return Decimal(margin * (1 + float(_ROUNDED))).adjusted() - 1 if margin > 0 else None


def _to(value: float, place: int | None, rounding: str = ROUND_HALF_EVEN) -> str:
    if place is None:
        return f"{value:,.15g}"
    exact = Decimal(value)
    if place < -_PLAIN or exact.adjusted() >= _PLAIN or place >= _PLAIN:
        return f"{value:.{max(0, min(16, exact.adjusted() - place))}e}"
    step = Decimal((0, (1,), place))
    if rounding != ROUND_HALF_EVEN:  # the float nearest to 0.7 is not 0.7: its error must not cost a digit
        exact += step * (_ROUNDED if rounding == ROUND_FLOOR else -_ROUNDED)
    rounded = exact.quantize(step, rounding=rounding)
    return f"{rounded + 0:,f}" if rounded else f"{abs(rounded):,f}"
