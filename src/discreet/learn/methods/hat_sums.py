"""Add up the gradient over hat functions from tables, without writing the hats of any row out.

    xᵢ = tᵢ·hᵢ/2²⁸,   hᵢ the hats of a row, integers in units of 1/4096,   tᵢ = ⌊2²⁸/‖hᵢ‖⌋

A number touches two of its hats and its line, and a category one hat, so a row is as short as its places: in each
column, the index of its value among at most 4,097. For given coefficients a table per column holds what each place
adds to a score. A gradient is Σ aᵢ·hᵢ, so the aᵢ are added up by place, and the hats of a place enter once. A row
of 50 numbers takes 50 look-ups, where its hats are 451 columns.

Claims. tᵢ·‖hᵢ‖ ≤ 2²⁸ exactly, so rows have norm at most 1. A row looks at its own codes alone. Scores are sums of
integers, and aᵢ are integers, so the totals do not depend on batches or machines, as in `gradients`; and the
gradient of n rows is off by less than n·2⁻⁵¹ + 2⁻²⁴ in norm: tables are rounded as long as all rows together feel
less than 2⁻²⁴ of it, and are exact, in two parts, beyond. The Hessian is that of the same rows, with entries cut
to multiples of 1/4096: it steers the solver, and rows that are cut are no longer than 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import Batch, Examples
from discreet.learn.feature_map import SCALE, Block, FeatureMap
from discreet.learn.methods.gradients import FEATURES, SIGNS, Sums, largest_curvature, split
from discreet.learn.methods.margin_losses import MarginLoss
from discreet.learn.statistics.scaled_column import ScaledColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SCALES = "scales"
"""The name of derived rows: tᵢ."""

UNIT = 28
"""Rows are multiples of 2^-UNIT."""

_WIDE = 36  # bits of the second part of θ (`split`), over its first
_FINE = 43  # aᵢ are multiples of 2⁻⁴³ in units of tᵢ, in two parts
_HALF = 2.0**35
_BITS = 61  # of a score
_PART = 2**20
_ERROR = 2.0**-24  # what rounding of tables may do to a gradient, in all


@dataclass(frozen=True, eq=False)
class Places:
    """The places of one column, and the hats of each.

    Args:
        block: The features of the column.
        left: For each place, the index of its first hat. A second one is beside it.
        first: The first hat, in units of 1/SCALE.
        second: The second hat; 0 if there is none.
        line: The line beside the hats; 0 if there is none.
    """

    block: Block
    left: Integers
    first: Integers
    second: Integers
    line: Integers

    @classmethod
    def of(cls, block: Block) -> Places:
        """Return the places of a column: its values, or ranges of codes if it has more than 4,097; last, missing.

        >>> from discreet.schema import Integer
        >>> [block] = FeatureMap({"age": Integer(0, 16)}).blocks
        >>> made = Places.of(block)
        >>> made.left[[0, 3, 16, 17]].tolist(), made.first[[0, 3, 16, 17]].tolist()
        ([0, 1, 7, 9], [4096, 2048, 0, 4096])
        """
        levels = block.column.levels or 1
        scaled = ScaledColumn(block.column)
        places = np.arange(levels if block.categorical else scaled.last + 1)
        if block.categorical or block.width == 1:
            left, share = np.minimum(places, block.width - 1), np.zeros(len(places), np.int64)
        else:
            left = np.minimum(places * (block.width - 1) // scaled.last, block.width - 2)
            share = (places * (block.width - 1) - left * scaled.last) * SCALE // scaled.last
        line = np.zeros(len(places), np.int64)
        if block.line:
            line = np.rint(block.line * SCALE * (2 * places - scaled.last) / scaled.last).astype(np.int64)
        return cls(
            block,
            np.append(left + block.start, block.absent if block.missing else block.start),
            np.append(SCALE - share, SCALE if block.missing else 0),
            np.append(share, 0),
            np.append(line, 0),
        )

    def codes(self, given: NDArray[np.integer]) -> NDArray[np.unsignedinteger[Any]]:
        """Return the places of codes, as narrow as can be."""
        codes = np.asarray(given, np.int64)
        found = codes if self.block.categorical else ScaledColumn(self.block.column).places(codes)
        last = len(self.left) - 1
        return np.where(codes < 0, last, np.clip(found, 0, last - 1)).astype(np.uint8 if last < 256 else np.uint16)


@dataclass(frozen=True, eq=False)
class Tables:
    """The places of all columns of a map of hats, one after another.

    Args:
        feature_map: The map.
    """

    feature_map: FeatureMap

    @cached_property
    def columns(self) -> tuple[Places, ...]:
        """The places of each column."""
        return tuple(Places.of(block) for block in self.feature_map.blocks)

    @cached_property
    def ends(self) -> list[int]:
        """Where the places of each column end."""
        return [int(end) for end in np.cumsum([len(one.left) for one in self.columns])]

    @cached_property
    def hats(self) -> tuple[Integers, Integers, Integers]:
        """The index of the first hat, and both hats, of all places."""
        return (
            np.concatenate([one.left for one in self.columns]),
            np.concatenate([one.first for one in self.columns]),
            np.concatenate([one.second for one in self.columns]),
        )

    @cached_property
    def lines(self) -> tuple[Integers, Integers]:
        """The index of the line, and the line, of all places: where there is none, 0 of the first feature."""
        along = [np.full(len(one.left), one.block.along if one.block.line else 0) for one in self.columns]
        return np.concatenate(along), np.concatenate([one.line for one in self.columns])

    @property
    def constant(self) -> int:
        """The column for the intercept, in units of 1/SCALE."""
        return round(self.feature_map.constant * SCALE)

    @property
    def names(self) -> list[str]:
        """The names of derived rows: the places of each column."""
        return [f"place {i}" for i in range(len(self.columns))]

    @property
    def width(self) -> int:
        """The bytes of a row."""
        return sum(1 if len(one.left) <= 256 else 2 for one in self.columns) + 4 + 3

    def placed(self, examples: Examples, target: str) -> Examples:
        """Return places, lengths and signs of all rows; a row without a class has no weight."""

        def made(batch: Batch) -> Batch:
            codes = np.asarray(batch.codes[target], np.int64)
            found: dict[str, NDArray[Any]] = {}
            square = np.full(batch.size, self.constant**2)
            for name, one in zip(self.names, self.columns, strict=True):
                found[name] = one.codes(batch.codes[one.block.name])
                square += (one.first**2 + one.second**2 + one.line**2)[found[name]]
            found[SCALES] = np.floor(2.0**UNIT * (1 - 2.0**-40) / np.sqrt(square)).astype(np.int32)
            found[SIGNS] = np.where(codes == 1, 1, -1).astype(np.int8)
            return Batch(found, np.where(codes < 0, 0, batch.weights).astype(np.int16))

        return examples.derived(made, self.width)

    def dense(self, batch: Batch) -> Batch:
        """Return the features of rows, cut to multiples of 1/SCALE, and their signs."""
        made, row = np.zeros((batch.size, self.feature_map.size)), np.arange(batch.size)
        made[:, -1] = self.constant
        for name, one in zip(self.names, self.columns, strict=True):
            place = batch.codes[name]
            made[row, one.left[place]] = one.first[place]
            if one.second.any():
                beside = one.second[place]
                made[row[beside > 0], one.left[place][beside > 0] + 1] = beside[beside > 0]
            if one.block.line:
                made[:, one.block.along] = one.line[place]
        made *= (batch.codes[SCALES] * (SCALE / 2.0**UNIT))[:, None]
        return Batch({FEATURES: np.trunc(made).astype(np.int16), SIGNS: batch.codes[SIGNS]}, batch.weights)

    def scores(self, theta: Floats, bent: float) -> tuple[list[Integers], list[int], list[int]]:
        """Return what each place adds to a score, in one or two parts; what every row has; and the bits of a unit.

        Args:
            theta: The coefficients.
            bent: How much the slopes of all rows together move, at most, if their margins move by 1.
        """
        (left, first, second), (along, line) = self.hats, self.lines
        each = [first * one[left] + second * one[left + 1] + line * one[along] for one in split(theta)]
        start = [self.constant * float(one[-1]) for one in split(theta)]
        most = abs(start[0]) + sum(float(np.abs(part).max()) for part in np.split(each[0], self.ends[:-1]))
        bits = min(_BITS, _BITS - math.frexp(most * 2.0**-UNIT + 1.0)[1])
        longest = max(1.0, SCALE / self.constant)  # of tᵢ/2¹⁶, by which a score is multiplied
        if bent * longest * (len(self.columns) + 1) * 2.0 ** (-bits - 1) > _ERROR:
            return [part.astype(np.int64) for part in each], [int(one) for one in start], [UNIT, UNIT + _WIDE]
        whole = [np.ldexp(each[0], bits - UNIT), np.rint(np.ldexp(each[1], bits - UNIT - _WIDE))]
        begin = math.ldexp(start[0], bits - UNIT), math.ldexp(start[1], bits - UNIT - _WIDE)
        table = whole[0].astype(np.int64) + whole[1].astype(np.int64)
        return [table], [int(begin[0]) + round(begin[1])], [bits]

    def added_up(self, totals: NDArray[Any]) -> NDArray[Any]:
        """Return Σ total·hats over all places, exactly, as Python integers: one for each feature.

        In parts of 20 bits and the rest, products with hats and lines, of up to 14 bits, and their sums fit into
        64 bits.

        Args:
            totals: The exact totals of the places, and at the end that of all rows.
        """
        (left, first, second), (along, line) = self.hats, self.lines
        found = np.zeros(self.feature_map.size, object)
        for part, unit in ((totals // _PART, _PART), (totals % _PART, 1)):
            places, sums = part[:-1].astype(np.int64), np.zeros(len(found), np.int64)
            np.add.at(sums, left, places * first)
            np.add.at(sums, left + 1, places * second)
            np.add.at(sums, along, places * line)
            found += sums.astype(object) * unit
        found[-1] += int(totals[-1]) * self.constant
        return found


@dataclass(frozen=True, eq=False)
class HatSums:
    """The sums of one loss over rows that are placed.

    Args:
        examples: The rows, made by `Tables.placed`.
        loss: The loss of the margin.
        tables: The places of all columns.
    """

    examples: Examples
    loss: MarginLoss
    tables: Tables

    @classmethod
    def of(cls, examples: Examples, loss: MarginLoss, feature_map: FeatureMap, target: str) -> HatSums:
        """Return the sums over the rows of a target."""
        tables = Tables(feature_map)
        return cls(tables.placed(examples, target), loss, tables)

    @property
    def size(self) -> int:
        """The number of features."""
        return self.tables.feature_map.size

    @cached_property
    def rows(self) -> int:
        """The number of rows, which decides how many digits a sum needs."""
        [found] = self.examples.total(lambda batch: [np.array([batch.size])])
        return int(found[0])

    def gradient(self, theta: Floats) -> Floats:
        """Return ∇L at θ."""
        tables, loss, names, ends = self.tables, self.loss, self.tables.names, self.tables.ends
        parts, starts, bits = tables.scores(theta, self.rows * float(largest_curvature(loss.law)))
        listed = [np.split(part, ends[:-1]) for part in parts]
        counts = [len(one.left) for one in tables.columns]

        def part(batch: Batch) -> list[Floats]:
            score = np.zeros(batch.size)
            for added, start, unit in zip(listed, starts, bits, strict=True):
                score += _looked_up(batch.codes, names, added, start) * 2.0**-unit
            scales = batch.codes[SCALES].astype(np.float64)
            margins = score * (scales * 2.0 ** -(UNIT - 12)) * batch.codes[SIGNS]
            weighed = batch.weights * scales * batch.codes[SIGNS]
            found = np.rint(loss.slope(margins) * weighed * 2.0 ** (_FINE - 12))
            leading = np.trunc(found / _HALF)
            both = (leading, found - leading * _HALF)
            return [_by_place(batch.codes, names, counts, one) for one in both]

        leading, rest = (tables.added_up(total) for total in self.examples.total(part))
        return -np.array([int(value) / 2 ** (_FINE + UNIT) for value in leading * int(_HALF) + rest])

    def hessian(self, theta: Floats) -> Floats:
        """Return ∇²L at θ, with features and curvatures cut: it steers the solver."""
        return self._dense.hessian(theta)

    def exact_hessian(self, theta: Floats) -> NDArray[Any]:
        """Return ∇²L at θ in integers, as `Sums.exact_hessian`."""
        return self._dense.exact_hessian(theta)

    def sampled(self, halvings: int) -> HatSums:
        """Return the sums over about one of 2^halvings rows, chosen by what they hold."""
        names, tables = self.tables.names, self.tables
        multipliers = [i * 40_503 % 65_521 for i in range(1, len(names) + 1)]

        def chosen(batch: Batch) -> Batch:
            mixed = batch.codes[SIGNS].astype(np.int64)
            for name, factor in zip(names, multipliers, strict=True):
                mixed += batch.codes[name].astype(np.int64) * factor
            keep = ((mixed * 2_654_435_761) >> 20) & (2**halvings - 1) == 0
            return Batch({name: column[keep] for name, column in batch.codes.items()}, batch.weights[keep])

        few = self.examples.derived(chosen, tables.width, 2.0 ** (2 - halvings))  # with room for an uneven choice
        return HatSums(few, self.loss, tables)

    @cached_property
    def _dense(self) -> Sums:
        rows = self.examples.derived(self.tables.dense, 2 * self.size + 3)
        return Sums(rows, self.loss, self.size)


def _looked_up(codes: Mapping[str, Any], names: list[str], tables: list[Integers], start: int) -> Integers:
    """Return the sums of what the places of each row add."""
    found = np.full(len(codes[SCALES]), start)
    one = np.empty_like(found)
    for name, table in zip(names, tables, strict=True):
        found += np.take(table, codes[name], out=one, mode="clip")
    return found


def _by_place(codes: Mapping[str, Any], names: list[str], counts: list[int], values: Floats) -> Floats:
    """Return the sums of values by the places of every column, and their sum."""
    listed = zip(names, counts, strict=True)
    found = [np.bincount(codes[name], values, minlength=count) for name, count in listed]
    return np.concatenate([*found, values.sum(keepdims=True)])
