"""Test queries on a sealed histogram: exact integers with the declared sensitivity."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, SensitivityExceeded
from discreet.mechanisms import Exact
from discreet.mechanisms.exact import LIMIT, opened
from discreet.oracle import Queries
from discreet.oracle.textbook.queries import (
    admit_histogram,
    distance,
    distances,
    refuse_too_many,
    sums,
    total,
)

counts = st.lists(
    st.sampled_from([-LIMIT, -3, 0, 1, 7, 10**6, 2**40, 2**59, LIMIT - 1, LIMIT]), min_size=3, max_size=3
)
weights = st.lists(st.integers(0, 5), min_size=3, max_size=3)


@given(counts, weights, st.integers(0, 2), st.integers(0, 10**6))
def test_no_person_exceeds_the_declared_sensitivity_of_a_sum_even_in_a_hostile_table(
    table: list[int], query: list[int], cell: int, public: int
) -> None:
    other = table.copy()
    other[cell] += 1
    row, every = np.array(query), Queries([query, query[::-1]], grid=5)
    made: list[Callable[[Exact], Any]] = [
        lambda x: opened(total(x, row, sensitivity=5)),
        lambda x: opened(distance(x, row, public, sensitivity=5)),
        lambda x: opened(distances(x, every, np.array([public, 0]), sensitivity=5)),
        lambda x: sums(x, every, times=1),
        lambda x: sums(x, every, times=7) // 7,
    ]
    for make in made:
        here, there = (np.asarray(make(Exact(values, 1))) for values in (table, other))
        assert np.abs(here - there).max() <= 5
        assert np.abs(here).max() < LIMIT // 2


def test_a_sum_is_the_sum() -> None:
    histogram = Exact([5, 2, 9], sensitivity=1)
    assert opened(total(histogram, np.array([2, 0, 1]), sensitivity=2)) == 19
    assert opened(distance(histogram, np.array([2, 0, 1]), 20, sensitivity=2)) == 1
    assert opened(
        distances(histogram, Queries([[1, 0, 0], [1, 1, 1]]), np.array([5, 0]), sensitivity=1)
    ).tolist() == [
        0,
        16,
    ]
    assert sums(histogram, Queries([[1, 0, 0]]), times=3).tolist() == [15]
    assert total(histogram, np.array([2, 0, 1]), sensitivity=2).sensitivity.monotonic == "up"


def test_marginals_count_every_cell_once_for_each_choice_of_columns() -> None:
    sizes = [2, 3, 4]
    for ways in (1, 2, 3):
        queries = Queries.marginals(sizes, ways)
        choices = list(itertools.combinations(sizes, ways))
        assert queries.count == sum(int(np.prod(choice)) for choice in choices)
        assert (queries.weights.sum(axis=0) == len(choices)).all()
    table = np.arange(24).reshape(2, 3, 4)
    found = Queries.marginals(sizes, 2).weights @ table.ravel()
    wanted = [*table.sum(2).ravel(), *table.sum(1).ravel(), *table.sum(0).ravel()]
    assert found.tolist() == wanted


def test_a_workload_is_a_value() -> None:
    one, same, other = Queries([[1, 0]]), Queries([[True, False]]), Queries([[1, 0]], grid=2)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "queries"
    assert repr(other) == "Queries(1 over 2 cells, grid=2)"
    with pytest.raises(ValueError, match="read-only"):
        one.weights[0, 0] = 5
    given = np.array([[1, 0]])
    kept = Queries(given)
    given[0, 0] = 0
    assert kept == one


@pytest.mark.parametrize(
    ("weights", "grid", "words"),
    [
        ([[0.5, 1]], 1, "found: float64"),
        ([[2, 0]], 1, "found: 2"),
        ([[-1, 0]], 4, "found: -1"),
        ([[5, 0]], 4, "3 at grid 4"),
        ([1, 0], 1, "a row of weights for each query"),
        ([[]], 1, "one weight for every cell"),
        ([["a", "b"]], 1, "integer"),
        ([[1, 0]], 0, "grid"),
    ],
)
def test_an_invalid_workload_is_refused_with_a_fix(weights: Any, grid: int, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Queries(weights, grid)


def test_a_histogram_of_another_domain_or_another_sensitivity_is_refused() -> None:
    admit_histogram(Exact([1, 2], 1), cells=2, sensitivity=1)
    with pytest.raises(ParameterError, match=r"must have 3 cells \(found: 2\)"):
        admit_histogram(Exact([1, 2], 1), cells=3, sensitivity=1)
    with pytest.raises(SensitivityExceeded, match="built for 1"):
        admit_histogram(Exact([1, 2], 2), cells=2, sensitivity=1)
    with pytest.raises(ParameterError, match="a vector"):
        admit_histogram(Exact(1, 1), cells=1, sensitivity=1)
    with pytest.raises(ParameterError, match="Exact"):
        admit_histogram([1, 2], cells=2, sensitivity=1)  # type: ignore[arg-type]


def test_a_table_too_large_for_integers_is_refused_by_its_declared_size() -> None:
    refuse_too_many(2**40, 2**10)
    with pytest.raises(ParameterError, match="coarser grid"):
        refuse_too_many(2**60, 2)
