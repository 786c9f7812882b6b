"""Exact numbers from what people write."""

from __future__ import annotations

import math
import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InexactFloat, ParameterError
from discreet.rational import Rational, positive, rational, root_below, whole

TENTH = Fraction(1, 10)


@pytest.mark.parametrize("written", ["0.1", "1/10", "1e-1", Decimal("0.1"), TENTH])
def test_a_tenth_is_a_tenth_however_it_is_written(written: Rational) -> None:
    assert rational(written, "scale") == TENTH


@pytest.mark.parametrize("three", [3, np.int8(3), "3", 3.0, np.float64(3)])
def test_whole_numbers_of_every_kind_are_taken_in_silence(three: Rational) -> None:
    assert rational(three, "scale") == 3
    assert type(whole(three, "count")) is int


def test_a_float_warns_of_the_value_it_really_has_where_that_counts() -> None:
    with pytest.warns(InexactFloat, match=r"scale=0\.1 is the float 3602879701896397/36028797018963968"):
        assert rational(0.1, "scale", floats="warn") == Fraction(0.1)
    assert rational(0.1, "scale", floats="exact") == Fraction(0.1)


@pytest.mark.parametrize("written", [0.1, 0.01, 1e-9, 2.5, np.float64(0.1), 1e22, 5e-324])
def test_a_float_that_a_person_writes_is_the_decimal_that_it_prints(written: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rational(written, "epsilon") == Fraction(str(float(written)))
        assert positive(written, "epsilon") == Fraction(str(float(written)))


def test_a_person_at_a_prompt_is_told_once_in_one_line() -> None:
    typed = "import discreet as dp\ndp.Budget(0.3)\ndp.Budget(0.3)\ndp.Budget(0.3, 1e-9)\n"
    done = subprocess.run([sys.executable, "-i", "-q"], input=typed, capture_output=True, text=True, check=True)
    notes = [line for line in done.stdout.splitlines() if "Note" in line]
    assert [note.partition("Note: ")[2] for note in notes] == [
        "epsilon=0.3 is read as the decimal 0.3, exactly.",
        "delta=1e-09 is read as the decimal 1e-09, exactly.",
    ]
    script = [sys.executable, "-W", "error", "-c", typed]
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout == ""


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity")])
def test_what_is_not_finite_is_refused(bad: Rational) -> None:
    with pytest.raises(ParameterError, match="scale must be finite"):
        rational(bad, "scale")


@pytest.mark.parametrize("bad", ["", "much", "1/0", "0x10", "1,5"])
def test_what_is_no_number_is_refused_with_an_example(bad: str) -> None:
    with pytest.raises(ParameterError, match=r'such as "0\.1" or "1/10"'):
        rational(bad, "scale")


@pytest.mark.parametrize("bad", ["1e-3000000", "1E+99999", "1" * 5000])
def test_a_number_that_would_fill_the_memory_is_refused_at_once(bad: str) -> None:
    with pytest.raises(ParameterError, match="more than 4,000 characters, or more than 4 digits in its exponent"):
        rational(bad, "scale")


@pytest.mark.parametrize("bad", [True, None, [1], np.array([1, 2]), np.array(0.5), 1j, np.bool_(True)])
def test_other_kinds_are_refused(bad: Rational) -> None:
    with pytest.raises(ParameterError, match="scale must be"):
        rational(bad, "scale")


@pytest.mark.parametrize("bad", [0, -1, "-0.5"])
def test_positive_means_above_zero(bad: Rational) -> None:
    with pytest.raises(ParameterError, match="scale must be above 0"):
        positive(bad, "scale")


@pytest.mark.parametrize("bad", [1.5, "1/2", 0, -3])
def test_whole_means_a_whole_number_that_is_large_enough(bad: Rational) -> None:
    with pytest.raises(ParameterError, match="count must be a whole number, 1 or more"):
        whole(bad, "count")


@given(st.fractions())
def test_what_is_written_out_is_read_back(value: Fraction) -> None:
    assert rational(str(value), "scale") == value


@given(square=st.fractions(Fraction(1, 10**12), 10**6))
@settings(max_examples=50)
def test_roots_are_rounded_down(square: Fraction) -> None:
    root = root_below(square)
    assert root**2 <= square
    assert root**2 >= square * Fraction(99, 100)
