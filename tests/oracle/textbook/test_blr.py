"""BLR: all small databases, the exact law of the one drawn, ε and no δ, the lemma behind it, where it stops."""

from __future__ import annotations

import itertools
import math
import time
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import noise
from discreet.audit import Law, hockey_stick, law
from discreet.errors import ParameterError, SensitivityExceeded
from discreet.mechanisms import Exact
from discreet.oracle import BLR, Queries
from discreet.oracle.textbook.blr import databases
from tests.oracle.textbook.online import skewed

HALVES = Queries.marginals([2, 2], ways=1)


@pytest.mark.parametrize(("cells", "size"), [(1, 3), (2, 1), (2, 5), (3, 4), (5, 3), (3, 300)])
def test_every_multiset_is_there_once(cells: int, size: int) -> None:
    found = databases(cells, size)
    assert len(found) == math.comb(cells + size - 1, size)
    assert (found.sum(axis=1) == size).all()
    if size < 10:
        every = [
            tuple(np.bincount(rows, minlength=cells))
            for rows in itertools.combinations_with_replacement(range(cells), size)
        ]
        assert sorted(map(tuple, found.tolist())) == sorted(every)
    assert len(np.unique(found, axis=0)) == len(found)


def test_a_million_databases_are_listed_without_a_loop_over_them() -> None:
    start = time.process_time()
    found = databases(20, 5)
    assert len(found) == 42_504
    assert time.process_time() - start < 1


# -- the exact law ----------------------------------------------------------------------------------------------


def chances(made: BLR, counts: list[int]) -> dict[tuple[int, ...], float]:
    """The law as defined, in shares and floats: exp(ε·n·u/2), u minus the worst error."""
    worst = {
        tuple(y): max(
            abs(
                sum(w * x for w, x in zip(query, counts, strict=True)) / made.rows
                - query @ np.array(y) / made.size
            )
            for query in made.queries.floats
        )
        for y in databases(made.queries.cells, made.size).tolist()
    }
    weights = {y: math.exp(-float(made.epsilon) * made.rows * error / 2) for y, error in worst.items()}
    return {y: weight / sum(weights.values()) for y, weight in weights.items()}


TINY = BLR(epsilon="1.5", queries=HALVES, rows=3, size=2)
TABLES = [[3, 0, 0, 0], [1, 1, 0, 1], [2, 0, 0, 0], [0, 0, 0, 4]]


def law_of(made: BLR, counts: list[int]) -> Law:
    return law(lambda: made.release(Exact(counts, sensitivity=1)).tolist())


@pytest.mark.parametrize("counts", TABLES, ids=str)
def test_each_database_has_the_probability_of_the_exponential_mechanism(counts: list[int]) -> None:
    found = law_of(TINY, counts)
    wanted = chances(TINY, counts)
    assert len(found.chances) == len(wanted) == TINY.databases
    for database, chance in wanted.items():
        low, high = found.chance(database)
        assert low - 1e-12 <= chance <= high + 1e-12


def test_it_is_epsilon_private_without_any_delta_and_no_better() -> None:
    """The notes say (ε, δ): at ε there is no δ left, and a little below there is."""
    neighbours = [([2, 0, 0, 0], [3, 0, 0, 0]), ([1, 1, 0, 1], [1, 1, 0, 0]), ([0, 0, 0, 4], [0, 1, 0, 4])]
    for pair in neighbours:
        P, Q = (law_of(TINY, counts) for counts in pair)
        assert max(hockey_stick(P, Q, TINY.epsilon)[1], hockey_stick(Q, P, TINY.epsilon)[1]) < 1e-30
    tight = BLR(epsilon="1.5", queries=Queries([[1, 0]]), rows=10, size=1)
    P, Q = (law_of(tight, counts) for counts in ([1, 0], [0, 0]))
    assert hockey_stick(P, Q, tight.epsilon)[1] < 1e-30
    assert hockey_stick(P, Q, Fraction("0.95") * tight.epsilon)[0] > 1e-6


def test_a_person_who_counts_twice_has_twice_the_noise() -> None:
    made = BLR(epsilon=1, queries=HALVES, rows=3, size=2, sensitivity=2)
    assert made.choosing.sensitivity == 4
    made.release(Exact([2, 0, 0, 0], sensitivity=2))
    with pytest.raises(SensitivityExceeded):
        TINY.release(Exact([2, 0, 0, 0], sensitivity=2))


# -- answers ----------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["0.2", "0.3", "0.5"]))
def test_some_database_of_the_size_of_the_lemma_has_an_error_of_alpha(seed: int, alpha: str) -> None:
    rng = np.random.default_rng(seed)
    queries = Queries(rng.integers(0, 2, (int(rng.integers(1, 7)), 4)))
    made = BLR.for_alpha(alpha, epsilon=1, queries=queries, rows=1000)
    assert made.alpha <= float(alpha)
    shares = rng.dirichlet(np.full(4, 0.5))
    every = databases(4, made.size) / made.size
    assert np.abs((every - shares) @ queries.weights.T).max(axis=1).min() <= float(alpha)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 100])
def test_its_databases_are_no_larger_than_those_of_the_notes_and_never_empty(count: int) -> None:
    queries = Queries(np.ones((count, 2), int))
    size = BLR.for_alpha("0.1", epsilon=1, queries=queries, rows=1000).size
    notes = math.log(count) / 0.01
    assert size > 0
    if count >= 3:
        assert size <= notes
    if count == 1:
        assert notes == 0  # a database without rows


def test_every_query_is_within_the_error_that_it_states() -> None:
    """A false alarm has a chance of 10⁻⁷."""
    made = BLR(epsilon=1, queries=HALVES, rows=10**5, size=30)
    counts = skewed(4, made.rows, seed=7)
    database = made.release(Exact(counts, sensitivity=1))
    found = made.answers(database)
    bar = made.error(1 - Fraction("1e-7"))
    assert bar < 0.25 * made.rows
    assert np.abs(found - HALVES.weights @ counts / made.rows).max() * made.rows <= bar
    assert not made.promise.vacuous
    assert made.promise.error < bar / made.rows


def test_weights_on_a_grid_are_scored_on_it() -> None:
    made = BLR(epsilon=100, queries=Queries([[4, 1]], grid=4), rows=100, size=10)
    database = made.release(Exact([70, 30], sensitivity=1))
    assert made.answers(database) == pytest.approx([0.7 + 0.3 / 4], abs=0.05)


def test_test_bits_leave_their_mark() -> None:
    with noise.deterministic(1):
        assert noise.is_test_noise(TINY.release(Exact([2, 0, 0, 0], sensitivity=1)))
    assert not noise.is_test_noise(TINY.release(Exact([2, 0, 0, 0], sensitivity=1)))


@pytest.mark.parametrize("counts", [[2**62 - 1] * 4, [-(2**62) + 1] * 4])
def test_hostile_counts_make_no_exception(counts: list[int]) -> None:
    assert TINY.release(Exact(counts, sensitivity=1)).sum() == 2


SMALL: dict[str, Any] = {"epsilon": 1, "queries": HALVES, "rows": 1000, "size": 5}

# -- where it stops ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"size": 200}, r"1,373,701 databases of 200 rows over 4 cells"),
        ({"queries": Queries(np.ones((1, 1000), int)), "size": 100}, r"about 10\^1[34]\d databases"),
    ],
)
def test_beyond_a_million_databases_it_is_refused_before_memory_is_taken(
    changed: dict[str, Any], told: str
) -> None:
    tracemalloc.start()
    with pytest.raises(ParameterError, match=told) as refused:
        BLR(**(SMALL | changed))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "vault.synthesize" in str(refused.value)
    assert peak < 10**6


@pytest.mark.parametrize("bad", [{"size": 0}, {"rows": 0}, {"epsilon": 0}, {"sensitivity": 0}])
def test_parameters_without_meaning_are_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        BLR(**(SMALL | bad))


def test_a_grid_finer_than_integers_is_refused() -> None:
    with pytest.raises(ParameterError, match="too fine"):
        BLR(epsilon=1, queries=Queries([[1, 0]], grid=2**52), rows=1, size=4)
