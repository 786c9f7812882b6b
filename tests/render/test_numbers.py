"""Numbers have the digits that the noise warrants, and amounts are rounded towards caution."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.render import numbers
from discreet.render.numbers import Shown

# -- digits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "margin", "shown"),
    [
        (1042.3, 16.3, "1,042 ± 17"),
        (1042.3, 163, "1,040 ± 170"),
        (1234567, 98.2, "1,234,567 ± 99"),
        (0.51234, 0.0123, "0.512 ± 0.013"),
        (-3.2, 16.3, "-3 ± 17"),
        (-0.2, 16, "0 ± 16"),
        (5, 99.5, "5 ± 100"),
        (12, 4800, "0 ± 4,800"),
        (60, 60.000000000001, "60 ± 60"),
        (1e20, 1e18, "1.000e+20 ± 1.0e+18"),
        (3, 0, "3 ± 0"),
    ],
)
def test_a_value_has_as_many_digits_as_its_margin_warrants(value: float, margin: float, shown: str) -> None:
    assert " ".join(numbers.with_margin(value, margin)) == shown


def _number(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_what_is_shown_is_right_to_a_tenth_of_the_margin(value: float, margin: float) -> None:
    shown = numbers.with_margin(value, margin)
    width = _number(shown.rest.removeprefix("± "))
    assert abs(_number(shown.value) - Decimal(value)) <= Decimal(margin) / 20 * Decimal("1.001")
    assert Decimal(margin) * Decimal("0.9999") <= width <= Decimal(margin) * Decimal("1.1")


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e6), st.floats(0, 1e6))
def test_ends_are_rounded_outwards(value: float, below: float, above: float) -> None:
    low, high = value - below, value + above
    (shown,) = numbers.column([value], [low], [high], "number")
    if " to " in shown.rest:
        least, most = map(_number, shown.rest.split(" to "))
        slack = Decimal(high - low) / 10**6
        assert least <= Decimal(low) + slack
        assert most >= Decimal(high) - slack


def test_a_column_is_written_in_one_way() -> None:
    even, uneven = numbers.column([0.5, 0.02], [0.4, 0.0], [0.6, 0.12], "number")
    assert even == Shown("0.50", "0.40 to 0.60")
    assert uneven == Shown("0.020", "0.000 to 0.120")


def test_dates_are_dates() -> None:
    assert numbers.column([19783.4], [19780.0], [19790.2], "date") == [
        Shown("2024-03-01", "2024-02-27 to 2024-03-09")
    ]
    hour = 3_600_000_000.0
    assert numbers.column([hour], [0.0], [2 * hour], "datetime") == [
        Shown("1970-01-01 01:00", "1970-01-01 00:00 to 1970-01-01 02:00")
    ]


def test_where_there_is_no_answer_there_is_a_dash() -> None:
    assert numbers.column([None], [None], [None], "number") == [numbers.NOTHING]


# -- amounts ----------------------------------------------------------------------------------------------------


@given(st.fractions(0, 10**6))
def test_what_was_spent_is_never_shown_too_small_and_what_is_left_never_too_large(amount: Fraction) -> None:
    assert Fraction(numbers.spent(amount)) >= amount
    assert Fraction(numbers.left(amount)) <= amount


@given(st.fractions(0, 1))
def test_a_share_of_the_budget_is_rounded_up(part: Fraction) -> None:
    assert Fraction(numbers.share(part, Fraction(1)).removesuffix(" %")) >= 100 * part


def test_the_share_of_nothing_is_a_dash() -> None:
    assert numbers.share(Fraction(0), Fraction(0)) == "–"
