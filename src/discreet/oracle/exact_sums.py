"""Compute exact sums for an oracle in the engine: one number for a query, one integer per cell for a marginal.

A sealed row has a weight w ≥ 0, and one person's weights add up to at most K·UNIT. A query gives each row an
integer g from 0 to GRAIN and adds up w·g. When a person joins, the sum never falls, and rises by at most
K·UNIT·GRAIN. A marginal adds up w by cell: its entries never fall, and together rise by at most K·UNIT. Residuals
are integer combinations of such cells (discreet.oracle.span.residuals).
Statements are written before any budget is set aside for them, so a question that no engine can run is refused
for free. The results are exact and private: they go into an `Exact` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.kernel.threshold_test import Side
from discreet.mechanisms import Exact, Sensitivity
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.oracle.linear_query import GRAIN, Query
from discreet.oracle.span.box_search import LARGEST, largest_error
from discreet.oracle.span.residuals import residual, sensitivity
from discreet.oracle.span.strategy import Strategy
from discreet.query import ir
from discreet.query.bins import Axis
from discreet.query.plan.group_index import Cells, dense

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.engines.statement import Statement


Columns: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Sums:
    """Sums from an engine. `sensitivity` is the most that the rows of one person weigh, in units of weight."""

    engine: Engine
    sensitivity: int

    def prepare(self, query: Query) -> Statement:
        """Write the statement that computes a query."""
        keys = [] if query.target is None else [ir.sealed(query.target)]
        return self.engine.rows.sums(where=query.where, keys=keys, sums=[ir.sealed("w")])

    def value(self, query: Query, statement: Statement) -> Exact:
        """Return the sum of a query, sealed."""
        return Exact(self._sum(query, statement), self._each("up"))

    def distances(self, query: Query, statement: Statement, predicted: int) -> dict[Side, Exact]:
        """Return how far the sum is above the prediction, and how far below, each sealed."""
        found = self._sum(query, statement)
        return {
            "up": Exact(found - predicted, self._each("up")),
            "down": Exact(predicted - found, self._each("down")),
        }

    def prepare_marginal(self, axes: Sequence[Axis]) -> tuple[Cells, Statement]:
        """Write the statement that computes a marginal."""
        cells = Cells(tuple(axis.key() for axis in axes))
        return cells, self.engine.rows.sums(where=None, keys=cells.trees(), sums=[ir.sealed("w")])

    def marginal(self, cells: Cells, statement: Statement) -> Exact:
        """Return the total weight of the rows in every cell, sealed."""
        found = self.engine.run(statement)
        places = cells.places(found.keys, None)
        sensitivity = Sensitivity(l1=self.sensitivity, each=self.sensitivity, monotonic="up")
        return Exact(dense(found.sums[:, 0], places, cells.declared), sensitivity)

    def residuals(
        self, places: Columns, counted: tuple[Cells, Statement], wanted: Mapping[Columns, Sequence[Strategy]]
    ) -> dict[Columns, Exact]:
        """Return the residuals of sets of columns, each sealed, from one scan of all their columns.

        Args:
            places: The columns that were counted together.
            counted: Their cells, and the statement that counts them.
            wanted: The sets, each among `places`, with the strategies of their columns.
        """
        sealed = {}
        for columns, table in _marginals(self._cells(*counted), places, [*wanted]):
            moved = residual(table, wanted[columns])
            sealed[columns] = Exact(moved.ravel(), sensitivity(self.sensitivity, wanted[columns]))
        return sealed

    def largest_error(
        self,
        counted: Sequence[tuple[Columns, Sequence[Columns], tuple[Cells, Statement]]],
        tables: Mapping[Columns, Integers],
        ordered: Sequence[bool],
    ) -> Exact:
        """Return the largest error of tables over all boxes, sealed: one person moves it as much as one count.

        Args:
            counted: For every scan the columns that are counted together, the sets that are computed from them,
                and the cells with the statement that counts them.
            tables: For every set its table, in units of weight.
            ordered: Whether each column has an order.
        """
        largest = 0
        for places, sets, (cells, statement) in counted:
            for columns, table in _marginals(self._cells(cells, statement), places, sets):
                rows = np.minimum(table, LARGEST)
                error = largest_error(rows - tables[columns], [ordered[i] for i in columns])
                largest = max(largest, error)
        return Exact(largest, Sensitivity(entries=1, each=self.sensitivity))

    def _cells(self, cells: Cells, statement: Statement) -> Integers:
        """Return the total weight in every cell, one axis for each column."""
        found = self.engine.run(statement)
        sizes = [key.groups or 1 for key in cells.keys]
        return dense(found.sums[:, 0], cells.places(found.keys, None), cells.declared).reshape(sizes)

    def _sum(self, query: Query, statement: Statement) -> int:
        found = self.engine.run(statement)
        if query.target is None:
            return GRAIN * sum(int(weight) for weight in found.sums[:, 0])
        return sum(
            int(weight) * query.grain(int(code))
            for (code,), weight in zip(found.keys, found.sums[:, 0], strict=True)
            if isinstance(code, int | np.integer) and 0 <= code <= query.top
        )

    def _each(self, side: Side) -> Sensitivity:
        each = self.sensitivity * GRAIN
        return Sensitivity(entries=1, each=each, monotonic=side)


def _marginals(
    whole: Integers, places: Columns, sets: Sequence[Columns], kept: int = 0
) -> Iterator[tuple[Columns, Integers]]:
    """Yield the marginal of every set of columns, of a table with the columns `places`.

    One column after another is summed out for all sets that lack it at once. Else hundreds of sets would each sum
    up the whole table. Every set has the first `kept` columns.
    """
    if len(sets) == 1:
        others = tuple(axis for axis, place in enumerate(places) if place not in sets[0])
        yield sets[0], _summed(whole, others)
    elif sets:
        yield from _marginals(whole, places, [some for some in sets if places[kept] in some], kept + 1)
        if without := [some for some in sets if places[kept] not in some]:
            rest = (*places[:kept], *places[kept + 1 :])
            yield from _marginals(_summed(whole, (kept,)), rest, without, kept)


def _summed(whole: Integers, others: tuple[int, ...]) -> Integers:
    """Return the sums over some axes, clamped: a sum of clamped counts could leave int64."""
    if not others:
        return whole
    near = whole.astype(np.float64).sum(axis=others)
    return np.where(near >= LIMIT, LIMIT, whole.sum(axis=others))
