"""Which codes an expression can take, by trying every value of the columns it reads.

Only the declared domains are looked at, never a row. So `where city in ('Oslo', 'Bergen') group by city` has two
groups, and `case when age < 18 then 0 else 18 end` has two values and not nineteen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.expressions import Expression

from discreet.vault import trees
from discreet.vault.question import Term

MOST = 10**6
"""Combinations that are tried; beyond them nothing is narrowed."""

Cells = tuple[NDArray[Any], NDArray[np.bool_]]
"""A value for every combination, and whether it is missing."""


def attained(
    code: Expression, where: Expression | None, columns: Mapping[str, Term]
) -> tuple[list[int], bool] | None:
    """Return the codes that a row kept by `where` may have, and whether NULL is one; None if too many to try.

    `columns` are the sealed columns by name. Parts of `where` that read other columns are left out.

    >>> age = Term(trees.sealed("c0"), 0, 110)
    >>> young = trees.compared("<=", trees.sealed("c0"), trees.number(25))
    >>> attained(trees.divided(trees.sealed("c0"), 10), young, {"c0": age})
    ([0, 1, 2], False)
    """
    names = sorted(trees.columns_of(code))
    sizes = [columns[name].high + 1 + columns[name].nullable for name in names]
    if any(columns[name].kind == "text" for name in names) or np.prod([float(size) for size in sizes]) > MOST:
        return None
    cells = _grid({name: columns[name] for name in names})
    kept = np.ones(max(1, int(np.prod(sizes, dtype=np.int64))), dtype=bool)
    for part in trees.conjuncts(where) if where is not None else []:
        if trees.columns_of(part) <= set(names):
            truth, unknown = evaluated(part, cells)
            kept &= truth & ~unknown
    values, missing = (np.broadcast_to(part, kept.shape) for part in evaluated(code, cells))
    return np.unique(values[kept & ~missing]).tolist(), bool(np.any(kept & missing))


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


def _grid(columns: Mapping[str, Term]) -> dict[str, Cells]:
    """Every combination of codes; one more code past the last stands for NULL."""
    axes = [np.arange(term.high + 1 + term.nullable) for term in columns.values()]
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
