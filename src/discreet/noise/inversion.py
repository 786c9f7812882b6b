"""Invert a certified distribution function exactly, with bits revealed as needed.

**Claim.** For a law on ranks 0, 1, 2, … with distribution function F, `Inversion` returns rank r with
probability exactly F(r) − F(r−1), given fair bits.

**Proof.** Think of U uniform on [0, 1), written in binary; the rank is the number of r with U ≥ F(r). The first
W bits w of U put it in [w, w+1)/2^W. With integers low ≤ 2^W·F(r) ≤ high, w ≥ high proves U ≥ F(r), and w < low
proves U < F(r). If that settles every r, the rank is known whatever the later bits are; else more bits of the
*same* U are drawn and compared with tighter bounds. The process stops with probability 1, as U = F(r) has
probability 0. Bounds that are loose cost time, never correctness.

**Speed.** The first 16 bits are a cell. A table holds the rank of every cell inside which no threshold lies;
only the other cells (about one in a hundred) need 32 more bits and a binary search, and less than one draw in
2^34 needs more. Per batch a fixed `quota` of cells is looked up the long way, whether so many need it or not,
so that the time of a batch does not tell how many of its values are rare.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LawTooWide
from discreet.noise.random_bits import Bits

Integers: TypeAlias = NDArray[np.int64]
Cells: TypeAlias = NDArray[np.uint16]
Bounds: TypeAlias = tuple[list[int], int]
"""Lower bounds of some numbers, and how far above them each may be."""


class Law(Protocol):
    """A law on ranks 0, 1, 2, …"""

    def cdf(self, precision: int) -> Bounds:
        """Return bounds of 2^`precision`·F(r) for r = 0, 1, … until little is left: the less, the finer."""
        ...


class Inversion:
    """Draws ranks of `law`. Shorter words are for tests: the law is the same, the lazy branch more frequent.

    A rank of `limit` or more is an error, for what it stands for would not fit into int64. No such rank is ever
    expected (`api` refuses laws that are too wide), but a value that wraps around must not exist.
    """

    def __init__(self, law: Law, *, limit: int = 2**62, cell_bits: int = 16, word_bits: int = 48):
        self._law, self._limit, self._cell_bits, self._word_bits = law, limit, cell_bits, word_bits
        # Tests with short words ask for the same few precisions again and again.
        self._thresholds = lru_cache(maxsize=8)(self._sorted_bounds)
        self._low, self._high = self._thresholds(word_bits)

    def _sorted_bounds(self, bits: int) -> tuple[Integers, Integers]:
        """Bounds of 2^bits·F(r), each in order. F increases, so running extremes are bounds as well.

        The last pair stands for all ranks beyond the list: somewhere between the last F(r) and 1.
        """
        bounds, width = self._law.cdf(bits + 8)
        below: NDArray[Any] = np.array(bounds, np.int64 if bits <= 48 else np.object_)
        lows = np.maximum(np.maximum.accumulate(below) >> 8, 0)
        highs = np.minimum(-(-(below + width) >> 8), 1 << bits)
        highs = np.minimum.accumulate(highs[::-1])[::-1]
        return np.append(lows, lows[-1:]), np.append(highs, 1 << bits)

    def runs(self) -> tuple[Integers, Integers]:
        """Return the ranks of runs of cells, −1 where the words of a cell have several, and the runs' lengths."""
        cells, inside = 1 << self._cell_bits, self._word_bits - self._cell_bits
        starts = np.append(0, -(-self._high >> inside)[:-1])
        ends = self._low >> inside
        ranks = np.flatnonzero(starts < ends)
        edges = np.stack([starts[ranks], ends[ranks]]).ravel(order="F")
        alternating = np.stack([np.full(len(ranks), -1), ranks]).ravel(order="F")
        return np.append(alternating, -1), np.diff(edges, prepend=0, append=cells)

    def decide(self, words: Integers) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the least rank that words of `word_bits` leave possible, and whether it is the only one."""
        least = np.searchsorted(self._high, words, side="right")
        return least, words < self._low.take(least)

    def draw_cells(self, count: int, bits: Bits) -> Cells:
        """Return the first `cell_bits` bits of `count` uniforms."""
        cells: Cells = bits.words(count, np.uint16)
        return cells if self._cell_bits == 16 else cells >> np.uint16(16 - self._cell_bits)

    def resolve(self, cells: Cells, bits: Bits) -> Integers:
        """Return a rank for every cell, with as many further bits as it takes."""
        inside = self._word_bits - self._cell_bits
        words = cells.astype(np.int64) << inside
        words |= bits.words(len(cells), np.uint32) >> np.uint32(32 - inside)
        ranks, sure = self.decide(words)
        for i in np.flatnonzero(~sure):
            ranks[i] = self._lazily(int(words[i]), bits)
        return ranks

    def _lazily(self, word: int, bits: Bits) -> int:
        known, sure = self._word_bits, False
        while not sure:
            word, known = word << 64 | bits.integer(64), known + 64
            lows, highs = self._thresholds(known)
            least = bisect_right(highs, word)
            sure = word < lows[least]
        if least >= self._limit:
            raise LawTooWide("A draw fell outside ±2**62, which is not expected in the age of the universe.")
        return least


class Digit:
    """Draws `value(rank)` for ranks of a law: for most, one look into a table."""

    def __init__(self, inversion: Inversion, value: Callable[[Integers], Integers]):
        self._inversion, self._value = inversion, value
        ranks, lengths = inversion.runs()
        self._undecided = float(lengths[ranks < 0].sum() / lengths.sum())
        known = value(np.maximum(ranks, 0))
        dtype = next(t for t in (np.int16, np.int32, np.int64) if np.abs(known).max() < np.iinfo(t).max)
        self._unknown = np.int64(np.iinfo(dtype).min)
        self._table: NDArray[Any] = np.where(ranks < 0, self._unknown, known).astype(dtype).repeat(lengths)

    def draw_into(self, noise: Integers, bits: Bits) -> None:
        """Combine every element of `noise` with a draw, by exclusive or."""
        cells = self._inversion.draw_cells(len(noise), bits)
        values = self._table.take(cells)
        noise ^= values
        spots = np.flatnonzero(values == self._unknown)
        ranks = self._inversion.resolve(padded(cells[spots], quota(len(noise), self._undecided)), bits)
        noise[spots] ^= self._value(ranks[: len(spots)]) ^ self._unknown


def quota(count: int, chance: float) -> int:
    """Return how many of `count` are set aside for events of this chance: eight deviations above the mean.

    >>> quota(65536, 0.01)
    862
    """
    mean = count * chance
    return min(count, math.ceil(mean + 8 * math.sqrt(mean) + 1))


def padded(values: NDArray[Any], length: int) -> NDArray[Any]:
    """Return `values` with zeros up to `length`, or to the next multiple of it where there are more.

    >>> padded(np.array([5, 6]), 4)
    array([5, 6, 0, 0])
    """
    total = length * max(1, -(-len(values) // length)) if length else 0
    return np.concatenate([values, np.zeros(total - len(values), values.dtype)])
