"""Search all boxes of a table for the one with the largest sum, exactly.

A box takes of an ordered column a range of levels, of another column one level, or all levels of either. So it
is one choice for each axis, and its sum is a sum of differences of prefix sums. All choices of all axes but the
last are tried. Along the last, an ordered one, the largest sum of a range that ends at j is P_j less the least
prefix sum before it, so one pass finds the best range.

Everything is int64. Entries are within ±2⁴¹ and there are at most 2²⁰ of them, so no sum leaves ±2⁶¹.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

LARGEST = 2**40
"""The largest entry of a table of counts or predictions: a larger one counts as that."""

MOST_CELLS = 2**20
"""The most entries of a table that is searched."""

_BLOCK = 2**20  # sums that are in memory at once


def largest_error(table: Integers, ordered: Sequence[bool]) -> int:
    """Return the largest |sum| over all boxes of a table; `ordered` says it of each axis.

    >>> largest_error(np.array([3, -5, 2, -4]), [True]), largest_error(np.array([3, -5, 2, -4]), [False])
    (7, 5)
    """
    if table.ndim == 0:
        return abs(int(table))
    whole = np.clip(table, -2 * LARGEST, 2 * LARGEST).astype(np.int64)
    # The longest ordered axis goes last, where a pass replaces all its ranges.
    order = sorted(range(whole.ndim), key=lambda axis: (ordered[axis], whole.shape[axis]))
    whole, kinds = np.transpose(whole, order), [ordered[axis] for axis in order]
    return _largest(whole, kinds)


def searched(sizes: Sequence[int], ordered: Sequence[bool]) -> int:
    """Return how many sums a search computes.

    >>> searched([4, 10], [False, True])
    50
    """
    shapes = sorted(zip(ordered, sizes, strict=True))
    found = shapes[-1][1] if shapes else 1
    for kind, size in shapes[:-1]:
        found *= size * (size + 1) // 2 if kind else size + 1
    return found


def _largest(whole: Integers, kinds: Sequence[bool]) -> int:
    """Return the largest |sum|. The first axis is replaced by its choices, some of them at a time."""
    if whole.ndim == 1:
        return int(_ends(whole[None], kinds[0]).max())
    rest = int(np.prod(whole.shape[1:]))
    best = 0
    for some in _choices(whole, kinds[0], max(1, _BLOCK // rest)):
        if whole.ndim == 2:
            best = max(best, int(_ends(some, kinds[1]).max()))
        else:
            best = max(best, *(_largest(one, kinds[1:]) for one in some))
    return best


def _choices(whole: Integers, kind: bool, most: int) -> list[Integers]:
    """Return the sums of all choices of the first axis, at most so many in each array."""
    summed = np.concatenate([np.zeros((1, *whole.shape[1:]), np.int64), whole.cumsum(axis=0)])
    size = whole.shape[0]
    if kind:
        low, high = np.triu_indices(size)
        high = high + 1
    else:
        low, high = np.append(np.arange(size), 0), np.append(np.arange(size) + 1, size)
    return [summed[high[at : at + most]] - summed[low[at : at + most]] for at in range(0, len(low), most)]


def _ends(rows: Integers, kind: bool) -> Integers:
    """Return the largest |sum| over the choices of the last axis, for every row."""
    found: Integers
    if not kind:
        found = np.maximum(np.abs(rows).max(axis=-1), np.abs(rows.sum(axis=-1)))
        return found
    summed = np.zeros((*rows.shape[:-1], rows.shape[-1] + 1), np.int64)
    np.cumsum(rows, axis=-1, out=summed[..., 1:])
    least, most = np.minimum.accumulate(summed, axis=-1), np.maximum.accumulate(summed, axis=-1)
    found = np.maximum((summed - least).max(axis=-1), (most - summed).max(axis=-1))
    return found
