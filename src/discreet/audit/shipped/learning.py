"""List the learners of `learn` as subjects of an attack, on samples of a few rows.

A choice from a finite class is one selection, so the exact attack enumerates all of it, on every pair that is
tight: a row that one hypothesis gets wrong and the other right, with a class that is missing, and on an empty
table. The statistical-query oracle adds noise to sums on a fine grid, which is too much to enumerate: its answers,
to queries of which the second depends on the first, are attacked by their transcript, and by sampling. The fits of
models are in `learning_methods`.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.replay import transcript
from discreet.learn import finite
from discreet.learn.finite import selection
from discreet.learn.finite.mechanism import Choosing
from discreet.learn.statistical_queries import Sample, SQOracle, StatisticalQuery, predicate
from discreet.learn.statistical_queries.exact_sums import SampleSums
from discreet.learn.statistical_queries.query import condition
from discreet.learn.statistical_queries.rules import errors
from discreet.mechanisms import Exact
from discreet.privacy.losses import Pure
from discreet.schema import Boolean, Column, Integer
from discreet.schema.metadata import UNIT

Rows: TypeAlias = list[tuple[int, bool]]
"""Rows of a tiny table: a number from 0 to 3, and a label."""

COLUMNS: dict[str, Column] = {"x": Integer(0, 3), "y": Boolean()}
PAIRS: list[tuple[Rows, Rows]] = [
    ([], [(3, True)]),
    ([(0, False)], [(0, False), (3, False)]),
    ([(1, True), (2, False)], [(1, True), (2, False), (2, True)]),
]


ROW: dict[str, int | bool] = {"x": 3, "y": True}
ASKED = [([ROW] * 4, [ROW] * 5)]


def learners() -> dict[str, Subject]:
    """Return the subjects by name.

    >>> sorted(learners())[:3]
    ['Gaussian naive Bayes, Gaussian', 'Gaussian naive Bayes, Laplace', 'SQOracle(epsilon=1, queries=2)']
    """
    found = [_choosing("exponential"), _choosing("permute and flip")]
    # Its noise is too much to enumerate, and a release takes a fifth of a millisecond.
    attacks = {"transcript": transcript.attack, "black box": blackbox.attack}
    oracle = Subject(name="SQOracle(epsilon=1, queries=2)", release=answers, loss=Pure(1), pairs=ASKED)
    found.append(replace(oracle, attacks=attacks, samples=5_000))
    return {**{subject.name: subject for subject in found}, **_fits()}


def _fits() -> dict[str, Subject]:
    """Return the fits of models; none where scikit-learn is not installed, and models cannot be fitted."""
    if importlib.util.find_spec("sklearn") is None:
        return {}
    from discreet.audit.shipped.learning_methods import fits  # scikit-learn takes a second to import

    return fits()


def _choosing(name: Choosing) -> Subject:
    """Return the choice of a threshold at ε = 1. Errors are added up once for each table."""
    hypotheses = finite.thresholds(COLUMNS, "x", cuts=1)
    mechanism = finite.mechanism_for(Fraction(1), True, weight=UNIT, candidates=len(hypotheses), choosing=name)
    label = condition(hypotheses.metadata, "y")
    trees = [errors(tree, label, whole=1) for tree in hypotheses.trees]

    @cache
    def scored(rows: tuple[tuple[int, bool], ...]) -> Exact:
        sums = SampleSums(sample(list(rows)))
        return selection.scores(sums, sums.prepare(trees))

    def release(rows: Rows) -> int:
        return int(mechanism.release(scored(tuple(rows))))

    title = f"choose(epsilon=1, {type(mechanism).__name__})"
    return Subject(name=title, release=release, loss=mechanism.loss, pairs=PAIRS)


def answers(rows: list[dict[str, Any]]) -> list[float]:
    """Return two answers at ε = 1 in all; the second query depends on the first answer."""
    oracle = SQOracle(sample([(row["x"], row["y"]) for row in rows]), queries=2, epsilon=1, rows=8)
    first = oracle.ask(_queries()[0]).value or 0.0
    return [first, oracle.ask(_queries()[1 if first > 1 / 2 else 2]).value or 0.0]


def sample(rows: Rows) -> Sample:
    """Return a tiny table as a sample.

    >>> sample([(3, True)])
    <sample over x, y, sealed>
    """
    return Sample.of({"x": [x for x, _ in rows], "y": [y for _, y in rows]}, COLUMNS)


@cache
def _queries() -> tuple[StatisticalQuery, ...]:
    return tuple(predicate(COLUMNS, text) for text in ("y", "x >= 2", "x >= 2 and y"))
