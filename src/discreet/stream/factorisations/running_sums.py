"""Define what every mechanism for running sums offers.

One count, or a vector of counts with an entry for every key, is pushed at every tick; `value` is the private sum
of all so far. Everything that an observer can compute from the values of all ticks is covered by one `loss`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.losses import Loss

Floats = NDArray[np.float64]


class RunningSums(Protocol):
    """Running sums with noise, one tick after the other."""

    @property
    def horizon(self) -> int | None:
        """The number of ticks; None without an end."""

    @property
    def tick(self) -> int:
        """The ticks so far."""

    @property
    def test_bits(self) -> bool:
        """Whether noise was drawn from test bits."""

    @property
    def loss(self) -> Loss:
        """The privacy loss of all values together."""

    @property
    def value(self) -> Any:
        """The private sum so far: a float, or an array with an entry for every key."""

    def push(self, count: Any) -> None:
        """Take the count of the next tick: an integer, or an array with an entry for every key."""

    def push_many(self, counts: NDArray[np.int64]) -> Floats:
        """Take the counts of many ticks, and return the value after each."""

    def margins(self, ticks: NDArray[np.int64], alpha: Fraction) -> Floats:
        """Return the margin of error of a value at each of these ticks: it fails with probability `alpha`."""

    def spread(self) -> tuple[str, float]:
        """Return the law of the noise in words, and the standard deviation of the value at the last tick."""

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes: numbers, lists and texts."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""


@lru_cache(maxsize=64)
def deviations(variance: Fraction, alpha: Fraction) -> float:
    """Return how many standard deviations a sum of discrete Gaussians exceeds with probability `alpha`.

    Discrete Gaussian noise is subgaussian with its variance parameter, which gives √(2·ln(2/α)). Where a draw has
    a standard deviation of 16 and more, a sum of them is a normal number but for e^(−2π²·256), and has its
    quantile.
    """
    if variance < 256:
        return math.sqrt(2 * math.log(2 / alpha))
    return (1 + 1e-6) * NormalDist().inv_cdf(1 - float(alpha) / 2)
