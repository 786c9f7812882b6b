"""Predict a pair of columns from other pairs, through the columns that are tied to both.

If u and v are independent given a column c, their table is Σ_c P(u, c)·P(c, v)/P(c): the path through c, the
column whose weaker tie is strongest. Other columns may know what c does not. What they add is a regression: of the
indicators of u's and v's values, c's part is taken away, and the rest is regressed on what is left of the other
columns, B. With K for covariances given c, the addition is

    K_uB·K_BB·(K_BB² + τ²)⁻¹·K_Bv,

in units in which each indicator has variance 1 (nearly). It is zero if c separates u, or v, from all of B, so such
a path stays as it is. With τ = 0 it is the regression itself. An eigenvalue of K_BB far below τ belongs to a
direction in which the columns of B hardly differ and noise is larger than the difference: it does not count. Noisy
tables are of no joint distribution, so K_BB may have negative eigenvalues too; the sum with τ² never has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Floats

_NOISE = 0.4  # τ. Twice as much was as good on seven of eight tables, and 1 % worse on one.
_MOST = 19  # the most columns beside the first
_WIDEST = 256  # the most values of those columns together, so that a solution takes milliseconds
_LEAST = 0.1  # a cell keeps this share of its path, whatever the regression says
_TINY = 1e-12


class Paths:
    """The pairs that are known so far, with the strength of their ties.

    >>> copies = np.array([[45.0, 5.0], [5.0, 45.0]])
    >>> paths = Paths([np.array([50.0, 50.0])] * 3, 100.0)
    >>> paths.add((0, 1), copies, tie=80.0), paths.add((1, 2), copies, tie=80.0)
    (None, None)
    >>> paths.follow((0, 2)).round().tolist()
    [[41.0, 9.0], [9.0, 41.0]]
    """

    def __init__(self, ones: Sequence[Floats], total: float) -> None:
        """Start with columns and no pairs."""
        self._total = total
        self._roots = [np.sqrt(np.maximum(one / total, _TINY)) for one in ones]
        ends = np.cumsum([0, *map(len, ones)])
        self._places = [np.arange(*span) for span in pairwise(ends)]
        self._tables: dict[Columns, Floats] = {}
        self._ties = np.zeros((len(ones), len(ones)))
        # Single precision: beside τ its round-off is nothing, and columns may have thousands of values.
        self._correlations = np.zeros((ends[-1], ends[-1]), np.float32)
        for place, root in zip(self._places, self._roots, strict=True):
            self._correlations[np.ix_(place, place)] = np.eye(len(root)) - np.multiply.outer(root, root)

    def add(self, pair: Columns, table: Floats, tie: float) -> None:
        """Learn a pair, or learn it anew."""
        self._tables[pair] = table
        self._ties[pair] = self._ties[pair[::-1]] = tie
        shares = table / max(float(table.sum()), _TINY)
        apart = shares - np.multiply.outer(shares.sum(axis=1), shares.sum(axis=0))
        block = apart / np.multiply.outer(self._roots[pair[0]], self._roots[pair[1]])
        one, other = (self._places[column] for column in pair)
        self._correlations[one[0] : one[-1] + 1, other[0] : other[-1] + 1] = block
        self._correlations[other[0] : other[-1] + 1, one[0] : one[-1] + 1] = block.T

    def follow(self, pair: Columns, *, many: bool = True) -> Floats | None:
        """Return the pair as it follows from others, or None if no column is tied to both.

        Args:
            pair: The columns.
            many: Whether columns beside the first are asked, which takes longer.
        """
        u, v = pair
        weaker = np.minimum(self._ties[u], self._ties[v])  # the tie of u with itself is 0: neither end is chosen
        tied = int(np.count_nonzero(weaker))
        if not tied:
            return None
        through, *others = np.argsort(-weaker, kind="stable")[:tied].tolist()
        first, second = self._table(u, through), self._table(through, v)
        path: Floats = first @ (second / np.maximum(second.sum(axis=1, keepdims=True), _TINY))
        path *= self._total / max(float(path.sum()), _TINY)
        others = self._narrow(others) if many else []
        if not others:
            return path
        return np.maximum(path + self._addition(u, v, through, others), _LEAST * path)

    def _table(self, row: int, column: int) -> Floats:
        return self._tables[row, column] if row < column else self._tables[column, row].T

    def _narrow(self, columns: Sequence[int]) -> list[int]:
        """Return the first of these columns that have few enough values together."""
        found: list[int] = []
        room = _WIDEST
        for column in columns:
            if len(self._roots[column]) <= room:
                found.append(column)
                room -= len(self._roots[column])
            if len(found) == _MOST:
                break
        return found

    def _addition(self, u: int, v: int, through: int, others: Sequence[int]) -> Floats:
        """Return what other columns add to the path through one, in rows."""
        rest = np.concatenate([self._places[column] for column in others])
        given = self._correlations[np.ix_(self._places[through], rest)]

        def left(rows: NDArray[np.int64]) -> NDArray[np.float32]:
            known = self._correlations[np.ix_(rows, self._places[through])]
            found: NDArray[np.float32] = self._correlations[np.ix_(rows, rest)] - known @ given
            return found

        between = self._correlations[np.ix_(rest, rest)] - given.T @ given
        added = left(self._places[u]) @ _solved(between, left(self._places[v]).T)
        return self._total * np.multiply.outer(self._roots[u], self._roots[v]) * added


def _solved(matrix: NDArray[np.float32], sides: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return K·(K² + τ²)⁻¹·sides, which is finite for every K."""
    square = matrix @ matrix
    square[np.diag_indices_from(square)] += np.float32(_NOISE**2)
    return np.linalg.solve(square, matrix @ sides)
