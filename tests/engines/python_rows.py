"""Sealed rows added up by Python itself: a witness that no engine's arithmetic, logic or text can mislead."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.expressions import Expression

Row = Mapping[str, Any]
Totals = dict[tuple[Any, ...], list[int]]

_BINARY: dict[type[Expression], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.IntDiv: operator.floordiv,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


@dataclass(frozen=True)
class PythonRows:
    """What `Rows` writes as a statement, as the totals themselves."""

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
    """The value of an expression on a row, in SQL's three-valued logic; None is NULL."""
    match tree:
        case exp.Paren():
            return value(tree.this, row)
        case exp.Column():
            return row[tree.name]
        case exp.Literal():
            return str(tree.this) if tree.is_string else int(tree.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(tree.this)
        case exp.Neg():
            return _strict(operator.neg, value(tree.this, row))
        case exp.Not():
            return _strict(operator.not_, value(tree.this, row))
        case exp.And() | exp.Or():
            decisive = isinstance(tree, exp.Or)
            sides = [value(tree.this, row), value(tree.expression, row)]
            return decisive if decisive in sides else None if None in sides else not decisive
        case exp.Is():
            return value(tree.this, row) is None
        case exp.In():
            listed = [value(item, row) for item in tree.expressions]
            return _strict(lambda one: one in listed, value(tree.this, row))
        case exp.Case():
            for branch in tree.args["ifs"]:
                if value(branch.this, row) is True:
                    return value(branch.args["true"], row)
            default = tree.args.get("default")
            return None if default is None else value(default, row)
        case exp.Like() | exp.ILike():
            fold = _folded if isinstance(tree, exp.ILike) else str
            signs = {"%": ".*", "_": "."}
            shape = "".join(signs.get(sign) or re.escape(fold(sign)) for sign in tree.expression.this)
            matches = re.compile(shape, re.DOTALL).fullmatch
            return _strict(lambda text: matches(fold(text)) is not None, value(tree.this, row))
    return _strict(_BINARY[type(tree)], value(tree.this, row), value(tree.expression, row))


def _strict(function: Callable[..., Any], *values: Any) -> Any:
    return None if None in values else function(*values)


def _folded(text: str) -> str:
    """Without capitals, sign by sign: where one would become several it stays as it is."""
    smaller = ((sign, sign.casefold(), sign.lower()) for sign in text)
    return "".join(next((small for small in found if len(small) == 1), sign) for sign, *found in smaller)
