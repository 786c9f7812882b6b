"""Test interval arithmetic against exact fractions: the result of any operands lies in the interval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.query.answer.interval_arithmetic import Interval

numbers = st.integers(-(10**18), 10**18)
fractions = st.fractions(-(10**6), 10**6, max_denominator=10**6)
margins = st.integers(0, 10**12)


def around(value: int, margin: int) -> Interval:
    return Interval.around(np.array([value]), margin)


def inside(value: Fraction, interval: Interval) -> bool:
    return bool(Fraction(float(interval.low[0])) <= value <= Fraction(float(interval.high[0])))


@given(value=numbers, margin=margins, factor=fractions, shift=fractions, end=st.sampled_from([-1, 0, 1]))
def test_affine_maps_and_squares_lie_in_their_intervals(
    value: int, margin: int, factor: Fraction, shift: Fraction, end: int
) -> None:
    exact = Fraction(value + end * margin)
    assert inside(exact * factor + shift, (around(value, margin) * factor).plus(shift))
    assert inside(exact**2, around(value, margin).squared())
    assert inside(exact + shift, around(value, margin).widened(abs(shift)))


@given(a=numbers, b=numbers, margin=margins, ends=st.tuples(*[st.sampled_from([-1, 0, 1])] * 2))
def test_sums_and_differences_lie_in_their_intervals(a: int, b: int, margin: int, ends: tuple[int, int]) -> None:
    x, y = Fraction(a + ends[0] * margin), Fraction(b + ends[1] * margin)
    assert inside(x + y, around(a, margin) + around(b, margin))
    assert inside(x - y, around(a, margin) - around(b, margin))


@given(
    n=st.integers(1, 10**6), noise=st.integers(-100, 100), ratio=st.integers(-9, 9), other=st.integers(-500, 500)
)  # fmt: skip
def test_a_ratio_lies_in_its_interval(n: int, noise: int, ratio: int, other: int) -> None:
    assume(abs(ratio) <= 9)
    count, numerator = around(n + noise, 100), around(ratio * n + other, 500)
    found = numerator.over(count, around(0, 9))
    assert inside(Fraction(ratio), found)
    assert -9 <= found.low[0] <= found.high[0] <= 9


def test_a_ratio_over_nothing_is_everything_possible() -> None:
    found = around(5, 1).over(around(-50, 10), around(0, 9))
    assert (found.low[0], found.high[0]) == (-9, 9)
    assert (
        around(500, 1).over(around(10, 1), around(0, 9)).low[0] == -9
    )  # no ratio is above 9: the noise exceeded its margin


def test_counts_have_round_ends() -> None:
    found = around(4096 * 12, 4096 * 3) * Fraction(1, 4096)
    assert (found.low[0], found.high[0]) == (9.0, 15.0)
