"""Uniform integers below n, without the bias of a remainder.

Words of as many bits as n − 1 has are drawn until one is below n: each of the n values is as likely, and the
number of tries (below 2 on average) is independent of the value. Tested in `tests/noise/test_uniform.py`.
"""

from __future__ import annotations

import numpy as np

from discreet.noise.bits import Bits
from discreet.noise.inversion import Integers


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


def integer_below(bound: int, bits: Bits) -> int:
    """Return one integer that is uniform on 0 … bound−1, whatever the size of bound."""
    width = (bound - 1).bit_length()
    while (word := bits.integer(width)) >= bound:
        pass
    return word
