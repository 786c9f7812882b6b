"""Divide the columns of an oracle or of a synthetic table into bins.

A column of few levels keeps them all. One of many levels is divided into bins of equal width, or at given values.
Bins shape the hypothesis and its measurements, never the data: a question that divides a bin is still compared
with the rows as they are, and the hypothesis treats the bin as uniform. The missing value has its own bin, the
last. All bins follow from the public metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.query import ir
from discreet.query.question import Key
from discreet.schema.metadata import TableMetadata

FEW = 128
"""The most levels of a number that are kept, each in its own bin."""

BINS = 64
"""The bins of a number with more levels, by default."""

PARTS = 8
"""The coarse parts in which numbers with more bins are measured as well, for accurate wide ranges."""

MOST_BINS, MOST_COLUMNS = 10_000, 64

Bins: TypeAlias = int | Sequence[Any]
"""The number of bins of equal width, or the values at which bins begin."""


@dataclass(frozen=True)
class Axis:
    """One column: its name, its name in the sealed rows, its levels, and the code at which each bin starts."""

    name: str
    sealed: str
    levels: int
    nullable: bool
    starts: tuple[int, ...]
    ordered: bool = False

    @property
    def size(self) -> int:
        """The number of bins, the missing one included.

        >>> Axis("age", "c0", 111, True, tuple(range(0, 111, 10))).size
        13
        """
        return len(self.starts) + self.nullable

    @property
    def even(self) -> bool:
        """Whether its bins are those of a column of many levels for which none were given: no question knows them.

        >>> Axis("pay", "c0", 9001, False, _even(9001, BINS)).even, Axis("age", "c1", 9, False, (0, 3, 6)).even
        (True, False)
        """
        return self.levels > FEW and self.starts == _even(self.levels, BINS)

    @property
    def places(self) -> int:
        """The number of levels, the missing one included."""
        return self.levels + self.nullable

    @cached_property
    def widths(self) -> NDArray[np.float64]:
        """The number of levels in each bin."""
        ends = [*self.starts[1:], self.levels]
        inside = [end - start for start, end in zip(self.starts, ends, strict=True)]
        return np.array([*inside, *([1] if self.nullable else [])], np.float64)

    @property
    def parts(self) -> tuple[int, ...] | None:
        """The bins at which coarse parts begin, for a number with more bins than parts; else None.

        >>> Axis("age", "c0", 111, True, tuple(range(0, 111, 10)), ordered=True).parts
        (0, 1, 3, 4, 6, 7, 9, 10, 12)
        """
        count = len(self.starts)
        if not self.ordered or count <= PARTS:
            return None
        return (*_even(count, PARTS), *([count] if self.nullable else []))

    def coarse(self) -> Axis:
        """Return the same column with its coarse parts as bins."""
        if self.parts is None:
            return self
        return replace(self, starts=tuple(self.starts[i] for i in self.parts if i < len(self.starts)))

    def averaged(self, values: NDArray[Any], axis: int) -> NDArray[np.float64]:
        """Return values by level as means by bin, along one axis of an array.

        >>> Axis("age", "c0", 4, False, (0, 2)).averaged(np.array([1, 0, 1, 1]), 0).tolist()
        [0.5, 1.0]
        """
        cuts = [*self.starts, *([self.levels] if self.nullable else [])]
        sums = np.add.reduceat(values.astype(np.float64), cuts, axis=axis)
        shape = [1] * values.ndim
        shape[axis] = -1
        means: NDArray[np.float64] = sums / self.widths.reshape(shape)
        return means

    def key(self) -> Key:
        """Return the bins as declared groups, for an engine to group by."""
        code = ir.sealed(self.sealed)
        if len(self.starts) < self.levels:
            code = ir.stepped(code, self.starts, range(len(self.starts)))
        return Key(self.name, code, tuple(range(len(self.starts))), self.nullable)


def axes_of(
    metadata: TableMetadata, columns: Sequence[str], bins: Mapping[str, Bins] | None = None, *, few: int = FEW
) -> tuple[Axis, ...]:
    """Return the axes of an oracle over these columns.

    Args:
        metadata: The metadata of the vault.
        columns: The names of the columns.
        bins: The bins of some columns.
        few: The most levels of a number that are kept, where no bins are given.

    >>> from discreet.schema import Integer, Real
    >>> people = TableMetadata("people", {"age": Integer(0, 110), "pay": Real(0, 9000, 1)}, person="id")
    >>> [axis.size for axis in axes_of(people, ["age", "pay"])]
    [112, 65]
    >>> [axis.size for axis in axes_of(people, ["pay"], few=10_000)]
    [9002]
    """
    if isinstance(columns, str) or not columns:
        raise ParameterError(
            "An oracle or a synthetic table takes a list of columns.",
            found=repr(columns),
            fix=Fix("columns", ["age", "city"]),
        )
    if len(columns) > MOST_COLUMNS:
        raise ParameterError(
            f"At most {MOST_COLUMNS} columns are allowed.",
            found=len(columns),
            fix="Name only the columns that belong together.",
        )
    known = {name.casefold(): name for name in metadata.columns}
    names = [known.get(str(name).casefold(), "") for name in columns]
    for written, name in zip(columns, names, strict=True):
        if not name:
            raise ParameterError(
                f"There is no column {written!r}.", fix=f"There are {', '.join(metadata.columns)}."
            )
        if names.count(name) > 1:
            raise ParameterError(f"The column {name} is named twice.", fix="Name it once.")
    wanted = {known.get(name.casefold(), name): cut for name, cut in (bins or {}).items()}
    if strange := set(wanted) - set(names):
        raise ParameterError(
            "Bins are given for a column that is not among the columns.",
            found=sorted(strange)[0],
            fix=Fix("bins", {names[0]: 64}),
        )
    return tuple(_axis(metadata, name, wanted.get(name), few) for name in names)


def cells(axes: Sequence[Axis]) -> int:
    """Return the number of combinations of bins.

    >>> cells([Axis("a", "c0", 2, False, (0, 1)), Axis("b", "c1", 3, True, (0, 1, 2))])
    8
    """
    return prod(axis.size for axis in axes)


def _axis(metadata: TableMetadata, name: str, cut: Bins | None, few: int) -> Axis:
    column = metadata.columns[name]
    if column.levels is None:
        raise ParameterError(
            f"{name} is a text column, whose values are not public.", fix="Leave it out, or seal it as a Category."
        )
    nullable = getattr(column, "missing", None) is None
    starts = _starts(name, column, column.levels, cut, few)
    if len(starts) > MOST_BINS:
        raise ParameterError(
            f"{name} has {len(starts):,} bins, and {MOST_BINS:,} is the most.", fix=Fix("bins", {name: 64})
        )
    ordered = column.kind not in ("category", "boolean")
    return Axis(name, metadata.sealed_name(name), column.levels, nullable, starts, ordered)


def _starts(name: str, column: Any, levels: int, cut: Bins | None, few: int) -> tuple[int, ...]:
    if cut is None:
        kept = levels <= few or column.kind in ("category", "boolean")
        return tuple(range(levels)) if kept else _even(levels, BINS)
    if isinstance(cut, int):
        if not 1 <= cut <= levels:
            raise ParameterError(
                f"{name} has {levels:,} levels, so it takes from 1 to {levels:,} bins.",
                found=cut,
                fix=Fix("bins", {name: min(levels, BINS)}),
            )
        return _even(levels, cut)
    codes = {0}
    for edge in cut:
        code = column.code(edge)
        if code is None:
            raise ParameterError(
                f"A bin of {name} cannot begin at this value.",
                found=repr(edge),
                fix="Use a value within the bounds of the column.",
            )
        codes.add(min(max(-int(-code // 1), 0), levels - 1))
    return tuple(sorted(codes))


def _even(levels: int, count: int) -> tuple[int, ...]:
    return tuple(i * levels // count for i in range(count))
