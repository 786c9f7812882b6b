"""The exact value keeps its secret; a sensitivity is a set of true statements about integers."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import itertools
import logging
import math
import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError, SensitivityExceeded
from discreet.mechanisms import Exact, Exponential, Gaussian, Laplace, Sensitivity, Sparse
from discreet.mechanisms.exact import added
from discreet.mechanisms.sensitivity import Direction

SECRET = 918273645


@pytest.mark.parametrize("exact", [Exact(SECRET, 1), Exact([SECRET, 1], 1)], ids=["scalar", "vector"])
def test_printing_shows_nothing(exact: Exact, caplog: pytest.LogCaptureFixture) -> None:
    logging.warning("%s %r", exact, exact)
    shown = [repr(exact), str(exact), f"{exact}", repr([exact]), repr({"a": exact}), caplog.text]
    assert all("sealed" in text and str(SECRET) not in text for text in shown)


@pytest.mark.parametrize(
    "peek",
    [
        bool, len, iter, list, hash, np.asarray, np.array, copy.copy, copy.deepcopy, pickle.dumps, int, float,
        vars, lambda e: e[0], lambda e: e == SECRET, lambda e: e != SECRET, lambda e: e < SECRET,
        lambda e: SECRET in e, lambda e: e + 1, lambda e: e.__getstate__(), lambda e: e.__reduce__(),
        lambda e: np.add(e, 1),
        memoryview, lambda e: range(e), lambda e: pickle.dumps(e, protocol=0), lambda e: {e},
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [SECRET, [SECRET, 1]], ids=["scalar", "vector"])
def test_every_way_to_look_inside_is_refused_and_says_nothing(peek: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(TypeError) as refusal:
        peek(Exact(value, 1))
    assert str(SECRET) not in "".join(traceback.format_exception(refusal.value)).replace("SECRET", "")


@pytest.mark.parametrize("peek", [len, list, np.asarray, np.array, copy.copy, pickle.dumps])
def test_a_refusal_says_that_the_value_is_sealed(peek: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="is sealed"):
        peek(Exact([SECRET], 1))


def test_what_may_be_seen_is_its_shape_and_its_sensitivity() -> None:
    public = {name for name in dir(Exact(SECRET, 1)) if not name.startswith("_")}
    assert public == {"sensitivity", "size"}
    assert str(SECRET) not in str(inspect.getmembers(Exact([SECRET], 1)))
    assert Exact(SECRET, 3).sensitivity == Sensitivity(entries=1, each=3)
    assert (Exact(SECRET, 1).size, Exact([SECRET] * 4, 1).size) == (None, 4)


@pytest.mark.parametrize("name", ["sensitivity", "size", "anything"])
def test_what_was_declared_stays_declared(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Exact(SECRET, 3), name, 1)


def test_a_refusal_does_not_depend_on_what_is_inside() -> None:
    messages = set()
    for value in (0, SECRET, -(2**80)):
        with pytest.raises(SensitivityExceeded) as refusal:
            Laplace(1, sensitivity=2).release(Exact(value, 3))
        messages.add(str(refusal.value))
    assert len(messages) == 1
    assert "3" in messages.pop()


def test_the_caller_cannot_change_it_afterwards() -> None:
    mine = np.array([1, 2, 3])
    exact = Exact(mine, 1)
    mine[:] = 1000
    assert Sparse(10_000, threshold=500, positives=3).release(exact).tolist() == [False] * 3
    assert all(not held.flags.writeable for held in gc.get_referents(exact) if isinstance(held, np.ndarray))


@pytest.mark.parametrize(
    "values",
    [
        1.0, "7", None, True, [1, 2.5], [True], np.array([1.0]), np.array([True, False]), np.bool_(True), [[1, 2]],
        np.array([[1]]), np.array([1, 2], object), np.float64(3), {1, 2}, float("nan"), 2j, np.array(["a"]),
    ],
)  # fmt: skip
def test_only_integers_are_taken(values: Any) -> None:
    with pytest.raises(ParameterError, match="exact value must be"):
        Exact(values, 1)


@pytest.mark.parametrize(
    ("values", "fix"),
    [
        (2.5, "math.floor"),
        ([1, 2.5], "math.floor"),
        (np.array([2.5]), "math.floor"),
        (True, "int\\(flag\\)"),
        ("7", "int\\(text\\)"),
        (["7"], "int\\(text\\)"),
        (np.array(["7"]), "astype"),
        (np.array([1, 2], object), "astype"),
        ([[1, 2]], "flat list"),
        ([np.array(1)], "flat list"),
        ({1, 2}, "flat list"),
        (np.ma.array([1, SECRET], mask=[False, True]), "filled"),
        (np.ma.array(SECRET, mask=True), "filled"),
    ],
    ids=str,
)
def test_what_is_no_integer_is_refused_with_a_fix_that_fits(values: Any, fix: str) -> None:
    with pytest.raises(ParameterError, match=fix) as refusal:
        Exact(values, 1)
    assert str(SECRET) not in str(refusal.value)


def test_every_plain_sequence_of_integers_is_taken() -> None:
    quiet = Laplace("1/1000")  # zero noise, but for one chance in 10⁴³⁴
    for values in ([3, 4, 5], (3, 4, 5), range(3, 6), np.array([3, 4, 5], np.uint8)):
        assert np.asarray(quiet.release(Exact(values, 1))).tolist() == [3, 4, 5]


@pytest.mark.parametrize("bad", [None, 0, "many", 1.5, True, [1]])
def test_a_value_without_a_sensitivity_is_refused(bad: Any) -> None:
    with pytest.raises(ParameterError, match="sensitivity"):
        Exact(5, sensitivity=bad)


@pytest.mark.parametrize("bad", [True, False, "UP", "", 1])
def test_a_direction_is_up_or_down(bad: Any) -> None:
    with pytest.raises(ParameterError, match='"up", "down" or None'):
        Sensitivity(each=1, monotonic=bad)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_values_that_move_one_way_are_taken_whichever_it_is(direction: Direction) -> None:
    exact = Exact([1, 2], Sensitivity(each=1, monotonic=direction))
    assert Exponential(1, monotonic=True).release(exact) in (0, 1)
    assert len(Sparse(1, 0, positives=9, monotonic=True).release(exact)) == 2


@pytest.mark.parametrize("empty", [[], (), np.array([], np.int64)])
def test_an_empty_vector_is_no_question(empty: Any) -> None:
    with pytest.raises(ParameterError, match="at least one"):
        Exact(empty, 1)


@pytest.mark.parametrize(
    ("values", "clamped"),
    [
        (2**63, 2**62 - 1), (-(2**100), 1 - 2**62), (np.uint64(2**64 - 1), 2**62 - 1), (2**62 - 1, 2**62 - 1),
        (np.int64(-(2**63)), 1 - 2**62), (np.int8(-128), -128), (np.array(17, np.uint8), 17),
    ],
)  # fmt: skip
def test_values_are_clamped_without_a_word(values: Any, clamped: int) -> None:
    quiet = Laplace("1/1000")  # zero noise, but for one chance in 10⁴³⁴
    assert quiet.release(Exact(values, 1)) == clamped
    assert np.asarray(quiet.release(Exact([clamped, 0], 1))).tolist() == [clamped, 0]


def test_no_sum_with_noise_leaves_int64() -> None:
    """At the ends of both, and for the widest law there is; a wrapped sum would change sides."""
    for sign in (-1, 1):
        end = Exact([sign * 2**80] * 2_000, 1)
        assert np.all(np.asarray(added(end, np.full(2_000, sign * 2**62))) == sign * (2**63 - 1))
        assert np.all(sign * np.asarray(Laplace(2**52).release(end)) > 0)


SMALL = [np.array(v) for v in itertools.product(range(-3, 4), repeat=3) if any(v)]


@pytest.mark.parametrize("known", [{"l1": 4}, {"l2_squared": 6}, {"entries": 2, "each": 2}, {"l1": 3, "each": 2}])
def test_bounds_that_follow_are_true_of_every_small_vector(known: dict[str, Any]) -> None:
    bound = Sensitivity(**known)
    for v in SMALL:
        norms = {
            "entries": int(np.count_nonzero(v)),
            "each": int(np.abs(v).max()),
            "l1": int(np.abs(v).sum()),
            "l2_squared": int((v**2).sum()),
        }
        if all(norms[name] <= limit for name, limit in known.items()):
            assert all(norms[name] <= getattr(bound, name) for name in norms)


def test_a_vector_that_can_hold_all_entries_that_move_says_nothing_new() -> None:
    """Nor does deriving all norms again: so a sensitivity that bounds the entries is kept as it is."""
    bounds = (None, 1, 2, 3, 5, 8, 17)
    for known in itertools.product(bounds, repeat=4):
        norms = dict(zip(("entries", "each", "l1", "l2_squared"), known, strict=True))
        if any(bound is not None for bound in known):
            once = Sensitivity(**norms, monotonic="up")
            for size in (1, 2, 4, 20):
                entries = size if once.entries is None else min(size, once.entries)
                assert once.among(size) == dataclasses.replace(once, entries=entries)


def test_a_vector_bounds_how_many_entries_can_move() -> None:
    assert Exact([1, 2, 3], Sensitivity(each=2)).sensitivity == Sensitivity(entries=3, each=2)
    assert Exact(1, Sensitivity(each=2, monotonic="up")).sensitivity == Sensitivity(
        l1=2, entries=1, monotonic="up"
    )


@pytest.mark.parametrize("bad", [{}, {"l1": 0}, {"each": -1}, {"entries": 1.5, "each": 1}, {"l1": True}])
def test_a_sensitivity_that_has_no_meaning_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Sensitivity(**bad)


@pytest.mark.parametrize(
    ("mechanism", "exact"),
    [
        (Laplace(1, 2), Exact([1, 2, 3], Sensitivity(entries=3, each=1))),
        (Laplace(1), Exact([1, 2], Sensitivity(each=1))),
        (Gaussian(1), Exact([1, 2], Sensitivity(entries=2, each=1))),
        (Gaussian(1, Sensitivity(entries=9, each=1)), Exact([1, 2], Sensitivity(entries=1, each=2))),
        (Gaussian(1, Sensitivity(l2_squared=3)), Exact([1, 2], Sensitivity(entries=1, each=2))),
        (Exponential(1), Exact([1, 2], Sensitivity(each=2))),
        (Exponential(1, monotonic=True), Exact([1, 2], Sensitivity(each=1))),
        (Sparse(1, 0), Exact([1, 2], Sensitivity(each=2))),
        (Sparse(1, 0, monotonic=True), Exact([1, 2], 1)),
    ],
)
def test_a_value_more_sensitive_than_the_mechanism_was_built_for_is_refused(mechanism: Any, exact: Exact) -> None:
    with pytest.raises(SensitivityExceeded):
        mechanism.release(exact)


@pytest.mark.parametrize(
    ("mechanism", "sensitivity"),
    [
        (Gaussian(1, Sensitivity(entries=2, each=3)), Sensitivity(entries=2, each=3)),
        (Gaussian(1, Sensitivity(entries=2, each=3)), Sensitivity(entries=1, each=2)),
        (Gaussian(1, Sensitivity(l2_squared=9)), Sensitivity(l1=3)),
        (Laplace(1, 6), Sensitivity(entries=2, each=3)),
        (Exponential(1, 3), Sensitivity(each=3)),
    ],
)
def test_a_value_within_what_the_mechanism_was_built_for_is_released(
    mechanism: Any, sensitivity: Sensitivity
) -> None:
    assert np.all(np.isfinite(mechanism.release(Exact([1, 2], sensitivity))))


def test_gaussian_noise_needs_a_finite_l2_sensitivity() -> None:
    with pytest.raises(ParameterError, match="l2"):
        Gaussian(1, Sensitivity(each=1))


def test_isqrt_is_what_bounds_an_entry() -> None:
    assert Sensitivity(l2_squared=10**30).each == math.isqrt(10**30)
