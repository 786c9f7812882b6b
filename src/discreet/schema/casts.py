"""Reading a source's values, whatever type they have there.

A source declares a type for each column; what matters of it is its family. Text, the family of every CSV column,
can hold any of the others. Reading is gentle: a value that has no such form is missing. Whole numbers stay whole:
integers never pass through a float, and text and decimals do only where a float holds the integer exactly.

Expressions here are trees over one column of the source; `discreet.engines.sql_writer` gives them words. A
column's way to its code is a few steps (parse, round, place on the axis), which an engine may take one query
inside the other: each names its operand more than once, and an operand that is a column costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from discreet.errors import ParameterError
from discreet.rational import Rational, rational

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

Family: TypeAlias = Literal[
    "integer", "float", "decimal", "text", "boolean", "date", "timestamp", "zoned", "null", "other"
]
"""Kinds of types that sources have. `zoned` is a timestamp with a time zone; `integer` has at most 127 bits."""

Step: TypeAlias = Callable[["Expression"], "Expression"]
"""One step on the way from a value to its code."""

EXACT = 2**53
"""Up to here a double holds every integer."""


BEYOND = 2**62
"""Every bound lies below, so that codes and their differences fit in 64 bits."""


def taken(steps: Sequence[Step], source: Expression) -> Expression:
    """Return the code of a value: all steps, one after the other."""
    for step in steps:
        source = step(source)
    return source


def exactly(value: Any, name: str) -> Fraction:
    """Return a bound as the fraction it was written as: the float 0.1 is one tenth here.

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
    """Return the number that a literal of a question is, or None."""
    if isinstance(literal, bool) or not isinstance(literal, int | float | str | Decimal | Fraction):
        return None
    try:
        return exactly(literal, "literal")
    except ParameterError:
        return None


def moment(value: Any, name: str) -> datetime:
    """Return a date, a datetime or ISO text as a datetime of UTC without a zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ParameterError(
                f'{name}={value!r} is no date. Write it as "2024-12-31" or "2024-12-31 23:59".'
            ) from None
    if isinstance(value, datetime):
        offset = value.utcoffset()
        return (value - offset).replace(tzinfo=None) if offset is not None else value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise ParameterError(f"{name} must be a date or a time, not {value!r}.")


def microseconds(span: timedelta) -> int:
    """Return a span as whole microseconds."""
    return span // timedelta(microseconds=1)


def literal(value: int | float) -> Expression:
    """Return a number: a float is written with an exponent, so that every engine takes it for a double."""
    from discreet.engines import nodes

    number: Expression = nodes.Int(abs(value)) if isinstance(value, int) else nodes.Float(abs(value))
    return number if value >= 0 else nodes.Neg(number)


def as_double(source: Expression, family: Family) -> Expression:
    """Return the value as a double, NULL if it is none; NaN stays NaN."""
    from discreet.engines import sql_writer

    if family == "null":
        return nothing("DOUBLE")
    if family in ("date", "timestamp", "zoned", "other"):
        source, family = sql_writer.cast(source, "TEXT", gently=True, of=family), "text"
    return sql_writer.cast(source, "DOUBLE", gently=True, of=family)


def rounded(value: Expression) -> Expression:
    """Return the integer nearest to a double, halves upwards; what is far beyond every bound stays beyond."""
    from discreet.engines import nodes, sql_writer

    floor = nodes.Floor(value)
    half = nodes.Compare(">=", nodes.Sub(value, floor), literal(0.5))
    upwards = choose([(half, literal(1))], literal(0))
    nearest = nodes.Add(sql_writer.cast(floor, "BIGINT", gently=True, of="float"), upwards)
    above = nodes.Compare(">=", value, literal(float(BEYOND)))
    below = nodes.Compare("<=", value, literal(float(-BEYOND)))
    gone = (sql_writer.function("IS_NAN", value), nothing("BIGINT"))
    return choose([gone, (above, literal(BEYOND)), (below, literal(-BEYOND))], nearest)


def rounded_exactly(source: Expression, family: Family) -> Expression:
    """Return the integer nearest to what a text or a decimal says, exact beyond 2**53 too."""
    from discreet.engines import nodes, sql_writer

    double = as_double(source, family)
    written, of = source, family
    if family not in ("decimal", "boolean", "text"):
        written, of = sql_writer.cast(source, "TEXT", gently=True, of=family), "text"
    exact = nodes.Coalesce((sql_writer.cast(written, "WIDE", gently=True, of=of), rounded(double)))
    small = nodes.Compare("<", nodes.Abs(double), literal(float(EXACT)))
    none = nodes.IsNull(double)  # what is no number in general is none here: 0x1F
    gone = [(none, nodes.Null()), (sql_writer.function("IS_NAN", double), nodes.Null())]
    return choose([*gone, (small, rounded(double))], exact)


def as_text(source: Expression, family: Family, *, binary: bool = True) -> Expression:
    """Return the value as text; a float that is a whole number is written like one, and NaN is NULL.

    Texts of a database may be compared by a collation, under which one person's spelling would stand for that of
    all. They are compared by their characters here, unless `binary` is False.
    """
    from discreet.engines import nodes, sql_writer

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
    """Return the value as a time of UTC; text that names no zone is of UTC."""
    from discreet.engines import sql_writer

    if family in ("date", "timestamp", "zoned"):
        return sql_writer.cast(source, "TIMESTAMP", gently=True, of=family)
    if family in ("text", "other"):
        written = sql_writer.cast(source, "TEXT", gently=True, of=family)
        instant = sql_writer.cast(written, "ZONED", gently=True, of="text")
        return sql_writer.cast(instant, "TIMESTAMP", gently=True, of="zoned")
    return nothing("TIMESTAMP")


def as_date(source: Expression, family: Family) -> Expression:
    """Return the day, in UTC, that the value falls on."""
    from discreet.engines import nodes, sql_writer

    if family in ("date", "timestamp", "zoned"):
        return sql_writer.cast(source, "DATE", gently=True, of=family)
    if family in ("text", "other"):
        written = sql_writer.cast(source, "TEXT", gently=True, of=family)
        day = sql_writer.cast(
            sql_writer.cast(written, "ZONED", gently=True, of="text"), "DATE", gently=True, of="zoned"
        )
        beyond = sql_writer.cast(written, "DATE", gently=True, of="text")  # days beyond all times
        return nodes.Coalesce((day, beyond))
    return nothing("DATE")


def nothing(kind: str) -> Expression:
    """Return a NULL of a type."""
    from discreet.engines import nodes, sql_writer

    return sql_writer.cast(nodes.Null(), kind)


def choose(branches: Sequence[tuple[Expression, Expression]], default: Expression) -> Expression:
    """Return CASE WHEN … THEN … ELSE … END."""
    from discreet.engines import nodes

    return nodes.Case(tuple(branches), default)


def clamped(value: Expression, lo: Expression, hi: Expression, outside: str) -> Expression:
    """Return the value within its bounds: what is outside goes to the nearer bound, or is missing."""
    from discreet.engines import nodes

    low, high = (lo, hi) if outside == "clamp" else (nodes.Null(), nodes.Null())
    below = nodes.Compare("<", value, lo)
    above = nodes.Compare(">", value, hi)
    return choose([(below, low), (above, high)], value)


def filled(code: Expression, missing: int | None) -> Expression:
    """Return the code, or the declared one where it is missing."""
    from discreet.engines import nodes

    return code if missing is None else nodes.Coalesce((code, literal(missing)))


def check_outside(outside: str) -> None:
    """Refuse a fate that is not one."""
    if outside not in ("clamp", "missing"):
        raise ParameterError(f'outside must be "clamp" or "missing", not {outside!r}.')


def missing_code(position: Rational | None, value: Any, levels: int) -> int:
    """Return the code that stands for what is missing, if the declared value is one of the domain."""
    if not isinstance(position, int | Fraction) or not 0 <= position <= levels - 1:
        raise ParameterError(f"missing={value!r} is no value of the column. Take one within its bounds.")
    return int(position + Fraction(1, 2))


def _both(left: Expression, right: Expression) -> Expression:
    from discreet.engines import nodes

    return nodes.And(left, right)
