"""Solvers and grids: what is drawn is as near to the theorem's noise as is claimed, and what is solved as near."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.theorems.learning import LOGISTIC, tolerance
from tests.privacy.theorems.learning import exact_laws


def test_a_random_rounding_is_within_its_reach() -> None:
    """P(|k − X| > r) for every fraction of X, by the sum itself."""
    k = np.arange(-200, 201)
    for x in np.linspace(0, 1, 21):
        weights = np.exp(-((k - x) ** 2) / 18)
        for r in (9.0, 12.0, 20.0, 30.0):
            assert weights[np.abs(k - x) > r].sum() / weights.sum() <= math.exp(-r * r / 18) / 2
    for dimension, failure in ((1, "0.01"), (100, "1e-9"), (10**6, "1e-30")):
        r = tolerance.gaussian_reach(dimension, failure)
        assert dimension * math.exp(-r * r / 18) / 2 <= float(failure) * (1 + 1e-12)


def test_a_discrete_gaussian_is_a_rounded_real_one() -> None:
    """The law of the rounding of N(0, v − 9), by integration, against the discrete law of variance v."""
    v = 25.0
    x, k = np.linspace(-60, 60, 24001), np.arange(-60, 61)
    density = np.exp(-x * x / (2 * (v - 9))) / math.sqrt(2 * math.pi * (v - 9)) * (x[1] - x[0])
    kernel = np.exp(-((k[:, None] - x) ** 2) / 18)
    rounded = (kernel / kernel.sum(0)) @ density
    discrete = np.exp(-k * k / (2 * v)) / np.exp(-k * k / (2 * v)).sum()
    assert rounded[40:81] == pytest.approx(discrete[40:81], rel=1e-9, abs=0)


def test_a_solution_within_its_tolerance_is_near_the_minimiser() -> None:
    rng = np.random.default_rng(5)
    data = exact_laws.random_rows(rng, 6, 2)
    lam, b = 0.5, rng.normal(size=(50, 2))
    best, solved = exact_laws.minimisers(b, data, lam, LOGISTIC)
    assert solved.all()
    near = best + rng.normal(size=best.shape)
    gradient = exact_laws.derivatives(near, data, lam, LOGISTIC)[0] + b
    distance = np.linalg.norm(near - best, axis=1)
    assert (distance <= np.linalg.norm(gradient, axis=1) / lam + 1e-9).all()
    other = exact_laws.minimisers(b + 0.3, data, lam, LOGISTIC)[0]
    assert (np.linalg.norm(other - best, axis=1) <= 0.3 * math.sqrt(2) / lam + 1e-9).all()


def test_the_sensitivity_counts_tolerance_noise_and_rounding() -> None:
    """Two points at the largest distance, rounded to the grid, are as far apart as claimed, and never farther."""
    rng, d, grid, lam, tau, error = np.random.default_rng(2), 4, 0.01, 2.0, 0.03, 0.02
    l2 = tolerance.output_sensitivity(tolerance="0.03", noise_error="0.02", lam=2, grid="0.01", dimension=d)
    l1 = tolerance.output_sensitivity(
        tolerance="0.03", noise_error="0.02", lam=2, grid="0.01", dimension=d, norm="l1"
    )
    centre = rng.uniform(-1, 1, (20000, 1, d))
    away = rng.choice([-1.0, 1.0], (20000, 2, d))
    points = np.floor((centre + away * (tau + error) / lam / math.sqrt(d)) / grid)
    moved = points[:, 0] - points[:, 1]
    assert 0.8 * l2 < np.linalg.norm(moved, axis=1).max() <= l2
    assert 0.8 * l1 < np.abs(moved).sum(1).max() <= l1
    assert (l2, l1) == (7, 14)


def test_the_noise_of_the_objective_has_the_variance_that_its_claim_needs() -> None:
    variance = tolerance.variance_for("3.5", "0.001")
    assert (variance - tolerance.SMOOTHING) * 0.001**2 >= 3.5**2
    assert tolerance.output_mu(30, variance) >= 30 / math.sqrt(variance - 9)
    assert tolerance.output_mu(0, variance) == 0
    with pytest.raises(ParameterError, match="above 9"):
        tolerance.output_mu(1, 9)
    with pytest.raises(ParameterError, match='"l1" or "l2"'):
        tolerance.output_sensitivity(tolerance=0, noise_error=0, lam=1, grid=1, dimension=1, norm="l3")  # type: ignore[arg-type]
    assert tolerance.total_variation_cost(1000, "0.1") == math.inf
