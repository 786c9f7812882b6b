"""Predict any marginal from one-way and two-way marginals, by maximum entropy.

The marginal over three columns or more is the table of largest entropy among those with the model's two-way
marginals, found by raking from independence: it adds no relation that was not measured. Where three columns were
measured together, that table is the base towards which their measurement is shrunk, and the result is a margin of
larger marginals. Predictions for overlapping sets agree on one-way and two-way marginals, and not further: the
model is not a single distribution over all columns, which cannot be computed for many measured pairs. The
synthetic rows are one (discreet.synth.sample).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.empirical_bayes import shrink
from discreet.synth.marginals.ipf import product, rake
from discreet.synth.marginals.measurements import Evidence

MOST_CELLS = 2**22
"""The most cells of a marginal."""

_FLOOR = 1e-8


@dataclass(frozen=True, eq=False)
class Model:
    """The predicted marginals of a table, made by `discreet.synth.marginals.estimate`.

    `variances` are those of the posterior, for measured pairs. `ties` are the known distances of pairs from
    independence.
    """

    evidence: Evidence
    total: float
    ones: tuple[Floats, ...]
    pairs: Mapping[Columns, Floats]
    variances: Mapping[Columns, Floats]
    ties: Mapping[Columns, float]
    impossible: Mapping[Columns, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """The columns and their sizes."""
        return self.evidence.domain

    @cached_property
    def triples(self) -> dict[Columns, Floats]:
        """The estimates of the three-way marginals that were measured."""
        measured = sorted(columns for columns in self.evidence.precisions() if len(columns) == 3)
        return {columns: self._shrunk(columns) for columns in measured}

    def marginal(self, columns: Sequence[int]) -> Floats:
        """Return the estimated counts over these columns, in ascending order of their places."""
        wanted = tuple(sorted(set(columns)))
        if self.domain.cells(wanted) > MOST_CELLS:
            raise ParameterError(
                f"A marginal has at most {MOST_CELLS:,} cells.",
                found=f"{self.domain.cells(wanted):,} cells",
                fix="Take fewer columns, or count the synthetic rows.",
            )
        if not wanted:
            return np.array(self.total)
        if len(wanted) == 1:
            return self.ones[wanted[0]].copy()
        if len(wanted) == 2:
            return self.pairs[wanted].copy()
        if wanted in self.triples:
            return self.triples[wanted].copy()
        inside = [columns for columns in self.triples if set(columns) <= set(wanted)]
        return rake(product([self.ones[c] for c in wanted], self.total), self._margins(wanted, inside))

    def from_pairs(self, columns: Sequence[int]) -> Floats:
        """Return the table of largest entropy with the two-way marginals of these columns."""
        wanted = tuple(sorted(set(columns)))
        return rake(product([self.ones[c] for c in wanted], self.total), self._margins(wanted))

    def deviation(self, columns: Sequence[int]) -> Floats:
        """Return the typical error of each cell of a marginal, from the posterior of its pairs.

        It is an estimate of empirical Bayes, not a bound. The error of pairs that were not measured is not
        included.
        """
        wanted = tuple(sorted(set(columns)))
        if len(wanted) < 2:
            return np.sqrt(self.evidence.about(wanted).variances)
        table = self.marginal(wanted)
        relative = np.zeros(table.shape)
        for pair in combinations(wanted, 2):
            if pair in self.variances:
                inside = np.maximum(np.square(self.pairs[pair]), _FLOOR * self.total)
                relative = relative + _laid(np.minimum(self.variances[pair] / inside, 1.0), pair, wanted)
        if len(wanted) == 2:
            return np.sqrt(self.variances.get(wanted, np.zeros(table.shape)))
        return table * np.sqrt(np.minimum(relative, 1.0))

    def _shrunk(self, columns: Columns) -> Floats:
        base = self.from_pairs(columns)
        found = self.evidence.about(columns)
        mean, _ = shrink(found.values, float(np.sqrt(found.variance)), np.maximum(base, _FLOOR * self.total))
        return rake(mean, self._margins(columns), rounds=4)

    def _margins(self, columns: Columns, more: Sequence[Columns] = ()) -> dict[tuple[int, ...], Floats]:
        tables: dict[Columns, Floats] = {pair: self.pairs[pair] for pair in combinations(columns, 2)}
        tables |= {triple: self.triples[triple] for triple in more}
        return {tuple(columns.index(c) for c in kept): table for kept, table in tables.items()}


def _laid(table: Floats, columns: Columns, wanted: Columns) -> Floats:
    """Return a table over some columns, shaped to broadcast along those of a larger one."""
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.reshape([sizes.get(column, 1) for column in wanted])
