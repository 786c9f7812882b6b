"""Sum and scale dense tables of non-negative numbers, near memory bandwidth.

A marginal is a sum over the columns that are left out. Neighbouring columns that are all kept, or all left out,
are merged into one axis. Each sum over such an axis is a product with a vector of ones, the last axis first: the
first product reads the table once, and the rest is small. A factor over some columns is broadcast over the last
columns until the inner loop is long, and multiplied in place: one read and one write. A query that is a box
multiplies only its slice; the cells outside are covered by one number, the scale of the whole table (a lazy
normaliser). Figures: bench/oracle.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_BLOCK = 4096  # an inner loop of this length hides the overhead of numpy


def project(table: Floats, keep: Sequence[int]) -> Floats:
    """Return the sums over all other columns, in ascending order of the kept columns.

    >>> project(np.arange(8.0).reshape(2, 2, 2), [2]).tolist()
    [12.0, 16.0]
    """
    kept = set(keep)
    runs = [(keeps, list(run)) for keeps, run in groupby(range(table.ndim), kept.__contains__)]
    small = table.reshape([prod(table.shape[i] for i in run) for _, run in runs] or [1])
    for axis in reversed(range(len(runs))):
        if not runs[axis][0]:
            small = _sum_axis(small, axis)
    sums = small.reshape([table.shape[i] for i in sorted(kept)])
    return (
        sums.copy() if len(kept) == table.ndim else sums
    )  # a caller may change the result, so it is never a view


def _sum_axis(table: Floats, axis: int) -> Floats:
    before, count, after = table.shape[:axis], table.shape[axis], table.shape[axis + 1 :]
    ones = np.ones(count)
    if not after:
        total: Floats = (table.reshape(-1, count) @ ones).reshape(before)
        return total
    summed: Floats = np.matmul(ones, table.reshape(prod(before), count, prod(after)))
    return summed.reshape(*before, *after)


def scale(table: Floats, columns: Sequence[int], factor: Floats) -> None:
    """Multiply a table in place by a factor over some columns, in ascending order.

    >>> table = np.ones((2, 3))
    >>> scale(table, [0], np.array([1.0, 5.0]))
    >>> table[1].tolist()
    [5.0, 5.0, 5.0]
    """
    kept = set(columns)
    shape = [table.shape[i] if i in kept else 1 for i in range(table.ndim)]
    laid = np.asarray(factor).reshape(shape)
    inner = table.ndim
    while inner and prod(table.shape[inner:]) < _BLOCK:
        inner -= 1
    laid = np.broadcast_to(laid, [*shape[:inner], *table.shape[inner:]]).reshape(*shape[:inner], -1)
    flat = table.reshape(*table.shape[:inner], -1)
    np.multiply(flat, laid, out=flat)


def scale_box(table: Floats, box: Sequence[slice], factor: float) -> None:
    """Multiply the cells of a box in place.

    >>> table = np.ones((2, 3))
    >>> scale_box(table, [slice(0, 1), slice(1, 3)], 2.0)
    >>> table.tolist()
    [[1.0, 2.0, 2.0], [1.0, 1.0, 1.0]]
    """
    view = table[tuple(box)]
    np.multiply(view, factor, out=view)
