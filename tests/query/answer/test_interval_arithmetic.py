"""Interval arithmetic against exact fractions: whatever lies in the operands, the result lies in the interval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.query.answer.interval_arithmetic import Interval

numbers = st.integers(-(10**18), 10**18)
fractions = st.fractions(-(10**6), 10**6, max_denominator=10**6)
radii = st.integers(0, 10**12)


def around(value: int, radius: int) -> Interval:
    return Interval.around(np.array([value]), radius)


def inside(value: Fraction, interval: Interval) -> bool:
    return bool(Fraction(float(interval.low[0])) <= value <= Fraction(float(interval.high[0])))


@given(value=numbers, radius=radii, factor=fractions, shift=fractions, end=st.sampled_from([-1, 0, 1]))
def test_what_is_known_of_a_line(value: int, radius: int, factor: Fraction, shift: Fraction, end: int) -> None:
    exact = Fraction(value + end * radius)
    assert inside(exact * factor + shift, (around(value, radius) * factor).plus(shift))
    assert inside(exact**2, around(value, radius).squared())
    assert inside(exact + shift, around(value, radius).widened(abs(shift)))


@given(a=numbers, b=numbers, radius=radii, ends=st.tuples(*[st.sampled_from([-1, 0, 1])] * 2))
def test_what_is_known_of_sums_and_differences(a: int, b: int, radius: int, ends: tuple[int, int]) -> None:
    x, y = Fraction(a + ends[0] * radius), Fraction(b + ends[1] * radius)
    assert inside(x + y, around(a, radius) + around(b, radius))
    assert inside(x - y, around(a, radius) - around(b, radius))


@given(
    n=st.integers(1, 10**6), noise=st.integers(-100, 100), ratio=st.integers(-9, 9), other=st.integers(-500, 500)
)  # fmt: skip
def test_a_ratio_is_where_its_parts_allow(n: int, noise: int, ratio: int, other: int) -> None:
    assume(abs(ratio) <= 9)
    count, numerator = around(n + noise, 100), around(ratio * n + other, 500)
    found = numerator.over(count, around(0, 9))
    assert inside(Fraction(ratio), found)
    assert -9 <= found.low[0] <= found.high[0] <= 9


def test_a_ratio_over_nothing_is_all_that_is_possible() -> None:
    found = around(5, 1).over(around(-50, 10), around(0, 9))
    assert (found.low[0], found.high[0]) == (-9, 9)
    assert (
        around(500, 1).over(around(10, 1), around(0, 9)).low[0] == -9
    )  # no ratio is above 9: the noise was outdone


def test_counts_have_round_ends() -> None:
    found = around(4096 * 12, 4096 * 3) * Fraction(1, 4096)
    assert (found.low[0], found.high[0]) == (9.0, 15.0)
