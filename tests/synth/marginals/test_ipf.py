"""Projection onto the simplex, and fitting to margins."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.synth.marginals.ipf import on_simplex, product, rake, rake_loose

finite = st.floats(-100, 100)


@given(st.lists(finite, min_size=1, max_size=8), st.floats(0.1, 50), st.integers(0, 2**32 - 1))
def test_the_projection_is_on_the_simplex_and_nothing_on_it_is_nearer(
    values: list[float], total: float, seed: int
) -> None:
    y = np.array(values)
    x = on_simplex(y, total)
    assert x.min() >= 0
    assert abs(x.sum() - total) < 1e-6 * max(total, 100)
    other = np.random.default_rng(seed).dirichlet(np.ones(len(y))) * total
    assert np.square(x - y).sum() <= np.square(other - y).sum() + 1e-6


def test_a_fitted_table_has_its_margins_and_keeps_its_odds_ratios() -> None:
    rng = np.random.default_rng(1)
    start, goal = rng.random((4, 3, 2)) + 0.1, rng.random((4, 3, 2)) + 0.1
    margins: dict[tuple[int, ...], NDArray[Any]] = {(0, 1): goal.sum(2), (0, 2): goal.sum(1), (1, 2): goal.sum(0)}
    fitted = rake(start, margins, rounds=2000, tolerance=1e-13)
    for axes, wanted in margins.items():
        gone = next(i for i in range(3) if i not in axes)
        assert np.allclose(fitted.sum(axis=gone), wanted, atol=1e-8)

    def interaction(table: NDArray[Any]) -> float:
        logs = np.log(table)
        two = logs[:2, :2, :]
        return float((two[0, 0] - two[0, 1] - two[1, 0] + two[1, 1]) @ [1, -1])

    assert abs(interaction(fitted) - interaction(start)) < 1e-8


def test_independent_columns_are_a_product() -> None:
    ones = [np.array([1.0, 3.0]), np.array([2.0, 1.0, 1.0])]
    assert np.allclose(product(ones, 4.0).sum(axis=1), ones[0])
    assert np.allclose(product(ones, 4.0).sum(axis=0), ones[1])


def test_what_was_measured_keeps_its_value_where_the_rest_can_give_way() -> None:
    table, sure = np.full((2, 50), 2.0), np.zeros((2, 50))
    table[0, 0], sure[0, 0] = 300.0, 1.0
    fitted = rake_loose(table, sure, 1.0, {(0,): np.array([349.0, 100.0])})
    assert abs(fitted[0, 0] - 300) < 0.2
    assert np.allclose(fitted[0, 1:], 1.0, atol=0.01)
    assert np.allclose(fitted[1], 2.0)


def test_a_table_that_is_sure_throughout_is_fitted_by_least_squares() -> None:
    table, goal = np.array([[30.0, 10.0], [20.0, 40.0]]), np.array([60.0, 60.0])
    margins: dict[tuple[int, ...], NDArray[Any]] = {(0,): goal, (1,): np.array([50.0, 70.0])}
    assert np.allclose(rake_loose(table, np.ones((2, 2)), 1.0, margins, 50), [[35.0, 25.0], [15.0, 45.0]])


def test_what_many_small_cells_have_too_much_is_not_taken_from_a_large_one() -> None:
    """All cells have the same noise, so the large one takes a part in 31 of what is off: 3 of 90, and not 51."""
    table = np.array([[1000.0, *[25.0] * 30]])
    fitted = rake_loose(table, np.ones((1, 31)), 100.0, {(0,): np.array([1660.0])})
    assert abs(fitted[0, 0] - (1000 - 90 / 31)) < 1e-9
    assert abs(fitted.sum() - 1660) < 1e-9


def test_cells_without_mass_stay_empty() -> None:
    table = np.array([[0.0, 30.0, 20.0], [10.0, 10.0, 30.0]])
    margins: dict[tuple[int, ...], NDArray[Any]] = {
        (0,): np.array([60.0, 40.0]),
        (1,): np.array([8.0, 45.0, 47.0]),
    }
    fitted = rake_loose(table, np.ones((2, 3)), 9.0, margins, 50)
    assert fitted[0, 0] == 0
    assert np.allclose(fitted.sum(axis=1), margins[0,], atol=0.01)


def test_margins_hold_where_sure_cells_alone_are_too_many() -> None:
    table, sure = np.array([[90.0, 5.0, 5.0]]), np.array([[1.0, 0.0, 0.0]])
    fitted = rake_loose(table, sure, 1.0, {(0,): np.array([50.0])})
    assert abs(fitted.sum() - 50) < 1e-9
    assert fitted.min() > 0


def test_noise_of_what_was_measured_is_not_laid_on_the_little_that_was_not() -> None:
    table, sure = np.array([[900.0, 900.0, 1.0]]), np.array([[1.0, 1.0, 0.0]])
    fitted = rake_loose(table, sure, 400.0, {(0,): np.array([1830.0])})
    assert fitted[0, 2] < 1.1
