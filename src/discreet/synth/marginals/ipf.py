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
_SHARED = 0.5  # the typical error of the unsure part of a sum, as a share of it
_FACTOR = 30.0  # unsure cells are raised and lowered by so much at most


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


def rake_loose(
    table: Floats, sure: Floats, variance: float, margins: Mapping[tuple[int, ...], Floats], rounds: int = 8
) -> Floats:
    """Return the table fitted to margins, each cell by as much as it may be off.

    The error of a cell that its measurement determined is noise of its own. The error of cells that stayed at
    their base is shared: if a row has too much, all of them have. With u the sum of the unsure parts l of a row,
    off by half of itself, and s the sure shares, least squares divides what a row is off in proportion to the
    covariance of cell and sum, σ²·s + l·u/4. `rake` would divide it in proportion to the cells, and take from one
    large cell that is known well what many small ones have too much.

    Args:
        table: The table to start from.
        sure: The share of each cell that its measurement determined, from 0 to 1.
        variance: That of the noise of a cell.
        margins: The wanted sums, by the axes that they keep.
        rounds: The most rounds over all margins, each time.

    >>> table, sure = np.array([[80.0, 20.0, 20.0]]), np.array([[1.0, 0.0, 0.0]])
    >>> rake_loose(table, sure, 0.0, {(0,): np.array([100.0])}).tolist()
    [[80.0, 10.0, 10.0]]
    >>> rake_loose(table, np.ones((1, 3)), 4.0, {(0,): np.array([90.0])}).tolist()
    [[70.0, 10.0, 10.0]]
    """
    fitted, least = np.array(table, float), table / _FACTOR
    own, loose = np.where(table > 0, variance * sure, 0.0), (1 - sure) * table
    gains: dict[tuple[int, ...], Floats] = {}
    for axes in margins:
        gone = tuple(axis for axis in range(table.ndim) if axis not in axes)
        covariance = own + _SHARED**2 * loose * loose.sum(axis=gone, keepdims=True)
        gains[axes] = covariance / np.maximum(covariance.sum(axis=gone, keepdims=True), _TINY)
    for _ in range(rounds):
        for axes, wanted in margins.items():
            gone = tuple(axis for axis in range(table.ndim) if axis not in axes)
            found = fitted.sum(axis=gone, keepdims=True)
            fitted = np.maximum(fitted + gains[axes] * (wanted.reshape(found.shape) - found), least)
    return rake(fitted, margins, rounds)


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
