"""Build questions in Python. They become SQL text and are parsed like any other.

    select("count(*)", avg("income")).where("age >= 65").group_by("city")
    where(age=(30, 40), city="Oslo")                  the number of such rows

Conditions are SQL texts, or columns by keyword: a value for equality, a pair for a range with both ends included
(None leaves an end open), a list for any of its values, None for missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import Code, Fix, ParameterError
from discreet.schema.identifiers import quote

if TYPE_CHECKING:
    from discreet.query.question import Question
    from discreet.schema.metadata import TableMetadata


@dataclass(frozen=True)
class Ask:
    """A question that is being built. Each method returns a new one.

    >>> ask = select("count(*)", avg("income")).where("age >= 65", city=["Bergen", "Oslo"]).group_by("city")
    >>> print(ask.sql("people"))
    select "city", count(*), avg("income") from "people"
    where (age >= 65) and ("city" in ('Bergen', 'Oslo'))
    group by "city"
    """

    items: tuple[str, ...] = ("count(*)",)
    conditions: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    havings: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    most: int | None = None

    def where(self, *conditions: str, **columns: Any) -> Ask:
        """Return the question about the rows that meet all conditions."""
        more = (*conditions, *(_condition(name, wanted) for name, wanted in columns.items()))
        return replace(self, conditions=(*self.conditions, *more))

    def group_by(self, *keys: str) -> Ask:
        """Return the question by group: names of columns, or expressions such as `floor(age / 10)`."""
        return replace(self, keys=(*self.keys, *(_key(key) for key in keys)))

    def having(self, *conditions: str) -> Ask:
        """Return the question with only those of its groups that meet all conditions on the answer."""
        return replace(self, havings=(*self.havings, *conditions))

    def order_by(self, *orders: str) -> Ask:
        """Return the question with its groups sorted, as in `order_by("count(*) desc")`."""
        return replace(self, orders=(*self.orders, *orders))

    def limit(self, most: int) -> Ask:
        """Return the question with at most this many of its groups."""
        return replace(self, most=most)

    def sql(self, table: str) -> str:
        """Return the question as SQL text."""
        lines = [f"select {', '.join([*self.keys, *self.items])} from {quote(table)}"]
        if self.conditions:
            lines.append(f"where {_all(self.conditions)}")
        if self.keys:
            lines.append(f"group by {', '.join(self.keys)}")
        if self.havings:
            lines.append(f"having {_all(self.havings)}")
        if self.orders:
            lines.append(f"order by {', '.join(self.orders)}")
        if self.most is not None:
            lines.append(f"limit {int(self.most)}")
        return "\n".join(lines)

    def question(self, metadata: TableMetadata) -> Question:
        """Return the parsed question about a table with this metadata."""
        from discreet.query.parse.select import parse

        return parse(self.sql(metadata.name), metadata)


def select(*items: str, **named: str) -> Ask:
    """Return a question for aggregates, given as SQL texts; a keyword gives the name of its output.

    >>> print(select("count(*)", mean=avg("income")).sql("people"))
    select count(*), avg("income") as "mean" from "people"
    """
    if not items and not named:
        raise ParameterError(
            "A question needs at least one aggregate.", fix=Fix("mean", Code('avg("income")'), call="dp.select")
        )
    return Ask((*items, *(f"{text} as {quote(alias)}" for alias, text in named.items())))


def where(*conditions: str, **columns: Any) -> Ask:
    """Return the question for the number of rows that meet all conditions.

    >>> print(where(age=(30, 40), city="Oslo").sql("people"))
    select count(*) from "people"
    where ("age" between 30 and 40) and ("city" = 'Oslo')
    """
    return Ask().where(*conditions, **columns)


def count(column: str | None = None) -> str:
    """Return count(*), or the count of rows where a column is not missing."""
    return "count(*)" if column is None else f"count({_key(column)})"


def avg(column: str) -> str:
    """Return the mean of a column, or of an expression such as `least(income, 100000)`.

    >>> avg("income"), avg("least(income, 100000)")
    ('avg("income")', 'avg(least(income, 100000))')
    """
    return f"avg({_key(column)})"


def total(column: str) -> str:
    """Return the sum of a column or an expression."""
    return f"sum({_key(column)})"


def median(column: str) -> str:
    """Return the median of a column or an expression."""
    return f"median({_key(column)})"


def quantile(column: str, probability: float | str | Fraction) -> str:
    """Return a quantile of a column or an expression."""
    exact = Fraction(probability) if isinstance(probability, str) else probability
    return f"quantile({_key(column)}, {literal(exact)})"


def literal(value: Any) -> str:
    """Return a value as a literal of SQL.

    >>> literal("l'été"), literal(date(2024, 1, 31)), literal(0.1), literal(True)
    ("'l''été'", "date '2024-01-31'", '0.1', 'true')
    """
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return f"timestamp '{value.isoformat(' ')}'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, Fraction):
        return f"({value.numerator} / {value.denominator})"
    if isinstance(value, float | Decimal) and math.isfinite(value):
        return str(value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    raise ParameterError(
        "A column cannot be compared with this value.",
        found=repr(value),
        fix="Use a number, a string, a date or a truth value.",
    )


def _key(text: str) -> str:
    """Return a plain word as the name of a column, and any other text as an expression."""
    return quote(text) if text.isidentifier() else text


def _condition(column: str, wanted: Any) -> str:
    quoted = quote(column)
    if wanted is None:
        return f"{quoted} is null"
    if isinstance(wanted, tuple):
        return _range(quoted, wanted)
    if isinstance(wanted, list | set | frozenset):
        listed = [literal(item) for item in (wanted if isinstance(wanted, list) else sorted(wanted))]
        if not listed:
            raise ParameterError(
                f"The list of values for {column} is empty.",
                fix="List at least one value, or leave the column out.",
            )
        return f"{quoted} in ({', '.join(listed)})"
    if isinstance(wanted, Mapping):
        raise ParameterError(
            f"The condition on {column} is not a value, a pair (low, high) or a list.",
            found=repr(wanted),
            fix=Fix(column, (0, 10)),
        )
    return f"{quoted} = {literal(wanted)}"


def _range(quoted: str, ends: tuple[Any, ...]) -> str:
    if len(ends) != 2 or ends == (None, None):
        raise ParameterError(
            "A range is a pair (low, high), one of which may be None.",
            found=repr(ends),
            fix="Give two ends, such as (30, 40), or a list for any of its values.",
        )
    low, high = ends
    if low is None or high is None:
        return f"{quoted} <= {literal(high)}" if low is None else f"{quoted} >= {literal(low)}"
    return f"{quoted} between {literal(low)} and {literal(high)}"


def _all(conditions: tuple[str, ...]) -> str:
    """Join conditions, each in parentheses; one that may end in a comment gets its own line."""
    return " and ".join(f"({text}\n)" if "--" in text else f"({text})" for text in conditions)
