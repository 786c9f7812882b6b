"""Calibrate output perturbation: noise on the minimiser of a strongly convex objective.

Claim. θ* minimises Σ wᵢ·ℓ(θ; zᵢ) + λ/2·‖θ‖², each ℓ convex and R-Lipschitz in θ (differentiable or not), one
person's weights at most K in total. Adding or removing a person moves θ* by at most K·R/λ in l2, replacing one
by 2K·R/λ; a solver that stops at ‖∇‖ ≤ τ adds 2τ/λ. Noise N(0, Δ²/μ²) makes it μ-Gaussian DP, hence (ε, δ)-DP at
every ε, by the analytic Gaussian mechanism; Laplace noise needs the l1 sensitivity √d·Δ.

*Proof.* Both objectives are λ-strongly convex. With subgradients g of the person's losses at the other's
minimiser θ′, λ·‖θ* − θ′‖² ≤ ⟨g, θ* − θ′⟩ ≤ K·R·‖θ* − θ′‖. A θ with ‖∇F(θ)‖ ≤ τ is within τ/λ of θ*, on either
side. ∎

Utility, for β-smooth losses: E L(θ* + Z) − L(θ₀) ≤ (n·β + λ)/2·d·σ² + λ/2·‖θ₀‖² for every θ₀: quadratic in σ,
not linear.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.privacy.theorems.learning.calibration import gaussian_mu, root_above, sigma_above
from discreet.rational import Rational, positive, shown, whole

Neighbours = Literal["add or remove", "replace"]


def sensitivity(
    *,
    lam: Rational,
    R: Rational = 1,
    K: Rational = 1,
    tolerance: Rational = 0,
    neighbours: Neighbours = "add or remove",
) -> Fraction:
    """Return the l2 sensitivity of the minimiser, exactly.

    Args:
        lam: λ, the strength of the regulariser.
        R: The Lipschitz constant of one loss of weight 1: the largest norm of a row, for a margin loss.
        K: The largest total weight of one person's rows.
        tolerance: τ, the largest gradient norm at which the solver stops.
        neighbours: "add or remove" or "replace" one person.

    >>> sensitivity(lam=100), sensitivity(lam=100, tolerance="0.01", neighbours="replace")
    (Fraction(1, 100), Fraction(101, 5000))
    """
    if neighbours not in ("add or remove", "replace"):
        raise ParameterError(
            "neighbours has another value.", found=shown(neighbours), fix=Fix("neighbours", "add or remove")
        )
    persons = 2 if neighbours == "replace" else 1
    moved = persons * positive(K, "K", floats="exact") * positive(R, "R", floats="exact")
    return (moved + 2 * nonnegative(tolerance, "tolerance")) / positive(lam, "lam", floats="exact")


def l1_sensitivity(l2: Rational, dimension: int) -> float:
    """Return √d·Δ₂, the l1 sensitivity that Laplace noise needs, rounded up.

    >>> l1_sensitivity("0.01", 100) >= 0.1
    True
    """
    return root_above(nonnegative(l2, "l2") ** 2 * whole(dimension, "dimension"))


def sigma_for(epsilon: Rational, delta: Rational, *, l2: Rational) -> Fraction:
    """Return the σ of Gaussian noise that makes the minimiser (ε, δ)-DP, at any ε: a short decimal, rounded up.

    >>> float(sigma_for(1, "1e-5", l2="0.01")), float(sigma_for(20, "1e-5", l2="0.01"))
    (0.0373064, 0.00290042)
    """
    return sigma_above(positive(l2, "l2", floats="exact"), gaussian_mu(epsilon, delta))


def excess_risk(
    *, sigma: Rational, dimension: int, smoothness: Rational, lam: Rational, norm_squared: Rational
) -> Fraction:
    """Bound the expected excess of the summed loss over that of any θ₀: (n·β + λ)/2·d·σ² + λ/2·‖θ₀‖².

    Args:
        sigma: Standard deviation of the noise on each coordinate.
        dimension: d.
        smoothness: n·β, the smoothness of the summed loss: n·R²/4 for the logistic loss.
        lam: λ, the strength of the regulariser.
        norm_squared: ‖θ₀‖² of the θ₀ that is compared with.

    >>> excess_risk(sigma="0.1", dimension=10, smoothness=998, lam=2, norm_squared=1)
    Fraction(51, 1)
    """
    strength, variance = nonnegative(lam, "lam"), nonnegative(sigma, "sigma") ** 2
    noise = (nonnegative(smoothness, "smoothness") + strength) * whole(dimension, "dimension") * variance
    return (noise + strength * nonnegative(norm_squared, "norm_squared")) / 2
