"""Private multiplicative weights on AboveThreshold: the online query release of the lecture notes.

One `AboveThreshold` at ε₀ watches the distance between the table's answer and the hypothesis. Where it speaks up,
the answer is released by `Laplace` at ε₀, the hypothesis learns from its sign at the rate α/4, and a new
`AboveThreshold` begins. After U = ⌊16·ln N/α²⌋ updates the run is over.

Claim. Neighbours add or remove one person, who moves the histogram by at most s in l1; n is declared, and not read
off the table. The whole run, over any number of adaptive queries, is U `AboveThreshold`s and U `Laplace`s, all at
ε₀ and fixed in advance: 2·U·ε₀-differentially private, and for δ > 0 what `plan` makes of them. Accuracy, if the
table has n rows: with

    ε₀ = 16·s·ln(3k/β)/(n·α),   so   ε = 2·U·ε₀ ≤ 512·s·ln(3k/β)·ln N/(n·α³),

all of k answers are within 11α/8 and four units of the grid, which is what rounding may add, and no more than U
updates are made, but for a chance of β, wherever ε₀ ≤ 1/2. The notes say 5α/4, which their own claim 2 does not
give: it adds two noises of up to α/4 each to α, or α/4 and α/8 at their scales.

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

from discreet.errors import BudgetExceeded, ParameterError
from discreet.mechanisms import AboveThreshold, Exact, Laplace, tails
from discreet.mechanisms.exact import Integers, with_mark
from discreet.mechanisms.sparse_vector import Run
from discreet.oracle.textbook.interaction import Answer, QueryRun, answers
from discreet.oracle.textbook.queries import Queries, distance, total
from discreet.oracle.textbook.setting import Setting
from discreet.oracle.textbook.theorem import Promise
from discreet.privacy import losses, plan
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.rational import Exactly, Rational, positive, rational

_DIGITS = 3  # of a calibrated α: at most 1 % above the least one


@dataclass(frozen=True, kw_only=True)
class PrivateMultiplicativeWeights(Setting):
    """Adaptive queries, free where the hypothesis is within α, with the parameters of the lecture notes.

    `each` is the ε₀ of every `AboveThreshold` and of every `Laplace`. `for_epsilon` and `for_alpha` find it.

    >>> mechanism = PrivateMultiplicativeWeights.for_epsilon(
    ...     1, cells=64, rows=10**8, queries=1000, failure="0.05"
    ... )
    >>> mechanism.most_updates, float(mechanism.alpha)
    (17479, 0.0617)
    >>> print(mechanism.promise)
    all of 1,000 answers within 0.085 of the truth, as a share of the rows, but for a chance of 0.05
    >>> run = mechanism.start(Exact([10**8] + [0] * 63, sensitivity=1))
    >>> answer = run.ask([1] + [0] * 63)
    >>> answer.paid, abs(answer.share - 1) < 0.1
    (True, True)
    """

    alpha: Exactly = Exactly(above=0)
    each: Exactly = Exactly(above=0, floats="warn")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.line, self.number  # refuse now what could not be drawn

    @classmethod
    def for_epsilon(
        cls, epsilon: Rational, *, delta: Rational = 0, **setting: Any
    ) -> PrivateMultiplicativeWeights:
        """Return the run with the least α, to three digits, that is (ε, δ)-differentially private as a whole.

        `setting` has cells=, rows=, queries= and failure=, and grid= and sensitivity= unless they are 1.

        >>> setting = {"cells": 64, "rows": 10**6, "queries": 1000, "failure": "0.05"}
        >>> pure = PrivateMultiplicativeWeights.for_epsilon(1, **setting)
        >>> float(pure.alpha), plan.epsilon(pure.loss, 0)
        (0.287, 1.0)
        >>> float(PrivateMultiplicativeWeights.for_epsilon(1, delta="1e-6", **setting).alpha)
        0.0928
        """
        budget, slack = positive(epsilon, "epsilon"), rational(delta, "delta")
        if not 0 <= slack < 1:
            raise ParameterError(f"delta must be below 1, and not below 0, not {delta!r}.")
        given = Setting(**setting)
        if slack:
            return _least(
                lambda alpha: cls.for_alpha(alpha, **setting), budget, slack, _near(given, budget, slack)
            )
        alpha = _short((32 * _noise(given) * given.log_cells / float(budget)) ** (1 / 3), _DIGITS)
        return cls(alpha=alpha, each=budget / (2 * _most_updates(given, alpha)), **setting)

    @classmethod
    def for_alpha(cls, alpha: Rational, **setting: Any) -> PrivateMultiplicativeWeights:
        """Return the run that the theorem asks for at this α, whatever it costs.

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
        """How many updates there may be, and are paid for: U."""
        return _most_updates(self, self.alpha)

    @cached_property
    def line(self) -> AboveThreshold:
        """What watches the hypothesis. Its line is α, and one above for what rounding to the grid may hide."""
        return AboveThreshold(
            self.each, threshold=math.ceil(self.alpha * self.rows * self.grid) + 1, sensitivity=self.moves
        )

    @cached_property
    def number(self) -> Laplace:
        """What answers where the hypothesis does not."""
        return Laplace.for_epsilon(self.each, self.moves)

    @property
    def rate(self) -> float:
        """The learning rate: √(ln N/U) is α/4."""
        return float(self.alpha) / 4

    @property
    def loss(self) -> tuple[losses.Repeated, losses.Repeated]:
        """Everything that the run may release, fixed in advance: 2·U·ε₀ if simply added up."""
        return self.line.loss * self.most_updates, self.number.loss * self.most_updates

    @cached_property
    def promise(self) -> Promise:
        """What the theorem says about answers: 11α/8, as a share of the rows, if ε₀ is what it asks for.

        The theorem is about real numbers. Integers may add one each to two noises, and two to the threshold; and
        they need α to be so many rows that half of it is still seen, which it is where ε₀ ≤ 1/2.
        """
        carried = self.each <= Fraction(1, 2) and float(self.each) * (1 + 1e-9) >= _noise(self) / float(self.alpha)
        error = 1.375 * float(self.alpha) + 4 / (self.rows * self.grid)
        return Promise(error=error if carried else math.inf, failure=self.beta, queries=self.queries)

    def error(self, confidence: Rational = "0.95", *, queries: int) -> int:
        """Return a bound on the error of all answers to `queries` queries, in units of 1/grid rows.

        Half of the doubt is for what the lines say, over as many of them as there may be, and half for the noise.

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
        """Answer a fixed row of queries, as many of them as there are before the run is over."""
        return answers(self.start(histogram), queries)


class PrivateMultiplicativeWeightsRun(QueryRun):
    """Queries one at a time, until all updates are made."""

    __slots__ = ("_line", "_mechanism")

    def __init__(self, mechanism: PrivateMultiplicativeWeights, histogram: Exact):
        super().__init__(mechanism, histogram)
        self._mechanism = mechanism
        self._line: Run = mechanism.line.start()

    def _answered(self, histogram: Exact, query: Integers, believed: int) -> Answer:
        moves = self._mechanism.moves
        apart = self._line.ask(distance(histogram, query, believed, moves=moves))
        if not apart:
            return self._answer(with_mark(believed, of=apart), paid=False)
        noisy = self._mechanism.number.release(total(histogram, query, moves=moves))
        gap = int(noisy) - believed
        self._learn(query, self._mechanism.rate * ((gap > 0) - (gap < 0)))
        self._updates += 1
        if self._updates < self._mechanism.most_updates:
            self._line = self._mechanism.line.start()
        return self._answer(noisy, paid=True)

    def _refuse_if_over(self) -> None:
        if self._updates >= self._mechanism.most_updates:
            raise BudgetExceeded(
                f"All of {self._mechanism.most_updates:,} updates are made, and the run is over, as the theorem "
                "says. Its hypothesis stays: run.hypothesis. Start another, at its own cost: "
                "mechanism.start(exact)."
            )


def dwork_roth_alpha(epsilon: Rational, **setting: Any) -> float:
    """Return the α of Dwork and Roth's version of the theorem, on `NumericSparse`; it promises 3α.

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
    for _ in range(100):  # a contraction: the right-hand side moves with ln α only
        logs = math.log(given.queries) + math.log(32 * given.log_cells / (alpha**2 * given.failure))
        alpha = (36 * given.log_cells * max(logs, 1) / size) ** (1 / 3)
    return alpha


def _noise(setting: Setting) -> float:
    """16·s·ln(3k/β)/n: what ε₀·α has to be."""
    return 16 * setting.sensitivity * float(tails.log(3 * setting.queries / setting.failure)) / setting.rows


def _each(setting: Setting, alpha: Fraction) -> Fraction:
    """ε₀, rounded up to a short fraction: scales are read by people."""
    return _short(_noise(setting) / float(alpha), 9)


def _most_updates(setting: Setting, alpha: Fraction) -> int:
    return max(1, math.floor(16 * setting.log_cells / float(alpha) ** 2))


def _near(setting: Setting, epsilon: Fraction, delta: Fraction) -> float:
    """An α that zCDP allows: each update costs ε₀² at most, and U·ε₀² = 16·ln N·(noise)²/α⁴."""
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
    """The run with the least α that is (ε, δ)-DP, to three digits: whatever is returned has been tried."""

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
    """A fraction of so many digits, not below x."""
    step = Fraction(10) ** (math.floor(math.log10(x)) - digits + 1)
    return math.ceil(Fraction(x) / step) * step
