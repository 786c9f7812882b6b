"""Draw an index with probability exactly proportional to e^{−gap/t}, by inversion with lazy bits.

Write w_i = e^{−g_i/t} for integer gaps g_i ≥ 0 of which one is 0, C_i for their running sums and U for a uniform
real. The index is the number of C_i ≤ U·C_n: exact for real numbers, and the same work whatever the gaps are.

**Floats decide it, with proof.** A gap is written in base 256, and e^{−g/t} is the product of one table entry
per digit: at most eight factors within 2⁻⁵² each and seven multiplications within 2⁻⁵³ each, so the product is
within a relative 2⁻⁴⁸, by the rules of IEEE arithmetic alone: no exp of floats is trusted. Gaps with e^{−g/t} <
2⁻¹⁵⁰ are taken as if they were at that. A running sum of n terms adds a relative (n − 1)·2⁻⁵³. So each true C_i,
and U·C_n, lies within (n + 32)·2⁻⁵²·C_n of the computed one. **Else intervals do.** When the first 62 bits of U
leave two indices possible (a chance below n²·2⁻⁵⁰ for n > 32), more bits of the same U are drawn and all sums
bounded more tightly, until one index is left.

Tested in tests/mechanisms/test_selection_exact.py, also with so few first bits that most draws take the last
branch.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms.exact import LIMIT, Integers, marked
from discreet.noise.certified import exp_minus, times

_NEGLIGIBLE = 104  # e^{−104} < 2^{−150}
_TABLE_BITS = 256  # of the tables before they become floats: 2^{−150} still has 100 good ones
_ONE = (1 << _TABLE_BITS, 1 << _TABLE_BITS)


def pick(gaps: Integers, scale: Fraction, bits: int = 62) -> int:
    """Return index i with probability e^{−gaps[i]/scale} / Σ_j e^{−gaps[j]/scale}.

    >>> pick(np.array([0, 1000]), Fraction(1))
    0
    """
    word = noise.uniform_below(2**bits)
    sums = np.cumsum(weights(gaps, scale))
    index = _decided(sums, int(word) / 2**bits, 2.0**-bits)
    return marked(_settled(gaps, scale, int(word), bits) if index is None else index, word)


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


def _reach(scale: Fraction) -> int:
    """The gap from which on all weigh nothing, to floats."""
    return min(math.ceil(_NEGLIGIBLE * scale), 2 * LIMIT)


@lru_cache(maxsize=64)
def _tables(scale: Fraction) -> list[NDArray[np.float64]]:
    """For each digit j of a gap, e^{−d·256^j/scale} for d = 0 … 255."""
    tables, place = [], 1
    while place <= _reach(scale):
        units = repeat(exp_minus(place / scale, _TABLE_BITS), 255)
        powers = accumulate(units, lambda power, unit: times(power, unit, _TABLE_BITS), initial=_ONE)
        tables.append(np.array([math.ldexp(float(low), -_TABLE_BITS) for low, _ in powers]))
        place *= 256
    return tables


def _decided(sums: NDArray[np.float64], low: float, width: float) -> int | None:
    """Return the index that every U in [low, low + width) selects, if floats can tell."""
    total = float(sums[-1])
    margin = (len(sums) + 32) * 2.0**-52 * total
    ends = [low * total - margin, (low + width) * total + margin]
    passed, perhaps = np.searchsorted(sums[:-1], ends, side="right")
    return int(passed) if passed == perhaps else None


def _settled(gaps: Integers, scale: Fraction, word: int, bits: int) -> int:
    """Return the index that U selects, `word` being its first bits: draw more until one is left."""
    step = bits
    while True:
        word, bits = (word << step) + int(noise.uniform_below(2**step)), bits + step
        terms = [exp_minus(gap / scale, bits + 64) for gap in gaps.tolist()]
        lows, highs = (list(accumulate(ends)) for ends in zip(*terms, strict=True))
        passed: int = sum(high << bits <= word * lows[-1] for high in highs[:-1])
        perhaps: int = sum(low << bits <= (word + 1) * highs[-1] for low in lows[:-1])
        if passed == perhaps:
            return passed
