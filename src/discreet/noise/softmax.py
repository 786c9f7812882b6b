"""Draw an index with probability exactly proportional to e^{−gap/t}, by inversion with lazy bits.

Write w_i = e^{−g_i/t} for integer gaps g_i ≥ 0 of which one is 0, C_i for their running sums and U for a uniform
real. The index is the number of C_i ≤ U·C_n: exact for real numbers, and the same work whatever the gaps are.

**Floats decide it, with proof.** A gap is written in base 256, and e^{−g/t} is the product of one table entry
per digit: at most eight factors within 2⁻⁵² each and seven multiplications within 2⁻⁵³ each, so the product is
within a relative 11.5·2⁻⁵² < 2⁻⁴⁸, by the rules of IEEE arithmetic alone: no exp of floats is trusted. Gaps with
e^{−g/t} < 2⁻¹⁵⁰ are taken as if they were at that. A running sum of n terms adds a relative (n − 1)·2⁻⁵³. Both
sides of C_i ≤ U·C_n are such sums, and the ends of U's interval, times C_n, are rounded about four times more:
the two errors together are at most (2·11.5 + (n − 1) + 2)·2⁻⁵²·C_n, to first order, and the margin between two
sides that floats tell apart is (n + 32)·2⁻⁵²·C_n. **Else intervals do.** When the first 62 bits of U leave two
indices possible (a chance below n²·2⁻⁵⁰ for n > 32), more bits of the same U are drawn and all sums bounded more
tightly by the same digits, until one index is left.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise.certified_exp import Interval, exp_minus, powers
from discreet.noise.inversion import Integers
from discreet.noise.random_bits import Bits
from discreet.noise.uniform import integer_below

_NEGLIGIBLE = 104  # e^{−104} < 2^{−150}
_WIDEST = 2**63 - 1  # no gap is larger
_TABLE_BITS = 256  # of the tables before they become floats: 2^{−150} still has 100 good ones


def pick(gaps: Integers, scale: Fraction, bits: Bits, *, word_bits: int = 62) -> int:
    """Return index i with probability e^{−gaps[i]/scale} / Σ_j e^{−gaps[j]/scale}.

    >>> from discreet.noise.random_bits import system_bits
    >>> pick(np.array([0, 1000]), Fraction(1), system_bits())
    0
    """
    word = integer_below(2**word_bits, bits)
    sums = np.cumsum(weights(gaps, scale))
    index = _decided(sums, word / 2**word_bits, 2.0**-word_bits)
    return _settled(gaps, scale, word, word_bits, bits) if index is None else index


def weights(gaps: Integers, scale: Fraction) -> NDArray[np.float64]:
    """Return e^{−gap/scale} within a relative 2⁻⁴⁸ or an absolute 2⁻¹⁴⁹.

    >>> weights(np.array([0, 1, 300]), Fraction(10)).round(6).tolist()
    [1.0, 0.904837, 0.0]
    """
    rest = np.minimum(gaps, _reach(scale))
    product = np.ones(len(gaps))
    for table in _tables(scale):
        product *= table[rest & 255]
        rest >>= 8
    return product


@lru_cache(maxsize=64)
def _tables(scale: Fraction) -> list[NDArray[np.float64]]:
    """For each digit j of a gap, e^{−d·256^j/scale} for d = 0 … 255."""
    digits = _digits(scale, _TABLE_BITS, _reach(scale))
    return [np.array([math.ldexp(float(low), -_TABLE_BITS) for low, _ in table]) for table in digits]


def _digits(scale: Fraction, precision: int, reach: int) -> list[list[Interval]]:
    """For each digit j of a gap up to `reach`, bounds of e^{−d·256^j/scale} for d = 0 … 255."""
    places = range((reach.bit_length() + 7) // 8)
    return [powers(exp_minus(256**j / scale, precision), 255, precision) for j in places]


def _reach(scale: Fraction, nats: int = _NEGLIGIBLE) -> int:
    """The gap from which on all weigh at most e^{−nats}, or the largest there is."""
    return min(math.ceil(nats * scale), _WIDEST)


def _decided(sums: NDArray[np.float64], low: float, width: float) -> int | None:
    """Return the index that every U in [low, low + width) selects, if floats can tell."""
    total = float(sums[-1])
    margin = (len(sums) + 32) * 2.0**-52 * total
    ends = [low * total - margin, (low + width) * total + margin]
    passed, perhaps = np.searchsorted(sums[:-1], ends, side="right")
    return int(passed) if passed == perhaps else None


def _settled(gaps: Integers, scale: Fraction, word: int, known: int, bits: Bits) -> int:
    """Return the index that U selects, `word` being its first `known` bits: draw more until one is left."""
    step = known
    while True:
        word, known = (word << step) + integer_below(2**step, bits), known + step
        lows, highs = _running_bounds(gaps, scale, known + 64)
        passed = bisect_right(highs[:-1], word * lows[-1] >> known)
        perhaps = bisect_right(lows[:-1], (word + 1) * highs[-1] >> known)
        if passed == perhaps:
            return passed


def _running_bounds(gaps: Integers, scale: Fraction, precision: int) -> tuple[list[int], list[int]]:
    """Return integers below and above 2^precision·C_i for every i: `weights`, with intervals for floats."""
    reach = _reach(scale, nats=precision)  # further gaps have the bounds of this one, 0 among them
    rest = np.minimum(gaps, reach)
    low = high = np.full(len(gaps), 1 << precision, object)
    for powers_of_digit in _digits(scale, precision, reach):
        lows, highs = np.array(powers_of_digit, object).T
        low, high = low * lows[rest & 255] >> precision, -(-high * highs[rest & 255] >> precision)
        rest >>= 8
    return np.cumsum(low).tolist(), np.cumsum(high).tolist()
