"""Noise of the wrong width or the wrong kind is caught, by as much as theory says; the mended one is not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import pairwise

import mpmath
import pytest

from discreet import privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum import gaussian
from discreet.audit.museum.gaussian import DELTA, LARGE, STEP
from tests.mechanisms.output_laws import gaussian as gaussian_law
from tests.mechanisms.output_laws import hockey_stick, shifted


def test_the_classical_formula_fails_three_times_as_often_as_it_may() -> None:
    law = gaussian_law(gaussian.classical_variance(LARGE, DELTA))
    witness = float(hockey_stick(law, shifted(law, STEP), LARGE))
    P, Q = (exact.law(partial(gaussian.classical, value), unexplored="1e-12") for value in (0, STEP))
    low, high = exact.hockey_stick(P, Q, LARGE)
    assert 3 * DELTA < low <= witness <= high


@pytest.mark.parametrize(("epsilon", "holds"), [("0.5", True), (1, True), (6, True), (8, False), (20, False)])
def test_the_classical_formula_holds_where_it_was_proved_and_then_by_luck(epsilon: str | int, holds: bool) -> None:
    sigma = Fraction(math.sqrt(2 * math.log(1.25 / float(DELTA)))) / Fraction(epsilon)
    assert (privacy.delta(privacy.Gaussian(sigma), epsilon) <= DELTA) is holds


def test_the_tail_of_a_gaussian_slope_loses_without_end() -> None:
    """From b to b + Δ the density falls by exp((2b + Δ)·Δ/σ²): further out it falls more."""
    found = []
    for unexplored in ("1e-3", "1e-6", "1e-12", "1e-18"):
        claim = Subject(
            name="objective with Gaussian b",
            release=gaussian.with_gaussian_b,
            loss=privacy.Pure(1),
            pairs=[((STEP, 0), (0, 0))],
        )
        found.append(exact.attack(claim, unexplored=unexplored).found or 0)
    assert found[0] > 2
    assert all(further > nearer + 1 for nearer, further in pairwise(found))


def test_the_minimum_is_where_the_slope_vanishes() -> None:
    labels, b = [STEP, 0, STEP], 7
    theta = gaussian.perturbed_minimum(labels, b)
    slope = mpmath.diff(lambda t: sum((t - y) ** 2 for y in labels) / 2 + gaussian.RIDGE * t**2 / 2 + b * t, theta)
    assert abs(slope) < 1e-6


def test_a_laplace_slope_loses_its_epsilon_and_no_more() -> None:
    assert gaussian.GAUSSIAN_OBJECTIVE_PERTURBATION.mended().found == pytest.approx(1, abs=1e-4)


def test_votes_with_the_inverse_of_the_noise_lose_three_times_what_is_charged() -> None:
    found = gaussian.LAMBDA_INVERTED.broken().found
    assert found is not None
    assert found > 3


def test_two_answers_lose_what_two_cost() -> None:
    broken, mended = gaussian.CHARGED_FOR_ONE.broken(), gaussian.CHARGED_FOR_ONE.mended()
    assert broken.found == pytest.approx(privacy.epsilon(privacy.DiscreteGaussian(1) * 2, broken.delta), abs=1e-3)
    assert mended.found == pytest.approx(mended.claimed, abs=1e-3)
