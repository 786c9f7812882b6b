"""Test probabilities over 2⁶⁴: rounded to the private side, with ε computed back from them."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import (
    budget,
    chance,
    epsilon_above,
    from_bytes,
    odds_below,
    to_bytes,
    width_of,
)
from discreet.local.primitives.randomness import SCALE

EPSILONS = st.fractions(Fraction(1, 1000), 20, max_denominator=1000)


@given(EPSILONS, st.fractions(Fraction(1, 50), 50, max_denominator=50))
def test_odds_are_the_largest_that_keep_the_promise(epsilon: Fraction, weight: Fraction) -> None:
    t = odds_below(epsilon, weight)
    with mpmath.workdps(60):
        limit = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        odds = [Fraction(units, SCALE - units) / weight for units in (t, t + 1)]
        assert mpmath.mpf(odds[0].numerator) / odds[0].denominator <= limit
        assert mpmath.mpf(odds[1].numerator) / odds[1].denominator > limit


@given(st.fractions(1, 10**9))
def test_the_logarithm_is_rounded_up_by_less_than_two_units(ratio: Fraction) -> None:
    found = epsilon_above(ratio)
    exact = math.log(ratio)
    assert -1e-14 * (1 + exact) <= float(found) - exact <= 1.1e-12
    assert (found * 10**12).denominator == 1


@pytest.mark.parametrize("epsilon", [0, -1, "0", 33, "1e9", math.nan, math.inf, True])
def test_an_epsilon_that_means_nothing_or_too_much_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        budget(epsilon)


def test_what_is_no_chance_is_refused() -> None:
    for value in (0, SCALE, -1):
        with pytest.raises(ParameterError, match="flip"):
            chance(value, "flip")
    with pytest.raises(ParameterError, match="1 or more"):
        epsilon_above(Fraction(1, 2))


@given(st.lists(st.integers(0, 2**40 - 1), max_size=9))
def test_numbers_come_back_from_their_bytes(codes: list[int]) -> None:
    assert from_bytes(to_bytes(np.array(codes, np.int64), 5)).tolist() == codes
    assert [width_of(2**8 + i) for i in (0, 1)] == [1, 2]
