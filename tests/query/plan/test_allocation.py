"""Test the shares of a budget: exact fractions, and no better ones on a grid."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.query.plan import allocation

squares = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8)


@given(squares=squares, pure=st.booleans())
def test_shares_add_up_to_exactly_one_and_none_is_zero(squares: list[float], pure: bool) -> None:
    shares = allocation.shares(squares, pure=pure)
    assert sum(shares) == 1
    assert min(shares) > 0


@pytest.mark.parametrize("count", [1, 2, 99, 100, 1000, 5000])
def test_many_shares_add_up_to_exactly_one(count: int) -> None:
    assert sum(allocation.proportional([1.0] * count)) == 1


@given(squares=st.lists(st.floats(0.05, 20), min_size=3, max_size=3), pure=st.booleans())
def test_no_division_on_a_grid_makes_the_total_error_smaller(squares: list[float], pure: bool) -> None:
    def error(shares: list[Fraction]) -> float:
        return sum(s / float(share) ** (2 if pure else 1) for s, share in zip(squares, shares, strict=True))

    ours = error(allocation.shares(squares, pure=pure))
    grid = 40
    others = [
        [Fraction(a, grid), Fraction(b, grid), Fraction(grid - a - b, grid)]
        for a, b in product(range(1, grid), repeat=2)
        if a + b < grid
    ]
    assert ours <= min(map(error, others)) * 1.001
    assert ours == pytest.approx(allocation.least(squares, pure=pure), rel=1e-2)


queries = st.lists(
    st.tuples(st.fractions(Fraction(1, 100), 10, max_denominator=1000), st.integers(1, 10**6)),
    min_size=1,
    max_size=12,
)


@given(queries=queries, pure=st.booleans())
def test_evened_budgets_have_the_same_sum_and_sizes_that_differ_by_at_most_the_ratio(
    queries: list[tuple[Fraction, int]], pure: bool
) -> None:
    budgets, moves = [budget for budget, _ in queries], [move for _, move in queries]
    evened = allocation.evened(budgets, moves, pure=pure)
    assert sum(evened) == sum(budgets)
    ratio = allocation.ONE_SIZE if pure else allocation.ONE_SIZE**2
    for budget, move, even in zip(budgets, moves, evened, strict=True):
        assert 1 / ratio <= budget / even <= ratio, move
    sizes = {move / even for move, even in zip(moves, evened, strict=True)}
    assert len(sizes) <= len({move / budget for budget, move in queries})


@given(
    logs=st.lists(st.floats(0, 0.3), min_size=2, max_size=8),
    squares=st.lists(st.floats(0.1, 10), min_size=8, max_size=8),
    pure=st.booleans(),
)
def test_one_size_costs_at_most_1_3_percent_of_the_squared_error(
    logs: list[float], squares: list[float], pure: bool
) -> None:
    """The budgets are the best there are, and the sensitivities such that sizes are near each other."""
    power = 3 if pure else 2
    budgets = [Fraction(square ** (1 / power)) for square in squares[: len(logs)]]
    moves = [max(1, round(10**9 * float(b) * 2.718281828**log)) for b, log in zip(budgets, logs, strict=True)]

    def error(given: list[Fraction]) -> float:
        return sum(s / float(b) ** (power - 1) for s, b in zip(squares, given, strict=False))

    factor = error(allocation.evened(budgets, moves, pure=pure)) / error(budgets)
    assert 1 - 1e-9 <= factor <= 1.0135


def test_equal_sizes_stay_as_they_are() -> None:
    budgets = [Fraction(1, 3), Fraction(2, 3), Fraction(1)]
    assert allocation.evened(budgets, [1, 2, 3], pure=True) == budgets
