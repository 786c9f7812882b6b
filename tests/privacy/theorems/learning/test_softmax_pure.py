"""Pure ε of softmax minimisers: density ratios reach the bound, and none exceeds it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import softmax as probabilities

from discreet.errors import ParameterError
from discreet.privacy.theorems.learning import softmax_pure
from tests.privacy.theorems.learning.exact_laws import Floats


def log_density(theta: Floats, x: Floats, y: list[int], w: list[float], lam: float, scale: float) -> float:
    """Return ln p of the minimiser at a k×d matrix, from the formula of the change of variables."""
    k, d = theta.shape
    gradient, hessian = lam * theta, lam * np.eye(k * d)
    for row, label, weight in zip(x, y, w, strict=True):
        p = probabilities(theta @ row)
        gradient = gradient + weight * np.outer(p - np.eye(k)[label], row)
        hessian = hessian + weight * np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    return float(np.linalg.slogdet(hessian)[1] - np.abs(gradient).sum() / scale)


def largest(k: int, lam: float, scale: float, seed: int) -> float:
    random, worst = np.random.default_rng(seed), 0.0
    for trial in range(150):
        d, many = int(random.integers(1, 3)), int(random.integers(0, 3))
        rows = int(random.integers(1, 3))
        x = random.normal(size=(many + rows, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        x[many:] = np.eye(d)[0]  # of norm 1 in l1 and in l2
        y = random.integers(0, k, many + rows).tolist()
        w = [5.0] * many + [1 / rows] * rows
        spread = [0.1, 1.0, 5.0, 30.0][trial % 4]
        theta = random.normal(size=(k, d)) * spread
        gap = log_density(theta, x, y, w, lam, scale) - log_density(
            theta, x[:many], y[:many], w[:many], lam, scale
        )
        worst = max(worst, abs(gap))
    return worst


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize(("lam", "scale"), [(8.0, 2.0), (1.0, 4.0), (0.5, 1.0)])
def test_no_ratio_exceeds_the_bound_and_some_comes_near(k: int, lam: float, scale: float) -> None:
    bound = float(softmax_pure.pure_epsilon(classes=k, scale=scale, lam=lam))
    assert 0.55 * bound < largest(k, lam, scale, 10 * k) <= bound * (1 + 1e-9)


def test_the_determinant_is_not_free_for_three_classes() -> None:
    """A row that two wrong classes share has s = 1, and still bends the objective: 2B alone does not cover it."""
    lam, scale = 2.0, 8.0
    theta = np.array([[-40.0], [0.1], [0.1]])
    with_, without = (log_density(theta, np.ones((n, 1)), [0] * n, [1.0] * n, lam, scale) for n in (1, 0))
    found = abs(with_ - without)
    assert found <= float(softmax_pure.pure_epsilon(classes=3, scale=scale, lam=lam))
    bent = float(np.log1p(0.5 / lam))
    assert float(softmax_pure.pure_epsilon(classes=3, scale=scale, lam=lam)) > bent + 2 / scale


def test_the_scale_is_exact_and_a_grid_costs_what_it_says() -> None:
    for k in (3, 10):
        scale = softmax_pure.scale_for(1, classes=k, lam=5, norm=3, grid="0.001", dimension=20)
        spent = softmax_pure.pure_epsilon(classes=k, scale=scale, lam=5, norm=3, grid="0.001", dimension=20)
        assert spent == 1
    assert softmax_pure.pure_epsilon(classes=3, scale=1, lam=10**9) == 2 + Fraction(1, 2 * 10**9)


def test_a_regulariser_that_is_too_small_is_refused_with_one_that_is_not() -> None:
    with pytest.raises(ParameterError, match="lam is too small") as refused:
        softmax_pure.scale_for(1, classes=5, lam=1)
    assert "lam=2" in str(refused.value)
    assert softmax_pure.scale_for(1, classes=5, lam="2.001") > 0
