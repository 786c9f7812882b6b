"""Learners that only ask: with an exact oracle, with one that is off by its tolerance, and with a private one."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.learn.statistical_queries import (
    Halfspace,
    Sample,
    SampleOracle,
    SQOracle,
    StatisticalQuery,
    conjunction_needs,
    decision_list_needs,
    error_rate,
    learn_conjunction,
    learn_decision_list,
    learn_halfspace,
    learn_naive_bayes,
    learn_stump,
    literals,
    naive_bayes_needs,
    perceptron_needs,
    schema,
    stump_needs,
)
from discreet.learn.statistical_queries import conjunctions as conjunctions_module
from discreet.release import Estimate
from discreet.schema import Boolean, Column, Integer
from discreet.schema.metadata import TableMetadata
from tests.learn.statistical_queries import tables

BITS: dict[str, Column] = {name: Boolean() for name in "abcdy"}
CHOICES = [text for name in "abcd" for text in (f'"{name}"', f'not "{name}"')]


class Adversary:
    """An oracle that is off by its whole tolerance, up or down: the worst that a theorem allows."""

    def __init__(self, sample: Sample, tolerance: float, seed: int):
        self._exact, self._tolerance = SampleOracle(sample), tolerance
        self._rng = np.random.default_rng(seed)
        self.asked = 0

    @property
    def metadata(self) -> TableMetadata:
        return self._exact.metadata

    @property
    def tolerance(self) -> float:
        return self._tolerance

    def ask(self, query: Any) -> Estimate:
        self.asked += 1
        value = (self._exact.ask(query).value or 0.0) + self._tolerance * self._rng.choice([-1, 1])
        return Estimate("off", [value], [value], [value])


def boolean_rows(label: Callable[..., bool], count: int = 4000, seed: int = 0) -> Sample:
    rng = np.random.default_rng(seed)
    bits = rng.random((4, count)) < np.array([[0.5], [0.7], [0.3], [0.6]])
    return Sample.of({**dict(zip("abcd", bits, strict=True)), "y": [label(*row) for row in bits.T]}, BITS)


CONJUNCTIONS = [lambda a, b, c, d: a and not c, lambda a, b, c, d: True, lambda a, b, c, d: a and b and c and d]
LISTS = [
    lambda a, b, c, d: False if a else True if c else not d,
    lambda a, b, c, d: bool(b),
    lambda a, b, c, d: False,
]


@pytest.mark.parametrize("target", CONJUNCTIONS)
@pytest.mark.parametrize("seed", range(3))
def test_conjunctions_are_learned_within_the_theorem(target: Callable[..., bool], seed: int) -> None:
    needs = conjunction_needs(len(CHOICES), "0.1")
    rows = boolean_rows(target)
    oracle = Adversary(rows, needs.tolerance, seed)
    found = learn_conjunction(oracle, label="y", literals=CHOICES)
    assert error_rate(found, "y", rows) <= 0.1
    assert oracle.asked == needs.queries


@pytest.mark.parametrize("target", LISTS)
@pytest.mark.parametrize("seed", range(3))
def test_decision_lists_are_learned_within_the_theorem(target: Callable[..., bool], seed: int) -> None:
    needs = decision_list_needs(len(CHOICES), "0.1")
    rows = boolean_rows(target)
    oracle = Adversary(rows, needs.tolerance, seed)
    found = learn_decision_list(oracle, label="y", literals=CHOICES)
    assert error_rate(found, "y", rows) <= 0.1
    assert oracle.asked <= needs.queries


def test_labels_without_a_list_end_with_the_more_frequent_label() -> None:
    rows = boolean_rows(lambda a, b, c, d: bool(a) ^ bool(b))
    found = learn_decision_list(SampleOracle(rows), label="y", literals=CHOICES)
    assert found.rules == ()
    assert error_rate(found, "y", rows) <= 0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_best_stump_is_found_within_twice_the_tolerance(seed: int) -> None:
    rows = tables.sample()
    rules = literals(rows, ["age", "city", "pay"], cuts=5)
    needs = stump_needs(len(rules), "0.1")
    oracle = Adversary(rows, needs.tolerance, seed)
    found = learn_stump(oracle, label="ill", rules=rules)
    best = learn_stump(SampleOracle(rows), label="ill", rules=rules)
    assert error_rate(found, "ill", rows) <= error_rate(best, "ill", rows) + 0.1
    assert oracle.asked == needs.queries


def separable(gap: int = 4) -> tuple[Sample, float]:
    """Return rows that a halfspace with a margin separates, and the margin that one of them has."""
    points = [(a, b) for a, b in itertools.product(range(11), repeat=2) if abs(a - b) >= gap]
    columns: dict[str, Column] = {"a": Integer(0, 10), "b": Integer(0, 10), "y": Boolean()}
    rows = Sample.of(
        {"a": [a for a, _ in points], "b": [b for _, b in points], "y": [a > b for a, b in points]}, columns
    )
    # w* = (1, −1, 0)/√2 and x = (2a/10 − 1, 2b/10 − 1, 1)/√3, so y·w*·x = |a − b|/5/√6, less the grid of places.
    return rows, (gap / 5 - 4 / 4096) / np.sqrt(6)


@pytest.mark.parametrize("seed", range(3))
def test_a_halfspace_is_learned_within_the_theorem(seed: int) -> None:
    rows, margin = separable()
    needs = perceptron_needs(2, "0.1", f"{margin:.4f}")
    oracle = Adversary(rows, needs.tolerance, seed)
    rounds = int(np.ceil(12 / margin**2)) + 1
    found = learn_halfspace(oracle, label="y", columns=["a", "b"], alpha="0.1", rounds=rounds)
    assert error_rate(found, "y", rows) <= 0.1
    assert oracle.asked < needs.queries  # it stopped by itself


def test_a_score_is_the_same_for_missing_values_as_for_the_middle() -> None:
    columns: dict[str, Column] = {"a": Integer(0, 4096 * 2), "b": Integer(0, 1)}
    rows = Sample.of({"a": [None, 4096, 0, 8192], "b": [1, 1, 1, 1]}, columns)
    for weights in itertools.product((-3, 0, 2), repeat=2):
        for intercept in (-3, 0, 3):
            predicted = Halfspace(("a", "b"), weights, intercept).predict(rows).tolist()
            scores = [weights[0] * x + weights[1] + intercept for x in (0, 0, -1, 1)]
            assert predicted == [score > 0 for score in scores]


def test_naive_bayes_asks_as_many_queries_as_it_says_and_predicts() -> None:
    rows = tables.sample(4000)
    columns = ["age", "city"]
    oracle = Adversary(rows, 0.0, 0)
    model = learn_naive_bayes(oracle, label="ill", columns=columns)
    assert oracle.asked == naive_bayes_needs(rows.metadata, columns)
    private = SQOracle(rows, queries=oracle.asked, epsilon=20)
    noisy = learn_naive_bayes(private, label="ill", columns=columns)
    assert error_rate(model, "ill", rows) < 0.15
    assert error_rate(noisy, "ill", rows) < 0.25
    assert private.left == 0


def test_every_learner_becomes_private_when_its_oracle_does() -> None:
    rows, _ = separable()
    for learn in (
        lambda oracle: learn_conjunction(oracle, label="y", literals=["a >= 5", "b < 5"]),
        lambda oracle: learn_decision_list(oracle, label="y", literals=["a >= 5", "b < 5"]),
        lambda oracle: learn_stump(oracle, label="y", rules=["a >= 5", "b < 5"]),
        lambda oracle: learn_naive_bayes(oracle, label="y", columns=["a", "b"], bins=2),
        lambda oracle: learn_halfspace(oracle, label="y", columns=["a", "b"], alpha="0.1", rounds=3),
    ):
        found = learn(SQOracle(rows, queries=40, epsilon=1))
        assert found.predict(rows).shape == rows.weights.shape


def test_learners_know_no_table() -> None:
    """They are written against the face alone: nothing that holds rows is among their imports."""
    source = inspect.getsource(conjunctions_module)
    assert "sample import" not in source
    assert "exact_sums" not in source


@pytest.mark.parametrize("rows", [0, 1])
def test_learners_take_any_table(rows: int) -> None:
    table = Sample.of({"a": [True] * rows, "y": [True] * rows}, {"a": Boolean(), "y": Boolean()})
    for oracle in (SampleOracle(table), SQOracle(table, queries=100, epsilon=1)):
        learn_conjunction(oracle, label="y", literals=["a"])
        learn_decision_list(oracle, label="y", literals=["a"])
        learn_stump(oracle, label="y", rules=["a"])
        learn_naive_bayes(oracle, label="y", columns=["a"])
        learn_halfspace(oracle, label="y", columns=["a"], alpha="0.1", rounds=4)


def test_weights_that_grow_huge_are_held() -> None:
    """Noise larger than the table must not lead to an integer that no engine can hold."""

    class Loud(SampleOracle):
        def ask(self, query: Any) -> Estimate:
            assert isinstance(query, StatisticalQuery)
            query.admit(self.metadata)
            super().ask(query)
            return Estimate("loud", [1e12], [0.0], [0.0])

    rows, _ = separable()
    found = learn_halfspace(Loud(rows), label="y", columns=["a", "b"], alpha="0.1", rounds=30)
    assert max(map(abs, found.weights)) <= 2**40


def test_literals_follow_from_the_schema() -> None:
    people = schema(tables.COLUMNS)
    assert literals(people, ["ill"]) == ('"ill"', 'not "ill"')
    assert len(literals(people, ["city"])) == 8
    assert len(literals(people, ["age"], cuts=1000)) == 2 * 99
