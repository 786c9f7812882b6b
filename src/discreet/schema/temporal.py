"""Define columns of days and times.

A Date's code counts days from lo, a Datetime's counts steps from lo, rounded down. All times are in UTC: a
time with a zone is converted, and one without a zone is read as UTC. Scale and offset give days, or microseconds,
since 1970-01-01 00:00. Infinite dates, and those before year 1, are outside like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes, sql_writer
from discreet.errors import Fix, ParameterError
from discreet.schema import casts, notation, validation
from discreet.schema.casts import Family, Step

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000  # microseconds
_LEVELS = 2**40
_PARAMETERS = {"lo": "lower bound", "hi": "upper bound", "missing": "value for missing ones"}
_UNITS = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": _DAY, "w": 7 * _DAY}


@validation.like('dp.Date("2024-01-01", "2024-12-31")')
@dataclass(frozen=True, repr=False)
class Date:
    """Days from lo to hi, both included.

    Args:
        lo: The first day, as a date or as ISO text.
        hi: The last day.
        outside: "clamp", by default, moves days outside to the nearer bound; "missing" makes them missing.
        missing: The day that stands for a missing one; NULL by default.
        format: How days are written in texts, such as "%d.%m.%Y"; ISO 8601 by default.

    >>> day = Date("2024-01-01", "2024-12-31")
    >>> day.levels, day.code("2024-02-01"), day.values([31])
    (366, 31, [datetime.date(2024, 2, 1)])
    """

    lo: date
    hi: date
    outside: str = "clamp"
    missing: date | None = None
    format: str | None = None

    __repr__ = validation.shown

    def __init__(
        self,
        lo: date | str,
        hi: date | str,
        *,
        outside: str = "clamp",
        missing: date | str | None = None,
        format: str | None = None,  # noqa: A002 - strptime calls it so
    ):
        for name, value in (("lo", lo), ("hi", hi)):
            object.__setattr__(self, name, _day(value, name))
        notation.check_format(format)
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "outside", outside)
        object.__setattr__(self, "missing", None if missing is None else _day(missing, "missing"))
        _check_order(self.lo, self.hi)
        casts.check_outside(outside)
        _ = self.filling  # this refuses a value outside the domain

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "date"

    @property
    def levels(self) -> int:
        """The number of days."""
        return (self.hi - self.lo).days + 1

    @property
    def scale(self) -> Fraction:
        """One day."""
        return Fraction(1)

    @property
    def offset(self) -> Fraction:
        """The first day, in days since 1970-01-01."""
        return Fraction((self.lo - _EPOCH.date()).days)

    def code(self, literal: Any) -> int | Fraction | None:
        """Return where a date, or a time, lies on the axis of codes; None if it is neither."""
        when = _moment_or_none(literal)
        if when is None:
            return None
        return casts.whole_or_exact(Fraction(casts.microseconds(when - _start(self.lo)), _DAY))

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[date]:
        """Return the days that codes stand for."""
        return [self.lo + timedelta(days=int(code)) for code in codes]

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its code."""
        return (*self.parsing(family), self._place)

    def parsing(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to a day; NULL if it is not one."""
        before, family = _iso(family, self.format)
        return (*before, partial(casts.as_date, family=family))

    def limits(self) -> tuple[Expression, Expression]:
        """Return the bounds, to compare a day with that has been read."""
        return sql_writer.typed("DATE", self.lo.isoformat()), sql_writer.typed("DATE", self.hi.isoformat())

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return the code of a source's value, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        missing = None if self.missing is None else self.missing.isoformat()
        bounds = {"lo": self.lo.isoformat(), "hi": self.hi.isoformat()}
        return {"type": "date", **bounds, "outside": self.outside, "missing": missing} | (
            validation.given(self, "format")
        )

    @property
    def filling(self) -> int | None:
        """The code of a missing value, if one was declared for it."""
        if self.missing is None:
            return None
        return casts.missing_code(self.code(self.missing), self.missing, self.levels)

    def _place(self, value: Expression) -> Expression:
        lo, hi = self.limits()
        days = sql_writer.function("DAYS_SINCE", casts.clamped(value, lo, hi, self.outside), lo)
        return casts.filled(days, self.filling)


@validation.like('dp.Datetime("2024-01-01", "2024-12-31", "1h")')
@dataclass(frozen=True, repr=False)
class Datetime:
    """Times from lo to hi, rounded down to steps.

    Args:
        lo: The first time, as a datetime, a date or ISO text.
        hi: The last time.
        step: The width of a step: "15min", "1h", "1d", or a timedelta.
        outside: "clamp", by default, moves times outside to the nearer bound; "missing" makes them missing.
        missing: The time that stands for a missing one; NULL by default.
        format: How times are written in texts, such as "%d.%m.%Y %H:%M"; ISO 8601 by default.

    >>> hour = Datetime("2024-01-01", "2024-01-02", step="1h")
    >>> hour.levels, hour.code("2024-01-01 06:30"), hour.values([6])
    (25, Fraction(13, 2), [datetime.datetime(2024, 1, 1, 6, 0)])
    """

    lo: datetime
    hi: datetime
    step: timedelta
    outside: str = "clamp"
    missing: datetime | None = None
    format: str | None = None

    __repr__ = validation.shown

    def __init__(
        self,
        lo: datetime | date | str,
        hi: datetime | date | str,
        step: timedelta | str,
        *,
        outside: str = "clamp",
        missing: datetime | str | None = None,
        format: str | None = None,  # noqa: A002 - strptime calls it so
    ):
        object.__setattr__(self, "lo", casts.moment(lo, "lo"))
        object.__setattr__(self, "hi", casts.moment(hi, "hi"))
        object.__setattr__(self, "step", _span(step))
        notation.check_format(format)
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "outside", outside)
        object.__setattr__(self, "missing", None if missing is None else casts.moment(missing, "missing"))
        _check_order(self.lo, self.hi)
        casts.check_outside(outside)
        if self.levels > _LEVELS:
            raise ParameterError(
                f"The step makes {float(self.levels):.1e} levels. The largest number of levels is 2^40.",
                found=step,
                fix=Fix("step", "1h"),
            )
        _ = self.filling  # this refuses a value outside the domain

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "datetime"

    @property
    def levels(self) -> int:
        """The number of steps."""
        return (self.hi - self.lo) // self.step + 1

    @property
    def scale(self) -> Fraction:
        """One step, in microseconds."""
        return Fraction(casts.microseconds(self.step))

    @property
    def offset(self) -> Fraction:
        """The first time, in microseconds since 1970-01-01 00:00."""
        return Fraction(casts.microseconds(self.lo - _EPOCH))

    def code(self, literal: Any) -> int | Fraction | None:
        """Return where a time lies on the axis of codes; None if it is not a time."""
        when = _moment_or_none(literal)
        if when is None:
            return None
        span = Fraction(casts.microseconds(when - self.lo), casts.microseconds(self.step))
        return casts.whole_or_exact(span)

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[datetime]:
        """Return the times at which the steps begin."""
        return [self.lo + self.step * int(code) for code in codes]

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its code."""
        return (*self.parsing(family), self._place)

    def parsing(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to a time; NULL if it is not one."""
        before, family = _iso(family, self.format)
        return (*before, partial(casts.as_timestamp, family=family))

    def limits(self) -> tuple[Expression, Expression]:
        """Return the bounds, to compare a time with that has been read."""
        ends = (self.lo.isoformat(" "), self.hi.isoformat(" "))
        return sql_writer.typed("TIMESTAMP", ends[0]), sql_writer.typed("TIMESTAMP", ends[1])

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return the code of a source's value, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        missing = None if self.missing is None else self.missing.isoformat()
        step = f"{casts.microseconds(self.step)}us"
        bounds = {"lo": self.lo.isoformat(), "hi": self.hi.isoformat(), "step": step}
        return {"type": "datetime", **bounds, "outside": self.outside, "missing": missing} | (
            validation.given(self, "format")
        )

    @property
    def filling(self) -> int | None:
        """The code of a missing value, if one was declared for it."""
        if self.missing is None:
            return None
        position = self.code(self.missing)
        inside = position is not None and self.lo <= self.missing <= self.hi
        return casts.missing_code(int(position) if inside and position else position, self.missing, self.levels)

    def _place(self, value: Expression) -> Expression:
        lo, hi = self.limits()
        instant = sql_writer.function("MICROSECONDS", casts.clamped(value, lo, hi, self.outside))
        since = nodes.Sub(instant, casts.literal(int(self.offset)))
        steps = nodes.FloorDiv(since, casts.literal(int(self.scale)))
        return casts.filled(steps, self.filling)


def _iso(family: Family, written: str | None) -> tuple[tuple[Step, ...], Family]:
    """Return the steps that rewrite texts in a declared format, and the family of what they give."""
    if written is None or not (notation.is_text(family) or family == "integer"):
        return (), family
    return (partial(notation.as_text, family=family), partial(notation.moment, written=written)), "text"


def _day(value: Any, name: str) -> date:
    when = casts.moment(value, name)
    if when != _start(when.date()):
        raise ParameterError(
            f"The {_PARAMETERS[name]} of a Date is a time of day, not a whole day.",
            found=value,
            fix=[Fix(name, when.date().isoformat()), "For times declare a datetime column, with a step."],
        )
    return when.date()


def _start(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


def _moment_or_none(literal: Any) -> datetime | None:
    try:
        return casts.moment(literal, "literal")
    except (ParameterError, OverflowError):
        return None


def _span(step: Any) -> timedelta:
    span = step
    if isinstance(step, str):
        parts = re.fullmatch(r"\s*(\d{1,18})\s*(us|ms|s|min|h|d|w)\s*", step)
        if parts is None:
            raise ParameterError(
                "The step is not a span of time. Spans are written like 15min, 1h or 1d, or as a timedelta.",
                found=step,
                fix=Fix("step", "1h"),
            )
        span = timedelta(microseconds=int(parts[1]) * _UNITS[parts[2]])
    if not isinstance(span, timedelta) or span <= timedelta(0):
        raise ParameterError("The step must be a span of time above 0.", found=step, fix=Fix("step", "1h"))
    return span


def _check_order(lo: Any, hi: Any) -> None:
    if lo > hi:
        raise ParameterError(
            f"The lower bound {lo} is after the upper bound {hi}.", fix="Write the earlier bound first."
        )
