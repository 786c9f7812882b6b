"""Draw one small database by the mechanism of Blum, Ligett and Roth (2008), exactly.

Candidates are all databases of m rows over the domain: the multisets, C(N + m − 1, m) of them. One is drawn by the
exponential mechanism with the score −max over the workload of the distance between its answers and the table's.

Claim. Neighbours add or remove one person, who changes the histogram by at most s in l1; n is declared, and does
not depend on the table. In units of 1/(n·m·grid) the score −max |m·(w·x) − n·(w·y)| is an integer of sensitivity
m·s·grid, so the selection is ε-differentially private. (The notes state (ε, δ); there is no δ.) The index is drawn
by `noise.softmax`, exactly. Accuracy, if the table has n rows: a sample of m rows has an error above a for some
query with probability 2|Q|·e^{−2ma²} at most, so some database has an error of √(ln(2|Q|)/(2m)), and the one drawn
has

    √(ln(2|Q|)/(2m)) + 2s·(ln C(N + m − 1, m) + ln(1/β))/(n·ε)

at most, except with probability β. It scores every candidate. If there are too many, it is refused before any
memory is allocated. Theory: docs/theory/blr.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.mechanisms import Exact, Exponential, Sensitivity, tails
from discreet.mechanisms.exact import Integers, with_mark
from discreet.oracle.textbook.queries import Queries, admit_histogram, refuse_too_many, sums
from discreet.oracle.textbook.theorem import Promise
from discreet.privacy import losses
from discreet.rational import Exactly, Rational, positive, whole

MOST_DATABASES = 2**20
"""The largest number of candidates."""

_MOST_COUNTS = 2**26  # the largest number of counts in a table of all candidates
_BLOCK = 2**21  # the number of answers computed at a time


@dataclass(frozen=True, kw_only=True)
class BLR:
    """A mechanism that releases a database of `size` rows with nearly the table's answers to the workload.

    >>> workload = Queries.marginals([2, 2], ways=1)
    >>> mechanism = BLR(epsilon=1, queries=workload, rows=10_000, size=8)
    >>> mechanism.databases
    165
    >>> int(mechanism.release(Exact([5000, 0, 0, 5000], sensitivity=1)).sum())
    8
    """

    epsilon: Exactly = Exactly(above=0, floats="decimal")
    queries: Queries
    rows: int
    size: int
    sensitivity: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "size", "sensitivity"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        refuse_too_many(self.rows, self.queries.grid, self.size)
        if self.size * self.queries.grid > 2**53:
            raise ParameterError(
                f"The grid is too fine for databases of {self.size} rows.",
                found=self.queries.grid,
                fix=Fix("grid", 2**53 // self.size, call="Queries"),
            )
        if self.databases > MOST_DATABASES or self.databases * self.queries.cells > _MOST_COUNTS:
            raise ParameterError(
                f"There are {_written(self.databases)} databases of {self.size} rows over {self.queries.cells} "
                f"cells, and BLR scores at most {MOST_DATABASES:,}.",
                fix=[
                    *(Fix("size", size) for size in _largest_size(self.queries.cells)),
                    "Take a larger alpha or fewer cells.",
                    "Or use vault.synthesize, which needs no list of all databases.",
                ],
            )
        _ = self.choosing

    @classmethod
    def for_alpha(
        cls, alpha: Rational, *, epsilon: Rational, queries: Queries, rows: int, sensitivity: int = 1
    ) -> BLR:
        """Return the mechanism with candidates large enough for an error of α, without the error of selection.

        The size is the least m with 2|Q|·e^{−2mα²} < 1. The notes take ln|Q|/α², which is more, and 0 for a single
        query.

        Args:
            alpha: The error, as a share of the rows.
            epsilon: The ε of the selection.
            queries: The workload.
            rows: The declared number of rows.
            sensitivity: The L1 sensitivity of the histogram to one person, 1 by default.

        >>> BLR.for_alpha("0.3", epsilon=1, queries=Queries.marginals([2, 2], ways=1), rows=10_000).size
        12
        """
        share = positive(alpha, "alpha", floats="exact")
        size = math.floor(tails.log(Fraction(2 * queries.count)) / (2 * share * share)) + 1
        return cls(epsilon=epsilon, queries=queries, rows=rows, size=size, sensitivity=sensitivity)

    @cached_property
    def databases(self) -> int:
        """The number of candidates, C(N + m − 1, m)."""
        return math.comb(self.queries.cells + self.size - 1, self.size)

    @cached_property
    def choosing(self) -> Exponential:
        """The exponential mechanism that selects one of them."""
        return Exponential(self.epsilon, self.size * self.sensitivity * self.queries.grid)

    @property
    def loss(self) -> losses.Loss:
        """The loss of the exponential mechanism."""
        return self.choosing.loss

    @property
    def alpha(self) -> float:
        """The largest error of the best candidate, as a share: √(ln(2|Q|)/(2m))."""
        return math.sqrt(math.log(2 * self.queries.count) / (2 * self.size))

    @cached_property
    def promise(self) -> Promise:
        """The guarantee of the theorem at the confidence 0.95, as a share of the rows."""
        share = self.error() / (self.rows * self.queries.grid)
        return Promise(error=share, failure=Fraction(1, 20), queries=self.queries.count)

    def error(self, confidence: Rational = "0.95") -> int:
        """Return a bound on the error of every query, scaled up to the table, in units of 1/grid rows.

        >>> BLR(epsilon=1, queries=Queries.marginals([2, 2], ways=1), rows=10_000, size=8).error("0.95")
        3622
        """
        missed = Fraction(self.choosing.error(confidence, candidates=self.databases), self.size)
        return math.ceil(self.alpha * self.rows * self.queries.grid) + math.ceil(missed)

    def release(self, histogram: Exact) -> Integers:
        """Return the histogram of one database of `size` rows."""
        admit_histogram(histogram, cells=self.queries.cells, sensitivity=self.sensitivity)
        every = databases(self.queries.cells, self.size)
        index = self.choosing.release(self._scores(histogram, every))
        return with_mark(every[int(index)].astype(np.int64), of=index)

    def answers(self, database: Integers) -> NDArray[np.float64]:
        """Return the answers of a released database: one share for each query.

        >>> BLR(epsilon=1, queries=Queries([[1, 0]]), rows=100, size=4).answers(np.array([1, 3]))
        array([0.25])
        """
        shares: NDArray[np.float64] = self.queries.floats @ database / self.size
        return shares

    def _scores(self, histogram: Exact, every: NDArray[np.integer]) -> Exact:
        """Return −max |m·(w·x) − n·(w·y)| for every candidate y, sealed, a block at a time."""
        true = sums(histogram, self.queries, times=self.size)
        worst = np.empty(len(every), np.int64)
        weights = self.queries.weights.T.astype(np.float64)  # products are below 2⁵³, so floats are exact
        block = max(1, _BLOCK // self.queries.count)
        for start in range(0, len(every), block):
            answers = (every[start : start + block] @ weights).astype(np.int64)
            worst[start : start + block] = np.abs(true - self.rows * answers).max(axis=1)
        return Exact(-worst, Sensitivity(each=self.choosing.sensitivity))


def databases(cells: int, size: int) -> NDArray[np.integer]:
    """Return every multiset of `size` rows over so many cells as a histogram, without a loop over them.

    >>> databases(cells=3, size=2).tolist()
    [[0, 0, 2], [0, 1, 1], [0, 2, 0], [1, 0, 1], [1, 1, 0], [2, 0, 0]]
    """
    kind = np.min_scalar_type(size)
    every, left = np.empty((1, 0), kind), np.array([size])
    for _ in range(cells - 1):  # each histogram so far is extended by 0, 1, … of the rows left
        more = left + 1
        parent = np.repeat(np.arange(len(left)), more)
        taken = np.arange(len(parent)) - np.repeat(np.cumsum(more) - more, more)
        every, left = np.column_stack([every[parent], taken.astype(kind)]), left[parent] - taken
    return np.column_stack([every, left.astype(kind)])


def _largest_size(cells: int) -> list[int]:
    """Return the largest size that is not refused, if there is one."""
    most = min(MOST_DATABASES, _MOST_COUNTS // cells)
    size = 0
    while cells > 1 and math.comb(cells + size, size + 1) <= most:
        size += 1
    return [size] if size else []


def _written(count: int) -> str:
    return f"{count:,}" if count < 10**15 else f"about 10^{len(str(count)) - 1}"
