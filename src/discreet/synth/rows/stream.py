"""Generate reproducible random numbers for post-processing: SplitMix64 (Steele, Lea, Flood 2014).

They choose among rows that are equally good, need not be secret, and the same seed gives the same rows. Noise
never comes from here: it comes from `discreet.noise`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Floats


class Stream:
    """Reproducible random numbers for post-processing. Not for noise."""

    def __init__(self, seed: int):
        self._next = (seed * 0x9E3779B97F4A7C15 + 0x1234567) % 2**64

    def uniform(self, count: int) -> Floats:
        """Return numbers in [0, 1).

        >>> bool(abs(Stream(1).uniform(10_000).mean() - 0.5) < 0.02)
        True
        """
        with np.errstate(over="ignore"):
            z = np.uint64(self._next) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            self._next = int(z[-1]) if count else self._next
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
        return (z >> np.uint64(11)).astype(float) * 2.0**-53

    def order(self, count: int) -> NDArray[np.intp]:
        """Return the numbers from 0 to count − 1 in random order.

        >>> sorted(Stream(1).order(4).tolist())
        [0, 1, 2, 3]
        """
        return np.argsort(self.uniform(count), kind="stable")
