"""The choice of marginals to measure, and of their precision."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.synth.selection.select import (
    Candidate,
    chosen,
    even_weights,
    filled,
    most_of_a_cell,
    removable,
    shrunk,
    weights,
)

candidates = st.lists(
    st.builds(Candidate, st.just((0, 1)), st.integers(4, 1000), st.floats(0.1, 10), st.floats(0, 1e4)),
    min_size=1,
    max_size=12,
).map(lambda found: [Candidate((0, i + 1), c.cells, c.weight, c.score) for i, c in enumerate(found)])


@given(candidates, st.floats(1e-6, 1))
def test_the_precision_is_divided_and_not_exceeded(listed: list[Candidate], precision: float) -> None:
    shares = chosen(listed, precision)
    assert shares
    assert abs(sum(shares.values()) - precision) < 1e-9 * precision


@given(candidates, st.floats(1e-6, 1))
def test_sets_that_are_measured_in_any_case_share_the_precision(listed: list[Candidate], precision: float) -> None:
    single = Candidate((0,), 5, 3.0, 0.0)
    shares = chosen(listed, precision, [single])
    assert shares[0,] > 0
    assert abs(sum(shares.values()) - precision) < 1e-9 * precision


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=30), st.floats(0.1, 1e4))
def test_shrunk_scores_keep_their_mean_and_their_order(scores: list[float], deviation: float) -> None:
    found = shrunk(scores, deviation)
    assert abs(sum(found) - sum(scores)) < 1e-6 * len(scores)
    ranked = [found[i] for i in sorted(range(len(scores)), key=scores.__getitem__)]
    assert all(a <= b + 1e-6 for a, b in pairwise(ranked))


def test_a_distance_that_chance_explains_is_not_removable() -> None:
    """1,000 rows in 100 cells differ from their expectations by about 250 rows in all."""
    even = np.full((10, 10), 10.0)
    assert removable(240.0, even, [0.0, 0.0], variance=1000.0) == 0
    assert removable(240.0, even, [0.0, 0.0], variance=0.01) > 230
    assert removable(600.0, even, [0.0, 0.0], variance=1000.0) > 500


@given(candidates, st.floats(1e-6, 1))
def test_the_second_round_adds_exactly_the_precision_that_is_left(
    listed: list[Candidate], precision: float
) -> None:
    first = chosen(listed, precision)
    old = [Candidate(c.columns, c.cells, c.weight, 0.0, first[c.columns]) for c in listed if c.columns in first]
    new = [c for c in listed if c.columns not in first]
    more = filled([*old, *new], precision)
    assert abs(sum(more.values()) - precision) < 1e-3 * precision
    assert min(more.values()) > 0


def test_a_marginal_far_off_is_measured_and_one_below_the_noise_is_not() -> None:
    far, near = Candidate((0, 1), 100, 1.0, 5000.0), Candidate((1, 2), 100, 1.0, 1.0)
    assert list(chosen([near, far], 0.01)) == [(0, 1)]


def test_with_more_budget_more_is_measured() -> None:
    listed = [Candidate((0, i), 50 * i, 1.0, 300.0 / i) for i in range(1, 20)]
    sizes = [len(chosen(listed, precision)) for precision in (1e-3, 1e-1, 10)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_triple_is_taken_if_it_removes_more_than_it_costs() -> None:
    old = Candidate((0, 1), 100, 10.0, 0.0, precision=0.01)
    worth, idle = Candidate((0, 1, 2), 100, 1.0, 4000.0), Candidate((0, 1, 3), 100, 1.0, 5.0)
    assert set(filled([old, worth, idle], 0.01)) == {(0, 1), (0, 1, 2)}


def test_larger_sets_lend_their_weight_to_smaller_ones() -> None:
    assert weights({(0, 1, 2): 1.0, (1, 2): 2.0}, [(1, 2), (0, 1), (0, 3)]) == {
        (1, 2): 3.0,
        (0, 1): 1.0,
        (0, 3): 0.0,
    }


@given(st.integers(1, 8), st.integers(1, 3))
def test_by_default_all_sets_of_three_have_the_same_weight(width: int, size: int) -> None:
    sets = list(combinations(range(width), size))
    every = dict.fromkeys(combinations(range(width), min(3, width)), 1.0)
    assert even_weights(width, sets) == weights(every, sets)


def test_the_subsets_of_a_wanted_set_of_very_many_columns_are_not_listed() -> None:
    assert weights({tuple(range(5000)): 2.0}, [(3, 4), (1, 2, 4999), (1, 5000)]) == {
        (3, 4): 2.0,
        (1, 2, 4999): 2.0,
        (1, 5000): 0.0,
    }


@given(st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=2, max_size=5))
def test_no_cell_of_a_pair_is_off_by_more_than_its_score_leaves_room_for(counts: list[list[int]]) -> None:
    table = np.array(counts, float) + 1e-9
    expected = np.multiply.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    off = np.abs(table - expected)
    assert off.max() <= most_of_a_cell(float(off.sum()), expected) * (1 + 1e-9) + 1e-9


def test_two_columns_of_two_values_take_up_all_the_room() -> None:
    """Of two copies each cell is off by a quarter of the distance."""
    expected = np.full((2, 2), 25.0)
    assert most_of_a_cell(100.0, expected) == 25.0
