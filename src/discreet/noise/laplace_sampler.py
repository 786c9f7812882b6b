"""Draw from the discrete Laplace law, P(x) ∝ exp(−|x|/t), by independent digits.

**Claim.** `DiscreteLaplace(t)` draws integers with exactly P(x) = (1−q)/(1+q)·q^|x|, q = exp(−1/t), t rational.

**Proof.** With G geometric, P(G = g) = (1−q)·q^g, and an independent sign s, P(s = 1) = q/(1+q), let X = G if s
= 0 and X = −1−G if s = 1. Then P(X = x) = (1−q)q^x/(1+q) for x ≥ 0, and for x < 0 it is (1−q)·q^(−1−x)·q/(1+q),
the same law. Write G = Q·m + R. As q^G = (q^m)^Q·q^R, Q and R are independent: Q geometric with ratio q^m, R
geometric with ratio q cut off at m. R splits in the same way. With m = 2^b the digits occupy different bits, and
−1−G flips all bits of G, so

    X = (Q·m ⊕ −s) ⊕ R₁·m₁ ⊕ R₀.

The first digit is drawn together with the sign: as rank 2k + s, whose survival function is P(rank > 2k−1) = y^k
and P(rank > 2k) = y^k·(q+y)/(1+q), with y = q^m. Every digit is drawn by `inversion`.

The same number of table look-ups is made for every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np

from discreet.noise.certified_exp import exp_minus, over, powers_below, shares_below, shift_up
from discreet.noise.inversion import Bounds, Digit, Integers, Inversion
from discreet.noise.random_bits import Bits

_TOP_BITS = 4  # the first digit counts in steps of t/32 to t/16: some thousand ranks, one table
_DIGIT_BITS = 9  # at most 2^9 thresholds among 2^16 cells leave less than one cell in a hundred undecided


@dataclass(frozen=True)
class CutGeometric:
    """P(r) ∝ exp(−rate·r) on 0 … size−1: F(r) = (1 − q^(r+1))/(1 − q^size)."""

    rate: Fraction
    size: int

    def cdf(self, precision: int) -> Bounds:
        """Return bounds of F."""
        # The quotient loses the bits by which 1 − q^size is below 1; products lose one each time `size` doubles.
        lost = 2 * int(1 / (self.rate * self.size)).bit_length() + self.size.bit_length() + 8
        working = precision + lost
        one = 1 << working
        low, high = exp_minus(self.rate, working)
        survival = powers_below(low, self.size, working)
        error = self.size * (high - low + 1)
        most = one - error
        *parts, whole = [most - power for power in survival[1:]]
        lows, width = shares_below(parts, error, (whole, whole + error), working, lost)
        return [*lows, 1 << precision], width


@dataclass(frozen=True)
class SignedGeometric:
    """Rank 2k + s: k geometric with ratio exp(−rate·step), s = 1 with probability q/(1+q), q = exp(−rate)."""

    rate: Fraction
    step: int

    def cdf(self, precision: int) -> Bounds:
        """Return bounds of F."""
        count = int(precision * Fraction(7, 10) / (self.rate * self.step)) + 2  # exp(−0.7) is less than 1/2
        guard = count.bit_length() + 8
        working = precision + guard
        one = 1 << working
        q, y = exp_minus(self.rate, working), exp_minus(self.rate * self.step, working)
        split, above = over((q[0] + y[0], q[1] + y[1]), (one + q[0], one + q[1]), working)
        error = count * (y[1] - y[0] + 1) + above - split + 1
        powers = powers_below(y[0], count, working)
        lows = [0] * (2 * count + 1)  # of 1 − y^k·split and of 1 − y^k, in turns
        most = one - error
        lows[::2] = [most - (power * split >> working) >> guard for power in powers]
        lows[1::2] = [most - power >> guard for power in powers[1:]]
        return lows, shift_up(error, guard) + 1


class DiscreteLaplace:
    """Draws X with P(X = x) ∝ exp(−|x|/scale)."""

    dtype = np.int64

    def __init__(self, scale: Fraction, *, cell_bits: int = 16, word_bits: int = 48):
        inversion = partial(Inversion, cell_bits=cell_bits, word_bits=word_bits)
        shift = max(0, int(scale).bit_length() - 1 - _TOP_BITS)
        top = inversion(SignedGeometric(1 / scale, 1 << shift), limit=2 << 62 - shift)
        self._digits = [Digit(top, lambda rank: (rank >> 1 << shift) ^ -(rank & 1))]
        for start, width in _spread(shift):
            law = CutGeometric((1 << start) / scale, 1 << width)
            self._digits.append(Digit(inversion(law), _placed(start)))

    def fill(self, noise: Integers, bits: Bits) -> None:
        """Put independent draws into `noise`."""
        noise[:] = 0
        for digit in self._digits:
            digit.draw_into(noise, bits)


def _placed(start: int) -> Callable[[Integers], Integers]:
    return lambda rank: rank << start


def _spread(bits: int) -> list[tuple[int, int]]:
    """(start, width) of as few digits as cover `bits` bits, as even as can be."""
    count = -(-bits // _DIGIT_BITS)
    edges = [bits * i // count for i in range(count + 1)] if count else []
    return [(start, end - start) for start, end in pairwise(edges)]
