"""Divide each column into cells by the public schema: what boosting counts, and what its models are made of.

A category has one cell for each value. A number has at most `bins` cells of equal width on its declared range,
and one for each value if it has fewer values. A column that may be missing has one more cell, for missing
values. The cells of all columns are numbered together, so that a row is one number per column, and a model that
is additive in the columns is one number per cell.

Claims. The cell of a row depends on its own codes and on the schema alone. The map is total: a code that no
value has, which sealed rows do not hold, is taken as missing, or as the first cell where nothing may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import Batch, Examples
from discreet.learn.training import Task
from discreet.rational import whole
from discreet.schema import Boolean, Category, Column, from_json

CELLS, SIGNS = "cells", "signs"
"""The names of derived rows: the cells of a row, and the sign of its class."""

BINS = 16
"""The cells of a number."""


@dataclass(frozen=True)
class Block:
    """The cells of one column.

    Args:
        name: The name of the column.
        column: Its declaration.
        start: The number of its first cell.
        width: How many cells it has, without that for missing values.
        missing: Whether one more cell is for missing values.
    """

    name: str
    column: Column
    start: int
    width: int
    missing: bool

    @property
    def size(self) -> int:
        """The number of cells, with that for missing values."""
        return self.width + self.missing

    @property
    def ordered(self) -> bool:
        """Whether the cells have an order, as those of numbers and dates do."""
        return not isinstance(self.column, Category | Boolean)

    @property
    def cells(self) -> slice:
        """The places of its cells among those of all columns."""
        return slice(self.start, self.start + self.size)

    @property
    def edges(self) -> list[int]:
        """The first code of every cell but the first."""
        levels = self.column.levels or 1
        return [-(-cell * levels // self.width) for cell in range(1, self.width)]

    def place(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Return the cells of codes."""
        levels = self.column.levels or 1
        given = np.asarray(codes, np.int64)
        known = (given >= 0) & (given < levels)
        cell = given if self.width == levels else np.searchsorted(self.edges, given, side="right")
        return (self.start + np.where(known, cell, self.width if self.missing else 0)).astype(np.int32)

    def named(self, cell: int) -> str:
        """Return a cell in words, such as "age 30 to 44"."""
        if cell == self.width:
            return f"{self.name} missing"
        levels = self.column.levels or 1
        if self.width == levels:
            return f"{self.name} {self.column.values([cell])[0]}"
        edges = [0, *self.edges, levels]
        low, high = self.column.values([edges[cell], edges[cell + 1] - 1])
        return f"{self.name} {low} to {high}"


@dataclass(frozen=True)
class Cells:
    """The cells of all columns of a task.

    Args:
        columns: The declared columns, by name.
        bins: The most cells of a number; 16 by default.

    >>> from discreet.schema import Category, Integer
    >>> cells = Cells({"age": Integer(0, 79, missing=0), "city": Category(["Oslo", "Bergen"])}, bins=4)
    >>> cells.size, cells.place({"age": np.array([0, 79]), "city": np.array([1, -1])}).tolist()
    (7, [[0, 5], [3, 6]])
    >>> cells.blocks[0].named(1), cells.blocks[1].named(2)
    ('age 20 to 39', 'city missing')
    """

    columns: Mapping[str, Column]
    bins: int = BINS

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "bins", whole(self.bins, "bins", least=2))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The cells of each column."""
        found, start = list[Block](), 0
        for name, column in self.columns.items():
            levels = column.levels or 1
            width = levels if isinstance(column, Category | Boolean) else min(levels, self.bins)
            found.append(Block(name, column, start, width, column.filling is None))
            start += found[-1].size
        return tuple(found)

    @property
    def size(self) -> int:
        """The number of cells of all columns."""
        return sum(block.size for block in self.blocks)

    def place(self, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.int32]:
        """Return the cells of rows: one row for each, one column for each column."""
        return np.stack([block.place(codes[block.name]) for block in self.blocks], axis=1)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"bins": self.bins, "columns": {name: column.as_json() for name, column in self.columns.items()}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Cells:
        """Return the cells that `as_json` wrote."""
        return cls({name: from_json(column) for name, column in record["columns"].items()}, record["bins"])


def placed(examples: Examples, cells: Cells, task: Task) -> Examples:
    """Return the cells of all rows and the sign of their class; a row without a class has no weight."""

    def made(batch: Batch) -> Batch:
        found = cells.place({name: batch.codes[name] for name in cells.columns})
        codes = np.asarray(batch.codes[task.target], np.int64)
        weights = np.where((codes == 0) | (codes == 1), batch.weights, 0).astype(np.int16)
        return Batch({CELLS: found, SIGNS: np.where(codes == 1, 1, -1).astype(np.int8)}, weights)

    return examples.derived(made, 4 * len(cells.blocks) + 3)


def histogram(cells: NDArray[Any], values: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return the sum of one integer per row over the cells of the row. Exact: all sums are below 2⁵³.

    >>> histogram(np.array([[0, 2], [1, 2]]), np.array([5, -1]), 3).tolist()
    [5.0, -1.0, 4.0]
    """
    repeated = np.repeat(values.astype(np.float64), cells.shape[1])
    return np.bincount(cells.ravel(), weights=repeated, minlength=size).astype(np.float64)
