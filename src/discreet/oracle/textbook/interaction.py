"""Queries one at a time, on one sealed histogram, with a public hypothesis beside it.

A run answers a query from its hypothesis where that is close to the truth, as far as may be said, and else with
noise, and then learns. Its budget is a number of updates, so it must not be doubled: it refuses to be pickled or
copied, answers one thread at a time, and refuses to go on in a forked process. Whether it is over follows from the
answers that it gave.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from threading import Lock
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import BudgetExceeded, DiscreetError
from discreet.mechanisms import Exact
from discreet.mechanisms.exact import Integers
from discreet.noise.random_bits import generation
from discreet.oracle.textbook.multiplicative_weights import Floats, Weights
from discreet.oracle.textbook.queries import Queries, admit_histogram, as_weights


@dataclass(frozen=True)
class Answer:
    """One answer: a sum of weights in units of 1/grid rows, as a share of all, and whether it was paid for."""

    value: int
    share: float
    paid: bool


class Online(Protocol):
    """What a run needs to know of its mechanism."""

    @property
    def cells(self) -> int:
        """How many cells the domain has."""

    @property
    def rows(self) -> int:
        """How many rows the table is declared to have."""

    @property
    def grid(self) -> int:
        """The weight that counts a row in full."""

    @property
    def sensitivity(self) -> int:
        """How far one person moves the histogram, in l1."""


class QueryRun:
    """What the runs share: the histogram, the hypothesis, and that there is one of each."""

    __slots__ = ("__histogram", "_generation", "_lock", "_online", "_updates", "_weights")

    def __init__(self, online: Online, histogram: Exact):
        admit_histogram(histogram, cells=online.cells, sensitivity=online.sensitivity)
        self.__histogram = histogram
        self._online, self._lock, self._generation = online, Lock(), generation()
        self._weights, self._updates = Weights.uniform(online.cells), 0

    @property
    def hypothesis(self) -> Floats:
        """The public distribution over cells that answers what is free. Anyone may see it."""
        return self._weights.shares.copy()

    @property
    def updates(self) -> int:
        """How many answers were paid for."""
        return self._updates

    def ask(self, query: ArrayLike) -> Answer:
        """Return an answer to the query: a weight from 0 to grid for every cell."""
        weights = as_weights(query, self._online.grid, dimensions=1, cells=self._online.cells)
        self._refuse_elsewhere()  # before the lock, which a fork may have copied while it was held
        with self._lock:
            self._refuse_if_over()
            return self._answered(self.__histogram, weights, self._believed(weights))

    @abstractmethod
    def _answered(self, histogram: Exact, query: Integers, believed: int) -> Answer:
        """Answer one query whose value the hypothesis believes to be so much."""

    @abstractmethod
    def _refuse_if_over(self) -> None:
        """Refuse if the run has ended."""

    def _believed(self, query: Integers) -> int:
        """What the hypothesis says, as an integer on the grid: public, like all that it follows from."""
        return round(float(query @ self._weights.shares) * self._online.rows)

    def _answer(self, value: Any, *, paid: bool) -> Answer:
        return Answer(value, float(np.asarray(value)) / (self._online.rows * self._online.grid), paid)

    def _learn(self, query: Integers, step: float) -> None:
        self._weights = self._weights.moved(query / self._online.grid, step)

    def _refuse_elsewhere(self) -> None:
        if generation() != self._generation:
            raise DiscreetError("This run was started by another process. Start one here: mechanism.start(exact).")

    def __repr__(self) -> str:
        return f"<run over {self._online.cells:,} cells, {self._updates} updates made>"

    def __dir__(self) -> list[str]:
        return ["ask", "hypothesis", "updates"]  # what inspectors walk through

    def __single(self, *_: object) -> NoReturn:
        raise TypeError(
            "A run cannot be copied or pickled: it would make its updates twice. Write mechanism.start(exact)."
        )

    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __single


def answers(run: QueryRun, queries: Queries | ArrayLike) -> list[Answer]:
    """Return the answers of a run to a fixed row of queries, as many as it gives before it ends."""
    given: list[Answer] = []
    for query in queries.weights if isinstance(queries, Queries) else np.asarray(queries):
        try:
            given.append(run.ask(query))
        except BudgetExceeded:
            break
    return given
