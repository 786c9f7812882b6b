"""Which codes an expression can take, by trying every value of the columns it reads.

Only the declared domains are looked at, never a row. So `where city in ('Oslo', 'Bergen') group by city` has two
groups, and `case when age < 18 then 0 else 18 end` has two values and not nineteen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.query import ir
from discreet.query.question import Term

MOST = 10**6
"""Combinations that are tried; beyond them nothing is narrowed."""

Cells = tuple[NDArray[Any], NDArray[np.bool_]]
"""A value for every combination, and whether it is missing."""


def attained(
    code: Expression, where: Expression | None, columns: Mapping[str, Term]
) -> tuple[list[int], bool] | None:
    """Return the codes that a row kept by `where` may have, and whether NULL is one; None if too many to try.

    `columns` are the sealed columns by name, with the bounds that `where` leaves them (`narrowed`). Parts of
    `where` that read other columns are left out.

    >>> age = Term(ir.sealed("c0"), 0, 110)
    >>> young = ir.compared("<=", ir.sealed("c0"), ir.number(25))
    >>> attained(ir.divided(ir.sealed("c0"), 10), young, {"c0": age})
    ([0, 1, 2], False)
    """
    names = sorted(ir.columns_of(code))
    sizes = [_size(columns[name]) for name in names]
    if any(columns[name].kind == "text" for name in names) or np.prod([float(size) for size in sizes]) > MOST:
        return None
    parts = [part for part in _parts(where) if ir.columns_of(part) <= set(names)]
    if isinstance(code, exp.Column) and not parts:  # all of its codes
        return list(range(columns[code.name].low, columns[code.name].high + 1)), columns[code.name].nullable
    cells = _grid({name: columns[name] for name in names})
    kept = np.ones(int(np.prod(sizes, dtype=np.int64)), dtype=bool)
    for part in parts:
        truth, unknown = evaluated(part, cells)
        kept &= truth & ~unknown
    values, missing = (np.broadcast_to(part, kept.shape) for part in evaluated(code, cells))
    return np.unique(values[kept & ~missing]).tolist(), bool(np.any(kept & missing))


def _parts(where: Expression | None) -> list[Expression]:
    return [] if where is None else ir.conjuncts(where)


def narrowed(name: str, term: Term, where: Expression | None) -> Term:
    """Return a column with the bounds that the comparisons in `where` leave it: they hold for every row it keeps.

    Only parts that all have to hold are looked at, and of them those that compare the column itself with a number.
    Such a part is true of no missing value. So `where day between … and …` leaves few of a million declared days.

    >>> day = Term(ir.sealed("c0"), 0, 10**9)
    >>> week = ir.both(*(ir.compared(*part) for part in (
    ...     (">=", ir.sealed("c0"), ir.number(70)), ("<", ir.sealed("c0"), ir.number(77)))))
    >>> left = narrowed("c0", day, week)
    >>> left.low, left.high, left.nullable
    (70, 76, False)
    """
    low, high, nullable = term.low, term.high, term.nullable
    for part in _parts(where) if term.kind != "text" else []:
        ends = _ends(part, name)
        if ends is not None:
            low, high, nullable = max(low, ends[0]), min(high, ends[1]), False
    return replace(term, low=low, high=high, nullable=nullable)


def _ends(part: Expression, name: str) -> tuple[int, int] | None:
    """What a comparison of a column with a number, or IN, leaves of it; None for any other condition."""
    if not isinstance(part.this, exp.Column) or part.this.name != name:
        return None
    if isinstance(part, exp.In):
        listed = [int(item.this) for item in part.expressions]
        return min(listed), max(listed)
    if type(part) not in _NARROWING or not isinstance(part.expression, exp.Literal):
        return None
    least, most = _NARROWING[type(part)](int(part.expression.this))
    return least, most


_FAR = 2**63  # no code is so large
_NARROWING: dict[type, Callable[[int], tuple[int, int]]] = {
    exp.EQ: lambda code: (code, code),
    exp.LT: lambda code: (-_FAR, code - 1),
    exp.LTE: lambda code: (-_FAR, code),
    exp.GT: lambda code: (code + 1, _FAR),
    exp.GTE: lambda code: (code, _FAR),
}


def evaluated(tree: Expression, cells: Mapping[str, Cells]) -> Cells:
    """Return what a tree comes to on every combination, in SQL's three-valued logic."""
    match tree:
        case exp.Paren():
            return evaluated(tree.this, cells)
        case exp.Column():
            return cells[tree.name]
        case exp.Literal():
            return np.asarray(int(tree.this), dtype=np.int64), np.asarray(False)
        case exp.Is():
            return evaluated(tree.this, cells)[1], np.asarray(False)
        case exp.Not():
            truth, unknown = evaluated(tree.this, cells)
            return ~truth, unknown
        case exp.In():
            values, missing = evaluated(tree.this, cells)
            return np.isin(values, [int(item.this) for item in tree.expressions]), missing
        case exp.Case():
            return _case(tree, cells)
        case exp.And() | exp.Or():
            return _connected(tree, cells)
        case _:
            (left, no_left), (right, no_right) = (evaluated(part, cells) for part in (tree.this, tree.expression))
            return _OPERATIONS[type(tree)](left, right), no_left | no_right


def _case(tree: Expression, cells: Mapping[str, Cells]) -> Cells:
    default = tree.args.get("default")
    values, missing = (np.asarray(0), np.asarray(True)) if default is None else evaluated(default, cells)
    for branch in reversed(tree.args["ifs"]):
        truth, unknown = evaluated(branch.this, cells)
        outcome, absent = evaluated(branch.args["true"], cells)
        taken = truth & ~unknown
        values, missing = np.where(taken, outcome, values), np.where(taken, absent, missing)
    return values, missing


def _connected(tree: Expression, cells: Mapping[str, Cells]) -> Cells:
    (left, no_left), (right, no_right) = (evaluated(part, cells) for part in (tree.this, tree.expression))
    if isinstance(tree, exp.Or):  # by De Morgan
        left, right = ~left, ~right
    false = (~left & ~no_left) | (~right & ~no_right)
    unknown = (no_left | no_right) & ~false
    return (false if isinstance(tree, exp.Or) else ~false), unknown


def _size(term: Term) -> int:
    return max(0, term.high - term.low + 1) + term.nullable


def _grid(columns: Mapping[str, Term]) -> dict[str, Cells]:
    """Every combination of codes; one more code past the last stands for NULL."""
    axes = [np.arange(term.low, term.low + _size(term)) for term in columns.values()]
    mesh = np.meshgrid(*axes, indexing="ij")
    return {
        name: (np.minimum(axis.ravel(), term.high), axis.ravel() > term.high)
        for (name, term), axis in zip(columns.items(), mesh, strict=True)
    }


_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
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
