"""Answer linear queries from measured residuals: values, margins, and which queries have neither.

Everything here is computed from what was released, and from public facts. Which queries have an answer, and the
margin of each, depends on public facts alone: they are known before anything is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.oracle.span.confidence import (
    COUNTS,
    ROUNDING,
    WEIGHTED,
    box_weight,
    columns_weight,
    is_box,
    levels_weight,
    quantile,
)
from discreet.oracle.span.design import MOST_BINS, Box, Column, Columns, variance
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.oracle.linear_query import Query

Floats = NDArray[np.float64]

_FLOATS = 1e-12  # what sums of floats lose, in units of all that is added up: far above their rounding


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that a question weighs together, and the parts of their weights that belong to each set of them.

    `factors` are those of the variance, and `tables` the weights that each residual is multiplied with.
    """

    factors: Mapping[Columns, float]
    tables: Mapping[Columns, Floats]


class Span:
    """Residuals as they were measured, and the answers from them.

    Args:
        columns: The columns of the oracle.
        variances: The variance of the noise on the numbers of each set, in rows².
        least: The least standard deviation of any noise, in its own integer units.
        most: The most columns of a set.
        promise: "each" or "every".
        alpha: The alpha of the span.
        overlap: What the weights of boxes on a set of columns are multiplied with, because their noise overlaps
            (`discreet.oracle.span.overlap`).
    """

    def __init__(
        self,
        columns: Sequence[Column],
        variances: Mapping[Columns, float],
        *,
        least: float,
        most: int,
        promise: str,
        alpha: Fraction,
        overlap: Mapping[Columns, float] | None = None,
    ):
        self._columns, self._variances, self._least = tuple(columns), dict(variances), least
        self._most, self._promise, self._alpha = most, promise, float(alpha)
        self._overlap = dict(overlap or {})
        self._tables: dict[Columns, Floats] = {}
        self._sizes: dict[Columns, float] = {}

    @property
    def tables(self) -> Mapping[Columns, Floats]:
        """What was measured, as residual tables in rows: each adds up to zero along each of its columns."""
        return self._tables

    @property
    def variances(self) -> Mapping[Columns, float]:
        """The variance of the noise on the numbers of each set, in rows²."""
        return self._variances

    def cell_variance(self, columns: Columns) -> float:
        """Return the mean variance of the cells of a residual table, in rows²."""
        spreads = (float(np.trace(self._columns[i].strategy.spread)) / self._columns[i].size for i in columns)
        return self._variances[columns] * math.prod(spreads)

    def drawn(self, columns: Columns, draw: Callable[[int, int], Any]) -> Floats:
        """Return what fresh noise makes of a residual table, in rows, with the variance that the span has."""
        shape = [self._columns[i].strategy.matrix.shape[0] for i in columns]
        variance = max(1, round(self._variances[columns] * UNIT**2))
        found = np.asarray(draw(variance, math.prod(shape)), np.float64).reshape(shape) / UNIT
        return self._spread(columns, found)

    def learn(self, columns: Columns, measured: Floats) -> None:
        """Take the numbers of one set, in rows, in the order of its strategies."""
        table = self._spread(columns, measured)
        self._tables[columns] = table
        self._sizes[columns] = float(np.abs(table).sum()) * (1 + sum(self._columns[i].size for i in columns))

    def _spread(self, columns: Columns, measured: Floats) -> Floats:
        """Return numbers of one set as a table that adds up to zero along each of its columns."""
        table = measured.reshape([self._columns[i].strategy.matrix.shape[0] for i in columns])
        for axis, i in enumerate(columns):
            table = np.moveaxis(np.tensordot(self._columns[i].strategy.inverse, table, (1, axis)), 0, axis)
        return np.array(table, order="C")  # of no axis for the total

    def forget(self, columns: Columns) -> None:
        """Drop a set that was not measured: queries that need it have no answer."""
        self._variances.pop(columns, None)

    def reaches(self, query: Query) -> bool:
        """Return whether a query weighs as few columns as the sets that were measured.

        The parts of a query are as many as the subsets of its columns, so one on many columns is not taken apart.
        """
        used = {i for columns, _ in _joined(query) for i in columns}
        return len(used) <= self._most

    def groups(self, query: Query) -> list[Group]:
        """Return the columns of a query that are weighed together, each with its parts."""
        return [self._group(columns, weights) for columns, weights in _joined(query)]

    def margin(self, query: Query, groups: Sequence[Group], parts: int = 1) -> float:
        """Return the margin of error of a query in rows, ∞ if it has no answer; known before anything is measured.

        `parts` is the number of queries that a question is made of, which share alpha under "each".
        """
        deviation = math.sqrt(variance([group.factors for group in groups], self._variances))
        if not query.whole or not math.isfinite(deviation):
            return math.inf
        if deviation == 0:
            return 0.0  # the query selects nothing, whatever the rows are
        weight = 1 / parts if self._promise == "each" else self.weight(query)
        return (quantile(min(self._alpha * weight, 1.0)) + ROUNDING / self._least) * deviation

    def vague_deviation(self, groups: Sequence[Group]) -> float:
        """Return the deviation of the parts of an answer on three columns and more; ∞ if it has no answer."""
        factors = [group.factors for group in groups]
        if not math.isfinite(variance(factors, self._variances)):
            return math.inf
        high = {columns: found for columns, found in self._variances.items() if len(columns) > 2}
        return math.sqrt(variance(factors, high, missing=0.0))

    def predicted_deviation(self, groups: Sequence[Group]) -> float:
        """Return the deviation of the noise in what a table that is fitted to one and two columns predicts.

        With π the share of the rows that meet each condition, such a table predicts about

            Σ over sets A of up to two conditions of Π_{i∉A} π_i · (⊗_{i∈A} (q_i − π_i))·x_A,

        a linear function of what was measured. (Its means are those of rows, where the parts of an answer of the
        span have means over levels: of a condition that most rows meet, nearly all noise of the others stays.)
        """
        shares = [self._share(group) for group in groups]
        total = 0.0
        for chosen in product(*(group.factors.items() for group in groups)):
            some = tuple(sorted(chain(*(columns for columns, _ in chosen))))
            if len(some) > 2:
                continue
            # The coefficient of x^k is that of k further conditions: π where one is not in A, m − π where it is.
            others, spread = np.ones(1), 1.0
            for (columns, factor), share in zip(chosen, shares, strict=True):
                if columns:
                    spread *= factor
                else:
                    others = np.convolve(others, [share, math.sqrt(factor) - share])
            total += spread * float(others[: 3 - len(some)].sum()) ** 2 * self._variances.get(some, 0.0)
        return math.sqrt(total)

    def _share(self, group: Group) -> float:
        """Return the share of the rows that meet a condition, as it was measured; of levels, if it was not."""
        mean = math.sqrt(group.factors[()])
        if len(group.factors) > 2 or any(columns not in self._tables for columns in group.tables):
            return mean
        value, rows = self.value([group])[0], float(self._tables[()])
        return min(max(value / rows, 0.0), 1.0) if rows > 1 else mean

    def box_margin(self, box: Box) -> float:
        """Return the margin of a count over a box, in rows; ∞ if it has no answer."""
        parts = []
        for i, low, high in box:
            mean, spread = self._columns[i].box(low, high)
            parts.append({(): mean, (i,): spread})
        shapes = [(column.size, column.ordered) for column in self._columns]
        weight = 1.0 if self._promise == "each" else box_weight(shapes, box, self._most)
        weight *= self._overlap.get(tuple(i for i, *_ in box), 1.0)
        deviation = math.sqrt(variance(parts, self._variances))
        if not weight or not math.isfinite(deviation):
            return math.inf
        return (quantile(min(self._alpha * weight, 1.0)) + ROUNDING / self._least) * deviation

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the oracle."""
        return self._columns

    def weight(self, query: Query) -> float:
        """Return the weight of a query among all; 0 if it compares columns with each other."""
        if any(len(columns) > 1 for columns, _ in query.conditions):
            return 0.0
        chosen = {columns[0]: weights > 0 for columns, weights in query.conditions if not weights.all()}
        target = None if query.values is None else query.values[0]
        used = {*chosen} if target is None else {*chosen, target}
        weight = columns_weight(len(self._columns), len(used), self._most)
        weight *= COUNTS if target is None else (1 - COUNTS) / len(used)
        for i, levels in chosen.items():
            weight *= levels_weight(self._columns[i].size, self._columns[i].ordered, levels)
        if target is not None:
            return weight * (1 - WEIGHTED if target in chosen else WEIGHTED)
        boxed = all(
            is_box(self._columns[i].size, self._columns[i].ordered, levels) for i, levels in chosen.items()
        )
        return weight * self._overlap.get(tuple(sorted(chosen)), 1.0) if boxed else weight

    def value(self, groups: Sequence[Group]) -> tuple[float, float]:
        """Return the answer of a query in rows, and a bound on what floats lose in it."""
        value, lost = 0.0, 0.0
        for parts in product(*(group.tables.items() for group in groups)):
            some = tuple(sorted(chain(*(columns for columns, _ in parts))))
            if any(not group.factors[columns] for group, (columns, _) in zip(groups, parts, strict=True)):
                continue
            value += self._contracted(some, parts)
            lost += _FLOATS * self._sizes[some]
        return value, lost

    def _contracted(self, some: Columns, parts: Sequence[tuple[Columns, Floats]]) -> float:
        """Return the sum of a residual table, weighed by the parts of a question."""
        factor, table, left = 1.0, self._tables[some], list(some)
        for columns, weights in sorted(parts, key=lambda part: part[1].size, reverse=True):
            if not columns:
                factor *= float(weights)
                continue
            places = [left.index(i) for i in columns]
            table = np.tensordot(table, weights, (places, list(range(len(columns)))))
            left = [i for i in left if i not in columns]
        return factor * float(table)

    def _group(self, columns: Columns, weights: Floats) -> Group:
        factors, tables = {}, {}
        for size in range(len(columns) + 1):
            for some in combinations(columns, size):
                others = tuple(axis for axis, i in enumerate(columns) if i not in some)
                table = weights.mean(axis=others) if others else weights
                for axis in range(len(some)):
                    table = table - table.mean(axis=axis, keepdims=True)
                spread = table
                if any(self._columns[i].size > MOST_BINS for i in some):
                    factors[some], tables[some] = math.inf, table  # never measured
                    continue
                for axis, i in enumerate(some):
                    moved = np.tensordot(self._columns[i].strategy.inverse.T, spread, (1, axis))
                    spread = np.moveaxis(moved, 0, axis)
                factors[some], tables[some] = float((spread**2).sum()), np.asarray(table)
        return Group(factors, tables)


def _joined(query: Query) -> list[tuple[Columns, Floats]]:
    """Return the factors of a query but for those that select all, multiplied where they share a column."""
    parts = [(tuple(columns), weights) for columns, weights in query.conditions if not (weights == 1).all()]
    if query.values is None:
        return parts
    target, values = query.values
    for place, (columns, weights) in enumerate(parts):
        if target in columns:
            shape = [-1 if i == target else 1 for i in columns]
            return [*parts[:place], (columns, weights * values.reshape(shape)), *parts[place + 1 :]]
    return [*parts, ((target,), values)]
