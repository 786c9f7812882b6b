"""Approximate 1/√(1 − x) by a few geometric series: the strategy that runs in constant memory.

A strategy is a lower triangular Toeplitz matrix C with the coefficients c₀ = 1, c₁, c₂, … A *buffered linear
Toeplitz* strategy (Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024) has

    c_k = Σᵢ ωᵢ·θᵢ^{k−1}    for k ≥ 1,    0 < θᵢ < 1,  ωᵢ > 0,

so that C·n is computed with one buffer for each i. With c_k = binomial(2k, k)/4^k, those of 1/√(1 − x), C is the
square root of the matrix of running sums, which is nearly optimal; a few well chosen θ and ω come within 0.25 % of
its error. The table holds them for horizons 10², …, 10⁹, found by minimising the closed form of the error. It is a
table of dyadic rationals, 1 − θᵢ = q/2^p and ωᵢ = o/2^w with 10 bits each: so a step is integer arithmetic, and
the coefficients of the strategy are exact rationals. An entry serves every shorter horizon too, within 0.25 %.

Closed forms. With u = 1 − θ, every sum below is one of positive terms that floats take to a relative 10⁻¹²:

    Σ_{k<m} c_k² = 1 + Σᵢⱼ ωᵢωⱼ·(1 − (θᵢθⱼ)^{m−1})/(uᵢ + uⱼ − uᵢuⱼ),   Σ_{k<m} c_k = 1 + Σᵢ ωᵢ·(1 − θᵢ^{m−1})/uᵢ,

and `norm_squared` and `total` return them raised by 10⁻⁹. c is log-convex: its terms from c₁ on are a mixture of
geometric series, and `BLT` checks c₁² ≤ c₀·c₂. `units` uses this. Theory: docs/theory/continual-observation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError

Floats = NDArray[np.float64]

LONGEST = 10**9
"""The longest horizon of the table."""

_RAISE = 1 + 1e-9


class Buffer(NamedTuple):
    """One geometric series: 1 − θ = q/2^p, ω = o/2^w."""

    q: int
    p: int
    o: int
    w: int

    @property
    def gap(self) -> float:
        """1 − θ, which a float holds exactly."""
        return math.ldexp(self.q, -self.p)

    @property
    def weight(self) -> float:
        """ω, which a float holds exactly."""
        return math.ldexp(self.o, -self.w)


_TABLE: dict[int, tuple[tuple[int, int, int, int], ...]] = {
    10**2: ((983, 11, 857, 12), (782, 13, 719, 12), (968, 17, 930, 13)),
    10**3: ((529, 11, 637, 11), (713, 15, 992, 13), (550, 19, 735, 14)),
    10**4: ((563, 11, 624, 11), (833, 15, 1021, 13), (534, 18, 604, 14), (852, 23, 912, 16)),
    10**5: ((585, 11, 616, 11), (909, 15, 522, 12), (617, 18, 625, 14), (816, 22, 737, 16), (669, 26, 570, 17)),
    10**6: (
        *((599, 11, 610, 11), (963, 15, 531, 12), (674, 18, 645, 14)),
        *((932, 22, 761, 16), (634, 25, 909, 18), (528, 29, 715, 19)),
    ),
    10**7: (
        *((610, 11, 606, 11), (1004, 15, 536, 12), (718, 18, 660, 14), (1014, 22, 787, 16)),
        *((715, 25, 935, 18), (992, 29, 565, 19), (837, 33, 900, 21)),
    ),
    10**8: (
        *((618, 11, 603, 11), (518, 14, 541, 12), (753, 18, 672, 14), (540, 21, 807, 16)),
        *((774, 25, 966, 18), (554, 28, 578, 19), (781, 32, 705, 21), (665, 36, 567, 22)),
    ),
    10**9: (
        *((968, 12, 651, 11), (588, 15, 923, 13), (638, 19, 979, 15), (686, 23, 1016, 17)),
        *((738, 27, 527, 18), (794, 31, 546, 20), (846, 35, 572, 22), (604, 39, 777, 24)),
    ),
}


@dataclass(frozen=True)
class BLT:
    """A strategy of a few geometric series.

    >>> strategy = BLT.for_horizon(1000)
    >>> len(strategy.buffers), strategy.coefficients(3).round(3).tolist()
    (3, [1.0, 0.477, 0.394])
    """

    buffers: tuple[Buffer, ...]

    def __post_init__(self) -> None:
        first, second = float(self.weights.sum()), float(self.weights @ (1 - self.gaps))
        if first**2 > second:
            raise ParameterError("The coefficients of this strategy are not log-convex.", found=self.buffers)

    @classmethod
    def for_horizon(cls, horizon: int) -> BLT:
        """Return the strategy of the table for a horizon: the shortest entry that covers it."""
        covering = [entry for entry in _TABLE if entry >= horizon]
        if not covering:
            raise ParameterError(
                f"The longest horizon is {LONGEST:,} ticks.",
                found=horizon,
                fix=Fix("horizon", None, note="a stream without end, in epochs"),
            )
        return _entry(min(covering))

    @cached_property
    def gaps(self) -> Floats:
        """1 − θ of every buffer."""
        return np.array([buffer.gap for buffer in self.buffers])

    @cached_property
    def weights(self) -> Floats:
        """ω of every buffer."""
        return np.array([buffer.weight for buffer in self.buffers])

    def coefficients(self, count: int) -> Floats:
        """Return the first `count` coefficients."""
        powers = np.exp(np.arange(count - 1)[:, None] * np.log1p(-self.gaps))
        return np.concatenate([[1.0], powers @ self.weights])[:count]

    def norm_squared(self, count: Floats) -> Floats:
        """Return an upper bound of Σ_{k<m} c_k² for every m of `count`, a relative 10⁻⁹ above it."""
        gap = self.gaps[:, None] + self.gaps - self.gaps[:, None] * self.gaps
        return _RAISE * (1 + _geometric(gap, np.outer(self.weights, self.weights) / gap, count))

    def total(self, count: Floats) -> Floats:
        """Return an upper bound of Σ_{k<m} c_k for every m of `count`, a relative 10⁻⁹ above it."""
        return _RAISE * (1 + _geometric(self.gaps, self.weights / self.gaps, count))

    def lagged(self, lag: int, count: int) -> float:
        """Return an upper bound of Σ_{k<m} c_k·c_{k+lag} for m = `count` and lag ≥ 1.

        >>> c = BLT.for_horizon(100).coefficients(20)
        >>> bool(abs(BLT.for_horizon(100).lagged(3, 17) / (c[:17] @ c[3:]) - 1) < 2e-9)
        True
        """
        gap = self.gaps[:, None] + self.gaps - self.gaps[:, None] * self.gaps
        ahead = self.weights * np.exp(lag * np.log1p(-self.gaps))
        first = float(self.weights @ np.exp((lag - 1) * np.log1p(-self.gaps)))
        rest = _geometric(gap, np.outer(self.weights, ahead) / gap, np.array([float(count)]))
        return _RAISE * (first + float(rest[0]))

    @cached_property
    def response(self) -> tuple[Floats, Floats]:
        """(λ, g) with Σ_{j≤k} h_j = Σ g·λ^k, where h are the coefficients of C⁻¹: the noise of running sums.

        C·w = y is solved by w = y − Σ ωᵢBᵢ, Bᵢ ← θᵢBᵢ + w. With the running sum of w as one more entry this is a
        linear system; its eigenvalues λ are real, because those of C⁻¹ lie between the θ.
        """
        size = len(self.buffers)
        system = np.zeros((size + 1, size + 1))
        system[:size, :size] = np.diag(1 - self.gaps) - np.outer(np.ones(size), self.weights)
        system[size, :size], system[size, size] = -self.weights, 1
        values, vectors = np.linalg.eig(system)
        weights = vectors[size] * np.linalg.solve(vectors, np.ones(size + 1))
        return values.real, weights.real


def _geometric(gap: Floats, weight: Floats, count: Floats) -> Floats:
    """Return Σ weight·(1 − (1 − gap)^{m−1}) for every m of `count`."""
    flat, factors = np.log1p(-gap).ravel(), weight.ravel()
    return np.array([-np.expm1((m - 1) * flat) @ factors for m in np.atleast_1d(count)])


@cache
def _entry(horizon: int) -> BLT:
    return BLT(tuple(Buffer(*one) for one in _TABLE[horizon]))
