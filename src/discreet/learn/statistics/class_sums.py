"""Add up what naive Bayes needs of each class, exactly, by the engine itself or row by row.

A row of class k adds a vector to row k of a table of sums, and nothing to the others:

    counts      1, and for each column a 1 in the cell of its value
    numbers     1, and for each column its number x, x²/4096 rounded down, and a 1 if it may be missing and is not

Numbers are integers within ±4096 (`ScaledColumn`), and a 1 beside them is 4096.

Claim. `l1` and `l2_squared` bound the norms of what one row of weight 1 adds, and some row attains them. The
rows of one person weigh at most 1 together, whatever their classes are, so that the same bounds hold for a
person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import Batch, Examples, StoredExamples
from discreet.engines.nodes import Case, Expression, FloorDiv, Int, IsNull, Mul, Not
from discreet.engines.nodes import Column as Name
from discreet.learn.feature_map import SCALE
from discreet.learn.statistics.moments import worthwhile
from discreet.learn.statistics.scaled_column import ScaledColumn
from discreet.schema import Boolean, Category, Column

Array = NDArray[Any]

_WEIGHT, _CLASS = Name("w"), Name("k")


class Layout(Protocol):
    """What a row adds to the sums of its class."""

    @property
    def statements(self) -> int:
        """The number of statements of `in_engine`."""

    @property
    def width(self) -> int:
        """The number of sums of a class."""

    @property
    def l1(self) -> int:
        """The largest l1 norm of what a row of weight 1 adds."""

    @property
    def l2_squared(self) -> int:
        """The largest squared l2 norm of what a row of weight 1 adds."""

    def by_rows(self, codes: Mapping[str, Array], kinds: Array, weights: Array, classes: int) -> Array:
        """Return the sums of each class over some rows; `kinds` are the classes of the rows."""

    def in_engine(self, examples: StoredExamples, target: str, classes: int) -> Array:
        """Return the sums of each class over all rows, added up by the engine."""


def class_sums(examples: Examples, layout: Layout, target: str, classes: int) -> Array:
    """Return the exact sums of each class, in units of weight. A row without a class does not count.

    Args:
        examples: The rows.
        layout: What a row adds.
        target: The name of the target.
        classes: The number of classes.
    """
    if isinstance(examples, StoredExamples) and worthwhile(examples, layout.statements):
        return layout.in_engine(examples, target, classes)
    return by_rows(examples, layout, target, classes)


def by_rows(examples: Examples, layout: Layout, target: str, classes: int) -> Array:
    """Return the sums from single rows."""

    def part(batch: Batch) -> list[Array]:
        kinds = np.asarray(batch.codes[target], np.int64)
        there = (kinds >= 0) & (kinds < classes)
        codes = {name: np.asarray(column, np.int64)[there] for name, column in batch.codes.items()}
        weights = np.asarray(batch.weights, np.int64)[there]
        return [layout.by_rows(codes, kinds[there], weights, classes)]

    [total] = examples.total(part)
    return total.astype(object)


@dataclass(frozen=True)
class Cells:
    """The cells of one column: its values, or ranges of its codes, and one for what is missing.

    Args:
        column: The declaration of the column.
        bins: The most ranges of a number.

    >>> from discreet.schema import Integer
    >>> cells = Cells(Integer(0, 110), 16)
    >>> cells.count, cells.places(np.array([-1, 0, 110])).tolist()
    (17, [16, 0, 15])
    """

    column: Column
    bins: int

    @property
    def step(self) -> int:
        """The codes that share a cell."""
        levels = self.column.levels or 1
        return 1 if isinstance(self.column, Category | Boolean) else -(-levels // self.bins)

    @property
    def values(self) -> int:
        """The number of cells, without that for missing values."""
        return -(-(self.column.levels or 1) // self.step)

    @property
    def count(self) -> int:
        """The number of cells."""
        return self.values + (self.column.filling is None)

    def places(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the cell of each code; where a value is missing that has no cell, the first."""
        found = np.minimum(np.asarray(codes, np.int64) // self.step, self.values - 1)
        return np.where(np.asarray(codes) < 0, self.count - 1 if self.count > self.values else 0, found)

    def place(self, code: Any) -> int:
        """Return the cell of a group of an engine, whose key is `key`; None is a missing value."""
        if code is None:
            return self.count - 1 if self.count > self.values else 0
        return min(int(code), self.values - 1)

    def key(self, sealed: str) -> Expression:
        """Return the expression that an engine groups by."""
        return FloorDiv(Name(sealed), Int(self.step)) if self.step > 1 else Name(sealed)


@dataclass(frozen=True)
class Counts:
    """The layout of counts: one of the class, and one for each cell of each column."""

    columns: Mapping[str, Cells]

    @property
    def statements(self) -> int:
        """One for each column."""
        return len(self.columns)

    @cached_property
    def starts(self) -> dict[str, int]:
        """Where the cells of each column begin."""
        ends = np.cumsum([1, *(cells.count for cells in self.columns.values())]).tolist()
        return dict(zip(self.columns, ends[:-1], strict=True))

    @property
    def width(self) -> int:
        """The number of sums of a class."""
        return 1 + sum(cells.count for cells in self.columns.values())

    @property
    def l1(self) -> int:
        """One for the class, and one for each column."""
        return 1 + len(self.columns)

    @property
    def l2_squared(self) -> int:
        """One for the class, and one for each column."""
        return 1 + len(self.columns)

    def by_rows(self, codes: Mapping[str, Array], kinds: Array, weights: Array, classes: int) -> Array:
        """Return the sums of each class over some rows."""
        made = np.zeros((classes, self.width), np.int64)
        made[:, 0] = np.bincount(kinds, weights, classes)
        for name, cells in self.columns.items():
            place = kinds * cells.count + cells.places(codes[name])
            found = np.bincount(place, weights, classes * cells.count)
            made[:, self.starts[name] : self.starts[name] + cells.count] = found.reshape(classes, -1)
        return made

    def in_engine(self, examples: StoredExamples, target: str, classes: int) -> Array:
        """Return the sums of each class over all rows, by one statement for each column."""
        made = np.zeros((classes, self.width), object)
        selection = examples.selection
        sealed = dict(zip(selection.names, selection.columns, strict=True))
        for first, (name, cells) in enumerate(self.columns.items()):
            statement = selection.sums(
                {"k": Name(sealed[target]), "v": cells.key(sealed[name])},
                where=Not(IsNull(_CLASS)),
                keys=[_CLASS, Name("v")],
                sums=[_WEIGHT],
            )
            found = examples.answered(statement)
            for (kind, value), [total] in zip(found.keys, found.sums, strict=True):
                row = made[int(kind or 0)]
                row[self.starts[name] + cells.place(value)] += int(total)
                row[0] += int(total) if first == 0 else 0
        return made


@dataclass(frozen=True)
class Numbers:
    """The layout of numbers: one of the class, and for each column its sum, its squares, and perhaps its count."""

    columns: Mapping[str, ScaledColumn]

    @property
    def statements(self) -> int:
        """One for all columns."""
        return 1

    @cached_property
    def starts(self) -> dict[str, int]:
        """Where the sums of each column begin: sum, squares, and the count if values may be missing."""
        ends = np.cumsum([1, *(2 + _may_miss(column) for column in self.columns.values())]).tolist()
        return dict(zip(self.columns, ends[:-1], strict=True))

    @property
    def width(self) -> int:
        """The number of sums of a class."""
        return len(self._most)

    @property
    def l1(self) -> int:
        """The sum of the largest sizes, which one row attains at the end of every range."""
        return sum(self._most)

    @property
    def l2_squared(self) -> int:
        """The sum of their squares."""
        return sum(size**2 for size in self._most)

    @property
    def _most(self) -> list[int]:
        sizes = [SCALE]
        for column in self.columns.values():
            sizes += [column.most, column.most**2 // SCALE, *([SCALE] if _may_miss(column) else [])]
        return sizes

    def by_rows(self, codes: Mapping[str, Array], kinds: Array, weights: Array, classes: int) -> Array:
        """Return the sums of each class over some rows."""
        ones = np.full(len(kinds), SCALE)
        added = [ones]
        for name, column in self.columns.items():
            x = column.numbers(codes[name])
            added += [x, x**2 // SCALE, *([ones * (codes[name] >= 0)] if _may_miss(column) else [])]
        indicator = np.zeros((classes, len(kinds)), np.int64)
        indicator[kinds, np.arange(len(kinds))] = weights
        found: Array = indicator @ np.stack(added, axis=1)
        return found

    def in_engine(self, examples: StoredExamples, target: str, classes: int) -> Array:
        """Return the sums of each class over all rows, by one statement."""
        selection = examples.selection
        sealed = dict(zip(selection.names, selection.columns, strict=True))
        quantities: dict[str, Expression] = {"k": Name(sealed[target])}
        sums, factors = list[Expression]([_WEIGHT]), [SCALE]
        for i, (name, column) in enumerate(self.columns.items()):
            for quantity, tree, factor in _quantities(column, sealed[name]):
                quantities[f"{quantity}{i}"] = tree
                sums.append(Mul(_WEIGHT, Name(f"{quantity}{i}")))
                factors.append(factor)
        found = examples.answered(selection.sums(quantities, where=Not(IsNull(_CLASS)), keys=[_CLASS], sums=sums))
        made = np.zeros((classes, self.width), object)
        for (kind,), totals in zip(found.keys, found.sums, strict=True):
            made[int(kind or 0)] = [int(total) * factor for total, factor in zip(totals, factors, strict=True)]
        return made


def _quantities(column: ScaledColumn, sealed: str) -> Iterator[tuple[str, Expression, int]]:
    """Return what an engine adds up of one column: names, expressions, and the factors of their sums."""
    centred = column.centred(sealed)
    yield "x", centred, column.factor
    number = Mul(centred, Int(column.factor))
    yield "s", FloorDiv(Mul(number, number), Int(SCALE)), 1
    if _may_miss(column):
        yield "n", Case(((IsNull(Name(sealed)), Int(0)),), Int(1)), SCALE


def _may_miss(column: ScaledColumn) -> bool:
    return column.column.filling is None
