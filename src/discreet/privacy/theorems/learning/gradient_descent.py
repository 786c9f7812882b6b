"""Calibrate noisy gradient descent on all data.

Claim. T gradients Σ wᵢ·∇ℓ(θ_t; zᵢ) are released, each with noise N(0, σ²I), where θ_t depends on the gradients
released before. One person moves a gradient by at most K·R (margin losses, slopes in [0, 1]) or √2·K·R (softmax:
‖p − e_y‖ ≤ √2), added or removed. All T together are μ-Gaussian DP, μ = √T·Δ/σ, exactly, and so is everything
computed from them.

*Proof.* Each is a Gaussian mechanism of parameter Δ/σ whatever came before; Gaussian DP composes adaptively to
the root of the sum of squares (Dong, Roth and Su 2022), with equality for a gradient that moves by Δ in a fixed
direction. ∎

Utility. F convex and β-smooth, step η ≤ 1/β, D = ‖θ₀ − θ′‖: the mean of θ₁ … θ_T has E F − F(θ′) ≤ D²/(2ηT) +
η·(1 + β·η)/2·d·σ²: the usual two inequalities, of smoothness and of the squared distance, added up.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.privacy.theorems.learning.calibration import root_above
from discreet.rational import Rational, positive, shown, whole


def gdp(*, sigma: Rational, steps: int, R: Rational = 1, K: Rational = 1, softmax: bool = False) -> float:
    """Return μ = √T·Δ/σ, rounded up.

    Args:
        sigma: Standard deviation of the noise on each coordinate of a gradient.
        steps: T, the number of gradients.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        softmax: Whether the loss is that of softmax regression, whose gradient has norm up to √2·R.

    >>> gdp(sigma=40, steps=100) >= 0.25, round(gdp(sigma=40, steps=50, softmax=True), 12)
    (True, 0.25)
    """
    return root_above(
        _squared(R, K, softmax) * whole(steps, "steps") / positive(sigma, "sigma", floats="exact") ** 2
    )


def sigma_for_gdp(mu: Rational, *, steps: int, R: Rational = 1, K: Rational = 1, softmax: bool = False) -> float:
    """Return σ = Δ·√T/μ, rounded up.

    Args:
        mu: μ, the Gaussian DP parameter of all gradients together.
        steps: T, the number of gradients.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        softmax: Whether the loss is that of softmax regression.

    >>> round(sigma_for_gdp("0.25", steps=100), 9), round(sigma_for_gdp("0.25", steps=35, softmax=True), 3)
    (40.0, 33.466)
    """
    return root_above(_squared(R, K, softmax) * whole(steps, "steps") / positive(mu, "mu", floats="exact") ** 2)


def _squared(R: Rational, K: Rational, softmax: bool) -> Fraction:
    return (positive(R, "R", floats="exact") * positive(K, "K", floats="exact")) ** 2 * (2 if softmax else 1)


def excess_risk(
    *, sigma: Rational, steps: int, step_size: Rational, smoothness: Rational, dimension: int, distance: Rational
) -> Fraction:
    """Bound E F(mean of θ₁ … θ_T) − F(θ′): D²/(2ηT) + η·(1 + β·η)/2·d·σ².

    Args:
        sigma: Standard deviation of the noise on each coordinate.
        steps: T.
        step_size: η, at most 1/β.
        smoothness: β of the objective, n·R²/4 + λ for a sum of logistic losses.
        dimension: d.
        distance: D, from the start to the θ′ that is compared with.

    >>> excess_risk(sigma=2, steps=100, step_size="0.5", smoothness=2, dimension=10, distance=3)
    Fraction(2009, 100)
    """
    eta, beta = positive(step_size, "step_size", floats="exact"), nonnegative(smoothness, "smoothness")
    if eta * beta > 1:
        raise ParameterError(
            "step_size must be at most 1/smoothness.", found=shown(step_size), fix=Fix("step_size", 1 / beta)
        )
    start = nonnegative(distance, "distance") ** 2 / (2 * eta * whole(steps, "steps"))
    noise = whole(dimension, "dimension") * nonnegative(sigma, "sigma") ** 2
    return start + eta * (1 + beta * eta) / 2 * noise
