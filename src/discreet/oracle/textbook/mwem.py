"""Learn a synthetic histogram by MWEM (Hardt, Ligett and McSherry 2012).

MWEM is multiplicative weights with the exponential mechanism. A workload is known in advance. For T rounds: select
by the exponential mechanism a query with a large error of the hypothesis, measure it with noise, and multiply the
hypothesis by e^{q·(measured − believed)/(2n)}. The average of the hypotheses before each round answers the whole
workload.

Claim. Neighbours add or remove one person, who changes the histogram by at most s in l1; n is declared, and does
not depend on the table. A round is one `Exponential`, whose scores |q·x − believed| have the sensitivity s·grid,
and a `Laplace` or a `Gaussian`; all are fixed in advance, so the loss is T times both: ε-differential privacy if
each takes ε/2T, or ρ-zCDP if each takes ρ/2T, where the exponential mechanism has ε₁ = 2·√(ρ/T). Everything
computed from the measurements, replays included, is post-processing. Accuracy, if the table has n rows: except
with probability 2T/|Q|, every query is within 2n·√(ln N/T) + 10·T·s·ln|Q|/ε. `error` is the same argument with the
laws of the noise themselves.

Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.errors import Fix, ParameterError
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
    """The result of a run: a synthetic histogram, its answers to the workload, and the measurements.

    `histogram` sums to the declared number of rows. `measured` has the index of each selected query and its noisy
    value, in units of 1/grid rows.
    """

    histogram: Floats
    answers: Floats
    measured: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class MWEM:
    """A synthetic histogram for a workload of linear queries, in `rounds` rounds.

    `replay` is the number of times that all measurements so far are used again after each round: a well-known
    improvement that no theorem covers. With it the last hypothesis is returned, not the average.

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
            raise ParameterError(
                "A domain must have at least two cells.",
                found=self.queries.cells,
                fix="Give queries with a weight for each of two cells or more.",
            )
        if self.choosing.sensitivity % self.queries.grid or self.choosing.monotonic:
            raise ParameterError(
                f"The sensitivity of the selection must be a multiple of the grid, {self.queries.grid}, and not "
                "monotonic.",
                found=self.choosing.sensitivity,
                fix=[Fix("epsilon", 1, call="MWEM.for_epsilon"), Fix("rho", "0.5", call="MWEM.for_rho")],
            )
        refuse_too_many(self.rows, self.queries.grid)

    @classmethod
    def for_epsilon(
        cls, epsilon: Rational, *, queries: Queries, rows: int, rounds: int, sensitivity: int = 1, replay: int = 0
    ) -> MWEM:
        """Return the ε-differentially private mechanism, with Laplace noise.

        Args:
            epsilon: The ε of the whole run; every selection and every measurement gets ε/(2T).
            queries: The workload.
            rows: The declared number of rows.
            rounds: The number of rounds, T.
            sensitivity: The L1 sensitivity of the histogram to one person, 1 by default.
            replay: The number of replays after each round, 0 by default.

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
        """Return the ρ-zCDP mechanism, with Gaussian noise.

        Args:
            rho: The ρ of the whole run; every selection and every measurement gets ρ/(2T).
            queries: The workload.
            rows: The declared number of rows.
            rounds: The number of rounds, T.
            sensitivity: The L1 sensitivity of the histogram to one person, 1 by default.
            replay: The number of replays after each round, 0 by default.

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
        """The loss of all selections and all measurements, fixed in advance."""
        return self.choosing.loss * self.rounds, self.measuring.loss * self.rounds

    @cached_property
    def promise(self) -> Promise:
        """The guarantee at the confidence 0.95, as a share of the rows. With replays there is none."""
        share = self.error() / (self.rows * self.queries.grid) if not self.replay else math.inf
        return Promise(error=share, failure=Fraction(1, 20), queries=self.queries.count)

    def error(self, confidence: Rational = "0.95") -> int:
        """Return a bound on the error of every query, in units of 1/grid rows.

        It is 2n·√(ln N/T) for the learning, plus the errors of selection and noise, each with half of alpha.

        >>> MWEM.for_epsilon(1, queries=Queries.marginals([2] * 4, 2), rows=10**6, rounds=50).error("0.95")
        473872
        """
        alpha = tails.alpha(confidence)
        learning = 2 * self.rows * self.queries.grid * math.sqrt(log_of(self.queries.cells) / self.rounds)
        missed = self.choosing.error(1 - alpha / (2 * self.rounds), candidates=self.queries.count)
        return math.ceil(learning) + missed + self.measuring.error(1 - alpha / 2, dimension=self.rounds) + 1

    def theorem(self, epsilon: Rational) -> float:
        """Return the paper's bound 2n·√(ln N/T) + 10·T·ln|Q|/ε, in rows, which fails with probability 2T/|Q|."""
        learning = 2 * self.rows * math.sqrt(log_of(self.queries.cells) / self.rounds)
        sensitivity = self.choosing.sensitivity / self.queries.grid
        return learning + 10 * self.rounds * sensitivity * math.log(self.queries.count) / float(
            positive(epsilon, "epsilon")
        )

    def release(self, histogram: Exact) -> Learned:
        """Select, measure and learn, for `rounds` rounds."""
        return learn(self, histogram)


def learn(mechanism: MWEM, histogram: Exact) -> Learned:
    """Run MWEM on a histogram: only the selections and the measurements read it."""
    queries, sensitivity = mechanism.queries, mechanism.choosing.sensitivity
    admit_histogram(histogram, cells=queries.cells, sensitivity=sensitivity // queries.grid)
    weights, average = Weights.uniform(queries.cells), np.zeros(queries.cells)
    noisy: int | Integers = 0
    measured: list[tuple[int, int]] = []
    for _ in range(mechanism.rounds):
        average += weights.shares / mechanism.rounds
        believed = np.rint(queries.weights @ weights.shares * mechanism.rows).astype(np.int64)
        chosen = int(mechanism.choosing.release(distances(histogram, queries, believed, sensitivity=sensitivity)))
        noisy = mechanism.measuring.release(total(histogram, queries.weights[chosen], sensitivity=sensitivity))
        measured.append((chosen, int(noisy)))
        for query, value in (measured[-1], *(measured * mechanism.replay)):
            weights = _towards(weights, queries.floats[query], value / queries.grid, mechanism.rows)
    made = (weights.shares if mechanism.replay else average) * mechanism.rows
    return Learned(with_mark(made, of=noisy), with_mark(queries.floats @ made, of=noisy), tuple(measured))


def _towards(weights: Weights, query: Floats, value: float, rows: int) -> Weights:
    """Take the step of the paper: half of the error, as a share, times the query."""
    error = value / rows - float(query @ weights.shares)
    return weights.moved(query, error / 2)


def _root_below(x: Fraction) -> Fraction:
    """Return √x, rounded down to nine digits."""
    scale = 10**9 * max(1, 10 ** -math.floor(math.log10(x)))
    return Fraction(math.isqrt(math.floor(x * scale * scale)), scale)
