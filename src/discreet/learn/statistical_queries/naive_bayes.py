"""Learn naive Bayes from statistical queries.

Each column is cut into public bins. With P[y = c] and P[x_j in bin v, y = c] for all j, v and c, the model
predicts the label whose product P[y = c]·Π_j P[x_j in v_j | y = c] is larger. These are 2·(1 + Σ_j V_j) queries.
An answer within τ of a probability p moves its logarithm by at most −ln(1 − τ/p): tolerances well below the
smallest joint probability that matters suffice. Answers below the tolerance are noise, and are raised to it, so
that a rare bin neither decides nor forbids a label. There is no bound on the error: columns that depend on each
other mislead the model with or without noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.engines.nodes import Expression
from discreet.learn.statistical_queries.oracle import StatisticalOracle
from discreet.learn.statistical_queries.query import Condition, condition
from discreet.learn.statistical_queries.rules import Booleans, holds, share, true, untrue
from discreet.learn.statistical_queries.sample import Sample
from discreet.query import ir
from discreet.query.bins import Axis, axes_of
from discreet.schema.metadata import TableMetadata

_LEAST = 1e-6  # a probability below this is taken for this, of an oracle without noise


@dataclass(frozen=True)
class NaiveBayes:
    """Log-odds of the positive label: a prior, and one number for each bin of each column.

    >>> from discreet.schema import Boolean
    >>> rows = Sample.of({"a": [True, False]}, {"a": Boolean(missing=False)})
    >>> NaiveBayes(("a",), 2, -0.5, ((-1.0, 2.0),)).predict(rows).tolist()
    [True, False]
    """

    columns: tuple[str, ...]
    bins: int
    prior: float
    odds: tuple[tuple[float, ...], ...]

    def log_odds(self, rows: Sample) -> NDArray[np.float64]:
        """Return the log-odds of the positive label for each of some public rows."""
        total = np.full(rows.weights.shape, self.prior)
        for axis, odds in zip(_axes(rows.metadata, self.columns, self.bins), self.odds, strict=True):
            for place, weight in zip(_places(axis), odds, strict=True):
                total += weight * holds(place, rows)
        return total

    def predict(self, rows: Sample) -> Booleans:
        """Return the prediction for each of some public rows."""
        return np.asarray(self.log_odds(rows) > 0)


def naive_bayes_needs(columns: TableMetadata, names: Sequence[str], *, bins: int = 8) -> int:
    """Return the number of queries that naive Bayes asks: 2·(1 + Σ_j V_j) for V_j bins of column j.

    >>> from discreet.schema import Boolean, Integer
    >>> people = TableMetadata("p", {"age": Integer(0, 99), "ill": Boolean(missing=False)}, person=None)
    >>> naive_bayes_needs(people, ["age", "ill"], bins=4)
    16
    """
    return 2 * (1 + sum(axis.size for axis in _axes(columns, names, bins)))


def learn_naive_bayes(
    oracle: StatisticalOracle, *, label: Condition, columns: Sequence[str], bins: int = 8
) -> NaiveBayes:
    """Learn naive Bayes: 2·(1 + Σ_j V_j) queries, of tolerance well below the probabilities that matter.

    Args:
        oracle: Any statistical-query oracle.
        label: The condition that the positive label stands for.
        columns: The columns to predict from.
        bins: The number of bins of a number with more levels; categories keep all their values.

    >>> from discreet.learn.statistical_queries import SampleOracle, SQOracle
    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 99, missing=0), "ill": Boolean(missing=False)}
    >>> ages = list(range(100)) * 100
    >>> rows = Sample.of({"age": ages, "ill": [age >= 50 for age in ages]}, columns)
    >>> exact = learn_naive_bayes(SampleOracle(rows), label="ill", columns=["age"], bins=4)
    >>> private = learn_naive_bayes(SQOracle(rows, queries=10, epsilon=1), label="ill", columns=["age"], bins=4)
    >>> bool((exact.predict(rows) == private.predict(rows)).all())
    True
    """
    metadata = oracle.metadata
    wanted = condition(metadata, label)
    sides = (untrue(wanted), true(wanted))
    floor = max(oracle.tolerance, _LEAST)

    def ratio(text: str, *places: Expression) -> float:
        no, yes = (
            oracle.ask(share(f"{text}, label {bit}", *places, side)).value for bit, side in enumerate(sides)
        )
        return math.log(max(yes or 0.0, floor) / max(no or 0.0, floor))

    prior = ratio("all rows", ir.always(True))
    odds = tuple(
        tuple(ratio(f"{axis.name} in bin {i}", place) - prior for i, place in enumerate(_places(axis)))
        for axis in _axes(metadata, columns, bins)
    )
    return NaiveBayes(tuple(columns), bins, prior, odds)


def _axes(metadata: TableMetadata, names: Sequence[str], bins: int) -> tuple[Axis, ...]:
    wide = {
        name: bins
        for name in names
        if name in metadata.columns
        and metadata.columns[name].kind not in ("category", "boolean")
        and (metadata.columns[name].levels or 0) > bins
    }
    return axes_of(metadata, list(names), wide)


def _places(axis: Axis) -> list[Expression]:
    """Return one condition for each bin of a column, that of missing values last. None is ever NULL."""
    code = ir.sealed(axis.sealed)
    ends = [*axis.starts[1:], axis.levels]
    inside = [
        true(ir.both(ir.compared(">=", code, ir.number(low)), ir.compared("<", code, ir.number(high))))
        for low, high in zip(axis.starts, ends, strict=True)
    ]
    return [*inside, *([ir.is_null(code)] if axis.nullable else [])]
