"""What was measured: noisy marginals, and all they say about smaller ones.

A marginal over A measured with noise of variance v says, summed, of each B ⊂ A what noise of variance v·|A∖B|
says, where |A∖B| is how many cells of A make one of B. Independent measurements of one marginal are joined by
the weight 1/variance, which is what least squares does. Tested in tests/marginals/test_evidence.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np

from discreet.marginals.domain import Columns, Domain, Floats, onto


@dataclass(frozen=True, eq=False)
class Measurement:
    """A noisy marginal: values in the shape of its columns, and the variance of the noise on each.

    Where cells were added up after they were measured, `each` has the variance of every one, and `variance` is
    what they have on average.

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
        """Return this and more of it."""
        return Evidence(self.domain, (*self.measurements, *more))

    def sets(self, size: int) -> list[Columns]:
        """Return the sets of so many columns that lie within a measured one."""
        found = {subset for m in self.measurements for subset in combinations(m.columns, size)}
        return sorted(found)

    def precisions(self) -> dict[Columns, float]:
        """Return how precisely each set was measured itself."""
        found: dict[Columns, float] = {}
        for m in self.measurements:
            found[m.columns] = found.get(m.columns, 0.0) + m.precision
        return found

    def about(self, columns: Sequence[int], *, exactly: bool = False) -> Measurement:
        """Return everything that was measured about these columns as one; `exactly` takes these sets only.

        With nothing measured the variance is infinite.
        """
        wanted = tuple(columns)
        total, precision = np.zeros(self.domain.shape(wanted)), 0.0
        for m in self.measurements:
            if not set(wanted) <= set(m.columns) or (exactly and m.columns != wanted):
                continue
            copies = prod(self.domain.sizes[column] for column in m.columns if column not in wanted)
            weight = m.precision / copies
            total = total + weight * onto(m.values, m.columns, wanted)
            precision += weight
        values = total / precision if precision else total
        return Measurement(wanted, values, 1 / precision if precision else float("inf"))

    def gathered(self, size: int) -> dict[Columns, Measurement]:
        """Return `about` for every set of so many columns of which something is known, in one pass."""
        sums: dict[Columns, Floats] = {}
        weights: dict[Columns, float] = {}
        for m in self.measurements:
            for kept in combinations(m.columns, size):
                weight = m.precision * self.domain.cells(kept) / self.domain.cells(m.columns)
                sums[kept] = sums.get(kept, 0.0) + weight * onto(m.values, m.columns, kept)
                weights[kept] = weights.get(kept, 0.0) + weight
        return {kept: Measurement(kept, sums[kept] / w, 1 / w) for kept, w in sorted(weights.items())}

    def total(self) -> Measurement:
        """Return the number of rows as all measurements together see it."""
        return self.about(())
