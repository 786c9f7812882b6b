"""Define a domain: columns and their numbers of values, which give the shape of every marginal.

A column is identified by its place, 0 to d − 1, and a set of columns by an ascending tuple of places. Names are
for messages and output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.rational import whole

Columns: TypeAlias = tuple[int, ...]
"""Places of columns, ascending."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """Column names with their sizes, in order.

    >>> domain = Domain(("sex", "age"), (2, 110))
    >>> domain.shape((0, 1)), domain.cells((0, 1)), domain.sets(2)
    ((2, 110), 220, [(0, 1)])
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "sizes", tuple(whole(size, "size") for size in self.sizes))
        if len(self.names) != len(self.sizes) or not self.names:
            raise ParameterError(
                "A domain has a size for every name, and at least one name.",
                found=f"{len(self.names)} names, {len(self.sizes)} sizes",
                fix="Give as many sizes as names.",
            )
        if len(set(self.names)) < len(self.names):
            raise ParameterError(
                "Two columns of a domain have one name.", found=", ".join(self.names), fix="Rename one of them."
            )

    def __len__(self) -> int:
        return len(self.sizes)

    def shape(self, columns: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes of these columns."""
        return tuple(self.sizes[column] for column in columns)

    def cells(self, columns: Sequence[int]) -> int:
        """Return the number of cells of the marginal over these columns."""
        return prod(self.shape(columns))

    def sets(self, size: int) -> list[Columns]:
        """Return every set of `size` columns."""
        return list(combinations(range(len(self)), size))

    def spread(self, size: int, most: int) -> list[Columns]:
        """Return at most `most` sets of `size` columns, spread evenly over all of them.

        >>> Domain(tuple("abcde"), (2,) * 5).spread(2, 3)
        [(0, 1), (1, 2), (3, 4)]
        """
        every = comb(len(self), size)
        ranks = range(every) if every <= most else np.linspace(0, every - 1, most).astype(int).tolist()
        return [_ranked(rank, len(self), size) for rank in ranks]

    def places(self, names: Iterable[str]) -> Columns:
        """Return the places of columns by name, ascending.

        >>> Domain(("sex", "age"), (2, 110)).places(["age", "sex"])
        (0, 1)
        """
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if name not in self.names:
                raise ParameterError(
                    f"There is no column {name!r}.", fix=f"The columns are {', '.join(self.names)}."
                )
        return tuple(sorted({self.names.index(name) for name in wanted}))

    def count(self, codes: NDArray[np.integer], columns: Sequence[int]) -> NDArray[np.int64]:
        """Return the marginal of rows of codes, one column of codes for each column of the domain.

        >>> Domain(("a", "b"), (2, 2)).count(np.array([[0, 1], [1, 1], [0, 1]]), (0, 1)).tolist()
        [[0, 2], [0, 1]]
        """
        shape = self.shape(columns)
        if not shape:
            return np.array(len(codes), np.int64)
        place = np.ravel_multi_index([codes[:, column] for column in columns], shape)
        return np.bincount(place, minlength=prod(shape)).astype(np.int64).reshape(shape)


def _ranked(rank: int, width: int, size: int) -> Columns:
    """Return the set of columns of that rank in the order of `combinations`."""
    found: list[int] = []
    for column in range(width):
        after = comb(width - column - 1, size - len(found) - 1) if len(found) < size else 0
        if rank < after:
            found.append(column)
        else:
            rank -= after
    return tuple(found)


def onto(table: NDArray[Any], columns: Sequence[int], kept: Sequence[int]) -> NDArray[Any]:
    """Return the sums of a marginal over all its columns except those kept.

    >>> onto(np.array([[1, 2], [3, 4]]), (3, 5), (5,)).tolist()
    [4, 6]
    """
    summed: NDArray[Any] = table.sum(axis=tuple(i for i, column in enumerate(columns) if column not in kept))
    return summed
