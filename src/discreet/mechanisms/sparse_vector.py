"""Answer queries by the sparse vector technique: only those above a threshold cost budget.

Claim. Draw ρ, discrete Laplace of scale Δ/ε₁, once. Answer query i with "above" if fᵢ + νᵢ ≥ T + ρ, where νᵢ is
fresh discrete Laplace of scale 2cΔ/ε₂ (cΔ/ε₂ if all queries of the run go up when a person joins, or all go
down), and halt at the c-th "above". The whole run, however many queries, chosen adaptively, is
(ε₁ + ε₂)-differentially private where one person changes every query by at most Δ. The split ε₁ : ε₂ = 1 :
(2c)^{2/3} (1 : c^{2/3} for monotonic queries) minimises the noise of the comparison (Lyu–Su–Li 2017).
`NumericSparse` adds a number to each "above", with fresh noise of scale cΔ/ε₃. `RestartingSparse` draws a new
threshold after each "above": c runs of `AboveThreshold`, which for δ > 0 compose to less. Queries that are asked
one at a time are a run (`threshold_run`). Theory: docs/theory/sparse-vector.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet import noise
from discreet.errors import Fix, ParameterError
from discreet.mechanisms import tails
from discreet.mechanisms.exact import LIMIT, Exact, added, admit, unboxed, with_mark
from discreet.mechanisms.sensitivity import one_way
from discreet.mechanisms.threshold_run import NumericRun, RestartingRun, Run
from discreet.privacy import losses, plan
from discreet.rational import Exactly, Rational, positive, rational, shown, whole

_ONE_LINE = "Without a delta, one threshold for all positives has less noise: Sparse(1, positives=5)."


@dataclass(frozen=True)
class Sparse:
    """Tell which queries exceed the threshold, until `positives` of them did.

    >>> mechanism = Sparse(epsilon=1, threshold=1000, positives=2)
    >>> run = mechanism.start()
    >>> [run.ask(Exact(count, sensitivity=1)) for count in (3, 90_000, 12)]
    [False, True, False]
    >>> mechanism.release(Exact([3, 90_000, 12, 70_000, 5], sensitivity=1)).tolist()
    [False, True, False, True]
    """

    epsilon: Exactly = Exactly(above=0, floats="decimal")
    threshold: int = 0
    positives: int = 1
    sensitivity: int = 1
    monotonic: bool = False

    _numeric_share: ClassVar[Fraction] = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", whole(self.threshold, "threshold", least=-LIMIT))
        object.__setattr__(self, "positives", tails.count(self.positives, "positives"))
        object.__setattr__(self, "sensitivity", whole(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "monotonic", one_way(self.monotonic))
        if self.threshold > LIMIT:
            raise ParameterError("threshold must be below 2**62.", found=shown(self.threshold))
        tails.refuse_too_wide("query_scale", self.query_scale)  # the widest noise of all in a run

    @property
    def loss(self) -> losses.Loss:
        """One ε for the whole run."""
        return losses.SparseVector(self.epsilon)

    @cached_property
    def split(self) -> tuple[Fraction, Fraction]:
        """The ε of the threshold and the ε of the comparisons: exactly what `numbers` leave of ε.

        >>> sum(Sparse(epsilon="0.3", threshold=0, positives=5).split)
        Fraction(3, 10)
        """
        comparing = self.epsilon - self.numbers
        first = comparing / (1 + _short((self._sides * self.positives) ** (2 / 3)))
        return first, comparing - first

    @property
    def numbers(self) -> Fraction:
        """The ε of the released numbers: 0 unless there are any."""
        return self._numeric_share * self.epsilon

    @cached_property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise on the threshold."""
        return self.sensitivity / self.split[0]

    @cached_property
    def query_scale(self) -> Fraction:
        """The scale of the noise on each query."""
        return self._sides * self.positives * self.sensitivity / self.split[1]

    @classmethod
    def restarting(
        cls,
        positives: int,
        *,
        epsilon: Rational,
        delta: Rational,
        threshold: int = 0,
        sensitivity: int = 1,
        monotonic: bool = False,
    ) -> RestartingSparse:
        """Return the form for δ > 0: a new threshold after each positive, so that runs compose as ε₀-DP releases.

        The lecture notes take ε₀ = ε/√(8c·ln(1/δ)), once their slip is mended. Here it is the largest, to three
        digits, for which c runs are (ε, δ)-differentially private by the accountant, and never less than ε/c.

        Args:
            positives: The number of positive answers, c.
            epsilon: The ε of all answers together.
            delta: Their δ, above 0 and below 1.
            threshold: The threshold of all runs.
            sensitivity: The most that one person changes a query, 1 by default.
            monotonic: Whether all queries go the same way when a person joins; not by default.

        >>> restarting = Sparse.restarting(100, epsilon=1, delta="1e-6")
        >>> restarting.query_scale < Sparse(1, positives=100).query_scale
        True
        """
        budget, slack = positive(epsilon, "epsilon"), rational(delta, "delta")
        if not 0 < slack < 1:
            raise ParameterError(
                "Restarts need a delta above 0 and below 1.", found=delta, fix=[Fix("delta", "1e-9"), _ONE_LINE]
            )
        count = tails.count(positives, "positives")
        each = _largest(budget, slack, count)
        return RestartingSparse(each, threshold, count, sensitivity, monotonic)

    def start(self) -> Run:
        """Begin a run: the noise of its threshold is drawn now, and its ε is spent."""
        return Run(self)

    def release(self, exact: Exact) -> Any:
        """Answer a whole vector of queries at once, up to the last positive that there may be."""
        self._admit(exact, vector=True)
        line = self.threshold + noise.discrete_laplace(self.threshold_scale)
        above: Any = added(exact, noise.discrete_laplace(self.query_scale, exact.size)) >= line
        return above[: _halt(above, self.positives)]

    def error(self, confidence: Rational = "0.95", *, queries: int) -> int:
        """Return the smallest α such that `queries` answers are all right within α, with this confidence.

        Right within α: "above" only if f ≥ T − α, "below" only if f ≤ T + α. It holds for every analyst, even
        one who knew ρ: given ρ, no queries are worse than k at T − α − 1, or k − c of these and c at T + α + 1.

        >>> Sparse(epsilon=1, threshold=0).error("0.95", queries=1000)
        32
        """
        chance, k = tails.alpha(confidence), tails.count(queries, "queries")
        law = tails.laplace_pieces(self.threshold_scale, chance)
        high = min(self.positives, k)

        def holds(alpha: int) -> bool:
            false_above = tails.laplace_above(self.query_scale, law.first + alpha)
            false_below = tails.laplace_above(self.query_scale, alpha + 1 - law.last)
            some_below = tails.any_of(false_above, k - high)
            mixed = some_below + (1 - some_below) * tails.any_of(false_below, high)
            wrong = np.maximum(tails.any_of(false_above, k), mixed)
            return tails.at_most(float(law.mass @ wrong) + law.beyond, chance)

        return tails.smallest(holds)

    def theorem(self, confidence: Rational = "0.95", *, queries: int) -> float:
        """Return the textbook's bound 8·c·Δ·(ln k + ln(2c/β))/ε, for the split that it takes.

        >>> round(Sparse(epsilon=1, threshold=0).theorem("0.95", queries=1000), 1)
        84.8
        """
        k, c = tails.count(queries, "queries"), self.positives
        logarithm = tails.log(2 * c * k / tails.alpha(confidence))
        return float(8 * c * self.sensitivity / (self.epsilon - self.numbers) * logarithm)

    @property
    def _sides(self) -> int:
        """The sensitivity, in Δ, of query minus threshold: 2 if the threshold may move the other way."""
        return 1 if self.monotonic else 2

    def _admit(self, exact: Exact, *, vector: bool) -> None:
        admit(exact, vector=vector, monotonic=self.monotonic, each=self.sensitivity)


@dataclass(frozen=True)
class AboveThreshold(Sparse):
    """Find the first query that exceeds the threshold.

    >>> run = AboveThreshold(epsilon=1, threshold=1000).start()
    >>> run.ask(Exact(3, sensitivity=1)), run.ask(Exact(90_000, sensitivity=1)), run.left
    (False, True, 0)
    """

    positives: int = field(default=1, init=False)


@dataclass(frozen=True)
class NumericSparse(Sparse):
    """Tell which queries exceed the threshold, and how large these are, at half of ε each.

    >>> run = NumericSparse(epsilon=10, threshold=1000, positives=2).start()
    >>> run.ask(Exact(3, sensitivity=1)), abs(run.ask(Exact(90_000, sensitivity=1)) - 90_000) < 100
    (None, True)
    """

    _numeric_share = Fraction(1, 2)

    @cached_property
    def number_scale(self) -> Fraction:
        """The scale of the noise on each released number: `positives` Laplace mechanisms share what they spend."""
        return self.positives * self.sensitivity / self.numbers

    def number_error(self, confidence: Rational = "0.95") -> int:
        """Return the smallest a such that all released numbers are within ±a, with this confidence.

        >>> NumericSparse(epsilon=1, threshold=0, positives=5).number_error("0.95")
        46
        """
        return tails.laplace_bound(self.number_scale, tails.alpha(confidence, self.positives))

    def start(self) -> NumericRun:
        """Begin a run: the noise of its threshold is drawn now, and its ε is spent."""
        return NumericRun(self)

    def release(self, exact: Exact) -> list[Any]:
        """Answer a whole vector of queries at once: a number where it is above, else None."""
        above = super().release(exact)
        numbers: Any = added(exact, noise.discrete_laplace(self.number_scale, exact.size))
        return [unboxed(number) if yes else None for yes, number in zip(above, numbers, strict=False)]


@dataclass(frozen=True)
class RestartingSparse:
    """Tell which queries exceed the threshold, with a new noisy threshold after each positive: for δ > 0.

    `Sparse.restarting` computes `each`, the ε of a run of `AboveThreshold`.

    >>> mechanism = Sparse.restarting(50, epsilon=1, delta="1e-6", threshold=1000)
    >>> mechanism.each > Fraction(1, 50)
    True
    >>> mechanism.release(Exact([3, 90_000, 12, 70_000, 5], sensitivity=1)).tolist()
    [False, True, False, True, False]
    """

    each: Exactly = Exactly(above=0, floats="warn")
    threshold: int = 0
    positives: int = 1
    sensitivity: int = 1
    monotonic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "positives", tails.count(self.positives, "positives"))
        for name in ("threshold", "sensitivity", "monotonic"):
            object.__setattr__(self, name, getattr(self.once, name))

    @cached_property
    def once(self) -> AboveThreshold:
        """The mechanism of each run, from one positive to the next."""
        return AboveThreshold(self.each, self.threshold, sensitivity=self.sensitivity, monotonic=self.monotonic)

    @property
    def loss(self) -> losses.Repeated:
        """The loss of all runs, fixed in advance: `positives` times that of one."""
        return self.once.loss * self.positives

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the noise on the threshold of each run."""
        return self.once.threshold_scale

    @property
    def query_scale(self) -> Fraction:
        """The scale of the noise on each query."""
        return self.once.query_scale

    def start(self) -> RestartingRun:
        """Begin with the first run: the loss of all of them is spent."""
        return RestartingRun(self)

    def release(self, exact: Exact) -> Any:
        """Answer a whole vector of queries at once, up to the last positive that there may be."""
        self.once._admit(exact, vector=True)
        noisy: Any = added(exact, noise.discrete_laplace(self.once.query_scale, exact.size))
        lines = self.threshold + noise.discrete_laplace(self.threshold_scale, self.positives)
        above, given = np.zeros(len(noisy), np.bool_), 0
        for place, value in enumerate(noisy):
            above[place] = value >= lines[given]
            given += int(above[place])
            if given == self.positives:
                break
        return with_mark(above[: _halt(above, self.positives)], of=noisy)

    def error(self, confidence: Rational = "0.95", *, queries: int) -> int:
        """Return the smallest α such that `queries` answers are all right within α, by a union bound over runs.

        >>> restarting = Sparse.restarting(1000, epsilon=1, delta="1e-6")
        >>> restarting.error("0.95", queries=5000) < Sparse(1, positives=1000).error("0.95", queries=5000)
        True
        """
        count = tails.count(queries, "queries")
        return self.once.error(self._each_run(confidence, count), queries=count)

    def theorem(self, confidence: Rational = "0.95", *, queries: int) -> float:
        """Return the textbook's bound for one run, by a union bound over runs.

        >>> round(Sparse.restarting(10, epsilon=1, delta="1e-6").theorem("0.95", queries=1000), 1)
        1031.9
        """
        count = tails.count(queries, "queries")
        return self.once.theorem(self._each_run(confidence, count), queries=count)

    def _each_run(self, confidence: Rational, queries: int) -> Fraction:
        """Return the confidence of one run, with which all runs together have the confidence that is asked for."""
        return 1 - tails.alpha(confidence) / min(self.positives, queries)


def _halt(above: Any, positives: int) -> int:
    """Return how many answers there are up to and with the last positive."""
    hits = np.flatnonzero(above)
    return int(hits[positives - 1]) + 1 if len(hits) >= positives else len(above)


def _largest(epsilon: Fraction, delta: Fraction, count: int) -> Fraction:
    """Return the largest ε₀ of three digits, or ε/c, such that c runs of it are (ε, δ)-differentially private."""

    def private(each: Fraction) -> bool:
        return plan.epsilon(losses.SparseVector(each) * count, delta) <= epsilon

    low = high = epsilon / count  # which is always enough
    while private(high):
        low, high = high, high * 2
        if high > 2 * epsilon:
            break
    while high - low > low / 2000:
        middle = (low + high) / 2
        low, high = (middle, high) if private(middle) else (low, middle)
    step = Fraction(10) ** (math.floor(math.log10(low)) - 2)
    return max(epsilon / count, low // step * step)


def _short(x: float) -> Fraction:
    """Return a fraction near x with a small denominator: scales are cached, and read by people."""
    return Fraction(round(64 * x), 64)
