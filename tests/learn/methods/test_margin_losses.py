"""Losses have the slopes and the curvatures that the privacy theorem is told of."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss, hinge

MARGINS = np.array([-1e6, -800.0, -30.0, -1.0, 0.0, 0.3, 0.5, 0.99, 1.0, 1.5, 2.0, 40.0, 800.0, 1e6])
LOSSES: list[MarginLoss] = [Logistic(), hinge("smooth_hinge", 0.3), hinge("huber_hinge", 0.5), HuberHinge(2.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slopes_lie_between_zero_and_one_and_fall(loss: MarginLoss) -> None:
    slopes = loss.slope(MARGINS)
    assert ((slopes >= 0) & (slopes <= 1)).all()
    assert (np.diff(slopes) <= 0).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curvature_is_the_derivative_of_the_slope_and_within_the_law(loss: MarginLoss) -> None:
    inner = np.array([-3.0, -0.7, 0.2, 0.8, 1.1, 2.2])
    numeric = -(loss.slope(inner + 1e-6) - loss.slope(inner - 1e-6)) / 2e-6
    assert loss.curvature(inner) == pytest.approx(numeric, abs=1e-5)
    slope = loss.slope(MARGINS)
    bend = slope * (1 - slope) if loss.law.saturates else np.ones_like(slope)
    assert (loss.curvature(MARGINS) <= float(loss.law.curvature) * bend * (1 + 1e-12)).all()


@pytest.mark.parametrize(("width", "shift"), [(1.0, 0.0), (0.3, 1.0)])
def test_the_logistic_slope_is_that_of_its_loss(width: float, shift: float) -> None:
    def value(m: Any) -> Any:
        return width * mpmath.log(1 + mpmath.exp((shift - m) / width))

    for m in (-2.0, 0.0, 0.7, 3.0):
        assert Logistic(width, shift).slope(np.array([m]))[0] == pytest.approx(
            float(-mpmath.diff(value, m)), abs=1e-12
        )


@pytest.mark.parametrize(
    ("loss", "width", "words"),
    [
        ("hinge", 1.0, "plain hinge has a corner"),
        ("squared", 1.0, "no such loss"),
        ("smooth_hinge", 0.0, "above 0"),
        ("huber_hinge", math.inf, "finite"),
        ("huber_hinge", math.nan, "finite"),
    ],
)
def test_other_losses_are_refused(loss: str, width: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        hinge(loss, width)
