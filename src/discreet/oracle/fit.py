"""Fit a dense table to noisy sums over its cells.

Among all non-negative tables p, near the prior p₀, take the one that minimises

    κ·KL(p ‖ p₀) + Σᵢ ‖Mᵢp − yᵢ‖² / 2vᵢ

over the measurements yᵢ with noise of variance vᵢ. One measurement at a time has a closed step (an exact
I-projection, softened by its variance): multiply the cells of part j by e^θ, where m·e^θ + κv·(λ + θ) = y, m is
the present sum of the part, and λ is the logarithm of what the part was multiplied by before. Done round by round,
this is coordinate ascent on the dual. It needs no learning rate, and at v = 0 it is iterative proportional
fitting. κ = 0.3/σ, so that cells about as large as the noise may change by a factor of a few, smaller ones stay
near the prior, and larger ones near the data.

**Cells are never negative.** So in a table with many empty cells only positive noise would remain, and totals
would drift upwards. Therefore the total and the one-way marginals are estimated first, without bias, as means of
all their measurements weighted by the inverse variances, and are then kept fixed.

**Passes.** Steps are taken on projections: measurements whose columns together have few cells share one pass over
the table. All of this is post-processing of released numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod, sqrt
from typing import TypeAlias

import numpy as np

from discreet.oracle.dense_table import Floats, project, scale, scale_box

Columns: TypeAlias = tuple[int, ...]
Prior: TypeAlias = Callable[[Columns], Floats]
"""Maps columns to the shares of their cells in a public table."""

_STRENGTH = 0.3  # of the prior, in units of 1/σ
_NARROW = 1e-6  # the variance of sums that are kept fixed, in rows²: almost 0
_PASSES = 4  # rounds on a projection, for each pass over the whole table
_SHARED = 2**16  # cells of a projection that measurements share
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy sums over the cells of some columns, in rows, each with noise of this variance.

    Without `weights` there is one sum for each cell, or for each part: `starts` has for a column the cells at
    which its parts begin. With `weights` there is a single sum, of the weighted cells.
    """

    columns: Columns
    values: Floats
    variance: float
    weights: Floats | None = None
    starts: tuple[tuple[int, ...] | None, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether there is a sum for every cell."""
        return self.weights is None and not any(self.starts)

    def gathered(self, cells: Floats) -> Floats:
        """Return the sums by part of a table over its columns."""
        for axis, starts in enumerate(self.starts):
            if starts:
                cells = np.add.reduceat(cells, starts, axis=axis)
        return cells

    def spread(self, parts: Floats, sizes: Sequence[int]) -> Floats:
        """Return the number of its part for every cell."""
        for axis, starts in enumerate(self.starts):
            if starts:
                parts = np.repeat(parts, np.diff([*starts, sizes[axis]]), axis=axis)
        return parts


@dataclass
class Held:
    """A measurement, and the logarithms of what its parts were multiplied by so far."""

    measured: Measurement
    log: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.log = np.zeros_like(self.measured.values)


def step(mass: Floats, log: Floats, target: Floats, weight: float) -> Floats:
    """Return θ with mass·e^θ + weight·(log + θ) = target, by Newton's method: the left side is increasing in θ.

    >>> float(np.exp(step(np.array(2.0), np.array(0.0), np.array(6.0), 1e-12)).round(6))
    3.0
    """
    theta = np.clip((target - mass - weight * log) / (mass + weight), -4.0, 4.0)
    for _ in range(40):
        grown = mass * np.exp(theta)
        change = np.clip((grown + weight * (log + theta) - target) / (grown + weight), -2.0, 2.0)
        theta = theta - change
        if np.abs(change).max(initial=0.0) < 1e-9:
            break
    return np.clip(theta, -50.0, 50.0)


def total_of(measured: Sequence[Measurement], known: Measurement) -> float:
    """Return the best estimate of the number of rows: all totals, weighted by their inverse variances."""
    parts = [known, *(m for m in measured if m.weights is None)]
    weights = [1 / (m.variance * m.values.size) for m in parts]
    return sum(w * float(m.values.sum()) for w, m in zip(weights, parts, strict=True)) / sum(weights)


def singles_of(measured: Sequence[Measurement], total: float) -> dict[int, Floats]:
    """Return an estimate of every one-way marginal that was measured cell by cell, without negative cells.

    Several estimates of the same cells are averaged by their inverse variances. Where parts were measured as well,
    all cells of a part change by the same amount, so that their sum is the weighted mean of both sums: least
    squares for two levels.
    """
    fine: dict[int, Pool] = {}
    parts: dict[tuple[int, tuple[int, ...]], Pool] = {}
    for m in measured:
        if m.weights is not None:
            continue
        for place, column in enumerate(m.columns):
            values = project(m.values, [place])
            variance = m.variance * m.values.size / values.size
            starts = m.starts[place] if m.starts else None
            pool = parts.setdefault((column, starts), Pool()) if starts else fine.setdefault(column, Pool())
            pool.add(values, variance)
    found = {column: pool.mean for column, pool in fine.items()}
    for (column, starts), pool in parts.items():
        if column in found:
            widths = np.diff([*starts, found[column].size])
            sums, variances = np.add.reduceat(found[column], starts), widths * fine[column].variance
            moved = (pool.mean - sums) * variances / (variances + pool.variance)
            found[column] = found[column] + np.repeat(moved / widths, widths)
    return {column: on_simplex(values, total) for column, values in found.items()}


class Pool:
    """A mean weighted by inverse variances."""

    def __init__(self) -> None:
        self._sum, self._weight = np.zeros(()), 0.0

    @classmethod
    def of(cls, values: Floats, variance: float) -> Pool:
        """Return the pool of one estimate."""
        pool = cls()
        pool.add(values, variance)
        return pool

    def add(self, values: Floats, variance: float) -> None:
        """Add one more estimate of the same numbers."""
        self._sum, self._weight = self._sum + values / variance, self._weight + 1 / variance

    @property
    def mean(self) -> Floats:
        """The weighted mean."""
        return self._sum / self._weight

    @property
    def variance(self) -> float:
        """The variance of the mean."""
        return 1 / self._weight


def on_simplex(values: Floats, total: float) -> Floats:
    """Return the nearest vector without negative entries that adds up to `total`.

    >>> on_simplex(np.array([6.0, 3.0, -2.0]), 8.0).tolist()
    [5.5, 2.5, 0.0]
    """
    ordered = np.sort(values.ravel())[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = int(np.flatnonzero(ordered > shifts)[-1]) if total > 0 else 0
    nearest: Floats = np.maximum(values - shifts[last], 0.0)
    return nearest


def centred(m: Measurement, singles: dict[int, Floats], total: float) -> Measurement:
    """Return a two-way measurement corrected to the one-way marginals, which are known better."""
    if m.weights is not None or len(m.columns) != 2 or any(column not in singles for column in m.columns):
        return m
    margins = [singles[column] for column in m.columns]
    for place, starts in enumerate(m.starts):
        if starts:
            margins[place] = np.add.reduceat(margins[place], starts)
    values = m.values
    rows = (margins[0] - values.sum(1))[:, None] / values.shape[1]
    columns = (margins[1] - values.sum(0))[None, :] / values.shape[0]
    moved = values + rows + columns - (total - values.sum()) / values.size
    return Measurement(m.columns, moved, m.variance, None, m.starts)


def gathered(measured: Sequence[Measurement], singles: dict[int, Floats], total: float) -> list[Measurement]:
    """Return measurements improved by what all the others say about the same columns.

    A marginal of A is a sum over B ⊆ A of interactions: the sums over B, minus their means along each column of B,
    spread evenly over A. All marginals that contain B have an estimate of its interaction. These are averaged by
    their inverse variances: the best linear estimate. Two columns are corrected to their one-way marginals; three
    and more get all their interactions.
    """
    pools: dict[Columns, Pool] = {}
    for m in measured:
        if m.fine:
            for part in _subsets(m.columns):
                places = [m.columns.index(column) for column in part]
                sums = project(m.values, places)
                pools.setdefault(part, Pool()).add(_residual(sums), m.variance * m.values.size / sums.size)
    for column, values in singles.items():
        pools[column,] = Pool.of(_residual(values), pools[column,].variance if (column,) in pools else 1.0)
    return [
        _joined(m, pools, total) if m.fine and len(m.columns) > 2 else centred(m, singles, total) for m in measured
    ]


def _joined(m: Measurement, pools: dict[Columns, Pool], total: float) -> Measurement:
    sizes = dict(zip(m.columns, m.values.shape, strict=True))
    values, variance = np.full(m.values.shape, total / m.values.size), 0.0
    for part in _subsets(m.columns):
        spread = prod(size for column, size in sizes.items() if column not in part)
        shape = [size if column in part else 1 for column, size in sizes.items()]
        if part:
            values = values + pools[part].mean.reshape(shape) / spread
        kept = prod(1 - 1 / sizes[column] for column in part)
        variance += pools[part].variance * kept / spread**2
    return Measurement(m.columns, values, variance)


def _residual(sums: Floats) -> Floats:
    for axis in range(sums.ndim):
        sums = sums - sums.mean(axis=axis, keepdims=True)
    return sums


def _subsets(columns: Columns) -> list[Columns]:
    return [part for size in range(len(columns) + 1) for part in combinations(columns, size)]


class Table:
    """A dense table over some columns, and its fit to their measurements.

    >>> table = Table((0, 1), (2, 2), 100.0)
    >>> half = Measurement((0,), np.array([90.0, 10.0]), 1.0)
    >>> table.fit([half], total=100.0, rounds=5)
    >>> table.marginal((0,)).round(1).tolist()
    [90.0, 10.0]
    """

    def __init__(
        self,
        columns: Columns,
        sizes: Sequence[int],
        total: float,
        prior: Prior | None = None,
        strength: float = _STRENGTH,
    ):
        self.columns, self._strength = columns, strength
        shares = np.full(sizes, 1.0 / prod(sizes)) if prior is None else np.array(prior(columns), np.float64)
        self.cells: Floats = shares * total
        self._scale = 1.0  # the factor that all cells are still to be multiplied by
        self._held: list[Held] = []
        self._kept: list[Held] = []

    def fit(self, measured: Sequence[Measurement], *, total: float, rounds: int) -> None:
        """Fit to measurements of these columns, from where the last fit ended."""
        if self._scale != 1.0:
            np.multiply(self.cells, self._scale, out=self.cells)
            self._scale = 1.0
        known = {id(held.measured): held for held in self._held}
        self._held = [known.get(id(m)) or Held(m) for m in measured]
        singles = singles_of(measured, total)
        kept = [Measurement((column,), np.maximum(v, _TINY), _NARROW) for column, v in singles.items()]
        kept = kept or [Measurement((), np.array(total), _NARROW)]
        self._kept = [Held(m) for m in kept]
        joined = gathered([held.measured for held in self._held], singles, total)
        targets = {id(held): target for held, target in zip(self._held, joined, strict=True)}
        deviation = sqrt(min((m.variance for m in measured), default=1.0))
        strength = self._strength / deviation
        for _ in range(rounds):
            for columns, soft, hard in self._shared():
                self._round(columns, soft, hard, targets, strength)

    def marginal(self, columns: Columns) -> Floats:
        """Return the sums over the cells of some columns."""
        sums = project(self.cells, [self.columns.index(column) for column in columns])
        return sums if self._scale == 1.0 else sums * self._scale

    def learn(self, measured: Measurement) -> None:
        """Set one weighted sum to its measured value, by an I-projection, and keep the total.

        Cells inside are multiplied by y/m and those outside by (n − y)/(n − m), softened by the variance. The
        factor outside goes into the scale of the whole table, so that a box changes its own cells alone.
        """
        if measured.weights is None:
            raise ValueError("A whole marginal is fitted, not learned.")
        mass = self.marginal(measured.columns)
        total, inside = float(mass.sum()), float((mass * measured.weights).sum())
        weight = self._strength * sqrt(measured.variance)
        wanted = inside * float(np.exp(step(np.array(inside), np.zeros(()), measured.values, weight)))
        wanted = min(max(wanted, _TINY), total * 0.999)
        outside = (total - wanted) / max(total - inside, _TINY)
        ratio = wanted / max(inside, _TINY) / outside
        self._scale *= outside
        places = [self.columns.index(column) for column in measured.columns]
        box = box_of(measured.weights)
        if box is None:
            scale(self.cells, places, 1.0 + measured.weights * (ratio - 1.0))
        else:
            whole = dict(zip(places, box, strict=True))
            scale_box(self.cells, [whole.get(i, slice(None)) for i in range(self.cells.ndim)], ratio)
        self._held.append(Held(measured))

    def _round(
        self,
        columns: Columns,
        soft: Sequence[Held],
        hard: Sequence[Held],
        targets: dict[int, Measurement],
        strength: float,
    ) -> None:
        """Do some rounds on a projection, and apply them to the table in one pass."""
        small = self.marginal(columns)
        log = np.zeros_like(small)
        for _ in range(_PASSES):
            for held in soft:
                self._step(held, targets[id(held)], small, log, strength, columns)
            for held in hard:
                self._step(held, held.measured, small, log, strength, columns)
        scale(self.cells, [self.columns.index(column) for column in columns], np.exp(log))

    @staticmethod
    def _step(held: Held, m: Measurement, small: Floats, log: Floats, strength: float, columns: Columns) -> None:
        places = [columns.index(column) for column in m.columns]
        shape = [small.shape[i] if i in places else 1 for i in range(small.ndim)]
        weight = strength * m.variance
        mass = project(small, places)
        if m.weights is None:
            theta = step(m.gathered(mass), held.log, m.values, weight)
            held.log = held.log + theta
            moved = m.spread(theta, mass.shape).reshape(shape)
        else:
            inside = np.asarray((mass * m.weights).sum())
            theta = step(inside, held.log, m.values, weight)
            held.log = held.log + theta
            moved = (float(theta) * m.weights).reshape(shape)
        np.multiply(small, np.exp(moved), out=small)
        np.add(log, moved, out=log)

    def _shared(self) -> list[tuple[Columns, list[Held], list[Held]]]:
        """Group measurements whose columns together have few cells: they share one pass."""
        sizes = dict(zip(self.columns, self.cells.shape, strict=True))
        left = sorted(self._held, key=lambda held: -held.measured.values.size)
        blocks = []
        while left:
            chosen = set(left[0].measured.columns)
            for held in left:
                wider = chosen | set(held.measured.columns)
                if prod(sizes[column] for column in wider) <= _SHARED:
                    chosen = wider
            columns = tuple(sorted(chosen))
            inside = [held for held in left if set(held.measured.columns) <= chosen]
            left = [held for held in left if not set(held.measured.columns) <= chosen]
            hard = [held for held in self._kept if set(held.measured.columns) <= chosen]
            blocks.append((columns, inside, hard))
        return blocks or [((), [], [held for held in self._kept if not held.measured.columns])]


def box_of(weights: Floats) -> list[slice] | None:
    """Return the box that weights of 0 and 1 select, None if it is not a box.

    >>> box_of(np.array([[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]))
    [slice(0, 2, None), slice(1, 3, None)]
    """
    box = []
    for axis in range(weights.ndim):
        others = tuple(i for i in range(weights.ndim) if i != axis)
        met = np.flatnonzero(weights.any(axis=others))
        if not met.size or met[-1] - met[0] + 1 != met.size:
            return None
        box.append(slice(int(met[0]), int(met[-1]) + 1))
    return box if (weights[tuple(box)] == 1).all() else None
