"""Numbers as people read them: as many digits as the noise warrants.

A half-width is shown with two significant digits, rounded up, and its value to the same place; the ends of an
interval that is not even about its value are rounded outwards. This is for the eye only: the numbers themselves
keep all their digits. Days and microseconds since 1970 are shown as dates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

UNEVEN = 0.05
"""By what share of the wider side an interval may be off its value and still be written ±."""

_PLAIN = 15  # digits before the point, and places behind it, up to which numbers are written in full
_ROUNDED = Decimal("1e-6")
_EPOCH = datetime(1970, 1, 1)
_MICROSECONDS = {"date": 86_400_000_000, "datetime": 1}


class Shown(NamedTuple):
    """A value, and what follows it: ± a half-width, or the ends of the interval."""

    value: str
    rest: str


NOTHING = Shown("–", "")


def column(
    values: Sequence[float | None], low: Sequence[float | None], high: Sequence[float | None], axis: str
) -> list[Shown]:
    """Return a column of an answer, all of it written ± or all of it with the ends of intervals.

    >>> column([1042.3, 17.8], [1026, 1.5], [1058.6, 34.1], "number")
    [Shown(value='1,042', rest='± 17'), Shown(value='18', rest='± 17')]
    >>> column([0.5119], [0.5], [0.6], "number")
    [Shown(value='0.512', rest='0.500 to 0.600')]
    """
    triples = list(zip(values, low, high, strict=True))
    known = [(v, a, b) for v, a, b in triples if v is not None and a is not None and b is not None]
    even = axis == "number" and all(_even(*triple) for triple in known)
    return [_cell(value, least, most, axis, even) for value, least, most in triples]


def halved(value: float, half: float) -> Shown:
    """Return a value ± a half-width.

    >>> halved(1042.3, 163), halved(0.5119, 0.0123), halved(3, 0), halved(3, math.inf)
    (Shown(value='1,040', rest='± 170'), Shown(value='0.512', rest='± 0.013'), Shown(value='3', rest='± 0'),
    Shown(value='3', rest='± ∞'))
    """
    if not math.isfinite(half):
        return Shown(f"{value:.3g}", "± ∞")
    place = _place(half)
    return Shown(_to(value, place), f"± {_to(half, place, ROUND_CEILING)}")


def moment(value: float, axis: str, rounding: str = ROUND_HALF_EVEN, *, fine: bool = True) -> str:
    """Return days (axis "date") or microseconds (axis "datetime") since 1970 as a date, `fine` with the minute.

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
    """Return days or microseconds since 1970 as a time, to the microsecond, and no later or earlier than times go.

    >>> instant(19783.5, "date")
    datetime.datetime(2024, 3, 1, 12, 0)
    """
    try:
        return _EPOCH + timedelta(microseconds=round(value * _MICROSECONDS[axis]))
    except OverflowError:
        return datetime.max if value > 0 else datetime.min


def utc(text: str) -> str:
    """Return a moment as it is stamped, to the minute.

    >>> utc("2026-01-02T03:04:05.000000Z"), utc("yesterday")
    ('2026-01-02 03:04 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * share:.6g} %"


def _cell(value: float | None, low: float | None, high: float | None, axis: str, even: bool) -> Shown:
    if value is None or low is None or high is None:
        return NOTHING
    if axis != "number":
        fine = (high - low) * _MICROSECONDS[axis] < 4 * 86_400_000_000
        ends = moment(low, axis, ROUND_FLOOR, fine=fine), moment(high, axis, ROUND_CEILING, fine=fine)
        return Shown(moment(value, axis, fine=fine), " to ".join(ends))
    if even:
        return halved(value, max(high - value, value - low, 0.0))
    half = (high - low) / 2
    if not math.isfinite(half):
        return Shown(f"{value:.3g}", f"{low:.3g} to {high:.3g}".replace("inf", "∞"))
    place = _place(half)
    return Shown(_to(value, place), f"{_to(low, place, ROUND_FLOOR)} to {_to(high, place, ROUND_CEILING)}")


def _even(value: float, low: float, high: float) -> bool:
    below, above = value - low, high - value
    return below == above or abs(above - below) <= UNEVEN * max(above, below)


def _place(half: float) -> int | None:
    """The power of ten of the second significant digit; None where there is none."""
    return Decimal(half * (1 + float(_ROUNDED))).adjusted() - 1 if half > 0 else None


def _to(value: float, place: int | None, rounding: str = ROUND_HALF_EVEN) -> str:
    if place is None:
        return f"{value:,.15g}"
    exact = Decimal(value)
    if place < -_PLAIN or exact.adjusted() >= _PLAIN or place >= _PLAIN:
        return f"{value:.{max(0, min(16, exact.adjusted() - place))}e}"
    step = Decimal((0, (1,), place))
    if (
        rounding != ROUND_HALF_EVEN
    ):  # what a float lacks of 0.7, or has too much, is no reason to go to the next digit
        exact += step * (_ROUNDED if rounding == ROUND_FLOOR else -_ROUNDED)
    rounded = exact.quantize(step, rounding=rounding)
    return f"{rounded + 0:,f}" if rounded else f"{abs(rounded):,f}"
