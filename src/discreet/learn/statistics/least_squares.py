"""Solve least squares from noisy moments, and say how far the coefficients may be off.

    θ = (A₊ + λI)⁻¹·b,   A₊ the noisy moments of the features without their negative part, b those with the target

All of this is post-processing of what was released. λ is a multiple of the noise on an entry of A, σ·(0.3·√d +
3): the norm of a symmetric matrix of such noise is about 2σ√d, and the constants were chosen on tables of 400 to
40,000 rows (docs/theory/linear-regression.md). Ordinary least squares takes λ only as far as the noisy smallest
eigenvalue does not suffice, as AdaSSP does (Wang 2018), but reads that eigenvalue off the noisy matrix and pays
nothing for it.

Intervals. With A₊ and b near their exact values, θ moves by (A₊ + λI)⁻¹·(e_b − E·θ): the noise has covariance
σ_b²·I + σ²·(‖θ‖²·I + θθᵀ), and the sample s²·A₊, with the residual variance s². They are normal approximations,
about the coefficients of the regularised regression of the population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PER_ROOT, ALWAYS = 0.3, 3.0
"""λ is σ·(PER_ROOT·√d + ALWAYS)."""

_LARGEST = 1e6  # a coefficient beyond it is noise divided by nothing


@dataclass(frozen=True)
class Solution:
    """Coefficients, one standard deviation of each, and the λ that was used.

    Args:
        theta: The coefficients, the intercept last.
        deviations: Their standard deviations, from noise and sample.
        lam: The regularisation.
    """

    theta: Floats
    deviations: Floats
    lam: float


def solved(noisy: Floats, *, spread: float, target_spread: float, factor: float | None) -> Solution:
    """Return the coefficients from the noisy moments of features and target, the target last.

    Args:
        noisy: The symmetric matrix of moments.
        spread: The standard deviation of the noise on the moments of features.
        target_spread: That of the moments with the target.
        factor: λ as a multiple of its usual size; None for as little as the noise allows.

    >>> noisy = np.array([[100.0, 0.0, 50.0], [0.0, 100.0, 10.0], [50.0, 10.0, 40.0]])
    >>> solved(noisy, spread=1e-6, target_spread=1e-6, factor=None).theta.round(3).tolist()
    [0.5, 0.1]
    """
    features, products, square = noisy[:-1, :-1], noisy[:-1, -1], float(noisy[-1, -1])
    size = len(features)
    values, vectors = np.linalg.eigh(features)
    usual = spread * (PER_ROOT * math.sqrt(size) + ALWAYS)
    if factor is None:
        sure = max(float(values[0]) - 2.0 * spread * math.sqrt(size), 0.0)
        lam = max(usual - sure, 0.0)
    else:
        lam = factor * usual
    kept = np.maximum(values, 0.0)
    inverse = (vectors / np.maximum(kept + lam, 1e-9)) @ vectors.T
    theta = np.clip(inverse @ products, -_LARGEST, _LARGEST)
    known = (vectors * kept) @ vectors.T
    count = max(float(features[-1, -1]), 1.0)
    # A residual of a target within ±1 has a variance of at most 1.
    residual = float(np.clip((square - 2.0 * theta @ products + theta @ known @ theta) / count, 0.0, 1.0))
    length = float(theta @ theta)
    middle = residual * known + spread**2 * np.outer(theta, theta)
    middle += (target_spread**2 + spread**2 * length) * np.eye(size)
    deviations = np.sqrt(np.maximum(((inverse @ middle) * inverse).sum(axis=1), 0.0))
    return Solution(theta, deviations, lam)
