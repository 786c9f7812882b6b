"""Answer queries by the sparse vector technique: only those above a threshold cost budget.

Claim. Draw ρ, discrete Laplace of scale Δ/ε₁, once. Answer query i with "above" if fᵢ + νᵢ ≥ T + ρ, where νᵢ is
fresh discrete Laplace of scale 2cΔ/ε₂ (cΔ/ε₂ if all queries of the run go up when a person joins, or all go
down), and halt at the c-th "above". The whole run, however many queries, chosen adaptively, is
(ε₁ + ε₂)-differentially private where one person changes every query by at most Δ. The split ε₁ : ε₂ = 1 :
(2c)^{2/3} (1 : c^{2/3} for monotonic queries) minimises the noise of the comparison (Lyu–Su–Li 2017).
`NumericSparse` adds a number to each "above", with fresh noise of scale cΔ/ε₃. Theory:
docs/theory/sparse-vector.md.

**A run has a state**: the noise of its threshold, and the number of positives left. Both are part of the proof, so
neither may be doubled. A run refuses to be pickled or copied, answers one thread at a time, and refuses to go on
in a forked process: parent and child would compare with the same secret threshold, and give all positives twice.
A monotonic run goes one way: its first query sets the direction of all, because a mixture needs the noise of a
general run. A run belongs to one table: every exact value it is asked about must come from that table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from threading import Lock
from typing import Any, ClassVar, NoReturn

import numpy as np

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, Fix, ParameterError, SensitivityExceeded
from discreet.mechanisms import tails
from discreet.mechanisms.exact import LIMIT, Exact, added, admit, unboxed, with_mark
from discreet.mechanisms.sensitivity import Direction, one_way
from discreet.noise.random_bits import generation
from discreet.privacy import losses
from discreet.rational import Exactly, Rational, shown, whole


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

    epsilon: Exactly = Exactly(above=0, floats="warn")
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


class Run:
    """Queries one at a time, each chosen after the answers before it.

    >>> from discreet.mechanisms import AboveThreshold
    >>> run = AboveThreshold(epsilon=1, threshold=1000).start()
    >>> run
    <run with 1 positive left>
    >>> run.ask(Exact(50, sensitivity=1))
    False
    """

    __slots__ = ("__line", "_direction", "_generation", "_left", "_lock", "_mechanism", "_scale")

    def __init__(self, mechanism: Sparse):
        self._left = mechanism.positives
        self._mechanism, self._lock, self._generation = mechanism, Lock(), generation()
        self._scale = mechanism.query_scale
        self._direction: Direction | None = None
        self.__line = mechanism.threshold + noise.discrete_laplace(mechanism.threshold_scale)

    @property
    def left(self) -> int:
        """The number of positive answers that are left."""
        return self._left

    def ask(self, exact: Exact) -> Any:
        """Return whether the noisy query exceeds the noisy threshold."""
        self._mechanism._admit(exact, vector=False)
        self._refuse_elsewhere()  # before the lock, which a fork may have copied while it was held
        with self._lock:
            self._refuse_if_over()
            self._refuse_other_direction(exact.sensitivity.monotonic)
            above: Any = added(exact, noise.discrete_laplace(self._scale)) >= self.__line
            self._left -= bool(above)
            return above

    def _refuse_elsewhere(self) -> None:
        if generation() != self._generation:  # process ids come again, generations do not
            raise DiscreetError(
                "This run was started by another process.", fix="Start a run in this process: mechanism.start()."
            )

    def _refuse_if_over(self) -> None:
        if not self._left:
            raise BudgetExceeded(
                f"This run has given all of its {self._mechanism.positives} positive answers.",
                fix="Start another run, at its own cost: mechanism.start().",
            )

    def _refuse_other_direction(self, direction: Direction | None) -> None:
        if not self._mechanism.monotonic:
            return
        self._direction = self._direction or direction
        if direction != self._direction:
            raise SensitivityExceeded(
                f'The queries of this monotonic run go "{self._direction}" when a person joins; '
                f'this one goes "{direction}".',
                fix=[Fix("monotonic", False), "Or ask this query in a run of its own."],
            )

    def __repr__(self) -> str:
        return f"<run with {self.left} positive{'' if self.left == 1 else 's'} left>"

    def __dir__(self) -> list[str]:
        return ["ask", "left"]  # what inspectors walk through

    def __single(self, *_: object) -> NoReturn:
        raise TypeError(
            "A run cannot be copied or pickled: it would give its positives twice. Try: mechanism.start()."
        )

    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __single


class NumericRun(Run):
    """Queries one at a time; those above the threshold are answered with a number.

    >>> from discreet.mechanisms import NumericSparse
    >>> run = NumericSparse(epsilon=1, threshold=1000).start()
    >>> run.ask(Exact(50, sensitivity=1)) is None
    True
    """

    __slots__ = ()

    _mechanism: NumericSparse

    def ask(self, exact: Exact) -> Any:
        """Return the value with fresh noise if it exceeds the threshold, else None."""
        above = super().ask(exact)
        if not above:
            return None
        return with_mark(added(exact, noise.discrete_laplace(self._mechanism.number_scale)), of=above)


def _halt(above: Any, positives: int) -> int:
    """Return how many answers there are up to and with the last positive."""
    hits = np.flatnonzero(above)
    return int(hits[positives - 1]) + 1 if len(hits) >= positives else len(above)


def _short(x: float) -> Fraction:
    """Return a fraction near x with a small denominator: scales are cached, and read by people."""
    return Fraction(round(64 * x), 64)
