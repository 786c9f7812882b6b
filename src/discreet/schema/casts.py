"""Cast a source's values, whatever type they have there.

A source declares a type for each column; only the family of the type matters. Text, the family of every CSV
column, can hold any of the others. A cast never fails: a value that cannot be cast is missing. Whole numbers stay
exact: integers never pass through a float, and text and decimals do so only where a float holds the integer
exactly.

Expressions here are trees over one column of the source, which `discreet.engines.sql_writer` writes as SQL. A
column's code is computed in a few steps (parse, round, place on the axis). An engine may nest the steps as
queries: each step uses its operand more than once, and an operand that is a column costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from discreet.engines import nodes, sql_writer
from discreet.errors import Fix, ParameterError
from discreet.rational import Rational, rational

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

Family: TypeAlias = Literal[
    "integer", "float", "decimal", "text", "boolean", "date", "timestamp", "zoned", "null", "other"
]
"""Kinds of types that sources have. `zoned` is a timestamp with a time zone; `integer` has at most 127 bits."""

Step: TypeAlias = Callable[["Expression"], "Expression"]
"""One step from a value to its code."""

EXACT = 2**53
"""Up to this number a double holds every integer."""

BEYOND = 2**62
"""Every bound lies below this number, so that codes and their differences fit in 64 bits."""


def taken(steps: Sequence[Step], source: Expression) -> Expression:
    """Return the code of a value: apply all steps, one after the other."""
    for step in steps:
        source = step(source)
    return source


def exactly(value: Any, name: str) -> Fraction:
    """Return a bound as the fraction that it is written as: the float 0.1 is one tenth here.

    >>> exactly(0.1, "step")
    Fraction(1, 10)
    """
    if isinstance(value, float):
        value = repr(float(value)) if value == value and abs(value) != float("inf") else float(value)
    return rational(value, name, floats="exact")


def whole_or_exact(value: Fraction) -> int | Fraction:
    """Return an integer as an integer."""
    return value.numerator if value.denominator == 1 else value


def number(literal: Any) -> Fraction | None:
    """Return a literal of a question as a number, or None if it is not one."""
    if isinstance(literal, bool) or not isinstance(literal, int | float | str | Decimal | Fraction):
        return None
    try:
        return exactly(literal, "literal")
    except ParameterError:
        return None


def moment(value: Any, name: str) -> datetime:
    """Return a date, a datetime or ISO text as a datetime in UTC, without a zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ParameterError(
                f"The parameter {name} is not a date or a time, such as 2024-12-31 or 2024-12-31 23:59.",
                found=repr(value),
                fix=Fix(name, "2024-12-31"),
            ) from None
    if isinstance(value, datetime):
        offset = value.utcoffset()
        return (value - offset).replace(tzinfo=None) if offset is not None else value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise ParameterError(
        f"The parameter {name} must be a date or a time.", found=repr(value), fix=Fix(name, "2024-12-31")
    )


def microseconds(span: timedelta) -> int:
    """Return a span as whole microseconds."""
    return span // timedelta(microseconds=1)


def literal(value: int | float) -> Expression:
    """Return a number as a literal: a float has an exponent, so that every engine reads it as a double."""
    number: Expression = nodes.Int(abs(value)) if isinstance(value, int) else nodes.Float(abs(value))
    return number if value >= 0 else nodes.Neg(number)


def as_double(source: Expression, family: Family) -> Expression:
    """Return the value as a double, NULL if it is not a number; NaN stays NaN."""
    if family == "null":
        return nothing("DOUBLE")
    if family in ("date", "timestamp", "zoned", "other"):
        source, family = sql_writer.cast(source, "TEXT", gently=True, of=family), "text"
    return sql_writer.cast(source, "DOUBLE", gently=True, of=family)


def rounded(value: Expression) -> Expression:
    """Return the integer nearest to a double, halves upwards; a value far beyond every bound stays beyond."""
    floor = nodes.Floor(value)
    half = nodes.Compare(">=", nodes.Sub(value, floor), literal(0.5))
    upwards = choose([(half, literal(1))], literal(0))
    nearest = nodes.Add(sql_writer.cast(floor, "BIGINT", gently=True, of="float"), upwards)
    above = nodes.Compare(">=", value, literal(float(BEYOND)))
    below = nodes.Compare("<=", value, literal(float(-BEYOND)))
    gone = (sql_writer.function("IS_NAN", value), nothing("BIGINT"))
    return choose([gone, (above, literal(BEYOND)), (below, literal(-BEYOND))], nearest)


def rounded_exactly(source: Expression, family: Family) -> Expression:
    """Return the integer nearest to the number in a text or a decimal, exact beyond 2**53 too."""
    double = as_double(source, family)
    written, of = source, family
    if family not in ("decimal", "boolean", "text"):
        written, of = sql_writer.cast(source, "TEXT", gently=True, of=family), "text"
    exact = nodes.Coalesce((sql_writer.cast(written, "WIDE", gently=True, of=of), rounded(double)))
    small = nodes.Compare("<", nodes.Abs(double), literal(float(EXACT)))
    none = nodes.IsNull(double)  # some engines cast texts such as 0x1F to integers, but not to doubles
    gone = [(none, nodes.Null()), (sql_writer.function("IS_NAN", double), nodes.Null())]
    return choose([*gone, (small, rounded(double))], exact)


def as_text(source: Expression, family: Family, *, binary: bool = True) -> Expression:
    """Return the value as text; a float that is a whole number is written like one, and NaN is NULL.

    A database may compare texts by a collation, under which different texts are equal, and the text of one person
    would stand for all of them. Here texts are compared by their characters, unless `binary` is False.
    """
    if family == "text":
        return sql_writer.function("BINARY", source) if binary else source
    written = sql_writer.cast(source, "TEXT", gently=True, of=family)
    if family != "float":
        return written
    digits = sql_writer.cast(
        sql_writer.cast(source, "BIGINT", gently=True, of="float"), "TEXT", gently=True, of="integer"
    )
    whole = _both(
        nodes.Compare("=", nodes.Floor(source), source),
        nodes.Compare("<", nodes.Abs(source), literal(float(BEYOND))),
    )
    return choose([(sql_writer.function("IS_NAN", source), nodes.Null()), (whole, digits)], written)


def as_timestamp(source: Expression, family: Family) -> Expression:
    """Return the value as a time in UTC; text without a zone is read as UTC."""
    if family in ("date", "timestamp", "zoned"):
        return sql_writer.cast(source, "TIMESTAMP", gently=True, of=family)
    if family in ("text", "other"):
        written = sql_writer.cast(source, "TEXT", gently=True, of=family)
        instant = sql_writer.cast(written, "ZONED", gently=True, of="text")
        return sql_writer.cast(instant, "TIMESTAMP", gently=True, of="zoned")
    return nothing("TIMESTAMP")


def as_date(source: Expression, family: Family) -> Expression:
    """Return the day, in UTC, that the value falls on."""
    if family in ("date", "timestamp", "zoned"):
        return sql_writer.cast(source, "DATE", gently=True, of=family)
    if family in ("text", "other"):
        written = sql_writer.cast(source, "TEXT", gently=True, of=family)
        day = sql_writer.cast(
            sql_writer.cast(written, "ZONED", gently=True, of="text"), "DATE", gently=True, of="zoned"
        )
        beyond = sql_writer.cast(written, "DATE", gently=True, of="text")  # because dates reach further than times
        return nodes.Coalesce((day, beyond))
    return nothing("DATE")


def nothing(kind: str) -> Expression:
    """Return a NULL of a type."""
    return sql_writer.cast(nodes.Null(), kind)


def choose(branches: Sequence[tuple[Expression, Expression]], default: Expression) -> Expression:
    """Return CASE WHEN … THEN … ELSE … END."""
    return nodes.Case(tuple(branches), default)


def clamped(value: Expression, lo: Expression, hi: Expression, outside: str) -> Expression:
    """Return the value within its bounds: a value outside goes to the nearer bound, or is missing."""
    low, high = (lo, hi) if outside == "clamp" else (nodes.Null(), nodes.Null())
    below = nodes.Compare("<", value, lo)
    above = nodes.Compare(">", value, hi)
    return choose([(below, low), (above, high)], value)


def filled(code: Expression, missing: int | None) -> Expression:
    """Return the code, or the declared one if it is missing."""
    return code if missing is None else nodes.Coalesce((code, literal(missing)))


def check_outside(outside: str) -> None:
    """Refuse a treatment of values outside the bounds that is not known."""
    if outside not in ("clamp", "missing"):
        raise ParameterError(
            "Values outside the bounds can be treated as clamp or missing.",
            found=repr(outside),
            fix=[Fix("outside", "clamp"), Fix("outside", "missing")],
        )


def missing_code(position: Rational | None, value: Any, levels: int) -> int:
    """Return the code that stands for a missing value, if the declared value lies in the domain."""
    if not isinstance(position, int | Fraction) or not 0 <= position <= levels - 1:
        raise ParameterError(
            "The value for missing ones is not a value of the column.",
            found=repr(value) if isinstance(value, str) else value,
            fix="Take one within its bounds.",
        )
    return int(position + Fraction(1, 2))


def _both(left: Expression, right: Expression) -> Expression:
    return nodes.And(left, right)
