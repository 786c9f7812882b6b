"""Linear queries over the cells of a domain, and what they say of a sealed histogram.

A query gives every cell an integer weight from 0 to `grid`, and stands for the sum Σ weight·count over the cells,
in units of 1/grid rows. Whoever is in or out moves the histogram by at most s in l1, so every sum by at most
s·grid, and so the distance of a sum from a public integer, and m times that by m times as much. These are sums of
integers and exact. A count is clamped into 0 … C first, where C depends on the grid and the number of cells alone
(10¹¹ rows in each of 10⁷ cells), such that no sum leaves int64, whatever a hostile table holds. The clamp moves no
two histograms further apart.
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
from discreet.mechanisms.exact import LIMIT, Integers, _open, admit
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
        """How many queries there are."""
        return len(self.weights)

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
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
    """One row for each cell of one marginal: which cells of the domain fall into it."""
    shape = tuple(sizes[axis] for axis in axes)
    place = np.ravel_multi_index(tuple(codes[axis] for axis in axes), shape)
    inside: NDArray[np.bool_] = np.arange(int(np.prod(shape)))[:, None] == place
    return inside


def as_weights(weights: ArrayLike, grid: int, *, dimensions: int, cells: int | None = None) -> Integers:
    """Return a query, or a table of them, as integers of our own within 0 … grid; or refuse, and say why.

    >>> as_weights([0, 2], grid=1, dimensions=1)
    Traceback (most recent call last):
    discreet.errors.ParameterError: A query weighs every cell with an integer from 0 to grid=1, and this one has
    2. Scale it to a grid: weight 3/4 is 3 at grid=4.
    """
    found = np.array(weights)
    if found.ndim != dimensions or not found.size or (cells is not None and found.shape[-1] != cells):
        wanted = f"{cells} weights" if cells is not None else ("a row of weights each" if dimensions == 2 else "")
        raise ParameterError(f"A query has a weight for every cell: {wanted} wanted, found shape {found.shape}.")
    if found.dtype.kind not in "biu":
        raise ParameterError(
            f"A query weighs every cell with an integer from 0 to grid={grid}, not with {found.dtype}. "
            "Scale it to a grid: weight 3/4 is 3 at grid=4."
        )
    outside = found[(found < 0) | (found > grid)] if found.dtype.kind != "b" else found[:0]
    if outside.size:
        raise ParameterError(
            f"A query weighs every cell with an integer from 0 to grid={grid}, and this one has "
            f"{outside.flat[0]}. Scale it to a grid: weight 3/4 is 3 at grid=4."
        )
    held: Integers = found.astype(np.int64)
    held.flags.writeable = False
    return held


def admit_histogram(histogram: Exact, *, cells: int, sensitivity: int) -> None:
    """Refuse a histogram of other cells, or one that a person moves further, by what is declared about it.

    >>> admit_histogram(Exact([5, 2], sensitivity=1), cells=3, sensitivity=1)
    Traceback (most recent call last):
    discreet.errors.ParameterError: The histogram has 2 cells, and this was built for 3.
    """
    admit(histogram, vector=True, l1=sensitivity)
    if histogram.size != cells:
        raise ParameterError(f"The histogram has {histogram.size} cells, and this was built for {cells}.")


def total(histogram: Exact, query: Integers, *, moves: int) -> Exact:
    """Return Σ weight·count, sealed. One person moves it by `moves` at most, and up when they join.

    >>> total(Exact([5, 2, 9], 1), np.array([1, 1, 0]), moves=1)
    <exact value, sealed>
    """
    counts = _clamped(histogram, int(query.max(initial=1)))
    return Exact(int(query @ counts), Sensitivity(entries=1, each=moves, monotonic="up"))


def distance(histogram: Exact, query: Integers, public: int, *, moves: int) -> Exact:
    """Return |Σ weight·count − public|, sealed. One person moves it by `moves` at most.

    >>> distance(Exact([5, 2, 9], 1), np.array([1, 1, 0]), 10, moves=1)
    <exact value, sealed>
    """
    counts = _clamped(histogram, int(query.max(initial=1)))
    return Exact(abs(int(query @ counts) - public), Sensitivity(entries=1, each=moves))


def distances(histogram: Exact, queries: Queries, public: Integers, *, moves: int) -> Exact:
    """Return |Σ weight·count − public| for every query, sealed. One person moves each by `moves` at most.

    >>> distances(Exact([5, 2], 1), Queries([[1, 0], [0, 1]]), np.array([3, 3]), moves=1)
    <exact value, sealed>
    """
    counts = _clamped(histogram, queries.grid)
    return Exact(np.abs(queries.weights @ counts - public), Sensitivity(each=moves))


def sums(histogram: Exact, queries: Queries, *, times: int) -> Integers:
    """Return `times`·Σ weight·count for every query, open: for mechanisms only, to be sealed again."""
    return times * (queries.weights @ _clamped(histogram, queries.grid * times))


def _clamped(histogram: Exact, weight: int) -> Integers:
    """The counts, each within 0 … C: no sum of them times `weight` exceeds a quarter of LIMIT, on any table."""
    counts = _open(histogram)
    return np.clip(counts, 0, LIMIT // 4 // (max(weight, 1) * counts.size))


def refuse_too_many(rows: int, grid: int, times: int = 1) -> None:
    """Refuse a declared size whose sums would not be int64.

    >>> refuse_too_many(rows=10**18, grid=100)
    Traceback (most recent call last):
    discreet.errors.ParameterError: 1,000,000,000,000,000,000 rows at grid=100 are too many for sums in int64. Take
    a coarser grid.
    """
    if rows * grid * times > LIMIT // 4:
        raise ParameterError(f"{rows:,} rows at grid={grid} are too many for sums in int64. Take a coarser grid.")
