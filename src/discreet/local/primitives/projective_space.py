"""Compute in projective spaces over finite fields: numbered points, orthogonality, sums over hyperplanes.

Coordinates are counted from the lowest, place 0, and a vector is the number Σ xⱼ·q^j. Each point is the one of its
vectors whose highest nonzero coordinate is 1, with the number q^m + r, r < q^m, if that is at place m. There are
(q^m − 1)/(q − 1) points below these, so the point has the index (q^m − 1)/(q − 1) + r: points of fewer coordinates
come first, whatever t.

**Sums over all hyperplanes.** Let h be a function on the points. For u = (1, u′), with the 1 at the highest place,

    q·Σ_{y ⟂ u} h(y) = Σ_y h(y) + Σ_{a≠0} χ(a)·G(a·u′) + E(u′),     G(w) = Σ_z h(1, z)·χ(⟨w, z⟩),

where E is the transform of h on the points (0, z), spread over all their multiples; for u = (0, u′) without χ(a).
Proof: Σ_a χ(a·x) is q or 0. So two Fourier transforms over GF(q)^{t−1} do, each some multiplications by tables of
characters, a few coordinates at a time. The sum over a is a product by one more table, along the lines through
zero: for u′ = g^j·r it has χ(g^{k−j})·G(g^k·r). Sums are integers, so rounding removes the error of the floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.primitives.galois_fields import chunks, field

Values = NDArray[np.int64]

_MATRIX = 64  # rows of a table of characters: about where multiplying by it costs least


def points(q: int, t: int) -> int:
    """Return the number of points with t coordinates.

    >>> points(2, 3), points(4, 6)
    (7, 1365)
    """
    return int((q**t - 1) // (q - 1))


def dimension(q: int, least: int) -> int:
    """Return the number of coordinates, two or more, that gives at least so many points.

    >>> dimension(4, 1024)
    6
    """
    return next(t for t in range(2, 64) if points(q, t) >= least)


@dataclass(frozen=True, eq=False)
class Space:
    """Points of t coordinates over GF(q)."""

    q: int
    t: int
    powers: Values
    """q^m for m = 0 … t."""
    first: Values
    """The index of the first point whose highest coordinate is at place m."""

    def vectors(self, index: Values) -> Values:
        """Return the numbers of points."""
        return index + self._shift()[self._place(index)]

    def related(self, index: Values, inside: NDArray[np.bool_], among: Values, beside: Values) -> Values:
        """Return for each point u one that is orthogonal, or one that is not, as `inside` says.

        All coordinates but one are those of the point `among`, or of the vector `beside`, of t − 1 coordinates.
        """
        f = field(self.q)
        place = self._place(index)
        below = self.powers[place]
        given = np.where(inside, self.vectors(among), beside)
        high = given // below
        low = given - high * below
        product = self._inner(index - self.first[place], low)
        wanted = f.plus[np.where(inside, 0, 1), f.minus[product]]
        return self._index((high * self.q + wanted) * below + low)

    def orthogonal(self, index: int) -> NDArray[np.bool_]:
        """Return which points are orthogonal to one."""
        everything = self.vectors(np.arange(points(self.q, self.t)))
        met: NDArray[np.bool_] = self._inner(everything[index : index + 1], everything) == 0
        return met

    def incidences(self, h: Values, count: int) -> Values:
        """Return the sum of h over the hyperplanes of the first `count` points."""
        split, top = int(self.first[-2]), int(self.powers[-2])
        lines, spread = self._lines(), np.zeros(top)
        spread[lines] = h[:split]
        edge = self._transform(spread).real
        body = self._transform(h[split:].astype(np.float64))
        along, turned = body[lines], _turned(self.q)
        sums = edge.copy()
        sums[0] -= body[0].real
        sums[lines] += turned.real @ along.real - (turned.imag @ along.imag if np.iscomplexobj(along) else 0)
        flat = along.real.sum(0) + edge[lines[0]]
        total = np.concatenate([flat[:count], sums[: max(0, count - split)]])
        incidences: Values = (int(h.sum()) + self.q // 2 + np.rint(total).astype(np.int64)) // self.q
        return incidences

    def _place(self, index: Values) -> Values:
        """Return the place of the highest coordinate."""
        return np.searchsorted(self.first, index, side="right") - 1

    def _shift(self) -> Values:
        return self.powers - self.first

    def _digits(self, vectors: Values) -> list[Values]:
        """Return vectors cut into chunks, the lowest first."""
        radix, cut, left = chunks(self.q).radix, [], vectors
        for _ in range(-(-self.t // chunks(self.q).places) - 1):
            rest = left // radix
            cut.append(left - rest * radix)
            left = rest
        return [*cut, left]

    def _inner(self, a: Values, b: Values) -> NDArray[np.uint16]:
        table, plus = chunks(self.q).inner, field(self.q).plus
        parts = [table[x, y] for x, y in zip(self._digits(a), self._digits(b), strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = plus[total, part]
        return total

    def _index(self, vectors: Values) -> Values:
        """Return the index of the point on which a vector lies."""
        tables, cut = chunks(self.q), self._digits(vectors)
        leading = tables.leading[cut[0]]
        for chunk in cut[1:]:
            leading = np.where(chunk, tables.leading[chunk], leading)
        factor = field(self.q).inverse[leading]
        scaled = tables.multiple[factor, cut[-1]].astype(np.int64)
        for chunk in cut[-2::-1]:
            scaled = scaled * tables.radix + tables.multiple[factor, chunk]
        place = np.searchsorted(self.powers, scaled, side="right") - 1
        return scaled - self._shift()[place]

    def _lines(self) -> Values:
        """Return the numbers of g^k·r in row k, for all points r of t − 1 coordinates: all vectors but zero."""
        tables, cut = chunks(self.q), self._digits(self.vectors(np.arange(self.first[-2])))
        lines = np.zeros((self.q - 1, len(cut[0])), np.int64)
        for line, factor in zip(lines, _by_generator(self.q), strict=True):
            for chunk in cut[::-1]:
                line *= tables.radix
                line += tables.multiple[factor, chunk]
        return lines

    def _transform(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return the Fourier transform of a function of t − 1 coordinates."""
        places, q = max(1, int(np.log(_MATRIX) / np.log(self.q))), self.q
        found: NDArray[Any] = values.reshape(1, -1)
        left = self.t - 1
        while left:
            some = min(places, left)
            matrix = _character_table(q, some)
            # Rows hold the coordinates still to be transformed; the transformed ones move to the end.
            found = (matrix @ found.reshape(len(matrix), -1)).T
            left -= some
        return np.ascontiguousarray(found).reshape(-1)


@lru_cache(maxsize=16)
def space(q: int, t: int) -> Space:
    """Return the space of t coordinates over GF(q).

    >>> space(2, 3).orthogonal(0).sum()
    np.int64(3)
    """
    powers = np.array([q**m for m in range(t + 1)])
    return Space(q, t, powers, np.array([points(q, m) for m in range(t + 1)]))


@lru_cache(maxsize=16)
def _by_generator(q: int) -> tuple[int, ...]:
    """Return 1, g, g², …: all elements but zero, as powers of the smallest generator g."""
    times = field(q).times
    for g in range(1, q):
        powers = [1]
        while (following := int(times[powers[-1], g])) != 1:
            powers.append(following)
        if len(powers) == q - 1:
            return tuple(powers)
    raise AssertionError("the multiplicative group of a finite field is cyclic")


@lru_cache(maxsize=8)
def _turned(q: int) -> NDArray[Any]:
    """Return χ(g^(k − j)) in row j: the weight of G(g^k·r) in the sum over k for u′ = g^j·r."""
    k = np.arange(q - 1)
    turned: NDArray[Any] = _characters(q)[np.array(_by_generator(q))[(k - k[:, None]) % (q - 1)]]
    return turned


def _characters(q: int) -> NDArray[Any]:
    f = field(q)
    return np.exp(2j * np.pi * f.trace / f.p) if f.p > 2 else 1.0 - 2.0 * f.trace


@lru_cache(maxsize=8)
def _character_table(q: int, places: int) -> NDArray[Any]:
    """Return χ(⟨w, z⟩) for all vectors of a few coordinates."""
    f, characters = field(q), _characters(q)
    single = characters[f.times]
    table = single
    for _ in range(places - 1):
        table = np.kron(table, single)
    return table
