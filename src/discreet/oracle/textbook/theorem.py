"""Define the parameters of a theorem about online queries (`Setting`), and what it promises (`Promise`).

Every share of rows lies between 0 and 1, so an error of 1 or more promises nothing. With the constants of the
textbook this is frequent on tables of common size; the text of the promise then says so. The mechanism is as
private as declared in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.mechanisms import tails
from discreet.oracle.textbook.multiplicative_weights import log_of
from discreet.oracle.textbook.queries import refuse_too_many
from discreet.rational import Exactly, whole


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The parameters of a theorem about online queries.

    Args:
        cells: The number of cells of the domain, at least 2.
        rows: The number of rows. It is public: declared, or released before.
        queries: The number of queries.
        failure: The probability that the theorem fails, β, below 1.
        grid: The weight that counts a row in full; 1 by default.
        sensitivity: The l1 sensitivity of the histogram; 1 by default.

    >>> round(Setting(cells=64, rows=1000, queries=10, failure="0.05").log_cells, 3)
    4.159
    """

    cells: int
    rows: int
    queries: int
    failure: Exactly = Exactly(above=0)
    grid: int = 1
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", whole(self.cells, "cells", least=2))
        object.__setattr__(self, "queries", tails.count(self.queries, "queries"))
        for name in ("rows", "grid", "sensitivity"):
            object.__setattr__(self, name, whole(getattr(self, name), name))
        refuse_too_many(self.rows, self.grid)
        if self.failure >= 1:
            raise ParameterError("failure must be below 1.", found=self.failure, fix=Fix("failure", "0.05"))

    @property
    def beta(self) -> Fraction:
        """The probability of failure, β."""
        return self.failure

    @property
    def log_cells(self) -> float:
        """ln N."""
        return log_of(self.cells)

    @property
    def moves(self) -> int:
        """The sensitivity of the sum of a query, in units of 1/grid rows."""
        return self.sensitivity * self.grid


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Every answer is within `error` of the truth, as a share of the rows, except with probability `failure`.

    >>> print(Promise(error=0.13, failure=Fraction(1, 20), queries=1000))
    all of 1,000 answers within 0.13 of the truth, as a share of the rows, except with probability 0.05
    >>> print(Promise(error=2.7, failure=Fraction(1, 20), queries=1000))
    nothing: an error of 2.7, where every share lies between 0 and 1. It is private, but useful answers need more
    rows, a larger epsilon or a smaller domain. For such tables use vault.oracle or vault.synthesize.
    """

    error: float
    failure: Fraction
    queries: int

    @property
    def vacuous(self) -> bool:
        """Whether nothing is promised."""
        return self.error >= 1

    def __str__(self) -> str:
        if self.vacuous:
            return (
                f"nothing: an error of {self.error:.2g}, where every share lies between 0 and 1. It is private, "
                "but useful answers need more rows, a larger epsilon or a smaller domain. For such tables use "
                "vault.oracle or vault.synthesize."
            )
        return (
            f"all of {self.queries:,} answers within {self.error:.2g} of the truth, as a share of the rows, "
            f"except with probability {float(self.failure):g}"
        )
