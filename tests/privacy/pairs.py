"""Losses to try everything on, and their exact profiles by other means (mpmath, enumeration)."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

from discreet import privacy
from discreet.privacy import Loss

BOUNDED: dict[str, Loss] = {
    "pure": privacy.Pure("0.7"),
    "laplace": privacy.Laplace(scale="1.5"),
    "discrete laplace": privacy.DiscreteLaplace(scale=3, sensitivity=1),
    "discrete laplace of sensitivity 5": privacy.DiscreteLaplace(scale="2.5", sensitivity=5),
    "ternary response": privacy.RandomizedResponse("1.2", categories=3),
    "response with nine answers": privacy.RandomizedResponse(2, categories=9),
    "exponential": privacy.Exponential("1.1"),
    "permute and flip": privacy.PermuteAndFlip("0.4"),
    "sparse vector": privacy.SparseVector("0.4"),
}
UNBOUNDED: dict[str, Loss] = {
    "approximate": privacy.Approximate("0.5", "1e-3"),
    "gaussian": privacy.Gaussian(sigma=2),
    "gdp": privacy.GaussianDP("0.8"),
    "discrete gaussian": privacy.DiscreteGaussian(variance=5, sensitivity=2),
    "wide discrete gaussian": privacy.DiscreteGaussian(variance=3000**2, sensitivity=1700),
    "sampled laplace": privacy.PoissonSubsampled(privacy.Laplace(1), "0.1"),
    "sampled gaussian": privacy.PoissonSubsampled(privacy.Gaussian("0.8"), "0.02"),
    "sampled approximate": privacy.PoissonSubsampled(privacy.Approximate(1, "1e-3"), "0.3"),
    "sampled discrete gaussian": privacy.PoissonSubsampled(privacy.DiscreteGaussian(1), "0.2"),
}
LOSSES = {**BOUNDED, **UNBOUNDED}


def _hockey_stick(p: list[mp.mpf], q: list[mp.mpf], epsilon: float) -> mp.mpf:
    return mp.fsum(max(mp.mpf(0), a - mp.exp(mp.mpf(epsilon)) * b) for a, b in zip(p, q, strict=True))


def discrete_gaussian_pmf(variance: mp.mpf, shift: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    most = int(mp.ceil(30 * mp.sqrt(variance))) + shift
    weights = {n: mp.exp(-(mp.mpf(n) ** 2) / (2 * variance)) for n in range(-most - shift, most + shift + 1)}
    total = mp.fsum(weights.values())
    support = range(-most, most + 1)
    return [weights[n - shift] / total for n in support], [weights[n] / total for n in support]


def discrete_laplace_pmf(scale: mp.mpf, shift: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    ratio = mp.exp(-1 / scale)
    centre = (1 - ratio) / (1 + ratio)
    support = range(-int(120 * scale) - 5, int(120 * scale) + shift + 6)
    return [centre * ratio ** abs(n - shift) for n in support], [centre * ratio ** abs(n) for n in support]


def exact_profile(name: str) -> Callable[[float], mp.mpf] | None:
    """δ(ε) of the mechanism itself, computed from its densities, not from our cells."""
    e = mp.mpf
    match name:
        case "pure":
            odds = mp.exp(e("0.7"))
            return lambda eps: _hockey_stick(
                [odds / (1 + odds), 1 / (1 + odds)], [1 / (1 + odds), odds / (1 + odds)], eps
            )
        case "laplace":
            return lambda eps: max(e(0), 1 - mp.exp((e(eps) - 1 / e("1.5")) / 2))
        case "discrete laplace":
            p, q = discrete_laplace_pmf(e(3), 1)
            return lambda eps: _hockey_stick(p, q, eps)
        case "discrete laplace of sensitivity 5":
            p5, q5 = discrete_laplace_pmf(e("2.5"), 5)
            return lambda eps: _hockey_stick(p5, q5, eps)
        case "ternary response":
            odds3 = mp.exp(e("1.2"))
            law = [odds3 / (odds3 + 2), 1 / (odds3 + 2), 1 / (odds3 + 2)]
            return lambda eps: _hockey_stick(law, [law[1], law[0], law[2]], eps)
        case "gaussian":
            return lambda eps: mp.ncdf(e("0.25") - 2 * e(eps)) - mp.exp(e(eps)) * mp.ncdf(-e("0.25") - 2 * e(eps))
        case "discrete gaussian":
            pg, qg = discrete_gaussian_pmf(e(5), 2)
            return lambda eps: _hockey_stick(pg, qg, eps)
        case "exponential":
            top = mp.exp(e("1.1"))
            return lambda eps: (mp.sqrt(top) - mp.exp(min(e(eps), e("1.1")) / 2)) ** 2 / (top - 1)
    return None


EXACT = {name: profile for name in LOSSES if (profile := exact_profile(name)) is not None}

EPSILONS = np.array([0.0, 0.05, 0.2, 0.31, 0.5, 0.66, 1.0, 1.3, 2.2])
