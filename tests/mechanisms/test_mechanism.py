"""One battery for every public mechanism: a new one fails here until it has an example below."""

from __future__ import annotations

import dataclasses
import inspect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet.mechanisms
from discreet import noise
from discreet.errors import InexactFloat, ParameterError
from discreet.mechanisms import (
    AboveThreshold,
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    NumericSparse,
    PermuteAndFlip,
    ReportNoisyMax,
    RestartingSparse,
    Sensitivity,
    Sparse,
)
from discreet.mechanisms.selection import Selection
from discreet.privacy import plan
from discreet.privacy.losses import Loss

EXAMPLES: dict[str, Mechanism] = {
    "AboveThreshold": AboveThreshold("0.1", threshold=50),
    "Exponential": Exponential("0.1"),
    "Gaussian": Gaussian(1000),
    "Laplace": Laplace(1000),
    "NumericSparse": NumericSparse("0.1", threshold=50, positives=20),
    "PermuteAndFlip": PermuteAndFlip("0.1"),
    "ReportNoisyMax": ReportNoisyMax("0.1"),
    "RestartingSparse": RestartingSparse("0.02", threshold=50, positives=20),
    "Sparse": Sparse("0.1", threshold=50, positives=20),
}
VALUES = Exact(list(range(40, 60)), Sensitivity(entries=1, each=1, monotonic="up"))


def public_mechanisms() -> list[str]:
    public = {name: getattr(discreet.mechanisms, name) for name in discreet.mechanisms.__all__}
    return [name for name, thing in public.items() if hasattr(thing, "release") and thing is not Mechanism]


every_mechanism = pytest.mark.parametrize(
    "mechanism", [EXAMPLES.get(name, name) for name in public_mechanisms()], ids=public_mechanisms()
)


def size(mechanism: Any) -> dict[str, int]:
    """What its error depends on beside the confidence, and has to be said."""
    if isinstance(mechanism, Selection):
        return {"candidates": 2}
    return {"queries": 1} if isinstance(mechanism, Sparse | RestartingSparse) else {}


def comparable(release: Any) -> list[Any]:
    return [None if x is None else int(x) for x in (release if np.ndim(release) else [release])]


def test_every_public_mechanism_has_an_example_and_nothing_else_has() -> None:
    assert sorted(public_mechanisms()) == sorted(EXAMPLES)


def test_what_is_public_is_what_is_there() -> None:
    classes = {n for n, thing in vars(discreet.mechanisms).items() if inspect.isclass(thing)}
    assert sorted(classes) == discreet.mechanisms.__all__


@every_mechanism
def test_it_keeps_the_contract(mechanism: Any) -> None:
    assert isinstance(mechanism, Mechanism)
    assert isinstance(mechanism.loss, Loss)
    assert isinstance(mechanism.error(**size(mechanism)), int)
    assert mechanism.error(**size(mechanism)) == mechanism.error("0.95", **size(mechanism)) >= 0


@every_mechanism
def test_the_theorem_of_the_textbook_stands_beside_its_error(mechanism: Any) -> None:
    assert 0 < mechanism.error(**size(mechanism)) < 1.01 * mechanism.theorem(**size(mechanism))


@every_mechanism
def test_an_error_for_many_is_not_answered_for_few(mechanism: Any) -> None:
    for name in size(mechanism):
        with pytest.raises(TypeError, match=name):
            mechanism.error("0.95")
        with pytest.raises(TypeError, match=name):
            mechanism.theorem("0.95")


@every_mechanism
@pytest.mark.parametrize("bad", ["no", "up", 1, 0, None, np.bool_(True)])
def test_a_flag_is_true_or_false(mechanism: Any, bad: Any) -> None:
    if hasattr(mechanism, "monotonic"):
        with pytest.raises(ParameterError, match="must be True or False"):
            dataclasses.replace(mechanism, monotonic=bad)


@every_mechanism
def test_it_is_a_frozen_record_that_equals_its_copy(mechanism: Any) -> None:
    field = dataclasses.fields(mechanism)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, field, 1)
    copy = dataclasses.replace(mechanism)
    assert copy == mechanism
    assert hash(copy) == hash(mechanism)
    assert copy.loss == mechanism.loss


@every_mechanism
def test_its_loss_can_be_planned(mechanism: Any) -> None:
    assert 0 < plan.epsilon(mechanism.loss, "1e-6") < 1


@every_mechanism
def test_errors_grow_with_confidence(mechanism: Any) -> None:
    confidences = ("0.5", "0.9", "0.99", "0.999999")
    errors = [mechanism.error(confidence, **size(mechanism)) for confidence in confidences]
    assert errors == sorted(errors)
    assert errors[0] < errors[-1]


@every_mechanism
def test_every_release_has_fresh_noise(mechanism: Any) -> None:
    """Noise this wide, on 20 entries, gives the same answer 30 times once in far more than 10¹²."""
    assert len({tuple(comparable(mechanism.release(VALUES))) for _ in range(30)}) > 1


@every_mechanism
def test_test_bits_make_it_repeatable_and_leave_their_mark(mechanism: Any) -> None:
    releases = []
    for _ in range(2):
        with noise.deterministic(11):
            releases.append(mechanism.release(VALUES))
    assert comparable(releases[0]) == comparable(releases[1])
    parts = releases[0] if isinstance(releases[0], list) else [releases[0]]
    assert all(isinstance(part, noise.TestNoise) for part in parts if part is not None)
    assert any(part is not None for part in parts)


@every_mechanism
def test_real_releases_have_no_mark(mechanism: Any) -> None:
    assert not isinstance(mechanism.release(VALUES), noise.TestNoise)


@every_mechanism
@pytest.mark.parametrize("raw", [5, [1, 2], np.arange(3), None])
def test_a_raw_value_is_refused(mechanism: Any, raw: Any) -> None:
    with pytest.raises(ParameterError, match="Exact"):
        mechanism.release(raw)


@every_mechanism
@pytest.mark.parametrize("bad", [0, -1, "x", float("inf"), float("nan"), True, None])
def test_a_first_parameter_that_has_no_meaning_is_refused_by_name(mechanism: Any, bad: Any) -> None:
    field = dataclasses.fields(mechanism)[0].name
    with pytest.raises(ParameterError, match=field):
        dataclasses.replace(mechanism, **{field: bad})


@every_mechanism
def test_a_float_is_taken_at_its_exact_value_with_a_warning_and_an_epsilon_as_a_decimal(mechanism: Any) -> None:
    field = dataclasses.fields(mechanism)[0].name
    if field == "epsilon":
        assert dataclasses.replace(mechanism, epsilon=0.1).epsilon == Fraction("0.1")
        return
    with pytest.warns(InexactFloat, match=field):
        taken = dataclasses.replace(mechanism, **{field: 0.1})
    assert getattr(taken, field) == Fraction(0.1)


@every_mechanism
@pytest.mark.parametrize("bad", [0, -2, 1.5, True, None])
def test_a_sensitivity_that_has_no_meaning_is_refused(mechanism: Any, bad: Any) -> None:
    with pytest.raises(ParameterError):
        dataclasses.replace(mechanism, sensitivity=bad)


@every_mechanism
def test_a_single_integer_is_released_or_refused_by_its_shape(mechanism: Any) -> None:
    exact = Exact(5, Sensitivity(each=1, monotonic="up"))
    if isinstance(mechanism, Laplace | Gaussian):
        assert isinstance(mechanism.release(exact), int)
    else:
        with pytest.raises(ParameterError, match="a vector"):
            mechanism.release(exact)


@every_mechanism
def test_numpy_integers_are_as_good_as_integers(mechanism: Any) -> None:
    """Products of them would wrap."""
    wide = dataclasses.replace(mechanism, sensitivity=np.int64(2**40))
    assert wide == dataclasses.replace(mechanism, sensitivity=2**40)
    assert type(getattr(wide, "sensitivity", None)) is not np.int64
