"""Toss biased coins whose chance is exactly a fraction, or exactly exp(−x).

**Claim.** Coin i of a family shows heads with probability exactly p(i), given fair bits. The argument is that of
`inversion` with a single threshold: heads if U < p(i), bits of U drawn until bounds of p(i) settle the
comparison.

**exp(−x/c) for an array of integers x.** Write x = Σ dⱼ·256^j. As exp(−x/c) = Π exp(−dⱼ·256^j/c), x survives if
it survives one coin per digit, each from a table of 256 thresholds. The number of digits follows from c alone,
and all of them are tossed, so that the time does not tell x. The last digit is not cut off: from 256 on its
chance is below that of 255, which is below 2^−32, and bounds of its own are computed only with that probability.

No floating point is involved.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.noise.certified_exp import Interval, coarser, exp_minus, fraction
from discreet.noise.inversion import Integers
from discreet.noise.random_bits import Bits

_RADIX_BITS = 8

Booleans: TypeAlias = NDArray[np.bool_]
Chance: TypeAlias = Callable[[int], Interval]
"""Bounds of a probability at any precision."""


class Coin:
    """Draws throws of one coin."""

    dtype = np.bool_

    def __init__(self, chance: Chance, *, word_bits: int = 32):
        self._chance, self._word_bits = chance, word_bits
        self._low, self._high = coarser(chance(word_bits + 8), 8)

    def fill(self, heads: Booleans, bits: Bits) -> None:
        """Put independent throws into `heads`."""
        words = uniform_words(len(heads), self._word_bits, bits)
        heads[:] = words < self._low
        for j in np.flatnonzero(~heads & (words < self._high)):
            heads[j] = settled(self._chance, int(words[j]), self._word_bits, bits)


class Coins:
    """A family of coins of chances p(0) ≥ p(1) ≥ …, the first `count` of them in a table."""

    def __init__(self, chance: Callable[[int], Chance], count: int, *, word_bits: int = 32):
        self._chance, self._word_bits = chance, word_bits
        bounds = [coarser(chance(i)(word_bits + 8), 8) for i in range(count)]
        # All later coins share one more entry: they are less likely than those before, and no more is known.
        self._low = np.array([*(low for low, _ in bounds), 0], np.int64)
        self._high = np.array([*(high for _, high in bounds), bounds[-1][1]], np.int64)

    def toss(self, which: Integers, bits: Bits) -> Booleans:
        """Return the throw of coin `which[j]` for every j."""
        words = uniform_words(len(which), self._word_bits, bits)
        heads = words < self._low.take(which, mode="clip")
        for j in np.flatnonzero(~heads & (words < self._high.take(which, mode="clip"))):
            heads[j] = settled(self._chance(int(which[j])), int(words[j]), self._word_bits, bits)
        return heads


def uniform_words(count: int, word_bits: int, bits: Bits) -> NDArray[np.uint32]:
    """Return the first `word_bits` bits of `count` uniforms."""
    words: NDArray[np.uint32] = bits.words(count, np.uint32)
    return words if word_bits == 32 else words >> np.uint32(32 - word_bits)


def settled(chance: Chance, word: int, known: int, bits: Bits) -> bool:
    """Return whether U is below a probability, given the first `known` bits of U."""
    while True:
        low, high = coarser(chance(known + 8), 8)
        if word < low or word >= high:
            return word < low
        word, known = word << 64 | bits.integer(64), known + 64


def with_chance(p: Fraction, *, word_bits: int = 32) -> Coin:
    """Return the coin of chance p."""
    return Coin(partial(fraction, p), word_bits=word_bits)


def exponential(x: Fraction, *, word_bits: int = 32) -> Coin:
    """Return the coin of chance exp(−x)."""
    return Coin(partial(exp_minus, x), word_bits=word_bits)


class ExponentialCoins:
    """Tosses a coin of chance exp(−x/scale) for every x of an array."""

    def __init__(self, scale: Fraction, *, word_bits: int = 32):
        # exp(−23) < 2^−32: the last digit reaches far enough for coins that all but surely fall.
        digits = 1
        while 255 << _RADIX_BITS * (digits - 1) < 23 * scale:
            digits += 1
        self._families = [
            Coins(_powers_of_exp((1 << _RADIX_BITS * j) / scale), 1 << _RADIX_BITS, word_bits=word_bits)
            for j in range(digits)
        ]

    def toss(self, x: Integers, bits: Bits) -> Booleans:
        """Return True with probability exp(−x/scale), for each of a flat array of non-negative integers."""
        heads = np.ones(len(x), np.bool_)
        for coins in self._families[:-1]:
            heads &= coins.toss(x & (1 << _RADIX_BITS) - 1, bits)
            x = x >> _RADIX_BITS
        heads &= self._families[-1].toss(x, bits)
        return heads


def _powers_of_exp(rate: Fraction) -> Callable[[int], Chance]:
    return lambda digit: partial(exp_minus, digit * rate)
