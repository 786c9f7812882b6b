"""Follow the advice of experts by multiplicative weights: the algorithm behind every oracle of this package.

In each of T rounds there are N experts, one of whom is drawn: i_t with the probability x_t(i), which is
proportional to the weight W_t(i). Then the losses ℓ_t of all experts become known, each in [−1, 1], the loss of
the drawn expert is incurred, and W_{t+1}(i) = W_t(i)·e^{−η·ℓ_t(i)}. Whatever the losses are, and even if they
depend on all earlier draws,

    Σ_t x_t·ℓ_t − Σ_t ℓ_t(i) ≤ ln N/η + η·Σ_t x_t·ℓ_t² ≤ 2·√(T·ln N)    for every expert i, at η = √(ln N/T),

if η ≤ 1. The left side, for the best expert, is the *regret*: what following the weights costs more than having
known the best expert from the start. Proof: docs/theory/multiplicative-weights.md.

This is public: it reads the losses that it is given, and no table. Draws come from `discreet.noise`, by weights
whose logarithms are rounded to 2^−32.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet import noise
from discreet.errors import Code, Fix, ParameterError
from discreet.oracle.textbook import plots
from discreet.oracle.textbook.multiplicative_weights import Floats, Weights, log_of, regret, regret_at
from discreet.rational import whole

if TYPE_CHECKING:
    import altair

_FINE = 2**32  # the grid of logarithms of weights that are drawn from


class MultiplicativeWeights:
    """Draw one of N experts in each round, by weights that fall with their losses.

    Args:
        experts: The number of experts, N.
        rounds: The number of rounds that are planned, T: they determine the learning rate. More may follow.
        rate: The learning rate η instead, above 0 and at most 1; √(ln N/T), and at most 1, by default.

    >>> weights = MultiplicativeWeights(experts=3, rounds=100)
    >>> for _ in range(100):
    ...     drawn = weights.draw()
    ...     incurred = weights.incur([1, -1, 0.5])
    >>> weights.shares.round(2)
    array([0., 1., 0.])
    >>> 0 <= weights.regret <= weights.bound
    True
    """

    def __init__(self, experts: int, *, rounds: int, rate: float | None = None):
        count, planned = whole(experts, "experts"), whole(rounds, "rounds")
        best = min(1.0, math.sqrt(log_of(count) / planned)) or 1.0
        self.rate = best if rate is None else float(rate)
        if not 0 < self.rate <= 1:
            raise ParameterError(
                "A learning rate must be above 0 and at most 1.", found=rate, fix=Fix("rate", best)
            )
        self._weights = Weights.uniform(count)
        self._drawn: int | None = None
        self._totals: Floats = np.zeros(count)
        self._expected: list[float] = []
        self._incurred: list[float] = []
        self._best: list[float] = []

    @property
    def shares(self) -> Floats:
        """The probability of each expert in the next draw."""
        return self._weights.shares.copy()

    def draw(self) -> int:
        """Draw an expert for this round. A round has one draw: the same one until its losses are known."""
        if self._drawn is None:
            logs = self._weights.logs
            gaps = np.rint((logs.max() - logs) * _FINE).astype(np.int64)
            self._drawn = int(noise.softmax(gaps, over=_FINE))
        return self._drawn

    def incur(self, losses: ArrayLike) -> float:
        """End the round with the losses of all experts, each in [−1, 1], and return that of the drawn expert."""
        known = np.asarray(losses, np.float64)
        # A comparison with NaN is false, so the bounds are what must hold.
        if known.shape != self._totals.shape or not ((known >= -1) & (known <= 1)).all():
            raise ParameterError(
                f"A round has {self._totals.size} losses, each from −1 to 1.",
                found=f"shape {known.shape}" if known.shape != self._totals.shape else "a loss outside, or NaN",
                fix=Fix("losses", Code(f"[{', '.join(['0.5'] * min(3, self._totals.size))}, …]")),
            )
        incurred = float(known[self.draw()])
        self._expected.append(float(known @ self._weights.shares))
        self._incurred.append(incurred)
        self._totals = self._totals + known
        self._best.append(float(self._totals.min()))
        self._weights = self._weights.moved(known, -self.rate)
        self._drawn = None
        return incurred

    @property
    def rounds(self) -> int:
        """The number of rounds so far."""
        return len(self._incurred)

    @property
    def regret(self) -> float:
        """What the weights lost in expectation, less what the best expert lost. Never above `bound`."""
        return sum(self._expected) - float(self._totals.min())

    @property
    def drawn_regret(self) -> float:
        """What the drawn experts lost, less what the best expert lost: `regret` and chance."""
        return sum(self._incurred) - float(self._totals.min())

    @property
    def bound(self) -> float:
        """The largest regret of so many rounds at this rate, ln N/η + η·T: 2·√(T·ln N) at the best rate."""
        return regret_at(self._totals.size, self.rounds, self.rate)

    @property
    def best_bound(self) -> float:
        """The bound at the best rate for so many rounds, 2·√(T·ln N)."""
        return regret(self._totals.size, self.rounds)

    @property
    def mistakes(self) -> int:
        """The number of rounds in which the drawn expert had a loss above 0."""
        return sum(loss > 0 for loss in self._incurred)

    def history(self) -> dict[str, Floats]:
        """Return the sums after every round: of expected losses, of incurred ones, and those of the best expert.

        >>> weights = MultiplicativeWeights(experts=2, rounds=4)
        >>> weights.incur([1, 1])
        1.0
        >>> {name: sums.tolist() for name, sums in weights.history().items()}
        {'expected': [1.0], 'incurred': [1.0], 'best': [1.0]}
        """
        return {
            "expected": np.cumsum(self._expected),
            "incurred": np.cumsum(self._incurred),
            "best": np.array(self._best),
        }

    def plot(self) -> altair.LayerChart:
        """Draw (with Altair) the regret after every round, of the weights and of the draws, below its bound.

        >>> weights = MultiplicativeWeights(experts=2, rounds=4)
        >>> for losses in ([1, -1], [1, -1], [-1, 1]):
        ...     drawn = weights.incur(losses)
        >>> weights.plot().to_dict()["title"]["text"]
        'Regret of multiplicative weights'
        """
        return plots.regret(self.history(), self._totals.size, self.rate)
