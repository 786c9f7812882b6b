"""Make integer noise that is correlated over time, from independent integer draws.

Draws z₁, z₂, … are independent discrete Gaussians. The noise is n_t = z_t − f_t, where f_t is Σ_{k≥1} c_k·n_{t−k}
in integer arithmetic: so C·n = z up to rounding, and n has the correlation of C⁻¹. All of it is made of integers,
none of it depends on data, and z_t = n_t + f_t(n₁, …, n_{t−1}) is known again from the noise.

**Rounding.** A buffer holds Σ_{j} θ^{t−1−j}·n_j in units of 2^−F: b ← b − ⌊q·b/2^p⌋ + 2^F·n. Let two noise
sequences differ in some entries, by integers. The floors differ from their arguments by less than 1, so the
difference of the two buffers is that of exact arithmetic up to less than Σ θ^k ≤ 1/(1 − θ) units, and

    |f_t − f′_t − Σ_{k≥1} c_k·(n_{t−k} − n′_{t−k})| < E = 1 + (d + Σᵢ ωᵢ/(1 − θᵢ))·2^−F

for d buffers: each product ω·b loses less than one unit, and the last shift less than 1. F makes E less than 1.07.
This bound is all that privacy needs (`toeplitz`); tests compare it with every pair of short sequences.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from discreet.stream.factorisations import square_root
from discreet.stream.factorisations.blt import BLT
from discreet.stream.factorisations.square_root import SquareRoot


class Filter(Protocol):
    """Turns independent draws into correlated noise. The same code takes integers, and arrays of them."""

    rounding: float

    def apply(self, draws: list[Any]) -> list[Any]:
        """Return the noise of the next ticks, one for each draw."""

    def state(self) -> list[Any]:
        """Return what `restore` takes."""

    def restore(self, state: list[Any]) -> None:
        """Go on from a state."""


class Buffered:
    """The filter of a BLT strategy: constant memory, constant time.

    Args:
        strategy: The strategy.
        zero: 0, or an array of zeros with an entry for every key.

    >>> Buffered(BLT.for_horizon(1000), 0).apply([1000, 0, 0])
    [1000, -477, -166]
    """

    def __init__(self, strategy: BLT, zero: Any):
        losses = len(strategy.buffers) + float(np.sum(strategy.weights / strategy.gaps))
        self._bits = math.ceil(math.log2(16 * losses))
        self.rounding = 1 + losses / 2**self._bits
        self._steps = tuple((*buffer, index) for index, buffer in enumerate(strategy.buffers))
        self._held: list[Any] = [zero for _ in strategy.buffers]

    @property
    def bits(self) -> int:
        """F, the bits of a buffer after the point."""
        return self._bits

    def apply(self, draws: list[Any]) -> list[Any]:
        """Return the noise of the next ticks, one for each draw."""
        steps, held, bits, made = self._steps, self._held, self._bits, []
        half, every = 1 << (bits - 1), range(len(held))
        for draw in draws:
            past = half
            for q, p, o, w, i in steps:
                b = held[i]
                past += o * b >> w
                held[i] = b - (q * b >> p)
            noise = draw - (past >> bits)
            made.append(noise)
            fine = noise << bits
            for i in every:
                held[i] += fine
        return made

    def state(self) -> list[Any]:
        """Return what `restore` takes."""
        return list(self._held)

    def restore(self, state: list[Any]) -> None:
        """Go on from a state."""
        self._held = list(state)


class Convolved:
    """The filter of the square root: it keeps all noise, and a step takes time in proportion to it.

    >>> Convolved(SquareRoot.for_horizon(1000), 0).apply([1000, 0, 0])
    [1000, -500, -125]
    """

    def __init__(self, strategy: SquareRoot, zero: Any):
        del zero
        self.rounding = 1.0
        self._coefficients = square_root.integers(strategy.horizon)
        self._made: list[Any] = []

    def apply(self, draws: list[Any]) -> list[Any]:
        """Return the noise of the next ticks, one for each draw."""
        half, bits, first = 1 << (square_root.BITS - 1), square_root.BITS, len(self._made)
        for draw in draws:
            past: Any = half
            for coefficient, noise in zip(self._coefficients[1:], reversed(self._made), strict=False):
                past = past + coefficient * noise
            self._made.append(draw - (past >> bits))
        return self._made[first:]

    def state(self) -> list[Any]:
        """Return what `restore` takes."""
        return list(self._made)

    def restore(self, state: list[Any]) -> None:
        """Go on from a state."""
        self._made = list(state)
