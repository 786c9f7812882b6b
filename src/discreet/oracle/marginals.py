"""Measure noisy marginals: the number of rows, marginals at the start, and whole marginals later.

Each is one Gaussian release of a vector of sensitivity K·UNIT, in l1 and so in l2, whatever its number of cells.
Its cost is set aside in the journal, the noise is drawn, and the result is written. After a restart, results are
read from the journal; a measurement that has begun and has no result is spent and lost.

At the start all pairs of columns are measured, and those sets of three columns that have few cells together, which
then replace their pairs. Numbers with many bins are measured in coarse parts as well, each way with half of the ρ:
the sum of a range of fifty cells has the noise of fifty cells, and one of four parts and a few cells has less. The
choice follows from the bins and from the noisy number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, Fix
from discreet.kernel.journal import Journal
from discreet.oracle.exact_sums import Sums
from discreet.oracle.fit import Columns, Measurement
from discreet.oracle.pricing import FINE, Prices, Terms
from discreet.query.bins import Axis, cells
from discreet.schema.metadata import UNIT

MOST_MEASURED = 10**5
"""The most cells of a marginal that is measured whole."""

FEW_CELLS = 64
"""The most cells of three columns that are measured together at the start."""

MOST_AT_START = 1000
"""The most marginals that are measured at the start: with more, each has too little ρ, and each is a scan."""

Wanted = tuple[Columns, Fraction, bool]
"""Columns, the ρ for them, and whether they are measured in coarse parts."""


class Marginals:
    """The marginals of an oracle: measures them, and reads the measured ones from the journal."""

    def __init__(self, journal: Journal, sums: Sums, axes: Sequence[Axis], terms: Terms):
        self._journal, self._sums, self._axes, self._terms = journal, sums, axes, terms
        self._whole: dict[Columns, float] = {}

    def total(self) -> Measurement:
        """Return the noisy number of rows, measured now or before."""
        for record in self._journal.begun.values():
            if record["begin"] == "total":
                found = self.written(record)
                if found is not None:
                    return found
                raise DiscreetError(
                    "This oracle was interrupted before it knew the number of rows, and that cost is spent.",
                    fix=Fix("name", "second", call="vault.oracle", note="another oracle, at its own cost"),
                )
        return self.take("total", (), self._terms.part("total"))

    def start(self, known: Prices) -> list[Measurement]:
        """Return the measurements of the start: those from the journal, and the others measured now."""
        records = [record for record in self._journal.begun.values() if record["begin"] == "start"]
        found = [m for m in map(self.written, records) if m is not None]
        begun = {(tuple(record["columns"]), record["coarse"]) for record in records}
        for columns, rho, coarse in self._opening(known):
            if (columns, coarse) not in begun:
                found.append(self.take("start", columns, rho, coarse=coarse))
        return found

    def take(self, kind: str, columns: Columns, rho: Fraction, *, coarse: bool = False) -> Measurement:
        """Measure a marginal: set the cost aside, draw the noise, write the result."""
        mechanism = self._terms.marginal(rho)
        touched = [self._axes[i].coarse() if coarse else self._axes[i] for i in columns]
        counted, statement = self._sums.prepare_marginal(touched)
        step = self._journal.begin(kind, rho, columns=list(columns), coarse=coarse)
        noisy: Any = mechanism.release(self._sums.marginal(counted, statement))
        self._journal.end(step, values=[int(number) for number in np.asarray(noisy).ravel()])
        return self._measurement(step)

    def written(self, record: dict[str, Any]) -> Measurement | None:
        """Return a marginal that was measured before; None if it has no result."""
        return self._measurement(record["n"]) if record["n"] in self._journal.ended else None

    def worth(self, columns: Columns, rho: Fraction) -> bool:
        """Return whether a marginal is small enough, and ρ would at least halve its variance."""
        return self.small(columns) and 2 * self._variance(rho) <= self._whole.get(columns, math.inf)

    def small(self, columns: Columns) -> bool:
        """Return whether columns have few enough cells to be measured together."""
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
        # Noise above the margin is not worth its ρ: then pairs alone are measured, or nothing.
        for marginals, most in (([*apart, *triples], 0.5), (pairs, 2.0)):
            rho = self._terms.part("pairs", max(1, len(marginals)))
            if (
                rho
                and len(marginals) <= MOST_AT_START
                and math.sqrt(self._variance(rho)) <= most * known.margin / FINE
            ):
                return [*chosen, *self._halved(marginals, rho)]
        return chosen

    def _halved(self, marginals: Sequence[Columns], rho: Fraction) -> list[Wanted]:
        """Give half of ρ to the coarse parts, where columns have them."""
        chosen: list[Wanted] = []
        for columns in marginals if rho else ():
            if any(self._axes[i].parts is not None for i in columns):
                chosen += [(columns, rho / 2, False), (columns, rho / 2, True)]
            else:
                chosen.append((columns, rho, False))
        return chosen

    def _variance(self, rho: Fraction) -> float:
        """Return the variance of each cell, in rows²."""
        return float(self._terms.marginal(rho).variance) / UNIT**2
