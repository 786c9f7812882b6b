"""Find the best stump of all columns and thresholds at once: sort once, then one cumulative sum per round.

A stump says `sign` where x[column] > threshold, and −sign elsewhere. Its edge on signed weights v = D·y is Σ
v·h(x) = sign·(Σ v − 2·Σ_{x ≤ threshold} v): all prefix sums of v in the order of each column. A threshold
between equal values does not exist, so those prefix sums are left out. Not private: thresholds are values of
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_TIE = 1e-12  # edges of weights that sum to 1 differ by less only through rounding


@dataclass(frozen=True)
class Stump:
    """A hypothesis that looks at one column.

    >>> Stump(column=0, threshold=1.5, sign=-1).vote(np.array([[1.0], [2.0]])).tolist()
    [1.0, -1.0]
    """

    column: int
    threshold: float
    sign: int

    def vote(self, X: Floats) -> Floats:
        """Return 1 or −1 for every row."""
        return np.where(X[:, self.column] > self.threshold, float(self.sign), float(-self.sign))


class SortedColumns:
    """The columns of a table, each in order, to search for stumps again and again.

    >>> SortedColumns(np.array([[1.0], [2.0], [3.0]])).best(np.array([-0.2, 0.5, 0.3]))
    Stump(column=0, threshold=1.5, sign=1)
    """

    def __init__(self, X: Floats):
        self._order = np.argsort(X, axis=0, kind="stable")
        self._values = np.take_along_axis(X, self._order, axis=0)
        self._splits = self._values[1:] > self._values[:-1]

    def best(self, signed: Floats) -> Stump:
        """Return the stump with the largest edge Σ signed·h(x), also a constant one."""
        total = float(signed.sum())
        if not self._splits.any():
            return self._constant(total)
        sums = np.cumsum(signed[self._order[:-1]], axis=0)
        edges = np.where(self._splits, total - 2 * sums, total)
        sizes = np.abs(edges)
        # The first of all that are best up to rounding, so that repeated rows and weighted ones give the same.
        place = int((sizes >= sizes.max() - _TIE).argmax())
        row, column = divmod(place, edges.shape[1])
        edge = float(edges[row, column])
        if not self._splits[row, column]:
            return self._constant(total)
        below, above = self._values[row, column], self._values[row + 1, column]
        # In the middle, but never rounded up to the value above.
        threshold = min(below / 2 + above / 2, float(np.nextafter(above, -np.inf)))
        return Stump(column, float(max(threshold, below)), 1 if edge > 0 else -1)

    @staticmethod
    def _constant(total: float) -> Stump:
        return Stump(0, -np.inf, 1 if total > 0 else -1)
