"""What a theorem about online queries is given: a domain, a declared size, a number of queries, and a doubt."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.mechanisms import tails
from discreet.oracle.textbook.multiplicative_weights import log_of
from discreet.oracle.textbook.queries import refuse_too_many
from discreet.rational import Exactly, whole


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A domain of `cells`, a table declared to have `rows`, and `queries` answers that fail with chance `failure`.

    `rows` is public: declared, or released before. One person moves the histogram by `sensitivity` at most, in l1;
    a weight of `grid` counts a row in full.

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
            raise ParameterError("failure must be below 1: at 1 nothing is claimed.")

    @property
    def beta(self) -> Fraction:
        """The chance of failure, β."""
        return self.failure

    @property
    def log_cells(self) -> float:
        """ln N."""
        return log_of(self.cells)

    @property
    def moves(self) -> int:
        """How far one person moves the sum of a query, in units of 1/grid rows."""
        return self.sensitivity * self.grid
