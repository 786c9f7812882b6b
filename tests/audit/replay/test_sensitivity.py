"""Distances are exact for all types of numbers, and primitives are held to their declared sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.audit.replay.recorder import primitive
from discreet.audit.replay.sensitivity import Bound, differences, excesses
from discreet.mechanisms import (
    Sensitivity,
)
from tests.audit.computations import (
    Rows,
    caught,
    passes,
    weights,
    with_noise,
    with_normal_noise,
)


def test_a_clip_that_lets_nan_pass_is_caught() -> None:
    words = caught(lambda rows: with_noise(np.floor(np.clip(weights(rows), 0, 100)).sum(), sensitivity=100))
    assert (
        "whose weight is nan: call 1, with_noise, changes by inf (l1), but the declared sensitivity is 100"
        in words
    )


def test_a_clip_of_numbers_passes() -> None:
    passes(lambda rows: with_noise(np.floor(np.clip(np.nan_to_num(weights(rows)), 0, 100)).sum(), sensitivity=100))


def test_vectors_are_measured_in_the_norm_that_was_declared() -> None:
    def moments(rows: Rows) -> Any:
        return np.array([3.0, 4.0]) * len(rows)

    passes(lambda rows: with_normal_noise(moments(rows), sensitivity=5))
    passes(lambda rows: with_noise(moments(rows), sensitivity=7))
    assert "changes by 7 (l1), but the declared sensitivity is 5" in caught(
        lambda rows: with_noise(moments(rows), sensitivity=5)
    )


def test_a_sensitivity_of_zero_and_one_that_is_not_a_number_allow_nothing() -> None:
    assert "but the declared sensitivity is 0" in caught(
        lambda rows: with_normal_noise(float(len(rows)), sensitivity=0.0)
    )
    assert Bound(math.nan).limit == Bound(None).limit == -1
    assert Bound(math.inf).limit == math.inf


def test_parameters_of_a_primitive_that_depend_on_the_data_are_caught() -> None:
    words = caught(lambda rows: with_noise(0.0, sensitivity=1, epsilon=len(rows) + 1))
    assert "has other parameters: epsilon=" in words
    assert "declares Bound(" in caught(lambda rows: with_noise(0.0, sensitivity=len(rows) + 1))


def test_a_generator_made_in_each_run_is_the_same_parameter() -> None:
    passes(lambda rows: with_noise(len(rows), sensitivity=1, generator=np.random.default_rng(5)))


def test_outside_a_recording_a_primitive_runs_as_it_is() -> None:
    calls = []

    @primitive
    def plain(value: int, *, sensitivity: int) -> int:
        calls.append(sensitivity)
        return value

    assert (plain(3, sensitivity=1), calls, plain.__name__) == (3, [1], "plain")


def test_distances_are_exact() -> None:
    assert differences(0.1 + 0.2, 0.3) == [Fraction(0.3) - Fraction(0.1 + 0.2)]
    assert differences([math.nan, math.inf], [math.nan, math.inf]) == []
    assert differences([1.0, -math.inf], [math.nan, math.inf]) == [math.inf, math.inf]
    assert differences(2**70, 2**70 + 1) == [1]
    assert differences(np.int64(-(2**62)), np.int64(2**62)) == [2**63]
    assert differences([1, None, "a"], [2, None, "b"]) == [1, math.inf]
    last_place = list(excesses(Bound(1.0), differences(0.0, 1.0000000000000002), joins=True))
    assert str(last_place[0]) == "changes by 1 + 2.22045e-16 (l1), but the declared sensitivity is 1"
    assert not list(excesses(Bound(1.0), differences(0.0, 1.0), joins=True))


@primitive
def silent(value: Any, *, sensitivity: Any) -> None:
    """A mechanism that releases nothing for any input."""


@pytest.mark.parametrize(
    "exactly",
    [Fraction, Decimal, np.longdouble, np.float32, np.int8, np.uint64, lambda n: np.array([n, Fraction(1, 3)])],
    ids=["Fraction", "Decimal", "longdouble", "float32", "int8", "uint64", "object"],
)
def test_numbers_of_every_type_have_exact_differences(exactly: Callable[[int], Any]) -> None:
    passes(lambda rows: silent(exactly(len(rows)), sensitivity=1), limit=1)
    words = caught(lambda rows: silent(exactly(len(rows)), sensitivity=0.5), limit=1)
    assert "changes by 1 (l1), but the declared sensitivity is 0.5" in words


def test_distances_between_numbers_of_any_type_are_exact() -> None:
    assert differences(Decimal("0.1"), Decimal("0.3")) == [Fraction(1, 5)]
    assert differences(Decimal("NaN"), Decimal("NaN")) == differences([Decimal("Infinity")], [math.inf]) == []
    assert differences([Decimal("sNaN"), Fraction(1, 3)], [Decimal(1), 1]) == [math.inf, Fraction(2, 3)]
    assert differences(np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps) == [Fraction(1, 2**63)]
    assert differences(np.array([1, 2.5], dtype=object), [Fraction(1), 2]) == [Fraction(-1, 2)]


@pytest.mark.parametrize("one", [np.array([1.0]), np.array(1), np.array([[1]]), np.longdouble(1), np.int8(1)])
def test_a_sensitivity_may_be_an_array_of_one_number(one: Any) -> None:
    passes(lambda rows: silent(len(rows), sensitivity=one), limit=3)


@pytest.mark.parametrize(
    ("declared", "changes", "norm"),
    [
        (Sensitivity(entries=1, each=5), [1, 1], "entries"),
        (Sensitivity(entries=3, each=1), [2], "each"),
        (Sensitivity(entries=3, each=3, l1=4), [2, 3], "l1"),
        (Sensitivity(entries=3, each=3, l2_squared=9), [-3, 1], "l2_squared"),
    ],
)
def test_every_norm_that_is_declared_is_measured(declared: Sensitivity, changes: list[Any], norm: str) -> None:
    assert norm in {excess.norm for excess in excesses(declared, changes, joins=True)}
    assert not list(excesses(declared, [1], joins=False))
