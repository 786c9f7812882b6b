"""Measure how far rows are from the answers they were drawn from, beside what is known about these answers.

Rows are as good as answers if the distance between them is small beside the error that the answers have anyway:
that of the noise, as shrinkage expects it, or that of a sample of as many rows, whichever is larger. If e is the
error of the answers and d the distance of the rows from them, the rows are off by √(e² + d²) where the two are
unrelated and by e + d at most. Rows for which √(e² + d²) is above 1.5·e are worse than the answers, and are
reported as such.

Nothing here reads data: it is post-processing of noisy measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.synth.marginals.domain import Columns
from discreet.synth.marginals.model import Model
from discreet.synth.rows.targets import tables_of
from discreet.synth.rows.tree import Codes

MOST_SETS = 300
MOST_CELLS = 2**17
"""The most sets that are compared, and the most cells of one of them."""

WORSE = 1.5
"""Rows are worse than the answers if they are expected to be off by so many times as much."""

_ROOT = math.sqrt(2 / math.pi)  # the mean of |x| for a normal x of deviation 1


@dataclass(frozen=True)
class Fit:
    """How well rows follow answers: mean l1 distances as shares of the rows, from 0 to 2.

    Args:
        sets: The number of sets of columns that were compared.
        ways: The number of columns in each.
        distance: That of the rows from the answers.
        expected: That of the answers from the truth, as far as shrinkage expects it.
        sampled: That of a sample of as many rows from its own law.

    >>> fit = Fit(455, 3, distance=0.03, expected=0.05, sampled=0.04)
    >>> fit.worse
    False
    >>> print(fit)
    Rows are 0.0300 from the answers (mean distance of 455 sets of 3 columns; noise moves answers by about 0.0500).
    """

    sets: int
    ways: int
    distance: float
    expected: float
    sampled: float

    @property
    def worse(self) -> bool:
        """Whether rows are off by 1.5 times as much as answers, or as a sample, whichever is larger."""
        known = max(self.expected, self.sampled)
        return math.hypot(known, self.distance) > WORSE * known

    def __str__(self) -> str:
        what = f"{self.sets} set{'s' * (self.sets > 1)} of {self.ways} column{'s' * (self.ways > 1)}"
        line = (
            f"Rows are {self.distance:.4f} from the answers (mean distance of {what}; noise moves answers by "
            f"about {self.expected:.4f})."
        )
        return line + " Rows are worse than the answers here: take answers instead." * self.worse


def fit_of(rows: Codes, model: Model) -> Fit:
    """Return how well rows follow the answers of a model."""
    domain = model.domain
    ways = min(3, len(domain))
    sets: list[Columns] = []
    while ways and not sets:
        sets = [columns for columns in domain.spread(ways, MOST_SETS) if domain.cells(columns) <= MOST_CELLS]
        ways -= not sets
    if not sets:
        return Fit(0, 0, 0.0, 0.0, 0.0)
    alone = [_off(model, column) for column in range(len(domain))]
    distance = expected = sampled = 0.0
    for columns, table in tables_of(model, sets).items():
        share = table / max(float(table.sum()), 1e-12)
        distance += float(np.abs(domain.count(rows, columns) / len(rows) - share).sum())
        off = np.minimum(_ROOT * model.deviation(columns), table)  # a cell is off by about itself at most
        # What was not measured together has no deviation, but is off by as much as its columns are.
        expected += max(float(off.sum()) / max(model.total, 1.0), *(alone[column] for column in columns))
        sampled += _ROOT * float(np.sqrt(share * np.maximum(1 - share, 0) / len(rows)).sum())
    many = len(sets)
    return Fit(many, ways, distance / many, expected / many, min(sampled / many, 2.0))


def _off(model: Model, column: int) -> float:
    """Return how far noise moves a single column, as a share of the rows."""
    off = np.minimum(_ROOT * model.deviation((column,)), model.ones[column])
    return float(off.sum()) / max(model.total, 1.0)
