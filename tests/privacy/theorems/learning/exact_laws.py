"""Compute exact privacy losses of objective perturbation on small data sets, without any of the theorems.

The noise of the first law is cut into cells; each is represented by its mean (a midpoint, or a grid of θ, shows
false violations in the tails), the minimiser of every cell is found by Newton's method, and the loss there is
the log ratio of the two densities φ(b(θ))·det H(θ). In one dimension, cells end where a huberised hinge changes
its curvature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from discreet.privacy.theorems.learning.margin_loss import MarginLoss

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Rows x, labels ±1 and weights."""

    x: Floats
    y: Floats
    w: Floats

    def __add__(self, other: Rows) -> Rows:
        pairs = ((self.x, other.x), (self.y, other.y), (self.w, other.w))
        return Rows(*(np.concatenate(pair) for pair in pairs))


def rows(x: list[list[float]], y: list[float], w: list[float]) -> Rows:
    return Rows(np.array(x, float), np.array(y, float), np.array(w, float))


def none(dimension: int) -> Rows:
    return Rows(np.zeros((0, dimension)), np.zeros(0), np.zeros(0))


def slopes(margin: Floats, loss: MarginLoss) -> tuple[Floats, Floats]:
    """Return −ℓ′ and ℓ″."""
    c = float(loss.curvature)
    if loss.name == "huberised hinge":
        h = 1 / (2 * c)
        return np.clip((1 + h - margin) / (2 * h), 0, 1), np.where(np.abs(margin - 1) < h, c, 0.0)
    s: Floats = expit(-margin) if loss.name == "logistic" else expit((1 - margin) * c)
    return s, np.asarray(c * s * (1 - s), float)


def derivatives(theta: Floats, data: Rows, lam: float, loss: MarginLoss) -> tuple[Floats, Floats]:
    """Return ∇ and Hessian of the objective without b, at each row of θ."""
    d = theta.shape[1]
    s, q = slopes((theta @ data.x.T) * data.y, loss)
    gradient = lam * theta - (data.w * data.y * s) @ data.x
    return gradient, lam * np.eye(d) + np.einsum("nk,ki,kj->nij", data.w * q, data.x, data.x)


def minimisers(b: Floats, data: Rows, lam: float, loss: MarginLoss) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the θ with ∇ = −b for each row of b, by damped Newton steps, and where it was found."""
    theta = -b / lam / (1 + data.w.sum())
    gradient, hessian = derivatives(theta, data, lam, loss)
    residual = gradient + b
    size = np.linalg.norm(residual, axis=1)
    for _ in range(200):
        if size.max() < 1e-9:
            break
        step = -np.linalg.solve(hessian, residual[..., None])[..., 0]
        length = np.ones(len(b))
        for _ in range(12):
            trial = theta + length[:, None] * step
            gradient, hessian = derivatives(trial, data, lam, loss)
            residual = gradient + b
            worse = np.linalg.norm(residual, axis=1) > size * (1 - 1e-4 * length) + 1e-12
            if not worse.any():
                break
            length[worse] /= 2
        theta, size = trial, np.linalg.norm(residual, axis=1)
    return theta, size < 1e-6


def kinks(first: Rows, second: Rows, lam: float, sigma: float, loss: MarginLoss) -> Floats:
    """Return the noise, in standard deviations, at which a curvature jumps; dimension 1 only."""
    if loss.saturates or first.x.shape[1] > 1:
        return np.zeros(0)
    h, both = 1 / (2 * float(loss.curvature)), first + second
    scale = (both.x[:, 0] * both.y)[both.x[:, 0] != 0]
    theta = np.concatenate([(1 - h) / scale, (1 + h) / scale])
    return -derivatives(theta[:, None], first, lam, loss)[0][:, 0] / sigma


def cells(dimension: int, count: int, breaks: Floats) -> tuple[Floats, Floats]:
    """Return the means and masses of cells of a standard normal vector."""
    edge = np.linspace(-8.5, 8.5, count + 1)
    edge = np.union1d(edge, breaks[np.abs(breaks) < 8.5])
    edge = edge[np.insert(np.diff(edge) > 1e-9, 0, True)]
    left, right = edge[:-1], edge[1:]
    mass = np.where(right <= 0, ndtr(right) - ndtr(left), ndtr(-left) - ndtr(-right))
    density = np.exp(-edge * edge / 2) / math.sqrt(2 * math.pi)
    mean = (density[:-1] - density[1:]) / mass
    if dimension == 1:
        return mean[:, None], mass
    first, second = np.meshgrid(mean, mean)
    return np.stack([first.ravel(), second.ravel()], 1), np.outer(mass, mass).ravel()


def losses(
    data: Rows, person: Rows, lam: float, sigma: float, loss: MarginLoss, count: int = 4000
) -> list[tuple[Floats, Floats]]:
    """Return (masses, privacy losses) for adding the person, and for removing them."""
    dimension = person.x.shape[1]
    both = data + person
    found = []
    for first, second in ((both, data), (data, both)):
        u, mass = cells(dimension, count, kinks(first, second, lam, sigma, loss))
        theta, solved = minimisers(sigma * u, first, lam, loss)
        _, own = derivatives(theta, first, lam, loss)
        gradient, other = derivatives(theta, second, lam, loss)
        determinant = np.linalg.slogdet(own)[1] - np.linalg.slogdet(other)[1]
        noise = ((gradient**2).sum(1) - sigma**2 * (u**2).sum(1)) / (2 * sigma**2)
        found.append((mass * solved, determinant + noise))
    return found


def delta(laws: list[tuple[Floats, Floats]], epsilon: float) -> float:
    """Return the larger of the two exact δ(ε)."""
    return max(float((p * np.maximum(0, -np.expm1(np.minimum(epsilon - L, 0)))).sum()) for p, L in laws)


def pinned(label: float = 1.0) -> tuple[Rows, Rows]:
    """Return data that keep the person on the wrong side, where the slope is 1 and the determinant is 0."""
    return rows([[1.0]], [-label], [1e7]), rows([[1.0]], [label], [1.0])


def shifted(push: float, label: float = 1.0, weight: float = 1.0) -> tuple[Rows, Rows]:
    """Return data that push θ by a constant force, with hardly any curvature of their own."""
    pull = rows([[1e-4]], [math.copysign(1.0, push)], [2e4 * abs(push)])
    return pull, rows([[1.0]], [label], [weight])


def random_rows(rng: np.random.Generator, count: int, dimension: int, total: float | None = None) -> Rows:
    x = rng.normal(size=(count, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True) + 1e-12
    if rng.random() < 0.4:
        x *= rng.uniform(0, 1, (count, 1))
    w = np.exp(rng.uniform(-1, 5, count)) if total is None else rng.dirichlet(np.ones(count)) * total
    return Rows(x, rng.choice([-1.0, 1.0], count), w)
