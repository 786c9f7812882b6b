"""Find what moves cost by matrix products: for columns of few values.

With x the 0/1 vector of a row, one place for each value of each column, Σ_rows x_i·x_j·x_k holds all counts of
three columns, of two (at j = k, because x² = x) and of one. What value l of column c costs a row is the quadratic
form xᵀAx, where A has the residuals at i = (c, l). So one product of matrices serves all rows of a batch. All sets
of one, two and three columns are wanted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Domain
from discreet.synth.rows.descent import cheapest
from discreet.synth.rows.targets import Residual, Weights
from discreet.synth.rows.tree import Codes, Masks, barred

BATCH = 4096
MOST_PLACES = 128
"""The most values of all columns together: beyond, fewer sets by tables are faster than all sets by products."""

_FASTER = 16  # a multiplication in a product of matrices is so many times faster than reading a table
_FORBIDDEN = np.float32(1e9)
_PLACES: dict[int, list[tuple[int, ...]]] = {
    1: [(0, 0, 0)],
    2: [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
    3: list(permutations(range(3))),
}  # where a set stands in the cube: every order, and every way to name one of two columns twice

Cube = NDArray[np.float32]
Moves = tuple[Cube, NDArray[np.float32]]


def fits(domain: Domain) -> bool:
    """Return whether products are faster than reading tables.

    >>> fits(Domain(("a", "b", "c"), (2, 2, 3))), fits(Domain(("a", "b"), (2, 40)))
    (True, False)
    """
    return sum(domain.sizes) <= min(3.5 * len(domain), MOST_PLACES)


class Products:
    """The residuals of rows, as a cube."""

    def __init__(
        self, rows: Codes, domain: Domain, wanted: Mapping[Columns, Residual], weights: Weights, impossible: Masks
    ):
        self.domain, self.impossible, self.touched = domain, impossible, 0
        ends = np.cumsum([0, *domain.sizes])
        self.at = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.start, places = ends[:-1], int(ends[-1])
        self.codes = np.asfortranarray(rows, np.intp)
        self.x: Cube = np.zeros((len(rows), places), np.float32)
        np.put_along_axis(self.x, self.codes + self.start, np.float32(1), 1)
        self.heavy = [self._weighted(column, weights) for column in range(len(domain))]
        self.own = [weights((column,)) for column in range(len(domain))]
        self.cube: Cube = np.empty((places, places, places), np.float32)
        for i in range(places):
            held = self.x[self.x[:, i] > 0]
            self.cube[i] = held.T @ held
        self.alone_of = [sum(weights(s) for s in wanted if column in s) for column in range(len(domain))]
        self.objective = 0.0
        for columns, table in wanted.items():
            axes = [np.arange(places)[self.at[c]] for c in columns]
            for order in _PLACES[len(columns)]:
                self.cube[self._cells(axes, order)] -= table
            left = self.cube[self._cells(axes, _PLACES[len(columns)][0])].astype(float)
            self.objective += weights(columns) * float(np.square(left).sum())

    def _weighted(self, column: int, weights: Weights) -> Cube:
        """Return how much the residuals of a column weigh beside two places: (j, k) and (k, j) are one set."""
        width, found = len(self.domain), np.zeros((self.x.shape[1],) * 2, np.float32)
        for a, b in combinations([c for c in range(width) if c != column], 2):
            half = weights(tuple(sorted((a, b, column)))) / 2
            found[self.at[a], self.at[b]] = half
            found[self.at[b], self.at[a]] = half
        for a in range(width):
            if a != column:
                own = np.arange(self.at[a].start, self.at[a].stop)
                found[own, own] = weights((min(a, column), max(a, column)))
        return found

    @staticmethod
    def _cells(axes: list[NDArray[np.intp]], order: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
        open_mesh = np.ix_(*axes)
        return tuple(open_mesh[i] for i in order)

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return len(self.domain)

    @property
    def batch(self) -> int:
        """Return how many rows are looked at together."""
        return BATCH

    def result(self) -> Codes:
        """Return the rows as they are now."""
        return np.ascontiguousarray(self.codes, np.int32)

    def alone(self, column: int) -> float:
        """Return the square of one row that moves alone, halved."""
        return self.alone_of[column]

    def _facing(self, column: int) -> tuple[Cube, NDArray[np.float32]]:
        """Return the residuals at the values of a column, weighted so that each set counts once, and its own."""
        at = self.at[column]
        own = np.arange(at.start, at.stop)
        return self.cube[at] * self.heavy[column], self.cube[own, own, own] * np.float32(self.own[column])

    def gains(self, column: int, part: slice) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return what rows gain by their best other value, and that value."""
        faced, own = self._facing(column)
        x, now = self.x[part], self.codes[part, column].copy()
        self.touched += x.size * self.x.shape[1] * max(len(own) - 1, 1) // _FASTER
        away = list(barred(column, list(self.codes[part].T), self.impossible)) if self.impossible else []
        if len(own) == 2:
            more = np.einsum("ij,ij->i", x @ (faced[1] - faced[0]), x) + (own[1] - own[0])
            for mask in away:
                more += np.where(mask[:, 1], _FORBIDDEN, 0) - np.where(mask[:, 0], _FORBIDDEN, 0)
            return np.where(now == 1, more, -more), 1 - now
        cost = np.stack([np.einsum("ij,ij->i", x @ faced[k], x) + own[k] for k in range(len(own))], axis=1)
        for mask in away:
            cost[mask] += _FORBIDDEN
        return cheapest(cost, now)

    def change(self, column: int, which: NDArray[np.intp], to: NDArray[np.intp]) -> tuple[float, float, Moves]:
        """Return slope and square of f if these rows move."""
        faced, own = self._facing(column)
        at, now = self.at[column], self.codes[which, column]
        x = self.x[which]
        x[:, at] = 0
        moved, count = np.zeros_like(faced), np.zeros(len(own), np.float32)
        for level in range(len(own)):
            sign = (to == level).astype(np.float32) - (now == level)
            moved[level], count[level] = x.T @ (x * sign[:, None]), sign.sum()
        self.touched += x.size * self.x.shape[1] * len(own) // _FASTER
        exact = moved.astype(float)  # sums of many exact numbers, in 64 bits
        slope = 2 * float((faced * exact).sum() + own.astype(float) @ count)
        square = float((np.square(exact) * self.heavy[column]).sum())
        square += self.own[column] * float(np.square(count.astype(float)).sum())
        return slope, square, (moved, count)

    def apply(self, column: int, which: NDArray[np.intp], to: NDArray[np.intp], moves: Moves) -> None:
        """Move rows, in all tables."""
        at, cube = self.at[column], self.cube
        for i, moved, count in zip(range(at.start, at.stop), *moves, strict=True):
            cube[i] += moved
            cube[:, i] += moved
            cube[:, :, i] += moved
            pair = np.diagonal(moved)
            cube[i, i] += pair
            cube[i, :, i] += pair
            cube[:, i, i] += pair
            cube[i, i, i] += count
        self.x[which, self.start[column] + self.codes[which, column]] = 0
        self.x[which, self.start[column] + to] = 1
        self.codes[which, column] = to
