"""Map a row to a vector of norm 1, by the public schema alone.

    hats      every number becomes 9 hat functions on its declared range, every category one column per value;
              with `line`, a number has a centred column beside its hats, so that what is straight is learnt first
    linear    every number becomes one centred column, every category one column per value: for few rows

A column for the intercept is appended, and every row is scaled to norm 1. A model that is linear in hats is
additive in the columns: the coefficients of a block are the shape function of its column, and are drawn as such.
The column for the intercept is 1 beside hats. Beside linear features it is ½: numbers lie near the middle of their
range, where they are small, and a 1 would take most of the norm of a row, and so of what is learnt from it.

Claims. The map looks at one row at a time and at no other fact about the data. Its vectors lie on the grid
1/`SCALE`, and have norm at most 1 exactly: entries are rounded towards zero, so that a sum of squares, an integer,
is at most `SCALE`²·(1 + 2⁻⁵⁰) before and `SCALE`² after. A missing value has a column of its own
in its block, where the schema allows one; a number with one feature is then in the middle of its range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import rational, shown, whole
from discreet.schema import Boolean, Category, Column, from_json

SCALE = 4096
"""Features are multiples of 1/SCALE."""

KNOTS = 9
"""The hat functions of a number."""

INTERCEPTS = {"hats": 1.0, "linear": 0.5}
"""The column for the intercept, before a row is scaled."""

Kind = Literal["hats", "linear"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """The features of one column: where they begin, and how many there are.

    Args:
        name: The name of the column.
        column: Its declaration.
        start: The index of its first feature.
        width: The number of its features, without one for missing values.
        missing: Whether a further feature says that the value is missing.
        line: The size of a centred column that follows the hats; 0, the default, if there is none.
    """

    name: str
    column: Column
    start: int
    width: int
    missing: bool
    line: float = 0.0

    @property
    def size(self) -> int:
        """The number of features, with the line and that for missing values."""
        return self.width + (self.line > 0) + self.missing

    @property
    def along(self) -> int:
        """The index of the line, if there is one."""
        return self.start + self.width

    @property
    def absent(self) -> int:
        """The index of the feature for missing values, if there is one."""
        return self.start + self.width + (self.line > 0)

    @property
    def categorical(self) -> bool:
        """Whether each value has a feature of its own."""
        return isinstance(self.column, Category | Boolean)

    @property
    def binary(self) -> bool:
        """Whether two values share one feature, +1 and −1."""
        return self.categorical and self.width == 1 and self.column.levels == 2

    @property
    def linear(self) -> bool:
        """Whether the value itself is the one feature, centred."""
        return not self.categorical and self.width == 1 < (self.column.levels or 1)

    @property
    def most(self) -> int:
        """The most features of the block that are not 0 in one row."""
        return 1 if self.categorical else min(2, self.width) + (self.line > 0)

    @property
    def knots(self) -> Floats:
        """The values at which the hat functions of a number peak."""
        last = float((self.column.levels or 1) - 1)
        return float(self.column.offset) + float(self.column.scale) * np.linspace(0.0, last, self.width)


@dataclass(frozen=True)
class FeatureMap:
    """The map of one schema.

    Args:
        columns: The declared columns, by name.
        kind: "hats", the default, or "linear".
        knots: The number of hat functions of a number; 9 by default.
        intercept: The column for the intercept, before a row is scaled; 1 for hats and ½ for "linear" by default.
        line: Beside three hats or more, the size of a column from −line to line; 0, the default, for none.

    >>> from discreet.schema import Category, Integer
    >>> hats = FeatureMap({"age": Integer(0, 80, missing=0), "city": Category(["Oslo", "Bergen"], missing="Oslo")})
    >>> hats.size, hats.names[8:]
    (12, ['age 80', 'city Oslo', 'city Bergen', 'intercept'])
    >>> rows = hats.rows({"age": np.array([15]), "city": np.array([1])})
    >>> int((rows**2).sum()) <= SCALE**2, (rows[0] / rows[0, -1]).round(3).tolist()[:3]
    (True, [0.0, 0.5, 0.5])
    """

    columns: Mapping[str, Column]
    kind: Kind = "hats"
    knots: int = KNOTS
    intercept: float | None = None
    line: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        if self.kind not in ("hats", "linear"):
            raise ParameterError("There is no such feature map.", found=repr(self.kind), fix=Fix("kind", "hats"))
        object.__setattr__(self, "knots", whole(self.knots, "knots", least=2))
        given = INTERCEPTS[self.kind] if self.intercept is None else self.intercept
        wanted = float(rational(given, "intercept", floats="exact"))
        if not 2**-10 <= wanted <= 2**10:
            raise ParameterError(
                "intercept must lie between 1/1024 and 1024.", found=shown(wanted), fix=Fix("intercept", 1)
            )
        object.__setattr__(self, "intercept", wanted)
        line = float(rational(self.line, "line", floats="exact"))
        if not (line == 0 or (2**-4 <= line <= 2**2 and self.kind == "hats")):
            raise ParameterError(
                "line is 0, or beside hats between 1/16 and 4.", found=shown(line), fix=Fix("line", 0)
            )
        object.__setattr__(self, "line", line)
        for name, column in self.columns.items():
            if column.levels is None:
                raise ParameterError(
                    f"The values of {name!r} are strings that the schema does not list.",
                    fix=[Fix("columns", Code('{…: dp.Category(["red", "blue"])}')), "Or leave the column out."],
                )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The features of each column."""
        found, start = list[Block](), 0
        for name, column in self.columns.items():
            levels = column.levels or 1
            if isinstance(column, Category | Boolean):
                width = 1 if self.kind == "linear" and levels == 2 else levels
            else:
                width = min(self.knots, max(levels, 1)) if self.kind == "hats" else 1
            lacks = column.filling is None and (self.kind == "hats" or isinstance(column, Category | Boolean))
            number = not isinstance(column, Category | Boolean)
            # Two hats span no more than a line and the intercept do.
            line = self.line if number and width > 2 else 0.0
            found.append(Block(name, column, start, width, lacks, line))
            start += found[-1].size
        return tuple(found)

    @property
    def size(self) -> int:
        """The number of features, with the intercept at the end."""
        return sum(block.size for block in self.blocks) + 1

    @property
    def constant(self) -> float:
        """The column for the intercept, before a row is scaled."""
        return self.intercept or 1.0

    @property
    def l1(self) -> float:
        """A bound on the sum of the absolute values of a row's features, in units of 1, rounded up."""
        return math.sqrt(sum(block.most for block in self.blocks) + 1) * (1 + 2**-40)

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [name for block in self.blocks for name in _names(block)] + ["intercept"]

    def rows(self, codes: Mapping[str, NDArray[np.integer]]) -> Floats:
        """Return the features of rows, as integers in a float64 array, in units of 1/SCALE."""
        count = len(next(iter(codes.values()))) if codes else 0
        made = np.zeros((count, self.size))
        made[:, -1] = self.constant
        square = np.full(count, self.constant**2)
        lines = [block for block in self.blocks if block.linear]
        if lines:  # all at once: a table of many numbers has a column for each
            square += _fill_lines(made, lines, np.stack([codes[block.name] for block in lines], axis=1))
        for block in self.blocks:
            if not block.linear:
                square += _fill(made, block, np.asarray(codes[block.name], np.int64))
        made *= (SCALE / np.sqrt(square))[:, None]
        return np.trunc(made, out=made)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        columns = {name: column.as_json() for name, column in self.columns.items()}
        line = {"line": self.line} if self.line else {}
        return {"kind": self.kind, "knots": self.knots, "intercept": self.intercept, **line, "columns": columns}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> FeatureMap:
        """Return the map that `as_json` wrote."""
        columns = {name: from_json(column) for name, column in record["columns"].items()}
        intercept, line = record.get("intercept", 1.0), record.get("line", 0.0)
        return cls(columns, record["kind"], record["knots"], intercept, line)


def _fill_lines(made: Floats, blocks: Sequence[Block], codes: NDArray[np.integer]) -> Floats:
    """Write the centred numbers of several columns, and return the square of their norm, row by row."""
    slopes = np.array([2.0 / float((block.column.levels or 2) - 1) for block in blocks])
    centred = codes * slopes
    centred -= 1.0
    absent = codes < 0
    if absent.any():
        centred[absent] = 0.0
        for i, block in enumerate(blocks):
            if block.missing:
                made[absent[:, i], block.absent] = 1.0
    made[:, [block.start for block in blocks]] = centred
    square: Floats = np.einsum("ij,ij->i", centred, centred)
    square += (absent & np.array([block.missing for block in blocks])).sum(axis=1)
    return square


def _fill(made: Floats, block: Block, codes: NDArray[np.int64]) -> Floats:
    """Write the features of one column, not yet scaled, and return the square of their norm, row by row."""
    row = np.arange(len(codes))
    there = codes >= 0
    square = np.ones(len(codes)) if block.missing else there.astype(float)
    if block.missing:
        made[row[~there], block.absent] = 1.0
    row, codes = row[there], codes[there]
    if block.binary:
        made[row, block.start] = 2.0 * codes - 1.0
    elif block.categorical or block.width == 1 == block.column.levels:
        made[row, block.start + codes] = 1.0
    else:
        place = codes * ((block.width - 1) / float((block.column.levels or 2) - 1))
        left = np.minimum(place.astype(np.int64), block.width - 2)
        share = np.clip(place - left, 0.0, 1.0)
        made[row, block.start + left] = 1.0 - share
        made[row, block.start + left + 1] = share
        square[there] = (1.0 - share) ** 2 + share**2
        if block.line:
            centred = block.line * (place * (2.0 / (block.width - 1)) - 1.0)
            made[row, block.along] = centred
            square[there] += centred**2
    return square


def _names(block: Block) -> list[str]:
    if block.binary:
        low, high = block.column.values([0, 1])
        listed = [f"{block.name} {high} against {low}"]
    elif block.categorical:
        listed = [f"{block.name} {value}" for value in block.column.values(list(range(block.width)))]
    elif block.width == 1:
        listed = [block.name]
    else:
        last = (block.column.levels or 1) - 1
        places = [round(last * i / (block.width - 1)) for i in range(block.width)]
        listed = [f"{block.name} {value}" for value in block.column.values(places)]
        listed += [f"{block.name} line"] * (block.line > 0)
    return [*listed, f"{block.name} missing"] if block.missing else listed
