"""Answer online queries by private multiplicative weights, as Hardt and Rothblum (2010) published them.

Every query is answered with Laplace noise. The noisy answer is shown, and learned from, only if its distance from
the prediction of the hypothesis exceeds a threshold. In shares of n rows over N cells, with ln for log,

    σ = 10·ln(1/δ)·(ln N)^{1/4}/(√n·ε),   η = (ln N)^{1/4}/√n,   T = 4σ·(ln k + ln(1/β)),

and the run fails with an error when more than n·√(ln N) answers were shown. Only shown answers are charged.

Claim. Neighbours add or remove one person, who changes the histogram by at most s in l1; n is declared, and does
not depend on the table. Then the whole run, over any number of adaptive queries, has the loss of `censored` at ε₀
= 1/(nσ) and c = ⌊n·√(ln N)⌋ + 1, which is (ε, δ)-differential privacy with room to spare; if that cannot be proven
(at an ε far above 1) the mechanism is refused. Accuracy, if the table has n rows: all of k answers are within 5T/4
and one unit of the grid, and the run does not fail, except with probability β, if 28·ln(1/δ)·ln(k/β) ≥ 9ε/8 and T
is 30 units or more.

Noise is discrete Laplace of rational scale, rounded up, on integers. The hypothesis is made of public floats, and
its prediction is rounded to the grid before it is compared. Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from numpy.typing import ArrayLike

from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.mechanisms import Exact, Laplace, tails
from discreet.mechanisms.exact import Integers, with_mark
from discreet.oracle.textbook import censored
from discreet.oracle.textbook.interaction import Answer, QueryRun, answers
from discreet.oracle.textbook.queries import Queries, total
from discreet.oracle.textbook.theorem import Promise, Setting
from discreet.privacy import losses, plan
from discreet.rational import Exactly, Rational


@dataclass(frozen=True, kw_only=True)
class HardtRothblum(Setting):
    """Adaptive queries, free if the hypothesis is accurate, with the parameters of the paper.

    >>> mechanism = HardtRothblum(
    ...     epsilon=1, delta="1e-6", cells=64, rows=10**10, queries=1000, failure="0.05"
    ... )
    >>> print(mechanism.promise)
    all of 1,000 answers within 0.098 of the truth, as a share of the rows, except with probability 0.05
    >>> run = mechanism.start(Exact([10**10] + [0] * 63, sensitivity=1))
    >>> answer = run.ask([1] + [0] * 63)
    >>> answer.paid, abs(answer.share - 1) < 0.1
    (True, True)
    """

    epsilon: Exactly = Exactly(above=0, floats="decimal")
    delta: Exactly = Exactly(above=0, floats="decimal")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta >= 1:
            raise ParameterError("The delta must be below 1.", found=self.delta, fix=Fix("delta", "1e-9"))
        proven = plan.epsilon(self.loss, self.delta)
        if proven > self.epsilon:
            raise ParameterError(
                f"With the constants of the paper, only an epsilon of {proven:.3g} can be proven at delta "
                f"{float(self.delta):g}.",
                found=f"epsilon {float(self.epsilon):g}",
                fix="Take a smaller epsilon or a smaller delta.",
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
        """The number of answers that may be shown before the run fails."""
        return math.floor(self.rows * math.sqrt(self.log_cells))

    @cached_property
    def loss(self) -> losses.Loss:
        """A Rényi curve for the whole run, including the answer at which it fails."""
        return censored.loss(self.moves / self.noise.scale, self.most_updates + 1)

    @cached_property
    def promise(self) -> Promise:
        """The guarantee of the theorem for all answers: 5T/4, as a share of the rows."""
        error = (1.25 * self.threshold + 1) / (self.rows * self.grid)
        learns = 28 * -tails.log(self.delta) * tails.log(self.queries / self.beta) >= 9 * self.epsilon / 8
        applies = learns and self.threshold >= 30
        return Promise(error=error if applies else math.inf, failure=self.beta, queries=self.queries)

    def error(self, confidence: Rational = "0.95", *, queries: int) -> int:
        """Return the smallest a that bounds the error of `queries` answers, in units of 1/grid rows.

        A free answer is within the threshold plus its noise, and a charged answer within its noise.

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
        """Answer a fixed sequence of queries, until the run fails."""
        return answers(self.start(histogram), queries)


class HardtRothblumRun(QueryRun):
    """A run that answers queries one at a time, until too many answers were shown."""

    __slots__ = ("_mechanism",)

    def __init__(self, mechanism: HardtRothblum, histogram: Exact):
        super().__init__(mechanism, histogram)
        self._mechanism = mechanism

    def _answered(self, histogram: Exact, query: Integers, believed: int) -> Answer:
        noisy = self._mechanism.noise.release(total(histogram, query, sensitivity=self._mechanism.moves))
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
                "The run has failed and is over: all answers that may be shown were shown, and one more was "
                "surprising.",
                found=f"{self._mechanism.most_updates:,} answers shown",
                fix=[
                    "Start another run, at its own cost: mechanism.start(exact).",
                    "The hypothesis stays readable as run.hypothesis.",
                ],
            )
