"""Certify all answers of a frozen table at once, by one noisy number: its largest error over all boxes.

For some sets A of columns let h_A be a table of integers, made from released numbers, and

    E(D) = max over A and over all boxes q on A of |q(D) − h_A(q)|,      in units of 1/UNIT rows.

**Claim.** A person of K rows moves E by at most K·UNIT. So c = E + X + t, X discrete Gaussian of variance v and
P(X < −t) ≤ β, costs (K·UNIT)²/2v in ρ; and but for probability β *all* answers h_A(q) are within c of the rows.

*Proof.* The rows of a person add δ ≥ 0 to the cells of A, and the entries of δ add up to at most K·UNIT. Cells are
clamped from above first, which makes no entry of δ larger. So every q(D) rises by something between 0 and K·UNIT,
every |q(D) − h_A(q)| moves by at most K·UNIT, and so does the largest of them. h, A and v depend on the rows only
through what was released. If X ≥ −t then c ≥ E, which bounds every error. ∎

It does not matter how questions are chosen: the promise is "every". The number is released once. If h changed, c
would say nothing about it, so h is written into the journal and frozen.

**Which sets.** h is measured again with fresh noise, as if it were the rows; how far the second table is from the
first foretells how far the first is from the rows. Sets whose error is foreseen to fit into the margin are
certified. This reads no row. Theory: docs/theory/oracle.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.kernel.journal import Journal
from discreet.ledger.costs import cost
from discreet.oracle.answer import Part
from discreet.oracle.exact_sums import Sums
from discreet.oracle.fit import Measurement
from discreet.oracle.hypothesis import Factored
from discreet.oracle.linear_query import GRAIN, Query
from discreet.oracle.pricing import Terms
from discreet.oracle.span.box_search import LARGEST, largest_error
from discreet.oracle.span.certificate_price import certified_sets, certifier
from discreet.oracle.span.design import Columns, divided, questions
from discreet.oracle.span.estimates import estimated
from discreet.oracle.span.measure import packed, scans, unpacked
from discreet.oracle.span.span import Span
from discreet.query.bins import Axis
from discreet.schema.metadata import UNIT

Integers = NDArray[np.int64]

FORESEEN = 1.25
"""How much larger than foreseen an error is taken to be."""

SAMPLE = 300
"""The questions of the law on which the use of a certificate is tried."""

_LUCK = 1.0  # deviations of its own noise that a certificate may be unlucky by


@dataclass(frozen=True, eq=False)
class Certificate:
    """Frozen tables in units of 1/UNIT rows, and the bound of all their errors in the same units."""

    tables: Mapping[Columns, Integers]
    bound: int
    ordered: Sequence[bool]

    def answer(self, query: Query) -> Part | None:
        """Return the answer to a count over a box; None to any other query.

        >>> held = Certificate({(0,): np.array([3, 4, 5])}, 2, [True])
        >>> held.answer(Query((0,), (3,), None, "", conditions=(([0], np.array([1.0, 1.0, 0.0])),), whole=True))
        Part(value=28672, low=20480, high=36864, how='certified', cost=Fraction(0, 1))
        """
        ranges = self._box(query)
        if ranges is None:
            return None
        for columns, table in self.tables.items():
            if ranges.keys() <= {*columns}:
                box = tuple(slice(*ranges.get(i, (None, None))) for i in columns)
                return Part.around(GRAIN * int(table[box].sum()), GRAIN * self.bound, "certified")
        return None

    def _box(self, query: Query) -> dict[int, tuple[int, int]] | None:
        """Return the range of levels of every column of a query; None if it is not a box."""
        if query.values is not None or not query.whole:
            return None
        ranges = {}
        for columns, weights in query.conditions:
            places = np.flatnonzero(weights)
            if len(columns) > 1 or not len(places):
                return None
            low, high = int(places[0]), int(places[-1]) + 1
            everything = high - low == len(weights)
            if high - low != len(places) or not (self.ordered[columns[0]] or everything or len(places) == 1):
                return None
            ranges[columns[0]] = (low, high)
        return ranges


class Certifier:
    """Buys the certificate of an oracle once, and has it after a restart.

    Args:
        journal: Where cost, tables and bound are written.
        sums: The exact sums of the rows.
        axes: The columns of the oracle.
        agreed: The terms of the oracle.
        margin: The largest margin of an answer, in units of 1/FINE rows.
        span: What was measured first.
    """

    def __init__(
        self,
        journal: Journal,
        sums: Sums,
        axes: Sequence[Axis],
        *,
        agreed: Terms,
        margin: int,
        span: Span,
    ):
        self._journal, self._sums, self._axes, self._span = journal, sums, tuple(axes), span
        self._margin = margin // GRAIN
        self.noise, self._tail = certifier(agreed, margin)
        self.rho = cost(self.noise.loss).rho
        self.certificate: Certificate | None = None
        self.open = True
        for record in journal.begun.values():
            if record["begin"] == "certificate":
                self.open = False  # bought once: without a bound it is spent and lost
                if (ended := journal.ended.get(record["n"])) is not None:
                    self._take(_read(record), ended["noisy"])

    @cached_property
    def covered(self) -> float:
        """The share of the law's questions that the span does not answer, and certified tables are foreseen to."""
        tables, sets = self._tables, [{*columns} for columns in self._tables]
        if not tables:
            return 0.0
        found = [
            self._span.box_margin(box) * UNIT > self._margin
            and not divided(box)
            and any({i for i, *_ in box} <= some for some in sets)
            for box in questions(self._span.columns, SAMPLE)
        ]
        return sum(found) / SAMPLE

    def buy(self) -> None:
        """Release the largest error of the tables, once: its ρ is set aside, the noise is drawn, it is written."""
        self.open = False
        tables = self._tables
        prepared = [
            (places, sets, self._sums.prepare_marginal([self._axes[i] for i in places]))
            for places, sets in scans([axis.size for axis in self._axes], list(tables))
        ]
        written = [[list(columns), packed(table)] for columns, table in tables.items()]
        step = self._journal.begin("certificate", self.rho, tables=written)
        noisy = int(self.noise.release(self._sums.largest_error(prepared, tables, self._ordered)))
        self._journal.end(step, noisy=noisy)
        self._take(tables, noisy)

    def _take(self, tables: Mapping[Columns, Integers], noisy: int) -> None:
        bound = max(0, noisy + self._tail)
        if bound <= self._margin:
            self.certificate = Certificate(tables, bound, self._ordered)

    @property
    def _ordered(self) -> list[bool]:
        return [axis.ordered for axis in self._axes]

    @cached_property
    def _tables(self) -> dict[Columns, Integers]:
        """The tables to certify: those that are foreseen to be good enough, from released numbers alone."""
        room = self._margin - self._tail - _LUCK * math.sqrt(self.noise.variance)
        sizes = [axis.size for axis in self._axes]
        sets = certified_sets(sizes, self._ordered)
        first = fitted(self._span.tables, self._span, sizes, sets)
        second = fitted(measured_again(first, self._span), self._span, sizes, sets)

        def foreseen(columns: Columns) -> float:
            ordered = [self._ordered[i] for i in columns]
            return FORESEEN * largest_error(first[columns] - second[columns], ordered)

        return {columns: table for columns, table in first.items() if foreseen(columns) <= room}


def fitted(
    tables: Mapping[Columns, NDArray[np.float64]], span: Span, sizes: Sequence[int], sets: Iterable[Columns]
) -> dict[Columns, Integers]:
    """Return a table without negative cells for every set, fitted to residual tables of it and of its parts."""
    if () not in tables:
        return {}
    known = Measurement((), tables[()], span.variances[()])
    found = {}
    for columns in sets:
        parts = [some for k in range(1, len(columns) + 1) for some in combinations(columns, k)]
        model = Factored(sizes, known)
        model.fit([m for some in parts if (m := estimated(tables, span, some, sizes)) is not None])
        found[columns] = np.rint(np.clip(model.marginal(columns) * UNIT, 0, LARGEST)).astype(np.int64)
    return found


def measured_again(tables: Mapping[Columns, Integers], span: Span) -> dict[Columns, NDArray[np.float64]]:
    """Return residual tables as if these tables were the rows, with fresh noise: they say nothing about rows."""
    found: dict[Columns, NDArray[np.float64]] = {}
    for columns, table in tables.items():
        for some in chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1)):
            if some in found or some not in span.tables:
                continue
            others = tuple(axis for axis, i in enumerate(columns) if i not in some)
            rows = np.asarray(table.sum(axis=others), np.float64) / UNIT
            for axis in range(len(some)):
                rows = rows - rows.mean(axis=axis, keepdims=True)
            found[some] = rows + span.drawn(some, noise.discrete_gaussian)
    return found


def _read(record: Mapping[str, Any]) -> dict[Columns, Integers]:
    return {tuple(columns): unpacked(text) for columns, text in record["tables"]}
