"""Learn a halfspace with a margin from statistical queries: the perceptron, a batch of mistakes at a time.

The features of a row are x = (X_1, …, X_d)/√d, where X_j in [−1, 1] is the place of a column in its range, and the
last X_d = 1 is the intercept. A missing value has X_j = 0. Labels are y = ±1. In every round the learner asks for
the mistakes p = P[y·(w·x) ≤ 0]. If the answer p̂ is at most α − τ it stops. Otherwise it asks for the d means
E[y·X_j·1(y·(w·x) ≤ 0)], which make √d·M with M = E[y·x·1(mistake)], and adds M̂/p̂ to w, rounded to a grid.

Theorem. If a unit vector w* has y·(w*·x) ≥ γ on all rows, then with tolerance τ = γα/10, and √d·2⁻¹⁷ ≤ γ/72 for
the grid, the learner stops after at most 12/γ² updates, with P[mistake] ≤ α.

Proof. Each of the d answers is within τ, so M̂ is within τ·√d/√d = τ of M. While it runs, p̂ > α − τ ≥ 0.9α, so
p/p̂ lies in [8/9, 10/9], and with the rounding the update u = M̂/p̂ + r is within γ/9 + γ/72 = γ/8 of (p/p̂)·M/p.
As w*·M ≥ γp, w·M ≤ 0 and |M| ≤ p:   w*·u ≥ (8/9 − 1/8)γ > 0.763γ,   w·u ≤ |w|·γ/8,   |u| ≤ 10/9 + 1/8 < 1.237. So
|w + u|² ≤ |w|² + |w|·γ/4 + 1.53. While |w| ≥ 4/γ, |w| grows by at most γ/8 + 1.53γ/8 < 0.317γ an update; below,
one update ends at 4/γ + 1.237 at most. After T updates 0.763γT ≤ w*·w ≤ |w| ≤ 4/γ + 1.237 + 0.317γT, and γ ≤ 1, so
0.446γT ≤ 5.237/γ and T ≤ 11.75/γ². ∎

That is (d + 1)·(12/γ² + 1) queries of tolerance γα/10: a theorem, and more than data with fewer mistakes needs.
With a coarser oracle the learner still runs, and returns the w with the fewest mistakes seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.engines import nodes
from discreet.engines.nodes import Expression
from discreet.learn.statistical_queries.oracle import StatisticalOracle
from discreet.learn.statistical_queries.query import GRAIN, Condition, StatisticalQuery, condition, grid, moment
from discreet.learn.statistical_queries.rules import Booleans, Needs, holds, true, untrue
from discreet.learn.statistical_queries.sample import Sample
from discreet.query import ir
from discreet.rational import Rational, positive, whole
from discreet.schema.metadata import TableMetadata

STEPS = 2**16
"""Weights are multiples of 1/STEPS."""

_HEAVIEST = 2**40  # of a weight in steps, so that no score leaves 62 bits


@dataclass(frozen=True)
class Halfspace:
    """The rows with a positive score: integer weights on the places of columns, and an intercept.

    >>> from discreet.schema import Integer
    >>> rows = Sample.of({"age": [10, 90]}, {"age": Integer(0, 100)})
    >>> Halfspace(("age",), (3,), intercept=-1).predict(rows).tolist()
    [False, True]
    """

    columns: tuple[str, ...]
    weights: tuple[int, ...]
    intercept: int = 0

    def tree(self, metadata: TableMetadata) -> Expression:
        """Return the condition that the score is positive. It is never NULL."""
        return ir.compared(">", *self._sides(metadata))

    def mistaken(self, metadata: TableMetadata, label: Expression) -> Expression:
        """Return the condition that the score is not strictly on the side of the label. It is never NULL."""
        for_, against = self._sides(metadata)
        below = ir.both(true(label), ir.compared("<=", for_, against))
        above = ir.both(untrue(label), ir.compared(">=", for_, against))
        return ir.either(below, above)

    def predict(self, rows: Sample) -> Booleans:
        """Return the prediction for each of some public rows."""
        return holds(self.tree(rows.metadata), rows)

    def _sides(self, metadata: TableMetadata) -> tuple[Expression, Expression]:
        """Return two sums of non-negative terms whose difference is the score, in units of 1/(GRAIN·STEPS)."""
        sides: tuple[list[Expression], list[Expression]] = ([], [])
        for column, weight in zip(self.columns, self.weights, strict=True):
            if weight:  # W·(2g − GRAIN): W·2g on one side and W·GRAIN on the other
                ahead, behind = (0, 1) if weight > 0 else (1, 0)
                sides[ahead].append(ir.times(_doubled(metadata, column), abs(weight)))
                sides[behind].append(ir.number(abs(weight) * GRAIN))
        if self.intercept:
            sides[0 if self.intercept > 0 else 1].append(ir.number(abs(self.intercept) * GRAIN))
        first, second = (_sum(side) for side in sides)
        return first, second


def perceptron_needs(features: int, alpha: Rational, margin: Rational) -> Needs:
    """Return what the theorem needs for this many columns, an error of alpha and a margin.

    >>> perceptron_needs(4, "0.1", "0.2")
    Needs(queries=1806, tolerance=0.002)
    """
    gamma = positive(margin, "margin")
    dimension = whole(features, "features") + 1
    return Needs((dimension + 1) * (math.ceil(12 / gamma**2) + 1), float(gamma * positive(alpha, "alpha") / 10))


def learn_halfspace(
    oracle: StatisticalOracle,
    *,
    label: Condition,
    columns: Sequence[str],
    alpha: Rational,
    rounds: int,
) -> Halfspace:
    """Learn a halfspace: d + 1 queries in each round, for d − 1 columns and an intercept.

    For a margin γ the theorem asks for 12/γ² + 1 rounds and a tolerance of γα/10.

    Args:
        oracle: Any statistical-query oracle.
        label: The condition that the positive label stands for.
        columns: The columns with an order to predict from: numbers, times and booleans.
        alpha: The learner stops at an error of alpha.
        rounds: The most rounds.

    >>> from discreet.learn.statistical_queries import SampleOracle, SQOracle
    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"a": Integer(0, 9), "b": Integer(0, 9), "y": Boolean()}
    >>> pairs = [(a, b) for a in range(10) for b in range(10) if abs(a - b) >= 3] * 200
    >>> rows = Sample.of(
    ...     {"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "y": [a > b for a, b in pairs]}, columns)
    >>> exact = learn_halfspace(SampleOracle(rows), label="y", columns=["a", "b"], alpha="0.05", rounds=20)
    >>> bool((exact.predict(rows) == [a > b for a, b in pairs]).all())
    True
    >>> oracle = SQOracle(rows, queries=80, epsilon=10)
    >>> private = learn_halfspace(oracle, label="y", columns=["a", "b"], alpha="0.05", rounds=20)
    >>> bool((private.predict(rows) == [a > b for a, b in pairs]).mean() > 0.9)
    True
    """
    metadata = oracle.metadata
    wanted = condition(metadata, label)
    goal = float(positive(alpha, "alpha"))
    found = Halfspace(tuple(columns), (0,) * len(columns))
    best = (math.inf, found)
    for _ in range(whole(rounds, "rounds")):
        wrong = found.mistaken(metadata, wanted)
        mistakes = oracle.ask(_share(wrong)).value or 0.0
        best = min(best, (mistakes, found), key=lambda seen: seen[0])
        if mistakes <= max(goal - oracle.tolerance, 0.0):
            break
        means = [oracle.ask(_mean(metadata, column, wrong, wanted)).value or 0.0 for column in (*columns, None)]
        scale = STEPS / (math.sqrt(len(means)) * max(mistakes, oracle.tolerance, 1e-9))
        moved = [_held(old + round(mean * scale)) for old, mean in zip(_weights(found), means, strict=True)]
        found = Halfspace(tuple(columns), tuple(moved[:-1]), moved[-1])
    return best[1]


def _weights(found: Halfspace) -> tuple[int, ...]:
    return (*found.weights, found.intercept)


def _held(weight: int) -> int:
    return max(-_HEAVIEST, min(_HEAVIEST, weight))


def _share(wrong: Expression) -> StatisticalQuery:
    return StatisticalQuery("mistakes", ir.case([(wrong, ir.number(GRAIN))], ir.number(0)))


def _mean(metadata: TableMetadata, column: str | None, wrong: Expression, label: Expression) -> StatisticalQuery:
    return moment(metadata, column, when=wrong, signed=column is not None, flip=untrue(label))


def _doubled(metadata: TableMetadata, column: str) -> Expression:
    """Return twice the place of a column, from 0 to 2·GRAIN; the middle where it is missing."""
    sealed = ir.sealed(metadata.sealed_name(column))
    return ir.case([(ir.is_null(sealed), ir.number(GRAIN))], ir.times(grid(metadata, column), 2))


def _sum(terms: Sequence[Expression]) -> Expression:
    if not terms:
        return ir.number(0)
    total = terms[0]
    for term in terms[1:]:
        total = nodes.Add(total, term)
    return ir.bounded(total)
