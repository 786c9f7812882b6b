"""Private multiplicative weights as Hardt and Rothblum (2010) made them.

Every query is answered with Laplace noise; the noisy answer is shown, and learned from, only if it is further than
a threshold from what the hypothesis says. In shares of n rows over N cells, with ln for log,

    σ = 10·ln(1/δ)·(ln N)^{1/4}/(√n·ε),   η = (ln N)^{1/4}/√n,   T = 4σ·(ln k + ln(1/β)),

and the run fails, and says so, when more than n·√(ln N) answers were shown. Only these count: others are free.

Claim. Neighbours add or remove one person, who moves the histogram by at most s in l1; n is declared, and not read
off the table. Then the whole run, over any number of adaptive queries, has the loss of `censored` at ε₀ = 1/(nσ)
and c = ⌊n·√(ln N)⌋ + 1, which is (ε, δ)-differential privacy with room to spare; where that cannot be proven (at
an ε far above 1) the mechanism is refused. Accuracy, if the table has n rows: all of k answers are within 5T/4 and
one unit of the grid, and the run does not fail, but for a chance of β, wherever 28·ln(1/δ)·ln(k/β) ≥ 9ε/8 and T is
30 units or more.

Noise is discrete Laplace of rational scale, rounded up, on integers; the hypothesis is public floats, rounded to
the grid before it is compared. Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from numpy.typing import ArrayLike

from discreet.errors import BudgetExceeded, ParameterError
from discreet.mechanisms import Exact, Laplace, tails
from discreet.mechanisms.exact import Integers, with_mark
from discreet.oracle.textbook import censored
from discreet.oracle.textbook.interaction import Answer, QueryRun, answers
from discreet.oracle.textbook.queries import Queries, total
from discreet.oracle.textbook.setting import Setting
from discreet.oracle.textbook.theorem import Promise
from discreet.privacy import losses, plan
from discreet.rational import Exactly, Rational


@dataclass(frozen=True, kw_only=True)
class HardtRothblum(Setting):
    """Adaptive queries, free where the hypothesis is right, with the parameters of the paper.

    >>> mechanism = HardtRothblum(
    ...     epsilon=1, delta="1e-6", cells=64, rows=10**10, queries=1000, failure="0.05"
    ... )
    >>> print(mechanism.promise)
    all of 1,000 answers within 0.098 of the truth, as a share of the rows, but for a chance of 0.05
    >>> run = mechanism.start(Exact([10**10] + [0] * 63, sensitivity=1))
    >>> answer = run.ask([1] + [0] * 63)
    >>> answer.paid, abs(answer.share - 1) < 0.1
    (True, True)
    """

    epsilon: Exactly = Exactly(above=0, floats="warn")
    delta: Exactly = Exactly(above=0, floats="warn")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta >= 1:
            raise ParameterError("delta must be below 1: at 1 nothing is claimed.")
        proven = plan.epsilon(self.loss, self.delta)
        if proven > self.epsilon:
            raise ParameterError(
                f"With the constants of the paper, {proven:.3g} is the epsilon that can be proven here at "
                f"delta={float(self.delta):g}, not {float(self.epsilon):g}. Take a smaller epsilon or delta."
            )

    @cached_property
    def noise(self) -> Laplace:
        """The noise on every answer, of scale σ in shares, rounded up."""
        sigma = 10 * -float(tails.log(self.delta)) * self.log_cells**0.25 / math.sqrt(self.rows)
        scale = Fraction(sigma) / self.epsilon * self.rows * self.moves
        return Laplace(Fraction(tails.ceiling(1024 * scale), 1024), self.moves)

    @cached_property
    def threshold(self) -> int:
        """The distance from the hypothesis, T in shares, beyond which an answer is shown."""
        return tails.ceiling(4 * self.noise.scale * tails.log(self.queries / self.beta))

    @cached_property
    def rate(self) -> float:
        """The learning rate η."""
        return math.sqrt(math.sqrt(self.log_cells) / self.rows)

    @cached_property
    def most_updates(self) -> int:
        """How many answers are shown before the run fails."""
        return math.floor(self.rows * math.sqrt(self.log_cells))

    @cached_property
    def loss(self) -> losses.Loss:
        """A Rényi curve for the whole run, the answer at which it fails included."""
        return censored.loss(self.moves / self.noise.scale, self.most_updates + 1)

    @cached_property
    def promise(self) -> Promise:
        """What the theorem says about answers: 5T/4, as a share of the rows."""
        error = (1.25 * self.threshold + 1) / (self.rows * self.grid)
        learns = 28 * -tails.log(self.delta) * tails.log(self.queries / self.beta) >= 9 * self.epsilon / 8
        carried = learns and self.threshold >= 30
        return Promise(error=error if carried else math.inf, failure=self.beta, queries=self.queries)

    def error(self, confidence: Rational = "0.95", *, queries: int) -> int:
        """Return the smallest a that bounds the error of `queries` answers, in units of 1/grid rows.

        A free answer is within the threshold and its noise, and one that is paid for within its noise.

        >>> HardtRothblum(
        ...     epsilon=1, delta="1e-6", cells=64, rows=10**6, queries=100, failure="0.05"
        ... ).error("0.95", queries=100)
        7493027
        """
        return self.threshold + self.noise.error(confidence, dimension=tails.count(queries, "queries"))

    def start(self, histogram: Exact) -> HardtRothblumRun:
        """Begin a run on a histogram of the table: its whole loss is spent."""
        return HardtRothblumRun(self, histogram)

    def release(self, histogram: Exact, queries: Queries | ArrayLike) -> list[Answer]:
        """Answer a fixed row of queries, as many of them as there are before the run fails."""
        return answers(self.start(histogram), queries)


class HardtRothblumRun(QueryRun):
    """Queries one at a time, until more answers were shown than there may be."""

    __slots__ = ("_mechanism",)

    def __init__(self, mechanism: HardtRothblum, histogram: Exact):
        super().__init__(mechanism, histogram)
        self._mechanism = mechanism

    def _answered(self, histogram: Exact, query: Integers, believed: int) -> Answer:
        noisy = self._mechanism.noise.release(total(histogram, query, moves=self._mechanism.moves))
        gap = int(noisy) - believed
        if abs(gap) <= self._mechanism.threshold:
            return self._answer(with_mark(believed, of=noisy), paid=False)
        self._updates += 1
        self._refuse_if_over()
        self._learn(query, math.copysign(self._mechanism.rate, gap))
        return self._answer(noisy, paid=True)

    def _refuse_if_over(self) -> None:
        if self._updates > self._mechanism.most_updates:
            raise BudgetExceeded(
                f"Failure: {self._mechanism.most_updates:,} answers were shown, and one more was surprising. The "
                "run is over, as the theorem says; its hypothesis stays: run.hypothesis. Start another, at its "
                "own cost: mechanism.start(exact)."
            )
