"""Build the conditions that learners ask about, and apply learned rules to public rows.

A condition in SQL is true, false or NULL. A learner needs two values: a rule holds where its condition is true,
and does not hold elsewhere, so a missing value meets no rule, and its label is negative. The trees here are never
NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.nodes import Expression
from discreet.learn.statistical_queries.query import GRAIN, Condition, StatisticalQuery, condition, written
from discreet.learn.statistical_queries.sample import Sample
from discreet.oracle.linear_query import evaluate
from discreet.query import ir
from discreet.schema.metadata import TableMetadata

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Needs:
    """What a learner needs of an oracle: at most so many queries, each within this tolerance.

    >>> Needs(queries=10, tolerance=0.005)
    Needs(queries=10, tolerance=0.005)
    """

    queries: int
    tolerance: float


@dataclass(frozen=True)
class Rule:
    """A rule that predicts the positive label where a condition holds.

    >>> from discreet.schema import Integer
    >>> rows = Sample.of({"age": [30, 71]}, {"age": Integer(0, 110)})
    >>> Rule("age >= 65").predict(rows).tolist()
    [False, True]
    """

    condition: str

    def tree(self, metadata: TableMetadata) -> Expression:
        """Return the rule as a condition that is never NULL."""
        return true(condition(metadata, self.condition))

    def predict(self, rows: Sample) -> Booleans:
        """Return the prediction for each of some public rows."""
        return holds(self.tree(rows.metadata), rows)

    def __str__(self) -> str:
        return self.condition


def true(tree: Expression) -> Expression:
    """Return the condition that a condition is true: false where that is false or NULL.

    >>> true(ir.sealed("c0")).sql()
    'CASE WHEN c0 THEN 1 ELSE 0 END = 1'
    """
    return ir.compared("=", ir.case([(tree, ir.number(1))], ir.number(0)), ir.number(1))


def untrue(tree: Expression) -> Expression:
    """Return the condition that a condition is false or NULL."""
    return ir.compared("=", ir.case([(tree, ir.number(1))], ir.number(0)), ir.number(0))


def share(text: str, *conditions: Expression) -> StatisticalQuery:
    """Return the query for the share of rows that meet all conditions.

    >>> share("both", ir.always(True), ir.always(True)).text
    'both'
    """
    return StatisticalQuery(text, ir.case([(ir.both(*conditions), ir.number(GRAIN))], ir.number(0)))


def errors(prediction: Expression, label: Expression, whole: int = GRAIN) -> Expression:
    """Return the expression that is `whole` on the rows where a prediction differs from the label, else 0.

    >>> errors(ir.sealed("c0"), ir.sealed("c1"), 1).sql()
    'CASE WHEN c0 THEN CASE WHEN c1 THEN 0 ELSE 1 END ELSE CASE WHEN c1 THEN 1 ELSE 0 END END'
    """
    right, wrong = ir.number(0), ir.number(whole)
    return ir.case([(prediction, ir.case([(label, right)], wrong))], ir.case([(label, wrong)], right))


def holds(tree: Expression, rows: Sample) -> Booleans:
    """Return where a condition is true, on public rows."""
    found = evaluate(tree, rows.codes)
    met = np.asarray(found.value).astype(bool) & ~np.asarray(found.null)
    return np.array(np.broadcast_to(met, rows.weights.shape))


def error_rate(model: Any, label: Condition, rows: Sample) -> float:
    """Return the share of public rows on which a model errs: exact, and not private.

    Args:
        model: Whatever has `predict`.
        label: The condition that the positive label stands for.
        rows: The rows, which must be public.

    >>> from discreet.schema import Boolean, Integer
    >>> rows = Sample.of({"age": [30, 71], "ill": [True, True]}, {"age": Integer(0, 110), "ill": Boolean()})
    >>> error_rate(Rule("age >= 65"), "ill", rows)
    0.5
    """
    wanted = holds(condition(rows.metadata, label), rows)
    return float(np.mean(model.predict(rows) != wanted)) if wanted.size else 0.0


def conjoined(texts: Sequence[str]) -> str:
    """Return the conjunction of conditions as text.

    >>> conjoined(['"ill"', '"age" < 3']), conjoined([])
    ('("ill") and ("age" < 3)', 'true')
    """
    return " and ".join(f"({text})" for text in texts) or "true"


def named(label: Condition) -> str:
    """Return the text of a label for the names of queries."""
    return written(label)
