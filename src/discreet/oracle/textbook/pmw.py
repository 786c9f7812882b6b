"""Answer online queries by private multiplicative weights on AboveThreshold, as in the lecture notes.

One `AboveThreshold` at ε₀ tests the distance between the table's answer and the hypothesis. If it is above the
threshold, the answer is released by `Laplace` at ε₀, the hypothesis learns from its sign at the rate α/4, and a
new `AboveThreshold` begins. After U = ⌊16·ln N/α²⌋ updates the run is over.

Claim. Neighbours add or remove one person, who changes the histogram by at most s in l1; n is declared, and does
not depend on the table. The whole run, over any number of adaptive queries, is U `AboveThreshold`s and U
`Laplace`s, all at ε₀ and fixed in advance: 2·U·ε₀-differentially private, and for δ > 0 their composition by
`plan`. Accuracy, if the table has n rows: with

    ε₀ = 16·s·ln(3k/β)/(n·α),   so   ε = 2·U·ε₀ ≤ 512·s·ln(3k/β)·ln N/(n·α³),

all of k answers are within 11α/8 and four units of the grid, which is what rounding may add, and no more than U
updates are made, except with probability β, if ε₀ ≤ 1/2. The notes state 5α/4, which does not follow from their
own claim 2: it adds two noises of up to α/4 each to α, or α/4 and α/8 at their scales.

Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from numpy.typing import ArrayLike

from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.mechanisms import AboveThreshold, Exact, Laplace, tails
from discreet.mechanisms.exact import Integers, with_mark
from discreet.mechanisms.threshold_run import Run
from discreet.oracle.textbook.interaction import Answer, QueryRun, answers
from discreet.oracle.textbook.queries import Queries, distance, total
from discreet.oracle.textbook.theorem import Promise, Setting
from discreet.privacy import losses, plan
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.rational import Exactly, Rational, positive, rational

_DIGITS = 3  # digits of a calibrated α, so that it is at most 1 % above the least one


@dataclass(frozen=True, kw_only=True)
class PrivateMultiplicativeWeights(Setting):
    """Adaptive queries, free if the hypothesis is within α, with the parameters of the lecture notes.

    `each` is the ε₀ of every `AboveThreshold` and of every `Laplace`. `for_epsilon` and `for_alpha` compute it.

    >>> mechanism = PrivateMultiplicativeWeights.for_epsilon(
    ...     1, cells=64, rows=10**8, queries=1000, failure="0.05"
    ... )
    >>> mechanism.most_updates, float(mechanism.alpha)
    (17479, 0.0617)
    >>> print(mechanism.promise)
    all of 1,000 answers within 0.085 of the truth, as a share of the rows, except with probability 0.05
    >>> run = mechanism.start(Exact([10**8] + [0] * 63, sensitivity=1))
    >>> answer = run.ask([1] + [0] * 63)
    >>> answer.paid, abs(answer.share - 1) < 0.1
    (True, True)
    """

    alpha: Exactly = Exactly(above=0)
    each: Exactly = Exactly(above=0, floats="warn")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.line, self.number  # parameters that cannot be drawn are refused now

    @classmethod
    def for_epsilon(
        cls, epsilon: Rational, *, delta: Rational = 0, **setting: Any
    ) -> PrivateMultiplicativeWeights:
        """Return the run with the least α, to three digits, that is (ε, δ)-differentially private as a whole.

        `setting` has cells, rows, queries and failure; grid and sensitivity are 1 by default.

        >>> setting = {"cells": 64, "rows": 10**6, "queries": 1000, "failure": "0.05"}
        >>> pure = PrivateMultiplicativeWeights.for_epsilon(1, **setting)
        >>> float(pure.alpha), plan.epsilon(pure.loss, 0)
        (0.287, 1.0)
        >>> float(PrivateMultiplicativeWeights.for_epsilon(1, delta="1e-6", **setting).alpha)
        0.0928
        """
        budget, slack = positive(epsilon, "epsilon"), rational(delta, "delta")
        if not 0 <= slack < 1:
            raise ParameterError(
                "The delta must be at least 0 and below 1.", found=delta, fix=Fix("delta", "1e-9")
            )
        given = Setting(**setting)
        if slack:
            return _least(
                lambda alpha: cls.for_alpha(alpha, **setting), budget, slack, _near(given, budget, slack)
            )
        alpha = _short((32 * _noise(given) * given.log_cells / float(budget)) ** (1 / 3), _DIGITS)
        return cls(alpha=alpha, each=budget / (2 * _most_updates(given, alpha)), **setting)

    @classmethod
    def for_alpha(cls, alpha: Rational, **setting: Any) -> PrivateMultiplicativeWeights:
        """Return the mechanism that the theorem requires for this α, at any cost.

        >>> mechanism = PrivateMultiplicativeWeights.for_alpha(
        ...     "0.05", cells=64, rows=10**6, queries=1000, failure="0.05"
        ... )
        >>> round(plan.epsilon(mechanism.loss, 0))
        187
        """
        share = positive(alpha, "alpha", floats="exact")
        return cls(alpha=share, each=_each(Setting(**setting), share), **setting)

    @cached_property
    def most_updates(self) -> int:
        """The largest number of updates, U. All of them are charged."""
        return _most_updates(self, self.alpha)

    @cached_property
    def line(self) -> AboveThreshold:
        """The test of the hypothesis. Its threshold is α, plus one unit for rounding to the grid."""
        return AboveThreshold(
            self.each, threshold=math.ceil(self.alpha * self.rows * self.grid) + 1, sensitivity=self.moves
        )

    @cached_property
    def number(self) -> Laplace:
        """The mechanism that answers if the hypothesis is not accurate."""
        return Laplace.for_epsilon(self.each, self.moves)

    @property
    def rate(self) -> float:
        """The learning rate: √(ln N/U) is α/4."""
        return float(self.alpha) / 4

    @property
    def loss(self) -> tuple[losses.Repeated, losses.Repeated]:
        """The loss of everything that the run may release, fixed in advance: 2·U·ε₀ by simple addition."""
        return self.line.loss * self.most_updates, self.number.loss * self.most_updates

    @cached_property
    def promise(self) -> Promise:
        """The guarantee of the theorem for all answers: 11α/8, as a share of the rows, if ε₀ is as it requires.

        The theorem is about real numbers. Integers may add one each to two noises, and two to the threshold. They
        also need α to be so many rows that half of it is still detected, which holds for ε₀ ≤ 1/2.
        """
        applies = self.each <= Fraction(1, 2) and float(self.each) * (1 + 1e-9) >= _noise(self) / float(self.alpha)
        error = 1.375 * float(self.alpha) + 4 / (self.rows * self.grid)
        return Promise(error=error if applies else math.inf, failure=self.beta, queries=self.queries)

    def error(self, confidence: Rational = "0.95", *, queries: int) -> int:
        """Return a bound on the error of all answers to `queries` queries, in units of 1/grid rows.

        Half of 1 − confidence is for the threshold tests, over all that there may be, and half for the noise.

        >>> PrivateMultiplicativeWeights(
        ...     alpha="0.1", each="0.01", failure="0.05", cells=64, rows=10**6, queries=100
        ... ).error("0.95", queries=100)
        104276
        """
        alpha, count = tails.alpha(confidence), tails.count(queries, "queries")
        runs = min(count, self.most_updates)
        unsure = self.line.error(1 - alpha / (2 * runs), queries=count)
        return max(self.line.threshold + unsure, self.number.error(1 - alpha / 2, dimension=runs))

    def start(self, histogram: Exact) -> PrivateMultiplicativeWeightsRun:
        """Begin a run on a histogram of the table: its whole loss is spent."""
        return PrivateMultiplicativeWeightsRun(self, histogram)

    def release(self, histogram: Exact, queries: Queries | ArrayLike) -> list[Answer]:
        """Answer a fixed sequence of queries, until the run is over."""
        return answers(self.start(histogram), queries)


class PrivateMultiplicativeWeightsRun(QueryRun):
    """A run that answers queries one at a time, until all updates are made."""

    __slots__ = ("_line", "_mechanism")

    def __init__(self, mechanism: PrivateMultiplicativeWeights, histogram: Exact):
        super().__init__(mechanism, histogram)
        self._mechanism = mechanism
        self._line: Run = mechanism.line.start()

    def _answered(self, histogram: Exact, query: Integers, believed: int) -> Answer:
        sensitivity = self._mechanism.moves
        apart = self._line.ask(distance(histogram, query, believed, sensitivity=sensitivity))
        if not apart:
            return self._answer(with_mark(believed, of=apart), paid=False)
        noisy = self._mechanism.number.release(total(histogram, query, sensitivity=sensitivity))
        gap = int(noisy) - believed
        self._learn(query, self._mechanism.rate * ((gap > 0) - (gap < 0)))
        self._updates += 1
        if self._updates < self._mechanism.most_updates:
            self._line = self._mechanism.line.start()
        return self._answer(noisy, paid=True)

    def _refuse_if_over(self) -> None:
        if self._updates >= self._mechanism.most_updates:
            raise BudgetExceeded(
                "All updates are made, and the run is over.",
                found=f"{self._mechanism.most_updates:,} updates",
                fix=[
                    "Start another run, at its own cost: mechanism.start(exact).",
                    "The hypothesis stays readable as run.hypothesis.",
                ],
            )


def dwork_roth_alpha(epsilon: Rational, **setting: Any) -> float:
    """Return the α of Dwork and Roth's version of the theorem, on `NumericSparse`; it guarantees 3α.

    There are c = 4·ln N/α² updates, and two queries to the threshold for each one asked, so by the accuracy of
    NumericSparse, 9c·(ln k′ + ln(4c/β))/ε with k′ = 2k, it is the fixed point of

        α³ = 36·ln N·(ln k + ln(32·ln N/(α²·β)))/(n·ε).

    All 455 three-way marginals of the census table Adult, at ε = 1 (`cells` is the size of its domain):

    >>> adult = {"cells": 40_912_140_474_777_600, "rows": 48_842, "queries": 2_647_508}
    >>> round(dwork_roth_alpha(1, **adult, failure="0.05"), 2)
    0.89
    """
    given = Setting(**setting)
    size = float(given.rows * positive(epsilon, "epsilon") / given.sensitivity)
    alpha = 1.0
    for _ in range(100):  # this is a contraction: the right-hand side depends on ln α only
        logs = math.log(given.queries) + math.log(32 * given.log_cells / (alpha**2 * given.failure))
        alpha = (36 * given.log_cells * max(logs, 1) / size) ** (1 / 3)
    return alpha


def _noise(setting: Setting) -> float:
    """Return 16·s·ln(3k/β)/n, the required ε₀·α."""
    return 16 * setting.sensitivity * float(tails.log(3 * setting.queries / setting.failure)) / setting.rows


def _each(setting: Setting, alpha: Fraction) -> Fraction:
    """Return ε₀, rounded up to a short fraction that people can read."""
    return _short(_noise(setting) / float(alpha), 9)


def _most_updates(setting: Setting, alpha: Fraction) -> int:
    return max(1, math.floor(16 * setting.log_cells / float(alpha) ** 2))


def _near(setting: Setting, epsilon: Fraction, delta: Fraction) -> float:
    """Return an α that zCDP allows: each update costs ε₀² at most, and U·ε₀² = 16·ln N·(noise)²/α⁴."""
    cost = 16 * setting.log_cells * _noise(setting) ** 2
    low, high = 1e-12, 1e12
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        enough = zcdp_to_approximate(cost / middle**4, delta) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high


def _least(
    made: Callable[[Fraction], PrivateMultiplicativeWeights], epsilon: Fraction, delta: Fraction, near: float
) -> PrivateMultiplicativeWeights:
    """Return the mechanism with the least α, to three digits, that was checked to be (ε, δ)-DP."""

    def private(alpha: float) -> bool:
        return plan.epsilon(made(_short(alpha, _DIGITS)).loss, delta) <= epsilon

    low = high = near
    while not private(high):
        low, high = high, 1.2 * high
    while private(low):
        low, high = low / 1.2, low
    while high / low > 1.002:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    return made(_short(high, _DIGITS))


def _short(x: float, digits: int) -> Fraction:
    """Return a fraction of so many digits, not below x."""
    step = Fraction(10) ** (math.floor(math.log10(x)) - digits + 1)
    return math.ceil(Fraction(x) / step) * step
