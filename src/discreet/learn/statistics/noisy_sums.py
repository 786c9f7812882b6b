"""Release exact sums with noise, each for a part of one price.

Claim. A part of ρ buys discrete Gaussian noise of variance ⌈Δ₂²/2ρ⌉ + 9 on sums of l2 sensitivity Δ₂: it is
ρ-zCDP and √(2ρ)-Gaussian DP (docs/theory/synthesis.md), so that parts of ρ add up to the (ε, δ) of the whole. A
part of a pure ε buys discrete Laplace noise of scale Δ₁/ε. Neighbours differ by one person, and the
sensitivities are those of the sums over all rows of a person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.kernel.gaussian_budget import parts
from discreet.learn.price import Price
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.privacy.losses import Loss, Pure, ZeroConcentrated
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from discreet.release.label import Noise

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NoisySums:
    """Sums that are released together.

    Args:
        on: What they are, in words.
        sensitivity: How much one person moves them.
        mechanism: The noise.

    >>> sums = NoisySums.of("rows", Sensitivity(entries=1, each=4096), Price.alone(1), Fraction(1, 2))
    >>> sums.deviation
    11585.237502960395
    """

    on: str
    sensitivity: Sensitivity
    mechanism: Gaussian | Laplace

    @classmethod
    def of(cls, on: str, sensitivity: Sensitivity, price: Price, amount: Fraction) -> NoisySums:
        """Return the sums with the noise that a part of a price buys.

        Args:
            on: What they are, in words.
            sensitivity: How much one person moves them.
            price: The whole price, which is pure or not.
            amount: The part: of ρ, or of ε if the price is pure.
        """
        if price.pure:
            return cls(on, sensitivity, Laplace.for_epsilon(amount, sensitivity.l1 or 0))
        least = math.ceil((sensitivity.l2_squared or 0) / (2 * amount)) + SMOOTHING
        return cls(on, sensitivity, Gaussian(least, sensitivity))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on each sum."""
        if isinstance(self.mechanism, Gaussian):
            return math.sqrt(self.mechanism.variance)
        return math.sqrt(2) * float(self.mechanism.scale)

    def released(self, exact: list[int]) -> tuple[Floats, bool]:
        """Return the sums with noise, and whether the noise was predictable."""
        found = self.mechanism.release(Exact(exact, self.sensitivity))
        return np.asarray(found, np.float64), noise.is_test_noise(found)

    def told(self, unit: float) -> Noise:
        """Return the noise for a label, in multiples of `unit`."""
        gaussian = isinstance(self.mechanism, Gaussian)
        spread = self.deviation if gaussian else float(Fraction(self.mechanism.scale))  # type: ignore[union-attr]
        moved = math.sqrt(self.sensitivity.l2_squared or 0) if gaussian else float(self.sensitivity.l1 or 0)
        law = f"discrete {'Gaussian' if gaussian else 'Laplace'} noise"
        return Noise(on=self.on, law=law, spread=spread / unit, sensitivity=moved / unit)


def amounts(price: Price, shares: Mapping[str, float]) -> dict[str, Fraction]:
    """Return a price divided by shares: parts of ρ, or of ε if it is pure, together never more than the whole."""
    return parts(price.epsilon if price.pure else price.rho or Fraction(0), shares)


def loss_of(price: Price, amount: Fraction) -> Loss:
    """Return what a part of a price is charged."""
    return Pure(amount) if price.pure else ZeroConcentrated(amount)


def divided(totals: NDArray[Any] | list[Any], divisor: int) -> list[int]:
    """Return exact totals divided by a public number and rounded down.

    Each of them moves by less than 1 more than its share: see `moved`.

    >>> divided([7, -7], 4)
    [1, -2]
    """
    return [int(total) // divisor for total in totals]


def moved(entries: int, *, l1: int, l2_squared: int) -> Sensitivity:
    """Return the sensitivity of sums that were divided and rounded down, from that of real quotients.

    ⌊a⌋ − ⌊b⌋ differs from a − b by less than 1, so the l1 norm grows by at most the number of entries, and the l2
    norm by at most its square root.

    Args:
        entries: The number of sums.
        l1: The l1 sensitivity of the quotients.
        l2_squared: Their squared l2 sensitivity.

    >>> moved(4, l1=10, l2_squared=100).l2_squared
    144
    """
    root = math.isqrt(l2_squared - 1) + 1 if l2_squared else 0
    return Sensitivity(l1=l1 + entries, l2_squared=(root + math.isqrt(entries - 1) + 1) ** 2)
