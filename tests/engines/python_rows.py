"""Add up sealed rows in Python: a reference that does not depend on any engine."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.engines import nodes
from discreet.engines.nodes import Expression

Row = Mapping[str, Any]
Totals = dict[tuple[Any, ...], list[int]]

_ARITHMETIC: dict[type[Expression], Callable[[Any, Any], Any]] = {
    nodes.Add: operator.add,
    nodes.Sub: operator.sub,
    nodes.Mul: operator.mul,
    nodes.FloorDiv: operator.floordiv,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class PythonRows:
    """Compute the totals of the statements that `Rows` writes."""

    rows: Sequence[Row]

    def sums(
        self,
        *,
        where: Expression | None,
        keys: Sequence[Expression],
        sums: Sequence[Expression],
        spot: bool = False,
    ) -> Totals:
        found: Totals = {} if keys else {(): [0] * len(sums)}
        for row in self._taken(where):
            if not spot or row["spot"]:
                group = found.setdefault(tuple(value(key, row) for key in keys), [0] * len(sums))
                for j, tree in enumerate(sums):
                    group[j] += value(tree, row) or 0
        return found

    def persons(self, *, where: Expression | None, keys: Sequence[Expression], cap: int) -> Totals:
        weights: dict[tuple[Any, ...], dict[int, int]] = {} if keys else {(): {}}
        for row in self._taken(where):
            group = weights.setdefault(tuple(value(key, row) for key in keys), {})
            group[row["person"]] = group.get(row["person"], 0) + row["w"]
        return {key: [sum(min(cap, weight) for weight in each.values())] for key, each in weights.items()}

    def sizes(self, most: int) -> Totals:
        rows = Counter(row["person"] for row in self.rows)
        persons = Counter(min(most, count) for count in rows.values())
        return {(size,): [count] for size, count in persons.items()}

    def _taken(self, where: Expression | None) -> list[Row]:
        return [row for row in self.rows if where is None or value(where, row) is True]


def value(tree: Expression, row: Row) -> Any:
    """Return the value of an expression on a row, in SQL's three-valued logic; None is NULL."""
    match tree:
        case nodes.Column(name):
            return row[name]
        case nodes.Int(constant) | nodes.Text(constant) | nodes.Boolean(constant):
            return constant
        case nodes.Null():
            return None
        case nodes.Neg(operand):
            return _strict(operator.neg, value(operand, row))
        case nodes.Not(operand):
            return _strict(operator.not_, value(operand, row))
        case nodes.And(left, right) | nodes.Or(left, right):
            decisive = isinstance(tree, nodes.Or)
            sides = [value(left, row), value(right, row)]
            return decisive if decisive in sides else None if None in sides else not decisive
        case nodes.IsNull(operand):
            return value(operand, row) is None
        case nodes.In(operand, values):
            listed = [value(item, row) for item in values]
            return _strict(lambda one: one in listed, value(operand, row))
        case nodes.Case(branches, default):
            for condition, outcome in branches:
                if value(condition, row) is True:
                    return value(outcome, row)
            return None if default is None else value(default, row)
        case nodes.Like(operand, pattern, caseless):
            fold = _folded if caseless else str
            signs = {"%": ".*", "_": "."}
            shape = "".join(signs.get(sign) or re.escape(fold(sign)) for sign in pattern)
            matches = re.compile(shape, re.DOTALL).fullmatch
            return _strict(lambda text: matches(fold(text)) is not None, value(operand, row))
        case nodes.Compare(symbol, left, right):
            return _strict(_COMPARISONS[symbol], value(left, row), value(right, row))
        case nodes.Arithmetic(left, right):
            return _strict(_ARITHMETIC[type(tree)], value(left, row), value(right, row))
    raise TypeError(tree)


def _strict(function: Callable[..., Any], *values: Any) -> Any:
    return None if None in values else function(*values)


def _folded(text: str) -> str:
    """Fold the case of each character; one that would become several stays as it is."""
    smaller = ((sign, sign.casefold(), sign.lower()) for sign in text)
    return "".join(next((small for small in found if len(small) == 1), sign) for sign, *found in smaller)
