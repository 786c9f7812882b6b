"""Marginals with noise: the number of rows, what is measured at the start, and whole marginals later.

Each is one Gaussian release of a vector that one person moves by K·UNIT at most, in l1 and so in l2, whatever its
number of cells. Set aside in the journal, drawn, written down: what was begun before is taken up from there, and
what was begun and has no end is spent and lost.

At the start all pairs of columns are measured, and of three columns those that have few cells together, which then
stand for their pairs. Numbers with many bins are measured in coarse parts as well, each way with half of the ρ: a
range of fifty cells has the noise of fifty, and one of four parts and a few cells has less. What is chosen follows
from the bins, and from the noisy number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.oracle.exact_sums import Sums
from discreet.oracle.fit import Columns, Measurement
from discreet.oracle.journal import Journal
from discreet.oracle.pricing import FINE, Prices, Terms
from discreet.query.bins import Axis, cells
from discreet.schema.metadata import UNIT

MOST_MEASURED = 10**5
"""Cells of a marginal that is measured whole."""

FEW_CELLS = 64
"""Cells of three columns that are measured together at the start."""

MOST_AT_START = 1000
"""Marginals that are measured at the start: beyond, each has too little ρ, and each is a scan."""

Wanted = tuple[Columns, Fraction, bool]
"""Columns, the ρ for them, and whether they are taken in coarse parts."""


class Marginals:
    """What measures marginals for an oracle, and knows which were measured."""

    def __init__(self, journal: Journal, sums: Sums, axes: Sequence[Axis], terms: Terms):
        self._journal, self._sums, self._axes, self._terms = journal, sums, axes, terms
        self._whole: dict[Columns, float] = {}

    def total(self) -> Measurement:
        """Return how many rows there are, measured now or before."""
        for record in self._journal.begun.values():
            if record["begin"] == "total":
                found = self.written(record)
                if found is not None:
                    return found
                raise DiscreetError(
                    "This oracle was interrupted before it knew how many rows there are, and what that cost is "
                    'spent. Make another one: vault.oracle(…, name="second").'
                )
        return self.take("total", (), self._terms.part("total"))

    def start(self, known: Prices) -> list[Measurement]:
        """Return what is measured at the start: what was measured before, and now whatever was not begun."""
        records = [record for record in self._journal.begun.values() if record["begin"] == "start"]
        found = [m for m in map(self.written, records) if m is not None]
        begun = {(tuple(record["columns"]), record["coarse"]) for record in records}
        for columns, rho, coarse in self._opening(known):
            if (columns, coarse) not in begun:
                found.append(self.take("start", columns, rho, coarse=coarse))
        return found

    def take(self, kind: str, columns: Columns, rho: Fraction, *, coarse: bool = False) -> Measurement:
        """Measure a marginal: set aside, draw, write down."""
        mechanism = self._terms.marginal(rho)
        touched = [self._axes[i].coarse() if coarse else self._axes[i] for i in columns]
        counted, statement = self._sums.prepare_marginal(touched)
        step = self._journal.begin(kind, rho, columns=list(columns), coarse=coarse)
        noisy: Any = mechanism.release(self._sums.marginal(counted, statement))
        self._journal.end(step, values=[int(number) for number in np.asarray(noisy).ravel()])
        return self._measurement(step)

    def written(self, record: dict[str, Any]) -> Measurement | None:
        """Return a marginal that was measured before; None if it was begun and never seen."""
        return self._measurement(record["n"]) if record["n"] in self._journal.ended else None

    def worth(self, columns: Columns, rho: Fraction) -> bool:
        """Whether a marginal is small enough, and would be known twice as well as it is, if it is at all."""
        return self.small(columns) and 2 * self._variance(rho) <= self._whole.get(columns, math.inf)

    def small(self, columns: Columns) -> bool:
        """Whether columns have few enough cells to be measured together."""
        return bool(columns) and cells([self._axes[i] for i in columns]) <= MOST_MEASURED

    def _measurement(self, step: int) -> Measurement:
        record, values = self._journal.begun[step], self._journal.ended[step]["values"]
        columns, coarse, rho = tuple(record["columns"]), record["coarse"], Fraction(record["rho"])
        if not coarse:
            self._whole[columns] = min(self._variance(rho), self._whole.get(columns, math.inf))
        touched = [self._axes[i] for i in columns]
        shape = [axis.coarse().size if coarse else axis.size for axis in touched]
        starts = tuple(axis.parts for axis in touched) if coarse else ()
        rows = np.array(values, np.float64).reshape(shape) / UNIT
        return Measurement(columns, rows, self._variance(rho), None, starts)

    def _opening(self, known: Prices) -> list[Wanted]:
        places = range(len(self._axes))
        singles: list[Columns] = [(i,) for i in places]
        pairs: list[Columns] = [pair for pair in combinations(places, 2) if self.small(pair)]
        triples: list[Columns] = [
            triple for triple in combinations(places, 3) if cells([self._axes[i] for i in triple]) <= FEW_CELLS
        ]
        held = {pair for triple in triples for pair in combinations(triple, 2)}
        apart = [pair for pair in pairs if pair not in held]
        chosen = self._halved(singles, self._terms.part("singles", len(singles)))
        # Noise that drowns what is asked is not worth its ρ: rather pairs than triples, and rather nothing.
        for marginals, most in (([*apart, *triples], 0.5), (pairs, 2.0)):
            rho = self._terms.part("pairs", max(1, len(marginals)))
            if (
                rho
                and len(marginals) <= MOST_AT_START
                and math.sqrt(self._variance(rho)) <= most * known.width / FINE
            ):
                return [*chosen, *self._halved(marginals, rho)]
        return chosen

    def _halved(self, marginals: Sequence[Columns], rho: Fraction) -> list[Wanted]:
        """Where columns have parts, half of ρ is for these."""
        chosen: list[Wanted] = []
        for columns in marginals if rho else ():
            if any(self._axes[i].parts is not None for i in columns):
                chosen += [(columns, rho / 2, False), (columns, rho / 2, True)]
            else:
                chosen.append((columns, rho, False))
        return chosen

    def _variance(self, rho: Fraction) -> float:
        """The variance of each cell, in rows²."""
        return float(self._terms.marginal(rho).variance) / UNIT**2
