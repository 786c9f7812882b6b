"""MWEM: multiplicative weights and the exponential mechanism (Hardt, Ligett and McSherry 2012).

A workload is known in advance. For T rounds: choose by the exponential mechanism a query that the hypothesis gets
wrong, measure it with noise, and move the hypothesis by e^{q·(measured − believed)/(2n)}. The hypotheses before
each round, averaged, answer the whole workload.

Claim. Neighbours add or remove one person, who moves the histogram by at most s in l1; n is declared, and not read
off the table. A round is one `Exponential`, whose scores |q·x − believed| move by s·grid at most, and a `Laplace`
or a `Gaussian`; all are fixed in advance, so the loss is T times both: ε-differential privacy if each takes ε/2T,
or ρ-zCDP if each takes ρ/2T, where the exponential mechanism has ε₁ = 2·√(ρ/T). What is made of measurements,
replays included, is post-processing. Accuracy, if the table has n rows: but for a chance of 2T/|Q|, every query is
within 2n·√(ln N/T) + 10·T·s·ln|Q|/ε. `error` is the same argument with the laws of the noise themselves.

Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms import Exact, Exponential, Gaussian, Laplace, tails
from discreet.mechanisms.exact import Integers, with_mark
from discreet.oracle.textbook.multiplicative_weights import Floats, Weights, log_of
from discreet.oracle.textbook.queries import (
    Queries,
    admit_histogram,
    distances,
    refuse_too_many,
    total,
)
from discreet.oracle.textbook.theorem import Promise
from discreet.privacy import losses
from discreet.rational import Rational, positive, whole


@dataclass(frozen=True, eq=False)
class Learned:
    """What came of a run: a synthetic histogram, its answers to the workload, and what was measured.

    `histogram` sums to the declared number of rows. `measured` has the index of each chosen query and its noisy
    value, in units of 1/grid rows.
    """

    histogram: Floats
    answers: Floats
    measured: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class MWEM:
    """A synthetic histogram for a workload of linear queries, in `rounds` rounds.

    `replay` is how often all measurements so far are gone through again after each round, a well-known improvement
    that no theorem covers; the last hypothesis is returned then, and not the average.

    >>> workload = Queries.marginals([2, 2, 2], ways=2)
    >>> mechanism = MWEM.for_epsilon(1, queries=workload, rows=10_000, rounds=4)
    >>> learned = mechanism.release(Exact([4000, 0, 0, 0, 0, 0, 0, 6000], sensitivity=1))
    >>> round(float(learned.histogram.sum())), len(learned.answers), len(learned.measured)
    (10000, 12, 4)
    """

    queries: Queries
    rows: int
    rounds: int
    choosing: Exponential
    measuring: Laplace | Gaussian
    replay: int = 0

    def __post_init__(self) -> None:
        for name, least in (("rows", 1), ("rounds", 1), ("replay", 0)):
            object.__setattr__(self, name, whole(getattr(self, name), name, least=least))
        if self.queries.cells < 2:
            raise ParameterError("A domain has two cells or more: there is nothing to learn about one.")
        if self.choosing.sensitivity % self.queries.grid or self.choosing.monotonic:
            raise ParameterError(
                f"The choice is among distances that one person moves by a multiple of grid={self.queries.grid}, "
                "either way: write MWEM.for_epsilon(…) or MWEM.for_rho(…)."
            )
        refuse_too_many(self.rows, self.queries.grid)

    @classmethod
    def for_epsilon(
        cls, epsilon: Rational, *, queries: Queries, rows: int, rounds: int, sensitivity: int = 1, replay: int = 0
    ) -> MWEM:
        """Return the ε-differentially private one, with Laplace noise: ε/(2T) for every choice and measurement.

        >>> mechanism = MWEM.for_epsilon(1, queries=Queries([[1, 0]]), rows=100, rounds=5)
        >>> from discreet.privacy import plan
        >>> plan.epsilon(mechanism.loss, 0)
        1.0
        """
        share = positive(epsilon, "epsilon") / (2 * whole(rounds, "rounds"))
        moves = whole(sensitivity, "sensitivity") * queries.grid
        return cls(
            queries=queries,
            rows=rows,
            rounds=rounds,
            choosing=Exponential(share, moves),
            measuring=Laplace.for_epsilon(share, moves),
            replay=replay,
        )

    @classmethod
    def for_rho(
        cls, rho: Rational, *, queries: Queries, rows: int, rounds: int, sensitivity: int = 1, replay: int = 0
    ) -> MWEM:
        """Return the ρ-zCDP one, with Gaussian noise: ρ/(2T) for every choice and measurement.

        >>> mechanism = MWEM.for_rho("0.5", queries=Queries([[1, 0]]), rows=100, rounds=5)
        >>> from discreet import privacy
        >>> privacy.Session(privacy.ZeroConcentrated("0.5")).can_afford(mechanism.measuring.loss * 10)
        True
        """
        share = positive(rho, "rho") / (2 * whole(rounds, "rounds"))
        moves = whole(sensitivity, "sensitivity") * queries.grid
        return cls(
            queries=queries,
            rows=rows,
            rounds=rounds,
            choosing=Exponential(_root_below(8 * share), moves),
            measuring=Gaussian.for_rho(share, moves),
            replay=replay,
        )

    @property
    def loss(self) -> tuple[losses.Repeated, losses.Repeated]:
        """All choices and all measurements, fixed in advance."""
        return self.choosing.loss * self.rounds, self.measuring.loss * self.rounds

    @cached_property
    def promise(self) -> Promise:
        """What the theorem says at the confidence 0.95, as a share of the rows; nothing is said about replays."""
        share = self.error() / (self.rows * self.queries.grid) if not self.replay else math.inf
        return Promise(error=share, failure=Fraction(1, 20), queries=self.queries.count)

    def error(self, confidence: Rational = "0.95") -> int:
        """Return a bound on the error of every query, in units of 1/grid rows.

        2n·√(ln N/T) for the learning, and what choice and noise may miss, each with half of the doubt.

        >>> MWEM.for_epsilon(1, queries=Queries.marginals([2] * 4, 2), rows=10**6, rounds=50).error("0.95")
        473872
        """
        alpha = tails.alpha(confidence)
        learning = 2 * self.rows * self.queries.grid * math.sqrt(log_of(self.queries.cells) / self.rounds)
        missed = self.choosing.error(1 - alpha / (2 * self.rounds), candidates=self.queries.count)
        return math.ceil(learning) + missed + self.measuring.error(1 - alpha / 2, dimension=self.rounds) + 1

    def theorem(self, epsilon: Rational) -> float:
        """Return the paper's bound 2n·√(ln N/T) + 10·T·ln|Q|/ε, in rows, but for a chance of 2T/|Q|."""
        learning = 2 * self.rows * math.sqrt(log_of(self.queries.cells) / self.rounds)
        moves = self.choosing.sensitivity / self.queries.grid
        return learning + 10 * self.rounds * moves * math.log(self.queries.count) / float(
            positive(epsilon, "epsilon")
        )

    def release(self, histogram: Exact) -> Learned:
        """Choose, measure and learn, for so many rounds."""
        return learn(self, histogram)


def learn(mechanism: MWEM, histogram: Exact) -> Learned:
    """Return what a run of MWEM learns: the choices and the measurements are all that touches the histogram."""
    queries, moves = mechanism.queries, mechanism.choosing.sensitivity
    admit_histogram(histogram, cells=queries.cells, sensitivity=moves // queries.grid)
    weights, average = Weights.uniform(queries.cells), np.zeros(queries.cells)
    noisy: int | Integers = 0
    measured: list[tuple[int, int]] = []
    for _ in range(mechanism.rounds):
        average += weights.shares / mechanism.rounds
        believed = np.rint(queries.weights @ weights.shares * mechanism.rows).astype(np.int64)
        chosen = int(mechanism.choosing.release(distances(histogram, queries, believed, moves=moves)))
        noisy = mechanism.measuring.release(total(histogram, queries.weights[chosen], moves=moves))
        measured.append((chosen, int(noisy)))
        for query, value in (measured[-1], *(measured * mechanism.replay)):
            weights = _towards(weights, queries.floats[query], value / queries.grid, mechanism.rows)
    made = (weights.shares if mechanism.replay else average) * mechanism.rows
    return Learned(with_mark(made, of=noisy), with_mark(queries.floats @ made, of=noisy), tuple(measured))


def _towards(weights: Weights, query: Floats, value: float, rows: int) -> Weights:
    """The step of the paper: half of the error, as a share, times the query."""
    error = value / rows - float(query @ weights.shares)
    return weights.moved(query, error / 2)


def _root_below(x: Fraction) -> Fraction:
    """√x, rounded down to nine digits."""
    scale = 10**9 * max(1, 10 ** -math.floor(math.log10(x)))
    return Fraction(math.isqrt(math.floor(x * scale * scale)), scale)
