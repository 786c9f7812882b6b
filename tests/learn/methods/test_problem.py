"""A problem names its features, its loss and how much to regularise, before any row is read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn import FeatureMap
from discreet.learn.methods.margin_losses import HuberHinge, Logistic
from discreet.learn.methods.problem import (
    LEAST,
    LINE,
    LINES,
    MOST,
    STRONGEST,
    WIDEST,
    Count,
    Problem,
    feature_maps,
)
from discreet.learn.training import Task
from discreet.schema import Boolean, Category, Integer, Real, Text

TASK = Task({"age": Integer(0, 99)}, "ill", Boolean())


def test_maps_follow_from_the_choice() -> None:
    assert [one.kind for one in feature_maps(TASK, "auto")] == ["hats", "linear"]
    own = FeatureMap(TASK.features, knots=3)
    assert feature_maps(TASK, own) == (own,)
    for wrong in ("cubic", FeatureMap({"pay": Integer(0, 9)})):
        with pytest.raises(ParameterError, match="feature map"):
            feature_maps(TASK, wrong)  # type: ignore[arg-type]


def test_a_noisy_count_chooses_linear_features_where_rows_are_few() -> None:
    problem = Problem(TASK, Logistic(), feature_maps(TASK, "auto"))
    size = problem.maps[0].size
    assert problem.chosen(6 * size / 0.1 + 1, 0.1).kind == "hats"
    assert problem.chosen(6 * size / 0.1 - 1, 0.1).kind == "linear"
    assert problem.chosen(-50.0, 0.1).kind == "linear"
    assert problem.chosen(None, 0.1).kind == "hats"
    assert problem.counts


def test_a_strong_line_lets_hats_stand_for_fewer_rows() -> None:
    problem = Problem(TASK, None, feature_maps(TASK, "auto", LINES))
    size = problem.maps[0].size
    assert size == FeatureMap(TASK.features).size + 1
    found = [problem.chosen(crowd * size / 0.1, 0.1) for crowd in (6.01, 5.99, 2.01, 1.99)]
    assert [one.line for one in found] == [LINES, STRONGEST, STRONGEST, 0]
    assert [one.size for one in found[:3]] == [size] * 3  # the noise on coefficients is stated for this size
    assert found[-1].kind == "linear"
    assert [one.line for one in feature_maps(TASK, "hats", LINE)] == [LINE]
    assert [one.line for one in feature_maps(TASK, "linear", LINE)] == [0]


def test_a_noisy_count_decides_how_much_to_regularise_within_public_bounds() -> None:
    """The noise is calibrated for the least factor, so that no count may lead below it."""
    problem = Problem(TASK, Logistic(), feature_maps(TASK, "auto"))
    counts = (-1e9, -1.0, 0.0, 10.0, 1e3, 1e5, 1e12, None)
    for one in problem.maps:
        factors = [problem.factor(one, count, 0.1) for count in counts]
        assert min(factors) >= problem.least_factor == LEAST
        assert max(factors) <= MOST
        assert factors[:-1] == sorted(factors[:-1], reverse=True)
    given = Problem(TASK, Logistic(), problem.maps[:1], 3.0)
    assert [given.factor(given.maps[0], count, 0.1) for count in counts] == [3.0] * len(counts)
    assert given.least_factor == 3.0
    assert not given.counts


def test_a_noisy_count_decides_about_the_margin_within_public_bounds() -> None:
    problem = Problem(TASK, Logistic(), feature_maps(TASK, "auto"), widens=True)
    size, counts = problem.maps[0].size, (-1e9, -1.0, 0.0, 10.0, 1e3, 1e5, 1e12, None)
    losses = [problem.wide_loss(problem.maps[0], count, 0.1) for count in counts]
    margins = [loss.margin for loss in losses if isinstance(loss, Logistic)]
    assert margins[:-1] == sorted(margins[:-1], reverse=True)
    assert margins[0] == margins[-1] == WIDEST
    assert 0 < margins[-2] < 1e-6
    assert isinstance(one := problem.wide_loss(problem.maps[0], 8 * size / 0.1, 0.1), Logistic)
    assert one.margin == 1.0
    for fixed in (Problem(TASK, Logistic(shift=3.0), problem.maps), Problem(TASK, HuberHinge(), problem.maps)):
        assert fixed.wide_loss(problem.maps[0], 1.0, 0.1) is fixed.loss


@pytest.mark.parametrize("margin", [0.0, 0.5, 2.0, 10.0])
def test_no_margin_leads_to_less_regularisation_than_the_noise_is_calibrated_for(margin: float) -> None:
    problem = Problem(TASK, Logistic(), feature_maps(TASK, "auto"), widens=True)
    factors = [problem.factor(problem.maps[0], count, 0.1, margin) for count in (-1e9, 0.0, 1e2, 1e3, 1e9)]
    assert min(factors) == problem.least_factor == LEAST
    assert max(factors) == max(LEAST, MOST / (1 + margin))


@pytest.mark.parametrize("loss", [Logistic(shift=margin) for margin in (0.0, 0.3, 2.0, 10.0)], ids=str)
def test_the_curvature_of_a_loss_with_a_margin_follows_from_its_slope_as_without_one(loss: Logistic) -> None:
    """All that the privacy theorem knows of a loss: 0 ≤ s ≤ 1 and ℓ″ = s(1 − s), and s is the slope."""
    score = np.linspace(-30, 30, 601)
    slope = loss.slope(score)
    assert ((slope >= 0) & (slope <= 1)).all()
    assert np.abs(loss.curvature(score) - slope * (1 - slope)).max() < 1e-15
    step = 1e-5
    falls = (loss.slope(score - step) - loss.slope(score + step)) / (2 * step)
    assert np.abs(falls - loss.curvature(score)).max() < 1e-9
    assert loss.law == Logistic().law
    assert loss.slope(np.zeros(1))[0] == pytest.approx(1 / (1 + np.exp(-loss.margin)), rel=1e-12)


@pytest.mark.parametrize("count", [Count.gaussian(Fraction(2)), Count.pure(Fraction(2))], ids=["gaussian", "pure"])
def test_a_count_is_of_persons(count: Count) -> None:
    """Of 500 persons, by the noise it states; 40 deviations are never left."""
    rows = MemoryExamples({}, np.full(1000, WHOLE // 2))
    found, tested = count.released(rows)
    assert abs(found - 500) < 40 * count.deviation
    assert not tested
    with noise.deterministic(1):
        assert count.released(rows)[1]


def test_classes_are_those_of_the_schema() -> None:
    assert TASK.classes == [False, True]
    assert Task({"a": Boolean()}, "t", Category(["x", "y", "z"])).classes == ["x", "y", "z"]
    assert Task({"a": Boolean()}, "t", Integer(1, 3)).classes == [1, 2, 3]


@pytest.mark.parametrize("outcome", [Real(0, 1, step="0.1"), Integer(0, 10**6)])
def test_a_number_is_no_class(outcome: Any) -> None:
    with pytest.raises(ParameterError, match="Use a regression"):
        Task({"a": Boolean()}, "t", outcome).classes  # noqa: B018


def test_strings_and_nothing_are_no_features() -> None:
    with pytest.raises(ParameterError, match="at least one feature"):
        Task({}, "t", Boolean())
    for task in (({"word": Text()}, Boolean()), ({"a": Boolean()}, Text())):
        with pytest.raises(ParameterError, match="strings that the schema does not list"):
            Task(task[0], "t", task[1])
