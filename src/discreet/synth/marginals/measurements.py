"""Combine noisy marginals, and derive what they say about smaller ones.

A marginal over A gives, summed, one over each B ⊂ A: the variance of a cell of B is the sum of the variances of
its cells of A, which is v·|A∖B| if all have the same v and |A∖B| of them make one of B. Independent measurements
of one marginal are averaged cell by cell with the weight 1/variance, as least squares does. Bins of unequal width
have unequal variances, and one mean variance for all would make sums look more precise than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from discreet.synth.marginals.domain import Columns, Domain, Floats, onto


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal: values in the shape of its columns, and the variance of the noise on each.

    If cells were added up after they were measured, `each` has the variance of every cell, and `variance` is their
    mean.

    >>> Measurement((0,), np.array([3.0, 4.0]), 2.0).precision
    0.5
    """

    columns: Columns
    values: Floats
    variance: float
    each: Floats | None = None

    @property
    def variances(self) -> Floats:
        """The variance of every cell."""
        return np.full(self.values.shape, self.variance) if self.each is None else self.each

    @property
    def precision(self) -> float:
        """The inverse of the variance."""
        return 1 / self.variance

    def summed(self, kept: Columns) -> tuple[Floats, Floats | float]:
        """Return the sums over all columns except those kept, and their variances: one number if they are equal.

        >>> bins = Measurement((0,), np.array([3.0, 4.0]), 5.0, np.array([1.0, 9.0]))
        >>> [float(number) for number in bins.summed(())]
        [7.0, 10.0]
        """
        sums = onto(self.values, self.columns, kept)
        if self.each is None:
            return sums, self.variance * (self.values.size // sums.size)
        return sums, onto(self.each, self.columns, kept)


@dataclass(frozen=True)
class Evidence:
    """All measurements of one table.

    >>> domain = Domain(("a", "b"), (2, 2))
    >>> pair = Measurement((0, 1), np.array([[1.0, 2.0], [3.0, 4.0]]), 1.0)
    >>> Evidence(domain, (pair,)).about((0,)).values.tolist()
    [3.0, 7.0]
    """

    domain: Domain
    measurements: tuple[Measurement, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "measurements", tuple(self.measurements))

    def with_more(self, more: Iterable[Measurement]) -> Evidence:
        """Return these measurements and more."""
        return Evidence(self.domain, (*self.measurements, *more))

    def sets(self, size: int) -> list[Columns]:
        """Return the sets of `size` columns that are part of a measured set."""
        found = {subset for m in self.measurements for subset in combinations(m.columns, size)}
        return sorted(found)

    def precisions(self) -> dict[Columns, float]:
        """Return the precision of each set that was measured itself."""
        found: dict[Columns, float] = {}
        for m in self.measurements:
            found[m.columns] = found.get(m.columns, 0.0) + m.precision
        return found

    def about(self, columns: Sequence[int], *, exactly: bool = False) -> Measurement:
        """Return all measurements of these columns combined into one. If there are none, its variance is infinite.

        Args:
            columns: The columns.
            exactly: Whether to use only measurements of exactly these columns.
        """
        wanted = tuple(columns)
        pool = _Pool(np.zeros(self.domain.shape(wanted)))
        for m in self.measurements:
            if set(wanted) <= set(m.columns) and (not exactly or m.columns == wanted):
                pool.add(*m.summed(wanted))
        return pool.joined(wanted)

    def gathered(self, size: int) -> dict[Columns, Measurement]:
        """Return `about` for every measured set of `size` columns, in one pass."""
        pools: dict[Columns, _Pool] = {}
        for m in self.measurements:
            for kept in combinations(m.columns, size):
                pools.setdefault(kept, _Pool(0.0)).add(*m.summed(kept))
        return {kept: pool.joined(kept) for kept, pool in sorted(pools.items())}

    def total(self) -> Measurement:
        """Return the number of rows, combined from all measurements."""
        return self.about(())


class _Pool:
    """A mean of measurements of the same cells, each cell weighted by the inverse of its variance."""

    def __init__(self, nothing: Floats | float):
        self._sum: Floats | float = nothing
        self._precision: Floats | float = 0.0

    def add(self, values: Floats, variance: Floats | float) -> None:
        self._sum, self._precision = self._sum + values / variance, self._precision + 1 / variance

    def joined(self, columns: Columns) -> Measurement:
        if np.ndim(self._precision):
            each = np.asarray(1 / self._precision)
            return Measurement(columns, np.asarray(self._sum * each), float(each.mean()), each)
        precision = float(self._precision)
        variance = 1 / precision if precision else float("inf")
        return Measurement(columns, np.asarray(self._sum / precision if precision else self._sum), variance)
