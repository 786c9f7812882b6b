"""Compute months, quarters and years, and the parts of dates and times, by integer arithmetic.

Months are irregular, but integer division gives them. Let D count days from 1 March of the year 0, so that a leap
day is the last of its year.

    c = ⌊(4D + 3)/146097⌋                  centuries
    J = D + ⌊(3c + 3)/4⌋                   days if every fourth year were a leap year
    y = ⌊(4J + 3)/1461⌋                    years, from March to March
    M = ⌊(5J + 2 + 6y + 5⌊(3y + 3)/4⌋)/153⌋  months: 31, 30, 31, 30, 31, 31, 30 … days are 153/5 on average

The last is the well-known ⌊(5d + 2)/153⌋ for the day d = J − 365y − ⌊y/4⌋ of the year, with 12y months added under
the division so that no difference is divided. Each step rises with D, so the bounds of a term are the calendar's
at both ends. After 400 years, 146097 days, everything repeats: tested on every day of such a period against
numpy's calendar, and against DuckDB's, in tests/query/bounds/test_arithmetic.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.engines.nodes import Add, Expression, Sub
from discreet.errors import QuestionRefused
from discreet.query import ir
from discreet.query.bounds import arithmetic, conditionals
from discreet.query.question import Term

EPOCH = datetime(1970, 1, 1)
DAY = 86_400_000_000
"""Microseconds."""

_FIRST = EPOCH.toordinal()
_MARCH = 719468  # days from 0000-03-01 to 1970-01-01
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_SPANS = {"hour": 3600 * 10**6, "minute": 60 * 10**6, "second": 10**6}
_CYCLES = {"hour": ("hour", 24), "minute": ("minute", 60), "second": ("second", 60)}

_FINE = {"microsecond": 1, "millisecond": 1000, **_SPANS}
_LONG = {**_MONTHS, "decade": 120, "century": 1200, "millennium": 12000}
UNITS = (
    *("millennium", "century", "decade", "year", "quarter", "month", "week", "day"),
    *("hour", "minute", "second", "millisecond", "microsecond"),
)

TRUNCATIONS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
PARTS = ("year", "quarter", "month", "day", "dow", "isodow", "doy", "hour", "minute", "second")


def moment(term: Term, code: int) -> date | datetime:
    """Return the date or the time that a code of a term stands for.

    >>> moment(Term(ir.sealed("c0"), 0, 9, offset=Fraction(19000), kind="date"), 5)
    datetime.date(2022, 1, 13)
    """
    return moments(term, [code])[0]


def moments(term: Term, codes: Sequence[int]) -> tuple[date | datetime, ...]:
    """Return the dates or the times that codes of a term stand for, in whole days or microseconds."""
    first, step = int(term.offset), int(term.scale)
    try:
        if term.kind == "date":
            return tuple(date.fromordinal(_FIRST + first + step * code) for code in codes)
        return tuple(EPOCH + timedelta(microseconds=first + step * code) for code in codes)
    except (OverflowError, ValueError):
        raise _beyond() from None


def days(term: Term) -> Term:
    """Return the day of a date or a time, as a date."""
    if term.kind == "date":
        return term
    return replace(arithmetic.floor(arithmetic.scaled(arithmetic.plain(term), Fraction(1, DAY))), kind="date")


def truncated(unit: str, term: Term) -> Term:
    """Return the start of the month, quarter, year, week, day, hour … that a date or time lies in.

    Months, quarters and years become a category of dates, in order; shorter units stay a date or a time.
    """
    if unit not in TRUNCATIONS:
        raise QuestionRefused(
            "date_trunc does not have this unit.", found=unit, fix=f"Use one of {', '.join(TRUNCATIONS)}."
        )
    if unit in _MONTHS:
        return _months(days(term), _MONTHS[unit])
    if unit in _SPANS:
        return term if term.kind == "date" else _regular(term, _SPANS[unit])
    if unit == "day":
        return term if term.kind == "date" else _regular(term, DAY)
    return _regular(days(term), 7, since=-3)  # the Monday before 1970-01-01


def extracted(part: str, term: Term) -> Term:
    """Return the year, month, day of week … of a date or time as a number. Sunday is dow 0 and isodow 7."""
    if part not in PARTS:
        raise QuestionRefused(
            "extract does not have this part.", found=part, fix=f"Use one of {', '.join(PARTS)}."
        )
    if part in _CYCLES:
        unit, cycle = _CYCLES[part]
        if term.kind == "date":
            raise QuestionRefused(
                f"A date has no {part}.", fix="Ask for the year, month or day, or seal the column as a Datetime."
            )
        counted = arithmetic.floor(arithmetic.scaled(arithmetic.plain(term), Fraction(1, _SPANS[unit])))
        return _cycle(counted, cycle, 0)
    day = days(term)
    if part in ("dow", "isodow"):  # 1970-01-01 was a Thursday
        return _cycle(arithmetic.plain(day, offset=day.offset + 4 - (part == "isodow")), 7, int(part == "isodow"))
    tree, low, high = _PARTS[part](day)
    return arithmetic.term(tree, low, high, Fraction(1), Fraction(0), nullable=term.nullable)


def difference(unit: str, start: Term, end: Term) -> Term:
    """Return date_diff(unit, start, end): the boundaries of the unit that lie between two dates or times.

    Each unit numbers its periods by integers: microseconds up to days since 1970, months, quarters, years and
    longer since the year 0. The result is the difference of two such numbers. Weeks are DuckDB's: whole weeks
    between the two days, rounded towards zero, whatever day they begin on.

    >>> day = Term(ir.sealed("c0"), 0, 9, offset=Fraction(19000), kind="date")
    >>> difference("day", replace(arithmetic.constant(Fraction(18999)), kind="date"), day).most
    Fraction(10, 1)
    """
    if unit not in UNITS:
        units = ", ".join(UNITS)
        raise QuestionRefused("date_diff does not have this unit.", found=unit, fix=f"Use one of {units}.")
    if unit == "week":
        return _weeks(*(arithmetic.plain(days(term)) for term in (start, end)))
    return arithmetic.subtract(*(_numbered(unit, term) for term in (end, start)))


def _numbered(unit: str, term: Term) -> Term:
    """Return the number of the period that a date or a time lies in."""
    if unit == "day":
        return arithmetic.plain(days(term))
    if unit in _FINE:
        exact = arithmetic.scaled(arithmetic.plain(term), Fraction(DAY if term.kind == "date" else 1))
        return arithmetic.floor(arithmetic.scaled(exact, Fraction(1, _FINE[unit])))
    day, length = days(term), _LONG[unit]
    first, last = (_period(moment(day, code), length) for code in (day.low, day.high))
    if first == last and not day.nullable:
        return arithmetic.constant(Fraction(first))
    code = ir.divided(ir.plus(_month(day), 2), length)
    return arithmetic.term(code, first, last, Fraction(1), Fraction(0), nullable=term.nullable)


def _weeks(start: Term, end: Term) -> Term:
    """Return (end − start)/7, rounded towards zero, without dividing a difference.

    With end = 7a + b and start = 7c + d, 0 ≤ b, d < 7: it is a − c − [b < d] if end ≥ start, else a − c + [b > d].
    """
    seven, shift = Fraction(7), -(min(start.least, end.least) // 7) * 7
    pair = [arithmetic.plain(term, offset=term.offset + shift) for term in (start, end)]
    (c, a), (d, b) = zip(*(_divided(term, seven) for term in pair), strict=True)
    whole = arithmetic.subtract(a, c)
    forwards, one = arithmetic.ordered(">=", pair[1], pair[0]), arithmetic.constant(Fraction(1))
    branches = [
        (ir.both(forwards, arithmetic.ordered("<", b, d)), arithmetic.subtract(whole, one)),
        (ir.both(ir.opposite(forwards), arithmetic.ordered(">", b, d)), arithmetic.add(whole, one)),
    ]
    found = conditionals.choose(branches, whole)
    ends = [int(ends / 7) for ends in (end.least - start.most, end.most - start.least)]  # int() rounds to zero
    low, high = (int((end - found.offset) / found.scale) for end in ends)
    return arithmetic.term(found.code, low, high, found.scale, found.offset, nullable=found.nullable)


def _divided(term: Term, divisor: Fraction) -> tuple[Term, Term]:
    by = arithmetic.constant(divisor)
    return arithmetic.whole_quotient(term, by), arithmetic.remainder(term, by)


def _regular(term: Term, span: int, since: int = 0) -> Term:
    """Round down to multiples of a span, on the term's own axis."""
    shifted = arithmetic.plain(term, offset=term.offset - since)
    whole = arithmetic.scaled(arithmetic.floor(arithmetic.scaled(shifted, Fraction(1, span))), Fraction(span))
    return replace(whole, offset=whole.offset + since, kind=term.kind)


def _cycle(counted: Term, length: int, first: int) -> Term:
    """Return the position of a whole number in a cycle: the remainder after whole cycles."""
    shift = -(counted.least // length) * length
    place = arithmetic.remainder(
        arithmetic.plain(counted, offset=counted.offset + shift), arithmetic.constant(Fraction(length))
    )
    return arithmetic.plain(place, offset=place.offset + first)


def _months(day: Term, length: int) -> Term:
    """Return periods of `length` months as a category of their first days."""
    first, last = (_period(moment(day, code), length) for code in (day.low, day.high))
    labels = tuple(date(n * length // 12, n * length % 12 + 1, 1) for n in range(first, last + 1))
    code = ir.divided(ir.plus(_month(day), 2), length)
    return Term(ir.plus(code, -first), 0, last - first, kind="category", labels=labels, nullable=day.nullable)


def _period(when: date | datetime, length: int) -> int:
    return (12 * when.year + when.month - 1) // length


def _julian(day: Term) -> tuple[Expression, Expression]:
    """Return the trees J and y."""
    if ir.has_difference(day.code):
        raise QuestionRefused(
            "Months and years are taken of date columns, not of dates computed from two columns.",
            fix="Take the month or the year of one column.",
        )
    counted, shift = ir.times(day.code, int(day.scale)), int(day.offset) + _MARCH
    ends = [int(day.scale) * code + shift for code in (day.low, day.high)]
    if ends[0] < 0:
        raise _beyond()
    first, last = ((3 * ((4 * end + 3) // 146097) + 3) // 4 for end in ends)
    if first == last:  # as from March 1900 to February 2100
        julian = ir.plus(counted, shift + first)
    else:
        tree = ir.plus(counted, shift)
        century = ir.divided(ir.plus(ir.times(tree, 4), 3), 146097)
        julian = _sum(tree, ir.divided(ir.plus(ir.times(century, 3), 3), 4))
    return julian, ir.divided(ir.plus(ir.times(julian, 4), 3), 1461)


def _month(day: Term) -> Expression:
    """Return the tree M."""
    julian, year = _julian(day)
    correction = ir.times(ir.divided(ir.plus(ir.times(year, 3), 3), 4), 5)
    counted = _sum(_sum(ir.plus(ir.times(julian, 5), 2), ir.times(year, 6)), correction)
    return ir.divided(counted, 153)


def _year(day: Term) -> tuple[Expression, int, int]:
    first, last = (moment(day, code).year for code in (day.low, day.high))
    return ir.divided(ir.plus(_month(day), 2), 12), first, last


def _month_of_year(day: Term) -> tuple[Expression, int, int]:
    month = ir.plus(_month(day), 2)
    return ir.plus(_less(month, ir.times(ir.divided(month, 12), 12)), 1), 1, 12


def _quarter(day: Term) -> tuple[Expression, int, int]:
    month = ir.plus(_month(day), 2)
    quarters = _less(ir.divided(month, 3), ir.times(ir.divided(month, 12), 4))
    return ir.plus(quarters, 1), 1, 4


def _day_of_month(day: Term) -> tuple[Expression, int, int]:
    """Return 1 + J + 3y − ⌊y/4⌋ − ⌊(153M + 2 + 4y)/5⌋, where 368y was added under the last division."""
    julian, year = _julian(day)
    before = _sum(ir.plus(ir.times(_month(day), 153), 2), ir.times(year, 4))
    left = _less(_sum(julian, ir.times(year, 3)), ir.divided(year, 4))
    return ir.plus(_less(left, ir.divided(before, 5)), 1), 1, 31


def _day_of_year(day: Term) -> tuple[Expression, int, int]:
    """Return the days since 1 January of the year 0, less those of whole years: 365 each and one per leap year."""
    year, _, _ = _year(day)
    leaps = _sum(ir.divided(ir.plus(year, 3), 4), ir.divided(ir.plus(year, 399), 400))
    whole = _less(_sum(ir.times(year, 365), leaps), ir.divided(ir.plus(year, 99), 100))
    since = ir.plus(ir.times(day.code, int(day.scale)), int(day.offset) + _MARCH + 61)
    return _less(since, whole), 1, 366


_PARTS: dict[str, Callable[[Term], tuple[Expression, int, int]]] = {
    "year": _year,
    "quarter": _quarter,
    "month": _month_of_year,
    "day": _day_of_month,
    "doy": _day_of_year,
}


def _beyond() -> QuestionRefused:
    return QuestionRefused(
        "The question leads to days before 0001-01-01 or after 9999-12-31, which no date can stand for.",
        fix="Add or subtract fewer days, or only compare: day + 30 > date '2024-01-31'.",
    )


def _sum(left: Expression, right: Expression) -> Expression:
    return ir.binary(Add, left, right)


def _less(left: Expression, right: Expression) -> Expression:
    return ir.binary(Sub, left, right)


def microseconds(when: date) -> int:
    """Return a date, at its beginning, or a time in microseconds since 1970-01-01 00:00.

    >>> microseconds(date(1970, 1, 2)), microseconds(datetime(1970, 1, 1, microsecond=5))
    (86400000000, 5)
    """
    exact = constant(when)
    return int(exact) if isinstance(when, datetime) else int(exact) * DAY


def constant(value: Any) -> Fraction:
    """Return a date in days, or a time in microseconds, since 1970-01-01 00:00."""
    if isinstance(value, datetime):
        return Fraction((value - EPOCH) // timedelta(microseconds=1))
    return Fraction((value - EPOCH.date()).days)
