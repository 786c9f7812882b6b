"""Find by simulation how much boxes of the same columns overlap, so that a union bound counts them once.

Let X_q be the noise of the boxes q on a set C of columns, each normal, and A_q the event |X_q| > z·sd(q). The
union bound says P(some A_q) ≤ Σ P(A_q). With N the number of these events that happen, and q one of n boxes at
random, exactly

    P(some A_q) = Σ_q E[1{A_q}/N] = Σ_q P(A_q)·E[1/N | A_q] = n·2Φ(−z)·m,      m = E[1/N | A_q],

so a union bound with z at λ·(its part of alpha) is still a bound if λ·m ≤ 1. A box whose ends are moved by a level
has nearly the same noise. m is the mean of numbers in (0, 1]: a simulation that draws q, then X given A_q, and
counts, finds it from a thousand draws, however small the probability is. To count only boxes near q makes 1/N
larger, never smaller, so it is allowed.

**The error of the simulation** is part of the bound. λ is guessed from a pilot, and taken if the mean of n fresh
draws is at most t. If λ·m > 1, that has probability at most e^{−n·KL(t, m)} (Hoeffding 1963), and t is such that
(λ·m − 1)·e^{−n·KL(t, m)} ≤ EXCESS for every m. The margin has z at λ/(1 + EXCESS), where m is simulated too; at
1/(1 + EXCESS) if λ did not pass. Then the probability of a miss, over simulation and noise, is at most its part
of alpha. The simulation knows columns and design alone; no row takes part.

**What it gains.** m is 0.7 to 0.9 for columns of up to 365 levels: neighbours share less noise than one might
think, for strategies of ranges make single levels costly. The margin shrinks by 1 % at most, so only long columns
are simulated (MANY), and tested where a pilot promises a gain.

**Numbers.** Draws are discrete Gaussians of deviation 2²⁶, from `discreet.noise`; an event counts only if it is
beyond z by 10⁻⁶, far more than grid and floats move. Again this makes N smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.oracle.span.confidence import COUNTS, columns_weight, levels_weight, quantile
from discreet.oracle.span.design import Column, Columns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DRAWS = 1000
"""The draws of the test of a λ."""

PILOT = 100
"""The draws from which a λ is guessed."""

EXCESS = 0.02
"""What the test of a λ may add to the probability of a miss, in units of its alpha."""

WORTH = 1.1
"""The least λ that is worth a test."""

MANY = 50
"""The least number of ordered levels for which ranges overlap enough to try."""

MOST_SETS = 60
"""The most sets of columns for which overlap is simulated."""

_BEYOND = 1e-6
_MOVES = [(a, b) for a in (0, -1, 1) for b in (0, -1, 1)]  # of the two ends of a range; the first is none


def overlaps(
    columns: Sequence[Column], variances: Mapping[Columns, float], most: int, alpha: float
) -> dict[Columns, float]:
    """Return what the parts of alpha of boxes are multiplied with, for every set of columns that was simulated.

    Args:
        columns: The columns of the oracle.
        variances: The variance of the noise of each set.
        most: The most columns of a set.
        alpha: The alpha of the span.
    """
    sets = [some for some in variances if len(some) == most and any(columns[i].ordered >= MANY for i in some)]
    if len(sets) > MOST_SETS:
        return {}
    found = {}
    for some in sets:
        parts = [part for k in range(len(some) + 1) for part in combinations(range(len(some)), k)]
        if any(tuple(some[i] for i in part) not in variances for part in parts):
            continue
        noises = [variances[tuple(some[i] for i in part)] for part in parts]
        chosen = [columns[i] for i in some]
        found[some] = _overlap(chosen, noises, _alpha(chosen, len(columns), most) * alpha)
    return {some: factor for some, factor in found.items() if factor != 1}


def _alpha(chosen: Sequence[Column], columns: int, most: int) -> float:
    """Return the weight of one box on these columns."""
    weight = COUNTS * columns_weight(columns, len(chosen), most)
    for column in chosen:
        weight *= levels_weight(column.size, column.ordered, np.arange(column.size) < 1)
    return weight


def _overlap(chosen: Sequence[Column], noises: Sequence[float], alpha: float) -> float:
    """Return λ/(1 + EXCESS) if λ passed its test, 1/(1 + EXCESS) if it did not, and 1 without a test."""
    boxes = Boxes(chosen, noises)
    factor = 0.95 / float(boxes.shares(quantile(min(1.0, 1.2 * alpha)), PILOT).mean())
    if factor < WORTH:
        return 1.0
    used = factor / (1 + EXCESS)
    mean = float(boxes.shares(quantile(min(1.0, used * alpha)), DRAWS).mean())
    return (factor if mean <= threshold(factor, DRAWS) else 1.0) / (1 + EXCESS)


def threshold(factor: float, draws: int) -> float:
    """Return the largest t, to a thousandth, with (λ·m − 1)·e^(−n·KL(t, m)) ≤ EXCESS for all m.

    >>> threshold(1.3, 1000) < 1 / 1.3 < threshold(1.3, 1000) + 0.02
    True
    """
    step = (1 - 1 / factor) / 2000
    m = 1 / factor + step * np.arange(1999)  # the left ends of intervals; the last is that up to 1
    for thousandths in range(math.ceil(1000 / factor) - 1, 0, -1):
        t = thousandths / 1000
        divergence = t * np.log(t / m) + (1 - t) * np.log((1 - t) / (1 - m))
        # In an interval the gain is at most that of its right end, and the probability that of its left end.
        right = np.append(m[1:], 1.0)
        if ((factor * right - 1) * np.exp(-draws * divergence)).max() <= EXCESS:
            return t
    return 0.0


class Boxes:
    """The noise of boxes on some columns: ranges of ordered columns, single levels of others.

    Args:
        chosen: The columns.
        noises: The variance of the noise of every set of them, by size and then in order.
    """

    def __init__(self, chosen: Sequence[Column], noises: Sequence[float]):
        self._chosen, places = tuple(chosen), range(len(chosen))
        sets = chain.from_iterable(combinations(places, k) for k in range(len(chosen) + 1))
        self._noises = dict(zip(sets, noises, strict=True))

    def shares(self, z: float, draws: int) -> Floats:
        """Return 1/N for boxes at random, given that the noise of each is beyond z deviations."""
        axes = [_axis(column, draws) for column in self._chosen]
        allowed = _outer([axis.allowed.astype(np.float64) for axis in axes]) > 0
        drawn, with_first = np.zeros(allowed.shape), np.zeros(allowed.shape)
        spread = np.zeros(allowed.shape)
        for some, variance in self._noises.items():
            drawn += math.sqrt(variance) * _part(axes, some, _normals((draws, *allowed.shape[1:])))
            with_first += variance * _outer([a.first if i in some else a.first_mean for i, a in enumerate(axes)])
            spread += variance * _outer([a.own if i in some else a.mean**2 for i, a in enumerate(axes)])
        flat, shared, own = (part.reshape(draws, -1) for part in (drawn, with_first, spread))
        wanted = _beyond(z, draws)[:, None] * np.sqrt(own[:, :1])
        moved = flat + (wanted - flat[:, :1]) / own[:, :1] * shared
        counted = allowed.reshape(draws, -1) & (np.abs(moved) > (z + _BEYOND) * np.sqrt(np.maximum(own, 0.0)))
        counted[:, 0] = True  # the box itself
        found: Floats = 1 / counted.sum(axis=1)
        return found


class _Axis:
    """The choices of one column near a range at random, for many draws: the first is the range itself.

    `root` is a root of the covariances of their noise, `own` the variances, `first` the covariances with the first
    choice, and `mean` the share of levels of each.
    """

    def __init__(self, column: Column, low: Integers, high: Integers, allowed: NDArray[np.bool_]):
        summed = np.zeros((column.size + 1, column.size + 1))
        summed[1:, 1:] = column.strategy.spread.cumsum(axis=0).cumsum(axis=1)
        a, b, c, d = low[:, :, None], high[:, :, None], low[:, None, :], high[:, None, :]
        covariance = summed[b, d] - summed[a, d] - summed[b, c] + summed[a, c]
        values, vectors = np.linalg.eigh((covariance + covariance.transpose(0, 2, 1)) / 2)
        self.root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        self.own, self.first = np.diagonal(covariance, axis1=1, axis2=2), covariance[:, :, 0]
        self.mean, self.allowed = (high - low) / column.size, allowed
        self.first_mean = self.mean * self.mean[:, :1]


def _axis(column: Column, draws: int) -> _Axis:
    """Draw a range of every column for every draw, uniform among those that the weights are about."""
    if column.ordered <= 2:
        low = np.asarray(noise.uniform_below(column.size, draws), np.int64)[:, None]
        return _Axis(column, low, low + 1, np.ones((draws, 1), bool))
    starts, ends = np.triu_indices(column.ordered)
    partial = ends + 1 - starts < column.size
    starts, ends = starts[partial], ends[partial] + 1
    place = np.asarray(noise.uniform_below(len(starts), draws), np.int64)
    low = starts[place][:, None] + np.array([a for a, _ in _MOVES])
    high = ends[place][:, None] + np.array([b for _, b in _MOVES])
    allowed = (low >= 0) & (high <= column.ordered) & (low < high) & (high - low < column.size)
    return _Axis(column, np.where(allowed, low, 0), np.where(allowed, high, 1), allowed)


def _part(axes: Sequence[_Axis], some: Columns, normals: Floats) -> Floats:
    """Return the noise of one set of columns in the answers of all choices."""
    table = normals
    for i, axis in enumerate(axes):
        place = i + 1
        if i in some:
            moved = np.moveaxis(table, place, 1)
            shape = moved.shape
            mixed = np.matmul(axis.root, moved.reshape(shape[0], shape[1], -1)).reshape(shape)
            table = np.moveaxis(mixed, 1, place)
        else:
            # One number for all choices of this column: each has its share of levels.
            one = np.take(table, [0], axis=place)
            shape = (len(table), *(axis.mean.shape[1] if j == i else 1 for j in range(len(axes))))
            table = one * axis.mean.reshape(shape)
    return table


def _outer(parts: Sequence[Floats]) -> Floats:
    """Return the product of choices of all columns, for every draw."""
    found = parts[0]
    for part in parts[1:]:
        found = found[..., None] * part.reshape(len(part), *(1,) * (found.ndim - 1), -1)
    return found


def _normals(shape: tuple[int, ...]) -> Floats:
    return np.asarray(noise.discrete_gaussian(2**52, math.prod(shape)), np.float64).reshape(shape) / 2**26


def _beyond(z: float, draws: int) -> Floats:
    """Return normal numbers given that they are beyond z."""
    tail = NormalDist().cdf(-z)
    places = (np.asarray(noise.uniform_below(2**52, draws), np.float64) + 0.5) / 2**52
    return np.array([max(z, -NormalDist().inv_cdf(float(place) * tail)) for place in places])
