"""Draw uniform integers below n, without the bias of a remainder.

**Arrays.** Words of as many bits as n − 1 has are drawn until one is below n: each of the n values is as likely,
and the number of tries (below 2 on average) is independent of the value.

**Single integers**, for which n may be a secret: how many candidates are left, say. A word w of b bits is
multiplied by n, and n·w = x·2^b + y, 0 ≤ y < 2^b, gives x if y ≥ 2^b mod n. Exact: the y that are accepted for an
x fill an interval whose length is a multiple of n, and every n-th integer is some n·w, so each x comes from
⌊2^b/n⌋ words. With at least 64 bits more than n has, a word is rejected with probability below 2^(−64): every n
below 2^64 takes the same 128 bits and the same arithmetic. Nothing is kept for an n that was seen before.
"""

from __future__ import annotations

import numpy as np

from discreet.noise.inversion import Integers
from discreet.noise.random_bits import Bits


class UniformBelow:
    """Draws integers that are uniform on 0 … bound−1, bound at most 2^63."""

    dtype = np.int64

    def __init__(self, bound: int):
        self._bound, width = bound, (bound - 1).bit_length()
        self._word = next(t for t in (np.uint8, np.uint16, np.uint32, np.uint64) if np.iinfo(t).bits >= width)
        self._mask = self._word((1 << width) - 1)

    def fill(self, drawn: Integers, bits: Bits) -> None:
        """Put independent draws into `drawn`."""
        while missing := len(drawn):
            words = bits.words(2 * missing + 16, self._word) & self._mask
            good = words[words < self._bound][:missing]
            drawn[: len(good)] = good
            drawn = drawn[len(good) :]


def integer_below(bound: int, bits: Bits, *, word_bits: int = 64) -> int:
    """Return one integer that is uniform on 0 … bound−1, whatever the size of bound."""
    width = word_bits * (-(-bound.bit_length() // word_bits) + 1)
    rejected = (1 << width) % bound
    while True:
        product = bound * bits.integer(width)
        if product & (1 << width) - 1 >= rejected:
            return product >> width
