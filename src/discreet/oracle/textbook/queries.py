"""Define linear queries over the cells of a domain, and evaluate them on a sealed histogram.

A query gives every cell an integer weight from 0 to `grid`. Its value is the sum Σ weight·count over the cells, in
units of 1/grid rows. One person changes the histogram by at most s in l1, so every sum by at most s·grid. The same
holds for the distance of a sum from a public integer; m times the distance changes by at most m·s·grid. These are
sums of integers and exact. A count is clamped into 0 … C first, where C depends on the grid and the number of
cells alone (10¹¹ rows in each of 10⁷ cells), such that no sum of any table leaves int64. The clamp moves no two
histograms further apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.mechanisms import Exact, Sensitivity
from discreet.mechanisms.exact import LIMIT, Integers, admit, opened
from discreet.oracle.textbook.multiplicative_weights import Floats
from discreet.rational import whole


@dataclass(frozen=True, eq=False)
class Queries:
    """A workload: one row of integer weights, each from 0 to `grid`, for every query.

    >>> halves = Queries([[1, 1, 0, 0], [0, 1, 1, 0]])
    >>> halves.count, halves.cells
    (2, 4)
    >>> halves == Queries([[True, True, False, False], [False, True, True, False]])
    True
    """

    weights: Integers
    grid: int = 1
    _key: tuple[bytes, tuple[int, ...], int] = field(init=False, repr=False)

    def __init__(self, weights: ArrayLike, grid: int = 1):
        held = as_weights(weights, whole(grid, "grid"), dimensions=2)
        object.__setattr__(self, "weights", held)
        object.__setattr__(self, "grid", whole(grid, "grid"))
        object.__setattr__(self, "_key", (held.tobytes(), held.shape, self.grid))

    @classmethod
    def marginals(cls, sizes: Sequence[int], ways: int) -> Queries:
        """Return every cell of every `ways`-way marginal of a domain whose columns have these sizes.

        >>> Queries.marginals([2, 3], ways=1).weights.tolist()
        [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
        """
        codes = np.indices([whole(size, "size") for size in sizes]).reshape(len(sizes), -1)
        return cls(np.concatenate([_cells(codes, sizes, axes) for axes in combinations(range(len(sizes)), ways)]))

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self.weights)

    @property
    def cells(self) -> int:
        """The number of cells of the domain."""
        return int(self.weights.shape[1])

    @cached_property
    def floats(self) -> Floats:
        """The weights as shares, from 0 to 1."""
        return self.weights / self.grid

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Queries) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Queries({self.count} over {self.cells} cells, grid={self.grid})"


def _cells(codes: NDArray[np.integer], sizes: Sequence[int], axes: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return one row for each cell of one marginal: the cells of the domain that belong to it."""
    shape = tuple(sizes[axis] for axis in axes)
    place = np.ravel_multi_index(tuple(codes[axis] for axis in axes), shape)
    inside: NDArray[np.bool_] = np.arange(int(np.prod(shape)))[:, None] == place
    return inside


def as_weights(weights: ArrayLike, grid: int, *, dimensions: int, cells: int | None = None) -> Integers:
    """Return a query, or a table of queries, as a read-only copy of integers within 0 … grid.

    Args:
        weights: One weight for every cell; a row of them for every query if there are two dimensions.
        grid: The weight that counts a row in full.
        dimensions: 1 for a query, 2 for a table of queries.
        cells: The number of cells. Any number by default.

    >>> as_weights([0, 2], grid=1, dimensions=1)
    Traceback (most recent call last):
    discreet.errors.ParameterError: The weight of a cell must be an integer from 0 to the grid, 1 (found: 2). Scale
    the weights to a finer grid: weight 3/4 is 3 at grid 4.
    """
    found = np.array(weights)
    if found.ndim != dimensions or not found.size or (cells is not None and found.shape[-1] != cells):
        rows = "a row of weights for each query" if dimensions == 2 else "one row of weights"
        raise ParameterError(
            "A query must have one weight for every cell.",
            found=f"shape {found.shape}",
            fix=f"Give {rows if cells is None else f'{cells} weights'}.",
        )
    problem = f"The weight of a cell must be an integer from 0 to the grid, {grid}."
    scaled = "Scale the weights to a finer grid: weight 3/4 is 3 at grid 4."
    if found.dtype.kind not in "biu":
        raise ParameterError(problem, found=found.dtype, fix=scaled)
    outside = found[(found < 0) | (found > grid)] if found.dtype.kind != "b" else found[:0]
    if outside.size:
        raise ParameterError(problem, found=outside.flat[0], fix=scaled)
    held: Integers = found.astype(np.int64)
    held.flags.writeable = False
    return held


def admit_histogram(histogram: Exact, *, cells: int, sensitivity: int) -> None:
    """Refuse a histogram with another number of cells, or with a larger declared sensitivity.

    >>> admit_histogram(Exact([5, 2], sensitivity=1), cells=3, sensitivity=1)
    Traceback (most recent call last):
    discreet.errors.ParameterError: The histogram must have 3 cells (found: 2). Build the mechanism for 2 cells.
    """
    admit(histogram, vector=True, l1=sensitivity)
    if histogram.size != cells:
        raise ParameterError(
            f"The histogram must have {cells} cells.",
            found=histogram.size,
            fix=f"Build the mechanism for {histogram.size} cells.",
        )


def total(histogram: Exact, query: Integers, *, sensitivity: int) -> Exact:
    """Return Σ weight·count, sealed. It is monotonic: it increases when a person joins.

    >>> total(Exact([5, 2, 9], 1), np.array([1, 1, 0]), sensitivity=1)
    <exact value, sealed>
    """
    counts = _clamped(histogram, int(query.max(initial=1)))
    return Exact(int(query @ counts), Sensitivity(entries=1, each=sensitivity, monotonic="up"))


def distance(histogram: Exact, query: Integers, public: int, *, sensitivity: int) -> Exact:
    """Return |Σ weight·count − public|, sealed.

    Args:
        histogram: The sealed counts.
        query: The weight of every cell.
        public: The public integer to compare with.
        sensitivity: The sensitivity of the sum to one person.

    >>> distance(Exact([5, 2, 9], 1), np.array([1, 1, 0]), 10, sensitivity=1)
    <exact value, sealed>
    """
    counts = _clamped(histogram, int(query.max(initial=1)))
    return Exact(abs(int(query @ counts) - public), Sensitivity(entries=1, each=sensitivity))


def distances(histogram: Exact, queries: Queries, public: Integers, *, sensitivity: int) -> Exact:
    """Return |Σ weight·count − public| for every query, sealed.

    Args:
        histogram: The sealed counts.
        queries: The workload.
        public: One public integer for each query.
        sensitivity: The sensitivity of each sum to one person.

    >>> distances(Exact([5, 2], 1), Queries([[1, 0], [0, 1]]), np.array([3, 3]), sensitivity=1)
    <exact value, sealed>
    """
    counts = _clamped(histogram, queries.grid)
    return Exact(np.abs(queries.weights @ counts - public), Sensitivity(each=sensitivity))


def sums(histogram: Exact, queries: Queries, *, times: int) -> Integers:
    """Return `times`·Σ weight·count for every query, not sealed: only mechanisms may use it, and seal it again."""
    return times * (queries.weights @ _clamped(histogram, queries.grid * times))


def _clamped(histogram: Exact, weight: int) -> Integers:
    """Return the counts, each within 0 … C: no sum of them times `weight` exceeds a quarter of LIMIT."""
    counts = opened(histogram)
    return np.clip(counts, 0, LIMIT // 4 // (max(weight, 1) * counts.size))


def refuse_too_many(rows: int, grid: int, times: int = 1) -> None:
    """Refuse a declared size whose sums would not fit into int64.

    >>> refuse_too_many(rows=10**18, grid=100)
    Traceback (most recent call last):
    discreet.errors.ParameterError: So many rows at so fine a grid are too many for sums in int64 (found:
    1,000,000,000,000,000,000 rows at grid 100). Take a coarser grid.
    """
    if rows * grid * times > LIMIT // 4:
        raise ParameterError(
            "So many rows at so fine a grid are too many for sums in int64.",
            found=f"{rows:,} rows at grid {grid}",
            fix="Take a coarser grid.",
        )
