from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.noise.certified_exp import (
    _exp_below_half,
    coarser,
    exp_minus,
    fraction,
    over,
    powers,
    powers_below,
    shares_below,
    times,
)
from tests.noise.goodness import real

AWKWARD = [Fraction(0), Fraction(1), Fraction(7, 3), Fraction(0.1), Fraction(1, 10**30), Fraction(10**6, 7)]


def real_exp_minus(x: Fraction, precision: int) -> mpmath.mpf:
    with mpmath.workprec(2 * precision + 1000):
        return mpmath.exp(-real(x)) * mpmath.mpf(2) ** precision


@pytest.mark.parametrize("x", AWKWARD)
@pytest.mark.parametrize("precision", [1, 8, 64, 1000])
def test_bounds_of_exp_hold_and_are_narrow(x: Fraction, precision: int) -> None:
    low, high = exp_minus(x, precision)
    assert low <= real_exp_minus(x, precision) <= high
    assert high - low <= 2


@given(st.fractions(min_value=0, max_value=500), st.integers(1, 300))
def test_bounds_of_exp_hold_for_any_rational(x: Fraction, precision: int) -> None:
    low, high = exp_minus(x, precision)
    assert low <= real_exp_minus(x, precision) <= high
    assert high - low <= 2


@pytest.mark.parametrize("precision", range(1, 10))
def test_the_sum_is_bounded_with_the_terms_that_were_left_out(precision: int) -> None:
    for y in (Fraction(i, 256) for i in range(1, 128)):
        low, high = _exp_below_half(y, precision)
        assert low <= mpmath.exp(real(y)) * 2**precision <= high


def test_exp_of_a_fraction_with_a_thousand_digits_is_bounded() -> None:
    x = Fraction(10**1000 + 1, 3 * 10**999 + 7)
    low, high = exp_minus(x, 100)
    assert low <= real_exp_minus(x, 100) <= high <= low + 2


@given(st.fractions(0, 1), st.fractions(0, 1), st.integers(4, 80))
def test_arithmetic_keeps_bounds_true(a: Fraction, b: Fraction, precision: int) -> None:
    one = 1 << precision
    left, right = fraction(a, precision), fraction(b, precision)
    low, high = times(left, right, precision)
    assert low <= a * b * one <= high
    if right[0] > 0:
        low, high = over(left, right, precision)
        assert low <= a / b * one <= high
    low, high = coarser(left, 3)
    assert low <= a * one / 8 <= high
    for exponent, (low, high) in enumerate(powers(left, 5, precision)):
        assert low <= a**exponent * one <= high


@given(st.fractions(0, 1, max_denominator=10**6), st.integers(1, 40), st.integers(1, 80))
def test_lower_bounds_of_powers_are_off_by_no_more_than_their_error(
    base: Fraction, count: int, precision: int
) -> None:
    low, high = fraction(base, precision)
    for k, power in enumerate(powers_below(low, count, precision)):
        assert power <= base**k * 2**precision <= power + k * (high - low + 1)


@given(
    st.lists(st.integers(0, 1000), min_size=1),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(4, 30),
    st.integers(0, 20),
)
@example([1000], 0, 0, 4, 0)  # a whole of sixty, whose inverse has few digits
def test_shares_lie_between_their_bounds(
    parts: list[int], error: int, loose: int, precision: int, places: int
) -> None:
    """Every part is tried at both ends of what it may be, and so is the whole."""
    whole = (1000 + error, 1000 + error + loose)
    lows, width = shares_below(parts, error, whole, precision, places)
    for part, low in zip(parts, lows, strict=True):
        for numerator in (part, part + error):
            for denominator in whole:
                assert low <= Fraction(numerator, denominator) * Fraction(2) ** (precision - places) <= low + width
