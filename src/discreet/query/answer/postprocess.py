"""What happens to an answer after it is released: having, order by, limit, offset.

Claim. These read released numbers and public keys, nothing else, so they are post-processing and cost nothing. For
the same reason they are no part of a question's canonical text: one release serves every order and every limit.
Comparisons know three truth values as SQL's do, and NULL sorts last unless told otherwise. What divides by zero or
leaves the floats is NULL. Nothing here raises on what discreet.query.parse.having_order_limit lets pass: it is run
when a question has been paid for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

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
    """An operation on what its operands come to: a comparison, and, or, not, is null, in, + - * /.

    An `instant` is a date or a time in microseconds since 1970, and `days` is a number of days in microseconds.
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
    """Having, order by, limit and offset. The empty one leaves an answer as it is."""

    having: Node | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0


def apply(after: After, columns: Mapping[str, Sequence[Any]]) -> list[int]:
    """Return which rows of an answer to show, in order.

    >>> answer = {"city": ["Bergen", "Oslo", None], "count(*)": [12, 40, 7]}
    >>> apply(After(order=(Ordering(Output("count(*)"), descending=True),), limit=2), answer)
    [1, 0]
    """
    rows = list(range(max((len(column) for column in columns.values()), default=0)))
    if after.having is not None:
        rows = [row for row in rows if evaluate(after.having, columns, row) is True]
    for item in reversed(after.order):  # sorting is stable: the least important first
        rows = _sorted(rows, [evaluate(item.by, columns, row) for row in rows], item)
    return rows[after.offset :][: after.limit]


def evaluate(node: Node, columns: Mapping[str, Sequence[Any]], row: int) -> Any:
    """Return what a node comes to on one row of the answer; None is NULL, or unknown.

    >>> evaluate(Step(">", (Output("n"), Value(3))), {"n": [5, None]}, 0)
    True
    """
    if isinstance(node, Value):
        return node.value
    if isinstance(node, Output):
        return _known(columns[node.name][row])
    values = [evaluate(operand, columns, row) for operand in node.operands]
    return _LOGIC[node.name](values) if node.name in _LOGIC else _computed(node.name, values)


def _known(value: Any) -> Any:
    """A NaN, such as the mean of nothing, is as unknown as NULL."""
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
    except OverflowError:  # an integer that no float holds
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
