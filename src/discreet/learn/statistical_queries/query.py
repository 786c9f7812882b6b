"""Define statistical queries: a bounded value per row, whose mean is asked for.

A statistical query is an integer expression g over the sealed columns with −GRAIN ≤ g ≤ GRAIN; it stands for the
function q = g/GRAIN of one row, and is asked for E[q]. The bound is not a hope: it is derived by interval
arithmetic from the declared columns, and a query without it is refused. So the sum of w·g over the rows of one
person, whose weights w add up to K·UNIT or less, is at most K·UNIT·GRAIN in absolute value, whatever the rows
hold. A row on which an expression is NULL adds 0.

    predicate(people, "age >= 65 and ill")                  q is 1 where it is true, else 0
    moment(people, "age", when="ill")                       q is the place of the age in its range, in [0, 1]
    moment(people, "age", signed=True, flip="not ill")      in [−1, 1], times −1 where `flip` is true
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.engines import nodes, sql_writer
from discreet.engines.nodes import Expression
from discreet.errors import Code, Fix, ParameterError
from discreet.query import ir
from discreet.query.builder import Ask, literal, where
from discreet.schema import Column
from discreet.schema.identifiers import quote
from discreet.schema.metadata import TableMetadata

GRAIN = 4096
"""The integer that stands for the value 1 of a query."""

Condition: TypeAlias = str | Ask | Expression
"""A condition on rows: SQL text, or made with `dp.where`, or an expression over sealed columns."""


@dataclass(frozen=True)
class StatisticalQuery:
    """A value per row from `low` to `high`, as an integer expression in units of 1/GRAIN.

    >>> from discreet.schema import Boolean, Integer
    >>> people = schema({"age": Integer(0, 110), "ill": Boolean()})
    >>> predicate(people, "age >= 65 and ill").tree.sql()
    'CASE WHEN (c0 >= 65) AND (c1 = 1) THEN 4096 ELSE 0 END'
    """

    text: str
    tree: Expression
    low: int = 0
    high: int = 1

    def admit(self, metadata: TableMetadata) -> StatisticalQuery:
        """Return the query itself, if its value lies in its range for all rows of this schema, or refuse it."""
        least, most = sql_writer.value_bounds(self.tree, metadata.limits)
        if not (-1 <= self.low <= self.high <= 1 and self.low * GRAIN <= least and most <= self.high * GRAIN):
            raise ParameterError(
                "The value of a statistical query must lie in its range, which is within −1 … 1.",
                found=f"{least / GRAIN:g} to {most / GRAIN:g}",
                fix="Make it with predicate(…) or moment(…).",
            )
        return self


def schema(columns: TableMetadata | Mapping[str, Column] | Any) -> TableMetadata:
    """Return the metadata of declared columns, of a sample or of a sealed table.

    >>> from discreet.schema import Integer
    >>> list(schema({"age": Integer(0, 110)}).columns)
    ['age']
    """
    found = getattr(columns, "metadata", columns)
    if isinstance(found, TableMetadata):
        return found
    if not isinstance(found, Mapping):
        raise ParameterError(
            "A schema is a mapping of columns, a sample or a sealed table.",
            found=type(found).__name__,
            fix=Fix("columns", Code('{"age": dp.Integer(0, 110)}')),
        )
    return TableMetadata("sample", found, person=None)


def condition(metadata: TableMetadata, given: Condition) -> Expression:
    """Return a condition as an expression over the sealed columns.

    >>> from discreet.schema import Integer
    >>> condition(schema({"age": Integer(0, 110)}), "age >= 64.5").sql()
    'c0 >= 65'
    """
    if isinstance(given, Expression):
        return given
    from discreet.query.parse.select import parse  # here: the parser is slow to load, and an import must not be

    asked = given if isinstance(given, Ask) else where(str(given))
    question = parse(asked.sql(metadata.name), metadata)
    if question.keys or len(question.aggregates) != 1:
        raise ParameterError("A condition has no groups.", fix=Fix("when", Code('dp.where(city="Oslo")')))
    return ir.always(True) if question.where is None else question.where


def written(given: Condition) -> str:
    """Return a condition as text.

    >>> written("age >= 65"), written(where(age=(30, 40)))
    ('age >= 65', '("age" between 30 and 40)')
    """
    if isinstance(given, Ask):
        return " and ".join(f"({text})" for text in given.conditions) or "true"
    return given.sql() if isinstance(given, Expression) else str(given)


def predicate(columns: Any, when: Condition) -> StatisticalQuery:
    """Return the query for the share of rows that meet a condition."""
    metadata = schema(columns)
    tree = ir.case([(condition(metadata, when), ir.number(GRAIN))], ir.number(0))
    return StatisticalQuery(written(when), tree).admit(metadata)


def moment(
    columns: Any,
    column: str | None = None,
    *,
    when: Condition = "true",
    signed: bool = False,
    flip: Condition | None = None,
) -> StatisticalQuery:
    """Return the query for the mean of a column over the rows that meet a condition, other rows adding 0.

    Args:
        columns: The schema.
        column: The column, whose range becomes [0, 1], or [−1, 1]; None for the constant 1.
        when: The condition; all rows by default.
        signed: Whether the range of the column becomes [−1, 1]; [0, 1] by default.
        flip: A condition under which the value counts as negative; none by default.

    >>> from discreet.schema import Integer
    >>> moment({"age": Integer(0, 110)}, "age", when="age < 50").text
    'age where age < 50'
    """
    metadata = schema(columns)
    value: Expression = ir.number(GRAIN) if column is None else grid(metadata, column)
    negative: Expression = nodes.Sub(ir.number(0), value)
    if signed and column is not None:
        value, negative = _between(ir.times(value, 2), GRAIN), _between_down(ir.times(value, 2), GRAIN)
    if flip is not None:
        value = ir.case([(condition(metadata, flip), negative)], value)
    conditions = [condition(metadata, when)]
    if column is not None:
        conditions.append(ir.opposite(ir.is_null(ir.sealed(metadata.sealed_name(column)))))
    tree = ir.case([(ir.both(*conditions), value)], ir.number(0))
    low = -1 if signed or flip is not None else 0
    flipped = "" if flip is None else f", negative where {written(flip)}"
    text = f"{'signed ' * signed}{column or 1} where {written(when)}{flipped}"
    return StatisticalQuery(text, tree, low).admit(metadata)


def grid(metadata: TableMetadata, column: str) -> Expression:
    """Return the place of a column in its range, as an integer from 0 to GRAIN; NULL where it is missing.

    >>> from discreet.schema import Integer
    >>> grid(schema({"age": Integer(0, 110)}), "age").sql()
    '(c0 * 4096) // 110'
    """
    if column not in metadata.columns or metadata.columns[column].levels is None:
        raise ParameterError(
            f"{column} is not a column with a declared range.", fix=f"There are {', '.join(metadata.columns)}."
        )
    top = max(1, (metadata.columns[column].levels or 1) - 1)
    return ir.divided(ir.times(ir.sealed(metadata.sealed_name(column)), GRAIN), top)


def literals(columns: Any, names: Sequence[str] | None = None, *, cuts: int = 8) -> tuple[str, ...]:
    """Return simple conditions on single columns, each with its opposite.

    A boolean gives `ill` and `not ill`; a category, for each of its values, `city = 'Oslo'` and `city <> 'Oslo'`;
    a number or a time, at each of some cuts of equal width, `age >= 40` and `age < 40`. A missing value meets
    none.

    Args:
        columns: The schema.
        names: The columns; by default all that are not strings.
        cuts: The number of cuts of a number or a time; at most one between any two of its levels.

    >>> from discreet.schema import Boolean, Integer
    >>> literals({"age": Integer(0, 100), "ill": Boolean()}, cuts=2)
    ('"age" >= 33', '"age" < 33', '"age" >= 67', '"age" < 67', '"ill"', 'not "ill"')
    """
    metadata = schema(columns)
    listed = [name for name, column in metadata.columns.items() if column.levels is not None]
    found: list[str] = []
    for name in listed if names is None else names:
        if name not in listed:
            raise ParameterError(
                f"{name!r} is not a column with declared values.", fix=f"There are {', '.join(listed)}."
            )
        found += _literals(name, metadata.columns[name], cuts)
    return tuple(found)


def _literals(name: str, column: Any, cuts: int) -> list[str]:
    quoted = quote(name)
    if column.kind == "boolean":
        return [quoted, f"not {quoted}"]
    if column.kind == "category":
        pairs = ((f"{quoted} = {value}", f"{quoted} <> {value}") for value in map(literal, column.labels))
    else:
        codes = sorted({(i * column.levels) // (cuts + 1) for i in range(1, cuts + 1)} - {0})
        values = (literal(value) for value in column.values(codes))
        pairs = ((f"{quoted} >= {value}", f"{quoted} < {value}") for value in values)
    return [text for pair in pairs for text in pair]


def _between(doubled: Expression, grain: int) -> Expression:
    return nodes.Sub(doubled, ir.number(grain))


def _between_down(doubled: Expression, grain: int) -> Expression:
    return nodes.Sub(ir.number(grain), doubled)
