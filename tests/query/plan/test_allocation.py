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
