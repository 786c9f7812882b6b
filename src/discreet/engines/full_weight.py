"""Add up rows of full weight without multiplying each by its weight.

A row of a person within the bound has the full weight U, the largest there is, and few tables have many others. On
rows of weight U, where both sides skip NULLs,

    Σ w·f = U·Σ f.

If f = a·code + b for one column, then on all rows Σ w·f = a·Σ w·code + b·Σ w, the last over the rows that have a
code. So all such sums over one column are made of two, and on rows of full weight these are one sum and one count,
without a product for any row. The other rows are added up with their weights, in a scan of their own. All of it is
exact integers, and the result is the integer that one scan of w·f would give. A row with a weight above U, or
without one, exists in no sealed file, and neither scan reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from discreet.engines import nodes, sql_writer
from discreet.engines.nodes import Column, Expression, Int

_WIDEST = sql_writer.WIDEST >> 40  # so that 2**40 rows still add up
_WEIGHT = Column("w")

Line: TypeAlias = tuple[int, Column | None, int]
"""The numbers a and b of a·code + b, with the column of the code between them; None for a constant."""

Combination: TypeAlias = tuple[tuple[int, int], ...]
"""Coefficients of sums, each with the place of its sum."""


def parts(sums: Sequence[Expression], limits: Mapping[str, int]) -> tuple[list[Expression], list[Combination]]:
    """Return few expressions of rows, and each of the sums as a combination of theirs.

    >>> def plus(number):
    ...     return nodes.Mul(Column("w"), nodes.Add(Column("c0"), Int(number)))
    >>> few, combined = parts([plus(1), plus(2), plus(3)], {"w": 4096, "c0": 110})
    >>> [str(tree) for tree in few]
    ['w * c0', 'CASE WHEN c0 IS NULL THEN 0 ELSE w END']
    >>> combined
    [((1, 0), (1, 1)), ((1, 0), (2, 1)), ((1, 0), (3, 1))]
    """
    places: dict[Expression, int] = {}
    combined = [
        tuple((number, places.setdefault(part, len(places))) for number, part in _parts(tree, limits))
        for tree in sums
    ]
    return list(places), combined


def total(tree: Expression, limits: Mapping[str, int]) -> str | None:
    """Return the SQL of the sum of w·f over rows of full weight, NULL or 0 if there are none; None if unknown.

    >>> total(nodes.Mul(Column("w"), Column("c0")), {"w": 4096, "c0": 110})
    '4096 * SUM("c0")'
    """
    full = limits["w"]
    match tree:
        case Column("w"):
            return f"{full} * COUNT(*)"
        case nodes.Case(((nodes.IsNull(value), Int(0)),), Column("w")):
            return f"{full} * COUNT({sql_writer.sql(value, limits=limits)})"
        case nodes.Mul(Column("w"), factor) if _WEIGHT not in factor.walk():
            return f"{full} * SUM({sql_writer.sql(factor, limits=limits)})"
    return None


def affine(tree: Expression) -> Line | None:
    """Return a, the column and b if the tree is a·code + b of one column; None if it is not.

    >>> affine(nodes.Add(nodes.Mul(Column("c0"), Int(2)), Int(7)))
    (2, Column(name='c0'), 7)
    >>> affine(nodes.Mul(Column("c0"), Column("c0")))
    """
    match tree:
        case Column():
            return 1, tree, 0
        case Int(value):
            return 0, None, value
        case nodes.Neg(operand):
            inner = affine(operand)
            return None if inner is None else (-inner[0], inner[1], -inner[2])
        case nodes.Add() | nodes.Sub() | nodes.Mul():
            left, right = affine(tree.left), affine(tree.right)
            return None if left is None or right is None else _combined(tree, left, right)
    return None


def _parts(tree: Expression, limits: Mapping[str, int]) -> list[tuple[int, Expression]]:
    if isinstance(tree, nodes.Mul) and tree.left == _WEIGHT:
        slope, column, start = affine(tree.right) or (0, None, 0)
        if column is not None and column != _WEIGHT and limits["w"] * limits.get(column.name, _WIDEST) <= _WIDEST:
            counted = nodes.Case(((nodes.IsNull(column), Int(0)),), _WEIGHT)
            return [(slope, nodes.Mul(_WEIGHT, column)), *([(start, counted)] if start else [])]
    return [(1, tree)]


def _combined(tree: nodes.Arithmetic, left: Line, right: Line) -> Line | None:
    if left[1] is not None and right[1] is not None:
        return None
    column = left[1] or right[1]
    if isinstance(tree, nodes.Mul):
        return left[0] * right[2] + right[0] * left[2], column, left[2] * right[2]
    sign = -1 if isinstance(tree, nodes.Sub) else 1
    return left[0] + sign * right[0], column, left[2] + sign * right[2]
