"""The strategies of columns: integers whose rows add up to zero, and their inverses."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.oracle.span.strategy import strategy
from discreet.query.bins import Axis

SHAPES = [(2, 0), (2, 2), (3, 0), (3, 3), (4, 3), (17, 17), (17, 16), (41, 0), (100, 100), (365, 365)]


@pytest.mark.parametrize(("size", "ordered"), SHAPES)
def test_rows_of_a_strategy_add_up_to_zero_exactly(size: int, ordered: int) -> None:
    """A row that does not would measure the total as well, and every answer would be biased."""
    matrix = strategy(size, ordered).matrix
    assert matrix.dtype == np.int64
    assert not matrix.sum(axis=1).any()


@pytest.mark.parametrize(("size", "ordered"), SHAPES)
def test_the_inverse_restores_everything_but_the_total(size: int, ordered: int) -> None:
    found = strategy(size, ordered)
    np.testing.assert_allclose(found.inverse @ found.matrix, np.eye(size) - 1 / size, atol=1e-9)
    np.testing.assert_allclose(found.inverse, np.linalg.pinv(found.matrix.astype(float), rcond=1e-9), atol=1e-9)


@pytest.mark.parametrize(("size", "ordered"), SHAPES)
def test_the_cost_is_the_largest_squared_norm_of_a_column(size: int, ordered: int) -> None:
    matrix = strategy(size, ordered).matrix
    assert strategy(size, ordered).cost == max(int(column @ column) for column in matrix.T)


def test_ranges_are_answered_better_than_by_points() -> None:
    """At the same cost, the mean variance of a range of 100 levels is a fraction of that of points."""
    means = []
    for ordered in (100, 0):
        found = strategy(100, ordered)
        ranges = np.array(
            [(np.arange(100) >= a) & (np.arange(100) < b) for a in range(0, 90, 7) for b in (a + 9, 95)]
        )
        centred = ranges - ranges.mean(axis=1, keepdims=True)
        means.append(found.cost * np.einsum("qi,ij,qj->q", centred, found.spread, centred).mean())
    assert means[0] < 0.4 * means[1]


def test_the_missing_value_of_an_ordered_column_is_a_level_of_its_own() -> None:
    axis = Axis("age", "c0", 9, True, tuple(range(9)), ordered=True)
    assert axis.size == 10
    assert strategy(10, 9).matrix.shape == (10, 10)
