"""Choose what is measured of one column: an integer matrix S whose rows add up to zero.

The counts of a column are measured as S·x + noise. A row that adds up to zero says nothing about the total, so
the measurements of different sets of columns are about orthogonal parts of the table (docs/theory/oracle.md). One
person changes S·x by at most the norm of a column of S for each of their rows: `cost` is the largest squared norm,
an exact integer.

**Points.** For a column without order S = n·I − 1·1ᵀ: all levels are alike.
**Ranges.** For an ordered column, let G be the mean of q̄·q̄ᵀ over ranges and points, q̄ = q − mean(q). The matrix
mechanism with SᵀS = G^½ minimises the mean variance of these queries, up to a factor for unequal norms. S is
G^¼, scaled so that its longest column is about SCALE, rounded to integers; then the diagonal is changed such that
every row adds up to exactly zero. Cost and inverse are those of the rounded matrix: rounding costs a little
accuracy, never privacy or truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.query.bins import Axis

SCALE = 128
"""The norm of the longest column of a rounded strategy, about."""

RANGES = 0.75
"""The share of ranges among the questions about an ordered column; the others are points."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strategy:
    """A matrix of integers whose rows add up to zero, of rank n − 1 for n levels.

    >>> Strategy(np.array([[1, -1]])).cost
    1
    >>> Strategy(np.array([[1, -1]])).inverse.tolist()
    [[0.5], [-0.5]]
    """

    matrix: Integers

    @cached_property
    def cost(self) -> int:
        """The largest squared norm of a column: what one person can change, squared."""
        columns: list[list[int]] = self.matrix.T.tolist()
        return max(1, max(sum(entry * entry for entry in column) for column in columns))

    @cached_property
    def inverse(self) -> Floats:
        """The pseudo-inverse S⁺. The direction of the total, which S does not see, is added and drops out."""
        n = self.matrix.shape[1]
        exact = self.matrix.astype(np.float64)
        gram = exact.T @ exact
        size = max(float(np.trace(gram)) / n, 1.0)
        found: Floats = np.linalg.solve(gram + size / n, exact.T)
        centred: Floats = found - found.mean(axis=0)
        return centred

    @cached_property
    def spread(self) -> Floats:
        """X⁺ = S⁺·S⁺ᵀ: the answer to q has the variance q̄ᵀX⁺q̄, at noise of variance 1 on every number."""
        found: Floats = self.inverse @ self.inverse.T
        return found


@lru_cache(maxsize=256)
def strategy(size: int, ordered: int) -> Strategy:
    """Return the strategy of a column of `size` levels, of which the first `ordered` have an order.

    >>> strategy(2, 2).matrix.tolist(), strategy(3, 0).matrix.tolist()
    ([[1, -1]], [[2, -1, -1], [-1, 2, -1], [-1, -1, 2]])
    >>> found = strategy(10, 9)
    >>> int(np.abs(found.matrix.sum(axis=1)).max())
    0
    >>> bool(np.allclose(found.inverse @ found.matrix, np.eye(10) - 0.1))
    True
    """
    if size == 1:
        return Strategy(np.zeros((1, 1), np.int64))
    if size == 2:
        return Strategy(np.array([[1, -1]]))
    points = Strategy(size * np.eye(size, dtype=np.int64) - 1)
    if ordered <= 2:
        return points
    at = np.arange(ordered)
    ranges = np.zeros((size, size))
    ranges[:ordered, :ordered] = (
        np.minimum.outer(at + 1, at + 1) * np.minimum.outer(ordered - at, ordered - at) * 2.0 / ordered**2
    )
    flat = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(flat @ (RANGES * ranges + (1 - RANGES) / size * np.eye(size)) @ flat)
    root = (vectors * np.where(values > 1e-10 * values[-1], np.abs(values), 0.0) ** 0.25) @ vectors.T
    rounded = np.rint(root * (SCALE / np.sqrt((root**2).sum(axis=0).max()))).astype(np.int64)
    rounded[np.diag_indices(size)] -= rounded.sum(axis=1)
    found = Strategy(rounded)
    whole = np.abs(found.inverse @ rounded - flat).max() < 1e-6  # of full rank, as a rounded root nearly always is
    return found if whole else points


def of_axis(axis: Axis) -> Strategy:
    """Return the strategy of a column of an oracle: the missing value, which is last, has no order."""
    return strategy(axis.size, len(axis.starts) if axis.ordered else 0)
