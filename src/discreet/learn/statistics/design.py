"""Turn the rows of a regression into integers, and bound how much one row moves their second moments.

A row becomes z = (x, y): the features x of a public map, an intercept, and the target y, all integers within
±4096. Unlike the rows of a classifier they are not scaled to norm 1, so that the model is linear in the columns.
Their norm is bounded by the public schema: each column adds at most its `Design.norms`.

The released vector holds the entries of Σ w·z·zᵀ that nothing else determines (`Design.pairs`):

    categories     one value excludes the others, and x² = 4096·x: only the products with other columns
    hats           neighbours t and 4096 − t: their product; their squares follow from it
    numbers        the square
    the target     its products with all features, and its square

Claim (docs/theory/linear-regression.md). `l2_squared`, `l1`, `target_l2_squared` and `target_l1` bound the norms
of the entries of one row of weight 1, and some row attains each of them. The rows of one person weigh at most 1
together, so by the triangle inequality the same bounds hold for a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.feature_map import SCALE, Block, FeatureMap
from discreet.learn.statistics.scaled_column import ScaledColumn
from discreet.schema import Column

Pairs = list[tuple[int, int]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """The integers of a regression.

    Args:
        feature_map: The features; only its blocks are used, not its scaling.
        outcome: The declaration of the target.

    >>> from discreet.schema import Boolean, Integer
    >>> design = Design(FeatureMap({"age": Integer(0, 64, missing=0)}, "linear"), Integer(0, 64))
    >>> design.rows({"age": np.array([0, 64])}, np.array([64, 32])).tolist()
    [[-4096.0, 4096.0, 4096.0], [4096.0, 4096.0, 0.0]]
    >>> design.pairs, design.target_pairs
    ([(1, 1), (0, 1), (0, 0)], [(0, 2), (1, 2), (2, 2)])
    """

    feature_map: FeatureMap
    outcome: Column

    @property
    def size(self) -> int:
        """The number of features, with the intercept, which is the last."""
        return self.feature_map.size

    @property
    def target(self) -> ScaledColumn:
        """The target, scaled."""
        return ScaledColumn(self.outcome)

    @cached_property
    def norms(self) -> list[int]:
        """The bound on the norm of each block, in l2 and in l1, attained by some row."""
        return [present(block) for block in self.feature_map.blocks]

    # -- rows ---------------------------------------------------------------------------------------------------

    def rows(self, codes: Mapping[str, NDArray[np.integer]], target: NDArray[np.integer]) -> Floats:
        """Return z for each row, as integers in a float64 array."""
        made = np.zeros((len(target), self.size + 1))
        self._fill(made, codes)
        made[:, -1] = self.target.numbers(target)
        return made

    def features(self, codes: Mapping[str, NDArray[np.integer]]) -> Floats:
        """Return x for each row, in units of 1."""
        made = np.zeros((len(next(iter(codes.values()))), self.size))
        self._fill(made, codes)
        return made / SCALE

    def _fill(self, made: Floats, codes: Mapping[str, NDArray[np.integer]]) -> None:
        for block in self.feature_map.blocks:
            _fill(made, block, np.asarray(codes[block.name], np.int64))
        made[:, self.size - 1] = SCALE

    # -- the entries that are released --------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> Pairs:
        """The entries of Σ w·x·xᵀ that are released, as pairs of indices."""
        blocks, last = self.feature_map.blocks, self.size - 1
        found = [(last, last), *((i, last) for i in range(last))]
        for block in blocks:
            if is_number(block):
                found.append((block.start, block.start))
            elif is_hats(block):
                found += [(i, i + 1) for i in range(block.start, block.start + block.width - 1)]
        for left, right in combinations(blocks, 2):
            found += [(i, j) for i in _indices(left) for j in _indices(right)]
        return found

    @cached_property
    def target_pairs(self) -> Pairs:
        """The entries of Σ w·x·y, and Σ w·y², as pairs of indices of z."""
        return [(i, self.size) for i in range(self.size + 1)]

    def matrix(self, values: Floats, target_values: Floats) -> Floats:
        """Return the symmetric matrix of all entries, from those that were released, with their noise."""
        whole = np.zeros((self.size + 1, self.size + 1))
        for pairs, given in ((self.pairs, values), (self.target_pairs, target_values)):
            i, j = np.array(pairs).T
            whole[i, j] = whole[j, i] = given
        last = self.size - 1
        for block in self.feature_map.blocks:
            for i in _indices(block):
                if not is_number(block) or i == block.start + block.width:
                    # The features of a block add up to `present`, wherever x_i is not 0.
                    inside = slice(block.start, block.start + block.width)
                    beside = whole[i, inside].sum() - whole[i, i] if is_hats(block) else 0.0
                    whole[i, i] = whole[i, last] * (present(block) / SCALE) - beside
            if block.binary:  # ±1: its square is 1 unless the value is missing
                absent = whole[block.start + 1, last] if block.missing else 0.0
                whole[block.start, block.start] = whole[last, last] - absent
        return whole

    # -- how much one row moves them ----------------------------------------------------------------------------

    @property
    def l2_squared(self) -> int:
        """The largest squared l2 norm of the features' entries of one row of weight 1."""
        squares = [norm**2 for norm in self.norms]
        crossed = sum(a * b for a, b in combinations(squares, 2))
        return SCALE**4 + SCALE**2 * sum(squares) + crossed + sum(s**2 for s in self._squared)

    @property
    def l1(self) -> int:
        """The largest l1 norm of the features' entries of one row of weight 1."""
        crossed = sum(a * b for a, b in combinations(self.norms, 2))
        neighbours = sum(SCALE**2 // 4 for block in self.feature_map.blocks if is_hats(block))
        return SCALE**2 + SCALE * sum(self.norms) + crossed + sum(self._squared) + neighbours

    @property
    def target_l2_squared(self) -> int:
        """The largest squared l2 norm of the target's entries of one row of weight 1."""
        most = self.target.most
        return most**2 * (SCALE**2 + sum(norm**2 for norm in self.norms)) + most**4

    @property
    def target_l1(self) -> int:
        """The largest l1 norm of the target's entries of one row of weight 1."""
        most = self.target.most
        return most * (SCALE + sum(self.norms)) + most**2

    @property
    def _squared(self) -> list[int]:
        """The largest squares of the numbers."""
        pairs = zip(self.feature_map.blocks, self.norms, strict=True)
        return [norm**2 for block, norm in pairs if is_number(block)]


def is_number(block: Block) -> bool:
    """Return whether a block is one centred number, with perhaps a feature for missing values."""
    return not block.categorical and block.width == 1 and (block.column.levels or 1) > 1


def present(block: Block) -> int:
    """Return what a feature of a block is worth where it is present: for a number, the end of its range.

    The feature that says that a number is missing has the same size, so that no row has a larger norm.
    """
    return ScaledColumn(block.column).most if is_number(block) else SCALE


def is_hats(block: Block) -> bool:
    """Return whether a block has hat functions."""
    return not block.categorical and block.width > 1


def _indices(block: Block) -> range:
    return range(block.start, block.start + block.size)


def _fill(made: Floats, block: Block, codes: NDArray[np.int64]) -> None:
    """Write the features of one column."""
    row: NDArray[Any] = np.arange(len(codes))
    there = codes >= 0
    if block.missing:
        made[row[~there], block.start + block.width] = present(block)
    scaled = ScaledColumn(block.column)
    if is_number(block):
        made[:, block.start] = scaled.numbers(codes)
        return
    row, codes = row[there], codes[there]
    if block.binary:
        made[row, block.start] = (2 * codes - 1) * SCALE
    elif is_hats(block):
        place = scaled.places(codes) * (block.width - 1)
        left = np.minimum(place // scaled.last, block.width - 2)
        share = (place - left * scaled.last) * SCALE // scaled.last
        made[row, block.start + left] = SCALE - share
        made[row, block.start + left + 1] = share
    else:
        made[row, block.start + np.minimum(codes, block.width - 1)] = SCALE
