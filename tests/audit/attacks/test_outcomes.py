"""Outcomes differ where an observer can tell answers apart; answers without a visible form are refused."""

from __future__ import annotations

import asyncio
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

from discreet.audit.attacks.outcomes import Raised, glimpse, observed, outcome, tagged, written
from discreet.errors import Fix, ParameterError


class Slotted:
    __slots__ = ("__hidden", "shown")

    def __init__(self, shown: int, hidden: int):
        self.shown, self.__hidden = shown, hidden


class Wider(Slotted):
    """With a dictionary of its own."""


class Mute:
    """It has no repr."""

    def __init__(self, held: int):
        self.held = held

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@dataclass
class Record:
    values: Any


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def itself(first: int) -> list[Any]:
    """A list that holds itself."""
    ring: list[Any] = [first]
    ring.append(ring)
    return ring


# -- what is told apart -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (math.nan, "NaN"),
        (math.nan, "nan"),
        (0.0, "+0.0"),
        (-0.0, "-0.0"),
        (0.0, -0.0),
        (Decimal(1), "Decimal('1')"),
        (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)),
        (np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps),
        (Slotted(1, 0), Slotted(2, 0)),
        (Slotted(1, 0), Slotted(1, 7)),
        (Wider(1, 0), Wider(1, 7)),
        (Mute(1), Mute(2)),
        (itself(1), itself(2)),
        (Record(n for n in [1]), Record(n for n in [2])),
        ({"rows": map(str, [1])}, {"rows": map(str, [1, 2])}),
        (bytearray(b"a"), bytearray(b"b")),
        (memoryview(b"a"), memoryview(b"b")),
        (PurePosixPath("a"), PurePosixPath("b")),
    ],
)
def test_what_an_observer_can_tell_apart_differs(one: Any, other: Any) -> None:
    assert outcome(one) != outcome(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], (1, 2)),
        (math.nan, -math.nan),
        (True, 1),
        (1, 1.0),
        ({1: 2}, [(1, 2)]),
        (np.array([[1], [2]]), [[1], [2]]),
        (object(), object()),
        (Slotted(1, 2), Slotted(1, 2)),
        (itself(1), itself(1)),
        ((n for n in [1, 2]), [1, 2]),
    ],
)
def test_the_documented_exceptions_are_the_same(one: Any, other: Any) -> None:
    assert outcome(one) == outcome(other)
    assert hash(outcome([1, 2])) == hash(outcome((1, 2)))


def test_types_of_numbers_differ_once_tagged() -> None:
    ones = [True, 1, 1.0, (1,), ("int", 1), frozenset({1})]
    assert len({tagged(outcome(one)) for one in ones}) == len(ones)


@pytest.mark.parametrize(
    "answer", [[math.nan, -0.0, {1, 2}], Record([1]), 1j, Decimal("NaN"), np.longdouble(1) / 3]
)
def test_an_outcome_is_its_own_outcome(answer: Any) -> None:
    assert outcome(outcome(answer)) == outcome(answer)


# -- what is not seen -------------------------------------------------------------------------------------------


async def later(data: Any) -> Any:
    return data


def without_end(data: Any) -> Iterator[int]:
    return itertools.count()


@pytest.mark.parametrize(
    ("release", "says"),
    [
        (later, "a coroutine, which is not awaited.*asyncio.run"),
        (lambda data: lambda: data, "a function that shows nothing"),
        (lambda data: [data, {"f": data.append}], "a builtin_function_or_method that shows nothing"),
        (lambda data: np.random.default_rng(1), "a Generator that shows nothing"),
        (without_end, "a count that has no end"),
    ],
)
def test_what_has_no_visible_form_is_refused_with_an_explanation(release: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        observed(release, [1])


def test_lists_that_are_nested_too_deeply_are_refused() -> None:
    deep: list[Any] = []
    for _ in range(10 * sys.getrecursionlimit()):
        deep = [deep]
    with pytest.raises(ParameterError, match="nested too deeply"):
        outcome(deep)


def test_a_glimpse_refuses_nothing_and_uses_nothing_up() -> None:
    numbers = iter([1, 2])
    assert glimpse([numbers, lambda: 1, np.random.default_rng(1)]) == glimpse(
        [iter([3]), lambda: 1, np.random.default_rng(2)]
    )
    assert list(numbers) == [1, 2]


# -- what is raised ---------------------------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[Any], Any]:
    def release(data: Any) -> Any:
        raise error

    return release


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(0), "0"),
        (GeneratorExit(), ""),
        (asyncio.CancelledError(), ""),
        (KeyError("age"), "'age'"),
        (FileNotFoundError(2, "No such file"), "[Errno 2] No such file"),
        (Speechless(), "(its text raises RuntimeError)"),
    ],
)
def test_every_way_to_end_is_an_answer(error: BaseException, message: str) -> None:
    assert observed(raising(error), 0) == Raised(type(error).__name__, message)


def test_ctrl_c_is_not_an_answer() -> None:
    with pytest.raises(KeyboardInterrupt):
        observed(raising(KeyboardInterrupt()), 0)


def test_notes_and_what_the_text_leaves_out_are_seen() -> None:
    class Curt(Exception):
        def __str__(self) -> str:
            return "no"

    def noted(rows: int) -> None:
        error = Curt(rows)
        error.add_note(f"of {rows} rows")
        raise error

    assert observed(noted, 3) == Raised("Curt", "no\n3\nof 3 rows")


def test_an_exception_in_a_generator_is_that_of_the_answer() -> None:
    assert observed(lambda data: (1 / n for n in data), [1, 0]) == Raised("ZeroDivisionError", "division by zero")


def test_a_refusal_by_the_mechanism_itself_is_an_answer() -> None:
    assert observed(raising(ParameterError("too small")), 0) == Raised("ParameterError", "too small")


def test_a_refusal_is_seen_once_with_the_value_that_it_found() -> None:
    refusal = ParameterError("A scale must be positive.", found=-1, fix=Fix("scale", 1))
    seen = observed(raising(refusal), 0)
    assert seen == Raised("ParameterError", "A scale must be positive (found: -1). Try: scale=1.")
    assert seen != observed(raising(ParameterError("A scale must be positive.", found=-2)), 0)


def test_what_a_refusal_of_ones_own_leaves_out_of_its_text_is_seen() -> None:
    class Curt(ParameterError):
        def __str__(self) -> str:
            return "no"

    assert observed(raising(Curt("3 rows.")), 0) == Raised("Curt", "no\n3 rows.")


def test_whatever_cannot_be_written_is_named() -> None:
    assert written(Mute(1)) == "(a Mute that cannot be written)"
    assert written(10**5000) == "(an int that cannot be written)"
