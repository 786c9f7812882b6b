"""Find the codes that an expression can take, by trying every value of the columns that it reads.

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

from discreet.engines import nodes
from discreet.engines.nodes import Column, Expression, Int
from discreet.query import ir
from discreet.query.question import Term

MOST = 10**6
"""The largest number of combinations that are tried; with more, nothing is narrowed."""

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
    if isinstance(code, Column) and not parts:  # all of its codes
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
    """Return the bounds that a comparison with a number, or IN, leaves a column; None for any other condition."""
    match part:
        case nodes.In(Column(column), values) if column == name:
            listed = [value.value for value in values if isinstance(value, Int)]
            return min(listed), max(listed)
        case nodes.Compare(symbol, Column(column), Int(value)) if column == name and symbol in _NARROWING:
            return _NARROWING[symbol](value)
    return None


_FAR = 2**63  # no code is so large
_NARROWING: dict[str, Callable[[int], tuple[int, int]]] = {
    "=": lambda code: (code, code),
    "<": lambda code: (-_FAR, code - 1),
    "<=": lambda code: (-_FAR, code),
    ">": lambda code: (code + 1, _FAR),
    ">=": lambda code: (code, _FAR),
}


def evaluated(tree: Expression, cells: Mapping[str, Cells]) -> Cells:
    """Return the value of a tree on every combination, in SQL's three-valued logic."""
    match tree:
        case Column(name):
            return cells[name]
        case Int(value):
            return np.asarray(value, dtype=np.int64), np.asarray(False)
        case nodes.IsNull(operand):
            return evaluated(operand, cells)[1], np.asarray(False)
        case nodes.Not(operand):
            truth, unknown = evaluated(operand, cells)
            return ~truth, unknown
        case nodes.In(operand, values):
            found, missing = evaluated(operand, cells)
            return np.isin(found, [value.value for value in values if isinstance(value, Int)]), missing
        case nodes.Case():
            return _case(tree, cells)
        case nodes.And() | nodes.Or():
            return _connected(tree, cells)
        case nodes.Compare(symbol, left, right):
            return _strict(_COMPARISONS[symbol], evaluated(left, cells), evaluated(right, cells))
        case nodes.Arithmetic(left, right):
            return _strict(_ARITHMETIC[tree.symbol], evaluated(left, cells), evaluated(right, cells))
    raise TypeError(f"No value is known for {type(tree).__name__}.")


def _strict(operation: Callable[[Any, Any], Any], left: Cells, right: Cells) -> Cells:
    """Apply an operation that is NULL where an operand is."""
    return operation(left[0], right[0]), left[1] | right[1]


def _case(tree: nodes.Case, cells: Mapping[str, Cells]) -> Cells:
    default = tree.default
    values, missing = (np.asarray(0), np.asarray(True)) if default is None else evaluated(default, cells)
    for condition, value in reversed(tree.branches):
        truth, unknown = evaluated(condition, cells)
        outcome, absent = evaluated(value, cells)
        taken = truth & ~unknown
        values, missing = np.where(taken, outcome, values), np.where(taken, absent, missing)
    return values, missing


def _connected(tree: nodes.And | nodes.Or, cells: Mapping[str, Cells]) -> Cells:
    (left, no_left), (right, no_right) = (evaluated(part, cells) for part in (tree.left, tree.right))
    if isinstance(tree, nodes.Or):  # by De Morgan
        left, right = ~left, ~right
    false = (~left & ~no_left) | (~right & ~no_right)
    unknown = (no_left | no_right) & ~false
    return (false if isinstance(tree, nodes.Or) else ~false), unknown


def _size(term: Term) -> int:
    return max(0, term.high - term.low + 1) + term.nullable


def _grid(columns: Mapping[str, Term]) -> dict[str, Cells]:
    """Return every combination of codes; one more code after the last stands for NULL."""
    axes = [np.arange(term.low, term.low + _size(term)) for term in columns.values()]
    mesh = np.meshgrid(*axes, indexing="ij")
    return {
        name: (np.minimum(axis.ravel(), term.high), axis.ravel() > term.high)
        for (name, term), axis in zip(columns.items(), mesh, strict=True)
    }


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
