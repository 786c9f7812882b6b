"""Take the coefficients of 1/√(1 − x) themselves: the strategy that BLT follows, in linear memory.

c_k = binomial(2k, k)/4^k, rounded to 30 bits, so that the strategy is a matrix of exact rationals. A step costs
time and memory in proportion to the steps before it, so horizons are short: the strategy is for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError

Floats = NDArray[np.float64]

LONGEST = 2**14
"""The longest horizon: a step takes time in proportion to it."""

BITS = 30
"""Coefficients are multiples of 2^−30."""


@lru_cache(maxsize=4)
def integers(count: int) -> tuple[int, ...]:
    """Return the coefficients in units of 2^−30, exactly rounded.

    >>> [value / 2**30 for value in integers(4)]
    [1.0, 0.5, 0.375, 0.3125]
    """
    found, value = [], 1 << 90  # 60 more bits than are kept: the products lose less than one unit of them each
    for k in range(1, count + 1):
        found.append((value + (1 << 59)) >> 60)
        value = value * (2 * k - 1) // (2 * k)
    return tuple(found)


@dataclass(frozen=True)
class SquareRoot:
    """The strategy of a horizon.

    >>> float(SquareRoot.for_horizon(1000).norm_squared(np.array([1000.0]))[0].round(3))
    3.265
    """

    horizon: int

    @classmethod
    def for_horizon(cls, horizon: int) -> SquareRoot:
        """Return the strategy of a horizon."""
        if horizon > LONGEST:
            raise ParameterError(
                f"The square root takes at most {LONGEST:,} ticks.", found=horizon, fix=Fix("method", "blt")
            )
        return cls(horizon)

    def coefficients(self, count: int) -> Floats:
        """Return the first `count` coefficients."""
        return np.array(integers(self.horizon)[:count]) / 2.0**BITS

    def norm_squared(self, count: Floats) -> Floats:
        """Return an upper bound of Σ_{k<m} c_k² for every m of `count`."""
        sums = np.concatenate([[0.0], np.cumsum(self.coefficients(self.horizon) ** 2)])
        return (1 + 1e-9) * sums[np.asarray(count, np.int64)]

    def total(self, count: Floats) -> Floats:
        """Return an upper bound of Σ_{k<m} c_k for every m of `count`."""
        sums = np.concatenate([[0.0], np.cumsum(self.coefficients(self.horizon))])
        return (1 + 1e-9) * sums[np.asarray(count, np.int64)]

    def lagged(self, lag: int, count: int) -> float:
        """Return an upper bound of Σ_{k<m} c_k·c_{k+lag} for m = `count`."""
        c = self.coefficients(self.horizon)
        return (1 + 1e-9) * float(c[:count] @ c[lag : lag + count])
