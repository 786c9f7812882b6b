"""Predict answers from a public table that is fitted to everything measured so far.

All of this is post-processing of noisy numbers, so it may use floats and nothing here can leak. It decides how
many answers are free, never whether they are private.

Up to MOST_DENSE cells there is one table (`Dense`). Beyond, every set of columns in a question has a table of its
own, fitted to the measurements of these columns (`Factored`): a graphical model for each question, over the
columns that it touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

from discreet.oracle.dense_table import Floats, project
from discreet.oracle.fit import Columns, Measurement, Pool, Prior, Table, total_of

MOST_DENSE = 10**7
"""The most cells of a hypothesis that is one table."""

_QUICK = 2**17  # a table of at most so many cells is fitted fast, so it gets more rounds

_ESTIMATED = 0.6  # the strength of the prior for cells that a span estimates: more, because they share noise


class Dense:
    """One table over all columns.

    `estimated` says that it is fitted to marginals that a span estimates. There are more of them than are measured
    otherwise, also of three columns, so the fit takes more rounds.
    """

    def __init__(
        self, sizes: Sequence[int], known: Measurement, prior: Prior | None = None, *, estimated: bool = False
    ):
        self._known, self.measured = known, list[Measurement]()
        self.total = float(known.values.sum())
        places = tuple(range(len(sizes)))
        self._table = Table(places, sizes, self.total, prior, *([_ESTIMATED] if estimated else []))
        self._rounds = 12 if estimated or self._table.cells.size <= _QUICK else 6
        self._marginals: dict[Columns, Floats] = {}

    def fit(self, measured: Sequence[Measurement]) -> None:
        """Add measurements, and fit to all of them."""
        self.measured += measured
        self.total = max(total_of(self.measured, self._known), 1.0)
        self._table.fit(self.measured, total=self.total, rounds=self._rounds)
        self._marginals.clear()

    def learn(self, measured: Measurement) -> None:
        """Add one measurement with one step of the fit."""
        self.measured.append(measured)
        self._table.learn(measured)
        self._marginals.clear()

    def marginal(self, columns: Columns) -> Floats:
        """Return the predicted counts over some columns, in rows."""
        if columns not in self._marginals:
            self._marginals[columns] = self._table.marginal(columns)
        return self._marginals[columns]


class Factored:
    """A table for every set of columns in a question, fitted to the measurements of these columns.

    A measurement of more columns is summed over the other columns, and so is its variance.
    """

    def __init__(self, sizes: Sequence[int], known: Measurement, prior: Prior | None = None):
        self._sizes, self._known, self._prior = tuple(sizes), known, prior
        self.measured: list[Measurement] = []
        self.total = float(known.values.sum())
        self._marginals: dict[Columns, Floats] = {}

    def fit(self, measured: Sequence[Measurement]) -> None:
        """Add measurements. Tables that share a column with them are fitted again at their next use."""
        self.measured += measured
        self.total = max(total_of(self.measured, self._known), 1.0)
        touched = {column for m in measured for column in m.columns}
        self._marginals = {c: v for c, v in self._marginals.items() if not touched & set(c)}

    def learn(self, measured: Measurement) -> None:
        """Add one measurement."""
        self.fit([measured])

    def marginal(self, columns: Columns) -> Floats:
        """Return the predicted counts over some columns, in rows."""
        if columns not in self._marginals:
            table = Table(columns, [self._sizes[i] for i in columns], self.total, self._prior)
            about = [part for m in self.measured if (part := _about(m, columns)) is not None]
            table.fit(_pooled(about), total=self.total, rounds=5)
            self._marginals[columns] = table.marginal(columns)
        return self._marginals[columns]


Hypothesis: TypeAlias = Dense | Factored


def hypothesis(
    sizes: Sequence[int], known: Measurement, prior: Prior | None = None, *, estimated: bool = False
) -> Hypothesis:
    """Return the hypothesis when only the number of rows is known. `estimated`: see `Dense`.

    >>> import numpy as np
    >>> type(hypothesis([10] * 9, Measurement((), np.array(5.0), 1.0))).__name__
    'Factored'
    """
    if prod(sizes) <= MOST_DENSE:
        return Dense(sizes, known, prior, estimated=estimated)
    return Factored(sizes, known, prior)


def _about(m: Measurement, columns: Columns) -> Measurement | None:
    """Return what a measurement says about these columns alone, None if it says nothing."""
    shared = tuple(column for column in m.columns if column in columns)
    if not shared:
        return None
    if shared == m.columns:
        return m
    if m.weights is not None:
        return None
    places = [m.columns.index(column) for column in shared]
    values = project(m.values, places)
    starts = tuple(m.starts[place] for place in places) if any(m.starts) else ()
    return Measurement(shared, values, m.variance * m.values.size / values.size, None, starts)


def _pooled(measured: Sequence[Measurement]) -> list[Measurement]:
    """Merge measurements of the same cells into one."""
    apart = [m for m in measured if m.weights is not None]
    pools: dict[tuple[Columns, Any], Pool] = {}
    for m in measured:
        if m.weights is None:
            starts = m.starts if any(m.starts) else ()
            pools.setdefault((m.columns, starts), Pool()).add(m.values, m.variance)
    for (columns, starts), pool in pools.items():
        apart.append(Measurement(columns, pool.mean, pool.variance, None, starts))
    return apart
