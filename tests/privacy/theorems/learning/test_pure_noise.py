"""Pure ε from Laplace noise in the objective: exact density ratios stay within ε, reach it, and catch mistakes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.privacy.theorems.learning import LOGISTIC, MarginLoss, huberised_hinge, smooth_hinge
from discreet.privacy.theorems.learning.pure_noise import pure_epsilon, scale_for
from tests.privacy.theorems.learning import exact_laws
from tests.privacy.theorems.learning.exact_laws import Floats, Rows


def largest_ratio(
    scale: float, lam: float, K: float, loss: MarginLoss, *, order: int, grid: float = 0.0, seed: int = 0
) -> float:
    """The largest |log density ratio| over random data sets and points θ; rows have norm 1 in both norms used."""
    rng, worst = np.random.default_rng(seed), 0.0

    def size(b: Floats) -> Floats:
        if grid:  # the density of a grid point plus uniform noise on its cell
            b = grid * np.round(b / grid)
        return np.asarray(np.linalg.norm(b, ord=order, axis=1))

    for _ in range(300):
        d = int(rng.integers(1, 4))
        data = exact_laws.random_rows(rng, int(rng.integers(0, 5)), d)
        person = exact_laws.random_rows(rng, int(rng.integers(1, 4)) if K > 1 else 1, d, K)
        if order == 1 and rng.random() < 0.7:  # a unit vector has norm 1 in l1 and in l2
            person = Rows(np.eye(d)[rng.integers(0, d, len(person.y))], person.y, person.w)
        if order == 1:
            person = Rows(person.x / np.maximum(1, np.abs(person.x).sum(1, keepdims=True)), person.y, person.w)
        theta = rng.normal(size=(500, d)) * np.exp(rng.uniform(-3, 3, (500, 1)))
        one, hessian = exact_laws.derivatives(theta, data, lam, loss)
        two, other = exact_laws.derivatives(theta, data + person, lam, loss)
        determinant = np.linalg.slogdet(other)[1] - np.linalg.slogdet(hessian)[1]
        worst = max(worst, float(np.abs(determinant + (size(one) - size(two)) / scale).max()))
    return worst


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("K", "loss"), [(1.0, LOGISTIC), (3.0, LOGISTIC), (1.0, smooth_hinge("0.5"))])
def test_density_ratios_stay_within_epsilon_and_reach_it(K: float, loss: MarginLoss, order: int) -> None:
    for epsilon in (0.1, 1.0, 3.0):
        lam = K * float(loss.curvature) / epsilon
        scale = scale_for(epsilon, lam=lam, K=K, loss=loss)
        ratio = largest_ratio(float(scale), lam, K, loss, order=order)
        assert 0.99 * epsilon < ratio <= epsilon * (1 + 1e-9)


def test_a_calibration_that_is_too_weak_is_caught() -> None:
    assert largest_ratio(1.0, 1.0, 1.0, LOGISTIC, order=1) <= 1 + 1e-9
    assert largest_ratio(0.9, 1.0, 1.0, LOGISTIC, order=1) > 1.05
    assert largest_ratio(1.0, 0.4, 1.0, LOGISTIC, order=1) > 1.05
    assert largest_ratio(1.0, 1.0, 1.0, huberised_hinge(), order=1) > 1.3, "it bends where its slope is 1, nearly"


@pytest.mark.parametrize(("scale", "lam"), [(3.0, 0.4), (1.0, 0.7), (2.0, 5.0)])
@pytest.mark.parametrize("loss", [LOGISTIC, huberised_hinge()], ids=lambda loss: loss.name)
def test_any_scale_and_regulariser_have_an_epsilon(scale: float, lam: float, loss: MarginLoss) -> None:
    for K in (1.0, 2.0):
        epsilon = float(pure_epsilon(scale=scale, lam=lam, K=K, loss=loss))
        assert 0.5 * epsilon < largest_ratio(scale, lam, K, loss, order=1) <= epsilon * (1 + 1e-9)


def test_noise_on_a_grid_costs_its_cells_and_no_more() -> None:
    """A coarse grid, so that forgetting the term d·ω/S would be seen."""
    scale, lam, grid = 4.0, 4.0, 0.5
    ratio = largest_ratio(scale, lam, 1.0, LOGISTIC, order=1, grid=grid)
    assert ratio <= float(pure_epsilon(scale=4, lam=4, grid="0.5", dimension=3)) + 1e-9
    assert ratio > 1.1 * float(pure_epsilon(scale=4, lam=4))


def test_a_calibrated_scale_is_the_least() -> None:
    for lam in ("0.3", "0.7", 1, 5):
        for grid in (0, "0.001"):
            scale = scale_for(1, lam=lam, norm=2, grid=grid, dimension=50)
            found = pure_epsilon(scale=scale, lam=lam, norm=2, grid=grid, dimension=50)
            assert Fraction("0.9999") <= found <= 1
    assert scale_for("0.5", lam=2, norm=3) == 6
    with pytest.raises(ParameterError, match="lam is too small"):
        scale_for(1, lam="0.2")
