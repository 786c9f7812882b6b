"""Rounded floats are never on the wrong side, and not far from the right one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.privacy.rounding import TINY, ULP, downward, float_above, float_below, sum_upward, upward

FRACTIONS = st.fractions(min_value=-(10**30), max_value=10**30)


@given(FRACTIONS)
def test_a_float_above_is_the_least_float_not_below(value: Fraction) -> None:
    above = float_above(value)
    assert Fraction(above) >= value
    assert Fraction(math.nextafter(above, -math.inf)) < value


@given(FRACTIONS)
def test_a_float_below_is_the_greatest_float_not_above(value: Fraction) -> None:
    below = float_below(value)
    assert Fraction(below) <= value
    assert Fraction(math.nextafter(below, math.inf)) > value


def test_numbers_beyond_the_floats_stay_on_their_side() -> None:
    huge, tiny = Fraction(10) ** 400, Fraction(1, 10**400)
    assert float_above(huge) == math.inf
    assert float_below(huge) == math.nextafter(math.inf, 0)
    assert float_above(-huge) == -math.nextafter(math.inf, 0)
    assert float_below(-huge) == -math.inf
    assert float_above(tiny) == TINY
    assert float_below(tiny) == 0


@given(st.floats(min_value=-700, max_value=700))
def test_elementary_functions_are_as_good_as_assumed(x: float) -> None:
    with mp.workdps(40):
        for ours in (math.exp(x), float(np.exp(x))):
            assert mpf(downward(ours)) <= mp.exp(mpf(x)) <= mpf(upward(ours))
        for ours in (math.expm1(x), float(np.expm1(x))):
            assert mpf(downward(ours)) <= mp.expm1(mpf(x)) <= mpf(upward(ours))
        y = abs(x) + TINY
        for ours in (math.log1p(y), float(np.log1p(y))):
            assert mpf(downward(ours)) <= mp.log1p(mpf(y)) <= mpf(upward(ours))


@given(st.lists(st.floats(min_value=-1e300, max_value=1e300), min_size=1, max_size=6))
def test_a_sum_is_not_below_the_exact_sum_even_where_it_cancels(terms: list[float]) -> None:
    exact = sum(map(Fraction, terms))
    bound = Fraction(sum_upward(*terms))
    assert (
        exact <= bound <= exact + 40 * Fraction(ULP) * sum(abs(Fraction(t)) for t in terms) + Fraction(1, 10**300)
    )


def test_upward_covers_what_an_underflow_hid() -> None:
    assert upward(0.0) > 0
    assert downward(0.0) < 0


def test_infinity_stays_infinite() -> None:
    assert upward(math.inf) == math.inf


@pytest.mark.parametrize("ulps", [1, 4, 64])
def test_upward_moves_by_a_few_units_and_no_more(ulps: int) -> None:
    assert 1 + ulps * ULP < upward(1.0, ulps) <= 1 + (ulps + 2) * ULP
