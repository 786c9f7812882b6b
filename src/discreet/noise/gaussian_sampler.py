"""Draw from the discrete Gaussian law, P(x) ∝ exp(−x²/(2·variance)), without a floating-point exp.

**Narrow (σ ≤ 32).** The ranks 0, 1, 2, 3, 4 … stand for x = 0, 1, −1, 2, −2 …, drawn by `inversion`. Partial
sums are divided by their total; what is left out of the total is bounded by a geometric series, as the ratio of
one term to the one before falls.

**Wide.** Let m = 2^b with σ/32 < m ≤ σ/16, and c = m²/(2·variance). Propose |x| = k·m + r with k of mass ∝
exp(−c·k²) and r uniform below m: the density at the left end of each block. Accept with probability

    exp(−c·(k + s)²)/exp(−c·k²) = exp(−y),   y = c·(2k·s + s²),   s = r/m.

For y ≤ 1 that is von Neumann's series of coins: toss coins of chance y, y/2, y/3, … until one shows tails. The
first j show heads with probability y^j/j!, so the number of heads is even with probability 1 − y + y²/2! − … =
exp(−y). With γ = c·(2k+1), a coin of chance y/j is one of chance γ/j and an event of probability
(2k·s + s²)/(2k+1): with V, V′ uniform below m, V < r, and with probability 1/(2k+1) only if V′ < r as well. The γ
of the first coin is drawn together with k, by `inversion`: where it shows tails (19 times in 20) the proposal is
accepted at once. It gets a fair sign, and −0 is rejected, or 0 would count twice. From γ = 1 on (k is beyond 255,
which is less likely than exp(−127)), the first coin always shows heads, and one coin of chance exp(−y) is tossed
with bounds of its own. Everything after the certified thresholds is a comparison of integers.

How often proposals are rejected is independent of the value accepted in the end, so the number of rounds tells
nothing about it. Per batch a fixed quota of proposals is tossed for, whether or not they need it, as often as the
proposal with the most heads needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bernoulli_sampler import Booleans, Coins, settled, uniform_words
from discreet.noise.certified_exp import Interval, divide_up, exp_minus, fraction, shares_below, shift_up
from discreet.noise.inversion import Bounds, Digit, Integers, Inversion, padded, quota
from discreet.noise.random_bits import Bits

_NARROW = 2**10  # the largest variance drawn from one table: some six hundred ranks
_GUARD = 32  # bits, for the rounding of some thousand sums and products
_FINER = 24  # bits of γ behind those of a word


def discrete_gaussian(variance: Fraction) -> Narrow | Wide:
    """Return the sampler for this variance."""
    return Narrow(variance) if variance <= _NARROW else Wide(variance)


class Narrow:
    """Draws X with P(X = x) ∝ exp(−x²/(2·variance)) from one table."""

    dtype = np.int64

    def __init__(self, variance: Fraction, *, cell_bits: int = 16, word_bits: int = 48):
        inversion = Inversion(Centred(variance), cell_bits=cell_bits, word_bits=word_bits)
        self._digit = Digit(inversion, lambda rank: (rank + 1 >> 1) * (2 * (rank & 1) - 1))

    def fill(self, noise: Integers, bits: Bits) -> None:
        """Put independent draws into `noise`."""
        noise[:] = 0
        self._digit.draw_into(noise, bits)


class Wide:
    """Draws X with P(X = x) ∝ exp(−x²/(2·variance)) by rejection from blocks of 2^b integers."""

    dtype = np.int64

    def __init__(self, variance: Fraction, *, cell_bits: int = 16, word_bits: int = 48):
        self._shift = math.isqrt(int(variance)).bit_length() - 5
        self._c = Fraction(4**self._shift) / (2 * variance)
        self._blocks = Inversion(
            Blocks(self._c), limit=2 << 62 - self._shift, cell_bits=cell_bits, word_bits=word_bits
        )
        ranks, lengths = self._blocks.runs()
        special = (ranks & 1) == 1  # that of −1 is as well
        self._table = np.where(special, -1, ranks >> 1).astype(np.int16).repeat(lengths)
        self._special = float(lengths[special].sum() / lengths.sum())
        self._first, self._both = Rates(self._c, min(word_bits, 32)), _one_in_odd(min(word_bits, 32))
        self._word = next(t for t in (np.uint16, np.uint32, np.uint64) if np.iinfo(t).bits > self._shift)

    def fill(self, noise: Integers, bits: Bits) -> None:
        """Put independent draws into `noise`."""
        while missing := len(noise):
            # About half of the special proposals are rejected.
            accepted = self._accepted(missing + quota(missing, self._special / 2) + 1, bits)[:missing]
            noise[: len(accepted)] = accepted
            noise = noise[len(accepted) :]

    def _accepted(self, count: int, bits: Bits) -> Integers:
        """Return what is accepted of `count` proposals."""
        cells = self._blocks.draw_cells(count, bits)
        blocks = self._table.take(cells)
        within = self._below(2 << self._shift, count, bits)  # r, and the sign as its last bit
        spots = np.flatnonzero(blocks < 0)
        chosen = padded(spots, quota(count, self._special))
        ranks = self._blocks.resolve(cells[chosen], bits)
        k = ranks >> 1
        survives = self._survives(k, (ranks & 1) == 1, within[chosen] >> 1, bits)
        proposals = blocks.astype(np.int64)
        proposals[spots] = k[: len(spots)]
        proposals <<= self._shift + 1
        proposals |= within.astype(np.int64, copy=False)
        keep = proposals != 1  # that is −0
        keep[spots] &= survives[: len(spots)]
        return _signed(proposals[keep])

    def _survives(self, k: Integers, first: Booleans, r: Integers, bits: Bits) -> Booleans:
        """Tell where the number of heads is even, given whether the γ of the first coin showed heads."""
        survives, pending, number = np.ones(len(k), np.bool_), first.copy(), 1
        for i in np.flatnonzero(k > self._first.last):
            s = Fraction(int(r[i]), 1 << self._shift)
            survives[i] = settled(partial(exp_minus, self._c * (2 * int(k[i]) * s + s * s)), 0, 0, bits)
            pending[i] = False
        while pending.any():
            v, w = self._below(1 << self._shift, 2 * len(k), bits).reshape(2, -1)
            heads = (v < r) & ((w < r) | ~self._both.toss(k, bits))
            if number > 1:
                heads &= self._first.toss(k, number, bits)
            if number % 2 == 0:
                survives &= ~pending | heads  # tails after an odd number of heads
            pending &= heads
            number += 1
        return survives

    def _below(self, power: int, count: int, bits: Bits) -> NDArray[Any]:
        """Uniform integers below a power of two."""
        words: NDArray[Any] = bits.words(count, self._word)
        words &= self._word(power - 1)
        return words


def _signed(values: Integers) -> Integers:
    """Read the last bit as a sign."""
    sign = values & 1
    values >>= 1
    values ^= -sign
    values += sign
    return values


@lru_cache(maxsize=4)
def _one_in_odd(word_bits: int) -> Coins:
    """Coins of chance 1/(2k+1)."""
    return Coins(lambda k: partial(fraction, Fraction(1, 2 * k + 1)), 512, word_bits=word_bits)


class Rates:
    """Tosses coins of chance γ/j, γ = c·(2k+1), for k up to `last`, where γ ≤ 1."""

    def __init__(self, c: Fraction, word_bits: int):
        self._c, self._word_bits, self.last = c, word_bits, int((1 / c - 1) / 2)
        self._low, self._high = fraction(c, word_bits + _FINER)

    def toss(self, k: Integers, j: int, bits: Bits) -> Booleans:
        """Return the throw of the j-th coin for every k."""
        words, odd = uniform_words(len(k), self._word_bits, bits), 2 * np.minimum(k, self.last) + 1
        heads: Booleans = words < (odd * self._low // j >> _FINER)
        for i in np.flatnonzero(~heads & (words < -(-odd * self._high // j >> _FINER))):
            heads[i] = settled(partial(fraction, self._c * int(odd[i]) / j), int(words[i]), self._word_bits, bits)
        return heads


# -- the laws of the ranks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Centred:
    """Ranks 0, 1, 2 … for x = 0, 1, −1, 2, −2 … of mass ∝ exp(−x²/(2·variance))."""

    variance: Fraction

    def cdf(self, precision: int) -> Bounds:
        """Return bounds of F."""
        first, *terms = _theta(1 / (2 * self.variance), precision + _GUARD)
        masses = [first, *(term for term in terms[:-1] for _ in range(2))]
        sums = list(accumulate(low for low, _ in masses))
        total = _total([first, *terms, *terms])
        return shares_below(sums, _errors(masses), total, precision + _GUARD, _GUARD)


@dataclass(frozen=True)
class Blocks:
    """Ranks 2k + h: k of mass ∝ exp(−c·k²), h = 1 with probability γ = c·(2k+1), or 1 where that is more."""

    c: Fraction

    def cdf(self, precision: int) -> Bounds:
        """Return bounds of F."""
        working = precision + _GUARD
        terms = _theta(self.c, working)
        total, error = _total(terms), _errors(terms)
        terms.pop()
        low, high = fraction(self.c, working)
        one = 1 << working
        heads = [shift_up(term * min((2 * k + 1) * high, one), working) for k, (_, term) in enumerate(terms)]
        # A bound of the mass of heads is too large by what its two factors are, and by one for its rounding.
        error += (high - low) * (2 * len(terms) + 1) + 1
        sums: list[int] = [0] * (2 * len(terms))
        sums[1::2] = accumulate(below for below, _ in terms)
        sums[::2] = [whole - head for whole, head in zip(sums[1::2], heads, strict=True)]
        return shares_below(sums, error, total, working, _GUARD)


def _theta(c: Fraction, precision: int) -> list[Interval]:
    """Bounds of exp(−c·k²) for k = 0, 1, … while not negligible, and at the end of the sum of all that follow."""
    low = high = one = 1 << precision
    (ratio_low, ratio_high), (square_low, square_high) = exp_minus(c, precision), exp_minus(2 * c, precision)
    terms = [(low, high)]
    # The products of `times`, written out: this loop is most of what a new variance costs.
    while high >> _GUARD:
        low, high = low * ratio_low >> precision, -(-high * ratio_high >> precision)
        ratio_low, ratio_high = ratio_low * square_low >> precision, -(-ratio_high * square_high >> precision)
        terms.append((low, high))
    # Each later term is less than exp(−c·(2k+1)), the present ratio, times the one before.
    return [*terms, (0, divide_up(high * ratio_high, one - ratio_high))]


def _total(masses: list[Interval]) -> Interval:
    return sum(lo for lo, _ in masses), sum(hi for _, hi in masses)


def _errors(masses: list[Interval]) -> int:
    return sum(hi - lo for lo, hi in masses)
