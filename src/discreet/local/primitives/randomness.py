"""Draw the coins of a device: from fresh bits, or from bits that a secret key determines.

Every probability of a local protocol is a whole number over 2⁶⁴, and every choice is one of two draws: a coin, or
an integer below a bound. `FRESH` draws through `discreet.noise`, exactly and from the operating system's bits.
`Keyed` draws the same from a key, so that a device can give the same permanent answer again without storing it,
and so that tests can show that two languages make the same report.

**Keyed, word for word.** Words are little-endian 64-bit integers, four in each HMAC-SHA256(key, context ‖ i) for
i = 0, 1, … as four bytes, the highest first. A coin takes one word and shows heads if it is below the threshold.
An integer below b takes one word; while that is 2⁶⁴ − (2⁶⁴ mod b) or more, it takes the next instead; and is the
word modulo b. Several draws are one after the other. Given a key that only the device knows, HMAC-SHA256 is
indistinguishable from fresh bits to every attacker: this is an assumption, and the only one here that is not a
theorem.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import Fix, ParameterError

SCALE = 2**64
"""The denominator of all probabilities."""


class Draws(Protocol):
    """A source of coins and integers for a randomiser."""

    def coins(self, threshold: int, size: int) -> NDArray[np.bool_]:
        """Return coins that show heads with probability threshold/2⁶⁴."""
        ...

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return integers from 0 to bound − 1, each equally likely."""
        ...


class Fresh:
    """Fresh bits of the operating system."""

    def coins(self, threshold: int, size: int) -> NDArray[np.bool_]:
        """Return coins that show heads with probability threshold/2⁶⁴."""
        return noise.bernoulli(Fraction(threshold, SCALE), size)

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return integers from 0 to bound − 1, each equally likely."""
        return noise.uniform_below(bound, size)


FRESH = Fresh()


class Keyed:
    """Bits that follow from a key and a context, the same every time.

    >>> Keyed(b"secret", b"colour").below(10, 5)
    array([4, 6, 2, 6, 1])
    >>> Keyed(b"secret", b"colour").coins(2**63, 4)
    array([ True, False,  True, False])
    """

    def __init__(self, key: bytes, context: bytes):
        self._words = _words(key, context)

    def coins(self, threshold: int, size: int) -> NDArray[np.bool_]:
        """Return coins that show heads with probability threshold/2⁶⁴."""
        if not 0 <= threshold <= SCALE:
            raise ParameterError(
                "A threshold must be from 0 to 2^64.", found=threshold, fix=Fix("threshold", SCALE // 2)
            )
        return np.fromiter((next(self._words) < threshold for _ in range(size)), np.bool_, size)

    def below(self, bound: int, size: int) -> NDArray[np.int64]:
        """Return integers from 0 to bound − 1, each equally likely."""
        if not 1 <= bound <= 2**63:
            raise ParameterError("A bound must be from 1 to 2^63.", found=bound, fix=Fix("bound", 2))
        end = SCALE - SCALE % bound
        return np.fromiter((self._one(end) % bound for _ in range(size)), np.int64, size)

    def _one(self, end: int) -> int:
        return next(word for word in self._words if word < end)


def _words(key: bytes, context: bytes) -> Iterator[int]:
    for block in range(2**32):
        digest = hmac.new(key, context + block.to_bytes(4, "big"), hashlib.sha256).digest()
        for start in range(0, 32, 8):
            yield int.from_bytes(digest[start : start + 8], "little")
