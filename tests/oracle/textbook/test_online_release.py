"""Test online release without privacy: few mistakes for any choice of queries."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.oracle import OnlineRelease
from discreet.oracle.textbook.multiplicative_weights import mistakes, regret_at


def worst(release: OnlineRelease, truth: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Return the query of a workload with the largest error of the hypothesis."""
    found: np.ndarray = queries[np.argmax(np.abs(queries @ (release.hypothesis - truth)))]
    return found


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.sampled_from(["0.05", "0.1", "0.3"]))
def test_the_worst_adversary_in_a_workload_finds_no_more_mistakes_than_the_bound(
    columns: int, seed: int, alpha: str
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(2**columns, 0.1))
    queries = rng.integers(0, 2, (40, 2**columns))
    release, most = OnlineRelease(truth, alpha), mistakes(2**columns, alpha)
    before = release.divergence
    for _ in range(most + 1):
        query = worst(release, truth, queries)
        assert abs(release.ask(query) - query @ truth) < float(alpha)
        assert release.divergence <= before
        before = release.divergence
    assert release.mistakes <= most
    assert sum(release.errors) <= regret_at(2**columns, release.mistakes, float(alpha) / 2)
    assert np.abs(queries @ (release.hypothesis - truth)).max() < float(alpha)


def test_the_bound_of_the_notes_is_too_small_by_a_factor() -> None:
    """T·α ≤ 2·√(T·ln N) gives T ≤ 4·ln N/α², and not ln N/α²: an adversary exceeds the latter."""
    cells, alpha = 256, 0.1
    truth = np.eye(cells)[0]
    release = OnlineRelease(truth, alpha)
    for _ in range(5 * mistakes(cells, "0.1")):
        gap = 1 - release.hypothesis[0]
        if gap < alpha:
            break
        release.ask(truth * min(1, alpha / gap * (1 + 1e-9)))  # wrong by α, and not by more
    assert math.log(cells) / alpha**2 < 1.5 * math.log(cells) / alpha**2 < release.mistakes
    assert release.mistakes <= mistakes(cells, "0.1")


def test_a_query_that_was_learned_is_answered_from_the_hypothesis() -> None:
    release = OnlineRelease([8, 1, 1], alpha="0.05")
    answers = [release.ask([1, 0, 0]) for _ in range(200)]
    mistakes = release.mistakes
    assert 0 < mistakes < 100
    assert len(set(answers[-10:])) == 1
    assert release.mistakes == mistakes == len(release.errors)


@pytest.mark.parametrize("truth", [[], [[1]], [-1, 2], [0, 0], [np.inf, 1], [np.nan, 1]])
def test_an_invalid_truth_is_refused(truth: list[float]) -> None:
    with pytest.raises(ParameterError, match="row of counts"):
        OnlineRelease(truth, "0.1")


@pytest.mark.parametrize("query", [[1], [2, 0], [-1, 0], [[1, 0]]])
def test_an_invalid_query_is_refused(query: list[float]) -> None:
    with pytest.raises(ParameterError, match="2 weights"):
        OnlineRelease([1, 1], "0.1").ask(query)


@pytest.mark.parametrize("query", [[np.nan, 0], [0, np.nan], [np.inf, 0]])
def test_a_query_with_nan_is_refused_and_does_not_poison_the_hypothesis(query: list[float]) -> None:
    release = OnlineRelease([3, 1], "0.1")
    with pytest.raises(ParameterError, match="2 weights"):
        release.ask(query)
    assert release.hypothesis.tolist() == [0.5, 0.5]
    assert release.ask([1, 0]) == 0.75


def test_every_zero_one_query_over_few_cells_ends_up_answered() -> None:
    truth = np.array([0.5, 0.25, 0.125, 0.125])
    release = OnlineRelease(truth, "0.02")
    for _ in range(300):
        for query in itertools.product((0, 1), repeat=4):
            release.ask(query)
    assert all(abs(release.ask(q) - truth @ q) < 0.02 for q in itertools.product((0, 1), repeat=4))
