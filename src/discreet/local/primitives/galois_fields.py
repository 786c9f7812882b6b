"""Compute in finite fields of up to 1024 elements, by tables.

For a prime q the elements are 0 … q − 1 modulo q. For q = p^e element x = Σ xᵢ·pⁱ is the polynomial with
coefficients xᵢ over GF(p), modulo the monic irreducible polynomial of degree e whose number Σ cᵢ·pⁱ is smallest;
so every language makes the same tables. The trace of x is x + x^p + … + x^{p^(e−1)}, an element of GF(p), and
χ(x) = exp(2πi·tr(x)/p) is a character of the additive group: Σ_a χ(a·x) is q for x = 0 and 0 for any other x.

Vectors of k elements are counted as well: Σ xⱼ·q^j. `Chunks` has the tables of their inner products and multiples,
by which longer vectors are handled k places at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError

MOST_ELEMENTS = 1024
_TABLE = 1 << 16  # entries of a table of inner products, to stay in the cache

Table = NDArray[np.uint16]


def prime_power(q: int) -> tuple[int, int] | None:
    """Return p and e with q = p^e, or None if q is not a power of a prime.

    >>> prime_power(9), prime_power(7), prime_power(6)
    ((3, 2), (7, 1), None)
    """
    if q < 2:
        return None
    p = next((d for d in range(2, math.isqrt(q) + 1) if q % d == 0), q)
    e = round(math.log(q, p))
    return (p, e) if p**e == q else None


@lru_cache(maxsize=1)
def orders() -> tuple[int, ...]:
    """Return the orders of all fields that there are tables for.

    >>> orders()[:8]
    (2, 3, 4, 5, 7, 8, 9, 11)
    """
    return tuple(q for q in range(2, MOST_ELEMENTS + 1) if prime_power(q))


@dataclass(frozen=True, eq=False)
class Field:
    """The tables of a field: sums, products, inverses and traces."""

    q: int
    p: int
    plus: Table
    times: Table
    minus: Table
    """−x for every x."""
    inverse: Table
    """1/x for every x but 0."""
    trace: Table


@lru_cache(maxsize=16)
def field(q: int) -> Field:
    """Return the field of q elements.

    >>> field(4).times[2, 3], field(4).plus[2, 3]
    (np.uint16(1), np.uint16(1))
    """
    found = prime_power(q) if q <= MOST_ELEMENTS else None
    if found is None:
        raise ParameterError(
            f"There is no field of {q} elements here: q must be a prime power up to {MOST_ELEMENTS}.",
            fix=Fix("q", 4),
        )
    p, e = found
    coefficients = np.arange(q)[:, None] // p ** np.arange(e) % p
    weights = p ** np.arange(e)
    plus = (coefficients[:, None] + coefficients) % p @ weights
    times = _products(p, e, coefficients)
    power, trace = np.arange(q), np.zeros(q, np.int64)
    for _ in range(e):
        trace = plus[trace, power]
        power = _to_the(power, p, times)
    inverse = np.argmax(times == 1, axis=1)
    tables = (plus, times, (-coefficients) % p @ weights, inverse, trace)
    return Field(q, p, *(table.astype(np.uint16) for table in tables))


def _products(p: int, e: int, coefficients: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all products: that by x^i is the last one shifted by a place and reduced by the modulus."""
    low = np.array(_modulus(p, e)[:-1])
    moved, total = coefficients, np.zeros((len(coefficients), len(coefficients), e), np.int64)
    for place in range(e):
        total += coefficients[:, None, place, None] * moved
        top = moved[:, -1:]
        moved = (np.hstack([np.zeros_like(top), moved[:, :-1]]) - top * low) % p
    products: NDArray[np.int64] = total % p @ p ** np.arange(e)
    return products


def _modulus(p: int, e: int) -> tuple[int, ...]:
    """Return the smallest monic irreducible polynomial of degree e, lowest coefficient first."""
    composite = {
        _times(a, b, p)
        for degree in range(1, e // 2 + 1)
        for a in _monic(p, degree)
        for b in _monic(p, e - degree)
    }
    return min((f for f in _monic(p, e) if f not in composite), key=lambda f: f[::-1])


def _monic(p: int, degree: int) -> list[tuple[int, ...]]:
    return [(*rest, 1) for rest in product(range(p), repeat=degree)]


def _times(a: tuple[int, ...], b: tuple[int, ...], p: int) -> tuple[int, ...]:
    return tuple(int(c) % p for c in np.convolve(a, b))


def _to_the(x: NDArray[np.int64], power: int, times: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.ones_like(x)
    for _ in range(power):
        found = times[found, x]
    return found


@dataclass(frozen=True, eq=False)
class Chunks:
    """Tables for vectors of k places: their inner products, multiples, and first elements that are not zero."""

    places: int
    radix: int
    """The number of such vectors: q^k."""
    inner: Table
    multiple: Table
    """c·x, for every c of the field."""
    leading: Table
    """The highest place that is not zero, or zero."""


@lru_cache(maxsize=16)
def chunks(q: int) -> Chunks:
    """Return the tables of vectors of as many places as fit into a small table.

    >>> chunks(3).places, chunks(4).radix, chunks(53).places
    (5, 256, 1)
    """
    f = field(q)
    places = max(1, int(math.log(_TABLE) / (2 * math.log(q)) + 1e-9))
    vectors = np.arange(q**places)[:, None] // q ** np.arange(places) % q
    inner = np.zeros((len(vectors), len(vectors)), np.uint16)
    for place in range(places):
        x = vectors[:, place]
        inner = f.plus[inner, f.times[x[:, None], x]]
    multiple = f.times[np.arange(q)[:, None, None], vectors] @ q ** np.arange(places)
    leading = np.zeros(len(vectors), np.int64)
    for place in range(places):
        leading = np.where(vectors[:, place], vectors[:, place], leading)
    return Chunks(places, len(vectors), inner, multiple.astype(np.uint16), leading.astype(np.uint16))
