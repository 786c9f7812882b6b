"""Softmax objective perturbation: exact divergences of three classes in one dimension stay below the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax as probabilities

from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.learning import softmax
from discreet.privacy.theorems.learning.calibration import gaussian_mu
from tests.privacy.theorems.learning.exact_laws import Floats

CLASSES = 3


def derivatives(theta: Floats, x: Floats, y: np.ndarray, w: Floats, lam: float) -> tuple[Floats, Floats]:
    gradient = lam * theta
    hessian = np.broadcast_to(lam * np.eye(CLASSES), (len(theta), CLASSES, CLASSES)).copy()
    for one, label, weight in zip(x, y, w, strict=True):
        p = probabilities(theta * one, axis=1)
        gradient = gradient + weight * one * (p - np.eye(CLASSES)[label])
        hessian += weight * one**2 * (p[:, :, None] * np.eye(CLASSES) - p[:, :, None] * p[:, None, :])
    return gradient, hessian


def minimisers(b: Floats, x: Floats, y: np.ndarray, w: Floats, lam: float) -> Floats:
    theta = -b / lam / (1 + w.sum())
    for _ in range(400):
        gradient, hessian = derivatives(theta, x, y, w, lam)
        residual = gradient + b
        if np.abs(residual).max() < 1e-8:
            break
        step = np.linalg.solve(hessian, residual[..., None])[..., 0]
        theta = theta - step / (1 + np.linalg.norm(step, axis=1, keepdims=True) / 4)
    assert np.abs(residual).max() < 1e-6
    return np.asarray(theta)


def exact_delta(
    data: tuple[Floats, ...], person: tuple[Floats, ...], lam: float, sigma: float, epsilon: float
) -> float:
    edge = np.linspace(-6, 6, 31)
    density = np.exp(-edge * edge / 2) / math.sqrt(2 * math.pi)
    mass = np.diff([math.erf(value / math.sqrt(2)) / 2 for value in edge])
    mean = (density[:-1] - density[1:]) / mass
    u = np.stack(np.meshgrid(mean, mean, mean), -1).reshape(-1, 3)
    p = (mass[:, None, None] * mass[None, :, None] * mass[None, None, :]).ravel()
    both = tuple(np.concatenate(pair) for pair in zip(data, person, strict=True))
    found = []
    for first, second in ((both, data), (data, both)):
        theta = minimisers(sigma * u, first[0], first[1].astype(int), first[2], lam)
        own = derivatives(theta, first[0], first[1].astype(int), first[2], lam)[1]
        gradient, other = derivatives(theta, second[0], second[1].astype(int), second[2], lam)
        loss = np.linalg.slogdet(own)[1] - np.linalg.slogdet(other)[1]
        loss = loss + ((gradient**2).sum(1) / sigma**2 - (u**2).sum(1)) / 2
        found.append(float((p * np.maximum(0, -np.expm1(np.minimum(epsilon - loss, 0)))).sum()))
    return max(found)


@pytest.mark.parametrize(("epsilon", "lam", "sigma"), [(1.0, 3.0, 1.5), (0.5, 2.0, 2.0)])
def test_no_data_set_exceeds_the_bound(epsilon: float, lam: float, sigma: float) -> None:
    bound = softmax.delta(epsilon, classes=CLASSES, sigma=sigma, lam=lam)
    person = (np.array([1.0]), np.array([0.0]), np.array([1.0]))
    pinning = (np.array([1.0]), np.array([1.0]), np.array([300.0]))
    free = (np.zeros(0), np.zeros(0), np.zeros(0))
    worst = max(exact_delta(data, person, lam, sigma, epsilon) for data in (pinning, free))
    assert 0.05 * bound < worst <= bound


FACTORS = {3: (1.20, 1.12, 1.09, 1.07), 10: (1.44, 1.27, 1.20, 1.17)}


@pytest.mark.parametrize("classes", [3, 10])
def test_noise_is_within_this_factor_of_a_gaussian_release_of_the_gradient(classes: int) -> None:
    floor = math.sqrt(2) / gaussian_mu(1, "1e-5")
    for lam, most in zip((4, 8, 16, 32), FACTORS[classes], strict=True):
        assert 1 < float(softmax.sigma_for(1, "1e-5", classes=classes, lam=lam)) / floor < most


def test_tails_bound_what_is_sampled() -> None:
    w, tails = softmax._tails(5)
    rng = np.random.default_rng(0)
    v = rng.normal(size=(400_000, 5))
    sample = v[:, 1:].max(1) - v[:, 0]
    for value in (-1.0, 0.0, 1.0, 3.0):
        tail = float(tails[np.searchsorted(w, value - 1e-9)])
        assert (sample > value).mean() - 0.005 <= tail <= (sample > value).mean() + 0.015


@pytest.mark.parametrize(("lam", "sigma"), [(3.0, 1.5), (2.0, 2.0)])
def test_no_data_set_exceeds_gaussian_dp_at_any_epsilon(lam: float, sigma: float) -> None:
    mu = softmax.gdp(classes=CLASSES, sigma=sigma, lam=lam)
    person = (np.array([1.0]), np.array([0.0]), np.array([1.0]))
    pinning = (np.array([1.0]), np.array([1.0]), np.array([300.0]))
    shift = math.sqrt(2) / sigma
    for epsilon in (0.1, 1.0, 2.0):
        worst = exact_delta(pinning, person, lam, sigma, epsilon)
        assert worst <= gaussian_delta(mu, epsilon)[1]
        assert worst > gaussian_delta(shift / math.sqrt(2), epsilon)[1], "R/σ alone would be too little"


def test_the_top_of_a_score_is_that_of_a_sample() -> None:
    """Ψ(P) is the mean of κ(W) over its largest values; a bound that is far off would be useless."""
    k, shift, determinant = 5, 0.2, 0.05
    rng = np.random.default_rng(0)
    v = rng.normal(size=(400_000, k))
    w = np.sort(v[:, 1:].max(1) - v[:, 0])
    s = np.clip((2 * determinant + shift * w) / (2 * determinant * k / (k - 1)), 0, 1)
    kappa = np.sort(determinant * (2 * s - s * s * k / (k - 1)) + shift * s * w)
    for share in (0.01, 0.2, 0.5):
        mean = kappa[-int(share * len(kappa)) :].sum() / len(kappa)
        bound = float(softmax._Tops(k, shift, determinant).top(np.array([share]))[0])
        assert 0.99 * mean <= bound <= 1.03 * mean


def test_gaussian_releases_beside_it_are_convolved() -> None:
    """Beside two Gaussians of half the variance each, the whole is not below either part, nor above the sum."""
    alone = softmax.delta(1, classes=3, sigma=6, lam=16)
    beside = softmax.delta(1, classes=3, sigma=6, lam=16, gaussian_mu="0.1")
    assert beside > 1.5 * alone
    mu = math.hypot(softmax.gdp(classes=3, sigma=6, lam=16), 0.1)
    assert beside < gaussian_delta(mu, 1.0)[1]
