"""Post-process a release: having, order by, limit, offset, and the names of its columns.

Claim. These read released numbers and public keys, nothing else, so they are post-processing and cost nothing. For
the same reason they are not part of a question's canonical form: one release serves every order, limit and name.
Comparisons have three truth values as in SQL, and NULL sorts last by default. A number whose interval is as wide
as what is possible is NULL here, and sorts last in any order: a LIMIT keeps groups of which something is known. A
division by zero, or a result that is not a finite float, is NULL. Nothing here raises on a question that
discreet.query.parse.having_order_limit accepts, because it runs after the charge.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.query.question import Question
    from discreet.release.release import Release

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Output:
    """A column of the answer."""

    name: str


@dataclass(frozen=True)
class Value:
    """A constant of the question."""

    value: Any


@dataclass(frozen=True)
class Step:
    """An operation on the values of its operands: a comparison, and, or, not, is null, in, + - * /.

    `instant` converts a date or a time to microseconds since 1970, and `days` a number of days to microseconds.
    """

    name: str
    operands: tuple[Node, ...]


Node = Output | Value | Step


@dataclass(frozen=True)
class Ordering:
    """One item of order by."""

    by: Node
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class After:
    """The post-processing of a question: having, order by, limit and offset. By default it changes nothing."""

    having: Node | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0


def apply(
    after: After, columns: Mapping[str, Sequence[Any]], unknown: Mapping[str, Sequence[bool]] | None = None
) -> list[int]:
    """Return the indices of the rows of an answer to show, in order.

    Args:
        after: The post-processing.
        columns: The columns of the answer by name.
        unknown: For some columns, whether each number is unknown; none is by default.

    >>> answer = {"city": ["Bergen", "Oslo", None], "count(*)": [12, 40, 7]}
    >>> apply(After(order=(Ordering(Output("count(*)"), descending=True),), limit=2), answer)
    [1, 0]
    """
    rows = list(range(max((len(column) for column in columns.values()), default=0)))
    if after.having is not None:
        rows = [row for row in rows if evaluate(after.having, columns, row) is True]
    for item in reversed(after.order):  # sorting is stable, so the least important item comes first
        rows = _sorted(rows, [evaluate(item.by, columns, row) for row in rows], item)
        hidden = [(unknown or {}).get(name) for name in _names(item.by)]
        rows.sort(key=lambda row: any(flags is not None and flags[row] for flags in hidden))
    return rows[after.offset :][: after.limit]


def postprocess(query: Question, release: Release) -> Release:
    """Return a release as the question presents it: columns renamed, rows filtered, ordered and cut."""
    table: dict[str, Sequence[Any]] = dict(
        zip((key.name for key in query.keys), release.keys.values(), strict=True)
    )
    pairs = list(zip(query.aggregates, release.aggregates, strict=True))
    same = [*table] == [*release.keys] and all((a.name, a.note) == (b.name, b.note) for a, b in pairs)
    if same and query.after == After() and query.columns == release.columns:
        return release
    table |= {aggregate.name: answer.values for aggregate, answer in pairs}
    rows = apply(query.after, table, {aggregate.name: answer.unknown for aggregate, answer in pairs})

    def chosen(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[row] for row in rows)

    answers = tuple(
        replace(
            answer,
            name=aggregate.name,
            note=aggregate.note,
            values=chosen(answer.values),
            low=chosen(answer.low),
            high=chosen(answer.high),
        )
        for aggregate, answer in pairs
    )
    keys = {key.name: chosen(table[key.name]) for key in query.keys}
    return replace(release, keys=keys, aggregates=answers, columns=query.columns)


def evaluate(node: Node, columns: Mapping[str, Sequence[Any]], row: int) -> Any:
    """Return the value of a node on one row of the answer; None is NULL, or unknown.

    >>> evaluate(Step(">", (Output("n"), Value(3))), {"n": [5, None]}, 0)
    True
    """
    if isinstance(node, Value):
        return node.value
    if isinstance(node, Output):
        return _known(columns[node.name][row])
    values = [evaluate(operand, columns, row) for operand in node.operands]
    return _LOGIC[node.name](values) if node.name in _LOGIC else _computed(node.name, values)


def _names(node: Node) -> list[str]:
    """Return the columns of the answer that a node reads."""
    if isinstance(node, Output):
        return [node.name]
    return [name for operand in node.operands for name in _names(operand)] if isinstance(node, Step) else []


def _known(value: Any) -> Any:
    """Return None for NaN, such as the mean of no rows: it is unknown, like NULL."""
    return None if value is None or value != value else value


def _sorted(rows: list[int], values: list[Any], item: Ordering) -> list[int]:
    known = [(value, row) for value, row in zip(values, rows, strict=True) if value is not None]
    missing = [row for value, row in zip(values, rows, strict=True) if value is None]
    known.sort(key=operator.itemgetter(0), reverse=item.descending)
    ordered = [row for _, row in known]
    return missing + ordered if item.nulls_first else ordered + missing


def _computed(name: str, values: list[Any]) -> Any:
    if any(value is None for value in values):
        return None
    if name == "/" and values[1] == 0:
        return None
    try:
        result = _PLAIN[name](*values)
    except OverflowError:  # the integer is too large for a float
        return None
    return None if isinstance(result, float) and not math.isfinite(result) else result


def _instant(when: date) -> int:
    start = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
    return (start - _EPOCH) // _MICROSECOND


def _days(count: float) -> Fraction:
    return Fraction(count) * _DAY


def _and(values: list[Any]) -> bool | None:
    return False if False in values else None if None in values else True


def _or(values: list[Any]) -> bool | None:
    return True if True in values else None if None in values else False


def _among(values: list[Any]) -> bool | None:
    sought, *listed = values
    return None if sought is None else True if sought in listed else None if None in listed else False


_LOGIC: dict[str, Callable[[list[Any]], Any]] = {
    "and": _and,
    "or": _or,
    "in": _among,
    "not": lambda values: None if values[0] is None else not values[0],
    "is null": lambda values: values[0] is None,
}

_PLAIN: dict[str, Callable[..., Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "instant": _instant,
    "days": _days,
}
