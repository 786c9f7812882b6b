"""Draw from the discrete Gaussian law, P(x) ∝ exp(−x²/(2·variance)), without a floating-point exp.

**Narrow (σ ≤ 32).** The ranks 0, 1, 2, 3, 4 … stand for x = 0, 1, −1, 2, −2 …, drawn by `inversion`. Partial
sums are divided by their total; what is left out of the total is bounded by a geometric series, as the ratio of
one term to the one before falls.

**Wide.** Let m = 2^b with σ/32 < m ≤ σ/16, and c = m²/(2·variance). Propose |x| = k·m + r with k of mass ∝
exp(−c·k²) and r uniform below m: the density at the left end of each block. Accept with probability

    exp(−c·(k + s)²)/exp(−c·k²) = exp(−c·(2k·s + s²)),   s = r/m.

That is the chance that none of the points of a Poisson process of rate γ = c·(2k+1) is *fatal*, where each point
is fatal with probability (2k·s + s²)/(2k+1): with V, V′ uniform below m, it is if V < r, and with probability
1/(2k+1) only if V′ < r as well. Together k and the number n of points have mass exp(−c·k²)·e^(−γ)·γ^n/n! =
exp(−c·(k+1)²)·γ^n/n!. The pair is drawn by `inversion`, and with n = 0 (19 times in 20) the proposal is accepted
at once. It gets a fair sign, and −0 is rejected, or 0 would count twice. Everything after the certified
thresholds is a comparison of integers.

How often proposals are rejected is independent of the value accepted in the end, so the number of rounds tells
nothing about it. Per batch a fixed quota of proposals is tested for fatal points, whether or not they have any,
as often as the proposal with the most points needs.
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

from discreet.noise.bernoulli_sampler import Booleans, Coins
from discreet.noise.certified_exp import Interval, divide_up, exp_minus, fraction, over, plus, times
from discreet.noise.inversion import Digit, Integers, Inversion, padded, quota
from discreet.noise.random_bits import Bits

_NARROW = 2**10  # the largest variance drawn from one table: some six hundred ranks
_GUARD = 32  # bits, for the rounding of some thousand sums and products
_STRIDE = 12  # blocks that weigh about as much as one more Poisson point


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
        law = Blocks(Fraction(4**self._shift) / (2 * variance))
        self._blocks = Inversion(law, limit=1 << 62 - self._shift, cell_bits=cell_bits, word_bits=word_bits)
        ranks = self._blocks.ranks_of_cells()
        k, n = pairs_of(np.maximum(ranks, 0))
        special = (ranks < 0) | (n > 0)
        self._table = np.where(special, -1, k).astype(np.int16)
        self._special = float(np.mean(special))
        self._both = _one_in_odd(min(word_bits, 32))
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
        k, points = pairs_of(self._blocks.resolve(cells[chosen], bits))
        survives = self._survives(k, points, within[chosen] >> 1, bits)
        proposals = blocks.astype(np.int64)
        proposals[spots] = k[: len(spots)]
        proposals <<= self._shift + 1
        proposals |= within.astype(np.int64, copy=False)
        keep = proposals != 1  # that is −0
        keep[spots] &= survives[: len(spots)]
        return _signed(proposals[keep])

    def _survives(self, k: Integers, points: Integers, r: Integers, bits: Bits) -> Booleans:
        """Tell where none of the points is fatal."""
        survives = np.ones(len(k), np.bool_)
        for point in range(points.max(initial=0)):
            v, w = self._below(1 << self._shift, 2 * len(k), bits).reshape(2, -1)
            fatal = (v < r) & ((w < r) | ~self._both.toss(k, bits))
            survives &= ~fatal | (points <= point)
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


# -- the laws of the ranks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Centred:
    """Ranks 0, 1, 2 … for x = 0, 1, −1, 2, −2 … of mass ∝ exp(−x²/(2·variance))."""

    variance: Fraction

    def cdf(self, precision: int) -> list[Interval]:
        """Return bounds of F."""
        first, *terms = _theta(1 / (2 * self.variance), precision + _GUARD)
        masses = [first, *(term for term in terms[:-1] for _ in range(2))]
        return _partial_sums(masses, _total([first, *terms, *terms]), precision)


@dataclass(frozen=True)
class Blocks:
    """Ranks for pairs (k, n) of mass ∝ exp(−c·(k+1)²)·γ^n/n!, γ = c·(2k+1), in the order of `pairs`."""

    c: Fraction

    def cdf(self, precision: int) -> list[Interval]:
        """Return bounds of F."""
        working = precision + _GUARD
        terms = _theta(self.c, working)
        c = fraction(self.c, working)
        masses: dict[tuple[int, int], Interval] = {}
        for k, n in zip(*pairs(len(terms) - 2).tolist(), strict=True):
            if n == 0:
                masses[k, 0] = terms[k + 1]
            else:
                lo, hi = times(masses[k, n - 1], c, working)
                masses[k, n] = lo * (2 * k + 1) // n, divide_up(hi * (2 * k + 1), n)
        return _partial_sums(list(masses.values()), _total(terms), precision)


def _theta(c: Fraction, precision: int) -> list[Interval]:
    """Bounds of exp(−c·k²) for k = 0, 1, … while not negligible, and at the end of the sum of all that follow."""
    one = 1 << precision
    term, ratio, square = (one, one), exp_minus(c, precision), exp_minus(2 * c, precision)
    terms = [term]
    while term[1] >> _GUARD:
        term, ratio = times(term, ratio, precision), times(ratio, square, precision)
        terms.append(term)
    # Each later term is less than exp(−c·(2k+1)), the present ratio, times the one before.
    return [*terms, (0, divide_up(term[1] * ratio[1], one - ratio[1]))]


def _total(masses: list[Interval]) -> Interval:
    return sum(lo for lo, _ in masses), sum(hi for _, hi in masses)


def _partial_sums(masses: list[Interval], total: Interval, precision: int) -> list[Interval]:
    """Bounds of the partial sums of masses, as parts of their total, `_GUARD` bits coarser."""
    parts = (over(part, total, precision) for part in accumulate(masses, plus))
    return [(lo, min(hi, 1 << precision)) for lo, hi in parts]


@lru_cache(maxsize=16)
def pairs(shells: int) -> Integers:
    """Return k and n, by increasing k + 12·n below `shells`: about the order of falling mass.

    >>> pairs(13)[:, -3:].tolist()
    [[11, 12, 0], [0, 0, 1]]
    """
    sizes = np.arange(shells) // _STRIDE + 1
    shell = np.repeat(np.arange(shells), sizes)
    n = np.arange(len(shell)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return np.stack([shell - _STRIDE * n, n])


def pairs_of(ranks: Integers) -> Integers:
    """Return k and n of every rank."""
    shells = 512
    while pairs(shells).shape[1] <= ranks.max(initial=0):
        shells *= 2
    return pairs(shells)[:, ranks]
