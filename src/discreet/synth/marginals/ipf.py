"""Fit a table to margins: projection onto the simplex, and iterative proportional fitting.

`rake` multiplies a table by one factor after the other until its margins are the wanted ones. Started from a
product it converges to the table of largest entropy with those margins, and started from any table to the one
nearest to it in relative entropy (Csiszár 1975). If the wanted margins contradict each other, it ends between
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.synth.marginals.domain import Floats

_TINY = 1e-12


def on_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest table (in l2) without negative cells that adds up to `total`.

    >>> on_simplex(np.array([5.0, -1.0, 2.0]), 6.0).tolist()
    [4.5, 0.0, 1.5]
    """
    ordered = np.sort(values, axis=None)[::-1]
    excess = np.cumsum(ordered) - total
    count = np.arange(1, ordered.size + 1)
    last = np.nonzero(ordered > excess / count)[0][-1]
    projected: Floats = np.maximum(values - excess[last] / (last + 1), 0.0)
    return projected


def product(ones: Sequence[Floats], total: float) -> Floats:
    """Return the table of independent columns with these one-way margins, each adding up to `total`.

    >>> product([np.array([1.0, 3.0]), np.array([2.0, 2.0])], 4.0).tolist()
    [[0.5, 0.5], [1.5, 1.5]]
    """
    table = np.array(total)
    for one in ones:
        table = np.multiply.outer(table, one / total)
    return table


def rake(
    table: Floats, margins: Mapping[tuple[int, ...], Floats], rounds: int = 8, tolerance: float = 1e-4
) -> Floats:
    """Return the table fitted to margins.

    Args:
        table: The table to start from.
        margins: The wanted sums, by the axes that they keep.
        rounds: The most rounds over all margins.
        tolerance: A round that changes every margin by less than this share of the whole is the last.

    >>> fitted = rake(np.ones((2, 2)), {(0,): np.array([1.0, 3.0]), (1,): np.array([2.0, 2.0])})
    >>> fitted.tolist()
    [[0.5, 0.5], [1.5, 1.5]]
    """
    fitted = np.array(table, float)
    for _ in range(rounds):
        worst = 0.0
        for axes, wanted in margins.items():
            gone = tuple(axis for axis in range(fitted.ndim) if axis not in axes)
            found = fitted.sum(axis=gone, keepdims=True)
            goal = wanted.reshape(found.shape)
            worst = max(worst, float(np.abs(found - goal).sum()))
            fitted *= goal / np.maximum(found, _TINY)
        if worst <= tolerance * max(float(fitted.sum()), _TINY):
            break
    return fitted


def rake_many(
    tables: Floats, margins: Mapping[tuple[int, ...], Floats], rounds: int = 8, tolerance: float = 1e-4
) -> Floats:
    """Return several tables of one shape, each fitted to margins of its own: `rake` along a first axis.

    >>> one, two = np.array([1.0, 3.0]), np.array([2.0, 2.0])
    >>> rake_many(np.ones((1, 2, 2)), {(0,): one[None], (1,): two[None]})[0].tolist()
    [[0.5, 0.5], [1.5, 1.5]]
    """
    fitted = np.array(tables, float)
    everything = np.maximum(fitted.sum(axis=tuple(range(1, fitted.ndim))), _TINY)
    for _ in range(rounds):
        worst = 0.0
        for axes, wanted in margins.items():
            gone = tuple(axis + 1 for axis in range(fitted.ndim - 1) if axis not in axes)
            found = fitted.sum(axis=gone, keepdims=True)
            goal = wanted.reshape(found.shape)
            off = np.abs(found - goal).reshape(len(found), -1).sum(axis=1)
            worst = max(worst, float((off / everything).max()))
            fitted *= goal / np.maximum(found, _TINY)
        if worst <= tolerance:
            break
    return fitted
