"""Bound objective perturbation for losses that are not of a margin, where the dimension enters.

Claim. One person has one convex loss ℓ, twice differentiable with ‖∇ℓ‖ ≤ L and 0 ≤ ∇²ℓ ≤ β·I of rank at most r;
b ~ N(0, σ²I) in d dimensions. Adding or removing the person has a privacy loss of at most

    r·ln(1 + β/λ) + L²/(2σ²) + (L/σ)·χ,    χ² chi-square with d degrees of freedom.

A margin loss has r = 1, and its gradient has a fixed direction, so that χ becomes a normal variable: the
dimension leaves both terms. In general ∇ℓ may point along b, and ‖b‖ is about σ·√d: a bound of ‖b‖ by
σ·√(2·ln(1/δ)) is false. Whether the √d is needed once the determinant is paid is open: for ℓ = √(1 + ‖θ‖²) the
two terms nearly cancel.

*Proof.* The density of θ̂ is φ_σ(b(θ))·det H(θ). det(I + H⁻¹∇²ℓ) ≤ (1 + β/λ)^r, since its eigenvalues other than
1 are at most r and at most 1 + β/λ; removing divides by it. And ‖b ± ∇ℓ‖² − ‖b‖² ≤ 2L·‖b‖ + L², where b/σ is
standard normal under the first law. ∎  δ(ε) is at most P(χ > t), t = (ε − r·ln(1 + β/λ))·σ/L − L/(2σ), bounded
by Chernoff.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.parameters import nonnegative
from discreet.privacy.rounding import downward, float_above, float_below, upward
from discreet.rational import Rational, positive, whole


def log_determinant(*, lam: Rational, smoothness: Rational, rank: int = 1) -> float:
    """Return r·ln(1 + β/λ), rounded up: 1 for `rank` if the loss is of a margin, d in general.

    >>> round(log_determinant(lam=10, smoothness=1), 6), round(log_determinant(lam=10, smoothness=1, rank=50), 6)
    (0.09531, 4.765509)
    """
    ratio = nonnegative(smoothness, "smoothness") / positive(lam, "lam", floats="exact")
    return upward(whole(rank, "rank", least=0) * math.log1p(float_above(ratio)), 8)


def delta(
    epsilon: Rational,
    *,
    sigma: Rational,
    lam: Rational,
    smoothness: Rational,
    lipschitz: Rational,
    dimension: int,
    rank: int | None = None,
) -> float:
    """Return δ such that the exact minimiser is (ε, δ)-DP, for any smooth convex loss.

    Args:
        epsilon: ε.
        sigma: Standard deviation of every coordinate of b.
        lam: λ, the strength of the regulariser.
        smoothness: β, the largest eigenvalue of a loss's Hessian.
        lipschitz: L, the largest norm of a loss's gradient.
        dimension: d.
        rank: The largest rank of a loss's Hessian; d by default.

    >>> delta(1, sigma=20, lam=100, smoothness=1, lipschitz=1, dimension=10) < 1e-5
    True
    >>> delta(1, sigma=20, lam=100, smoothness=1, lipschitz=1, dimension=100)
    1.0
    """
    d = whole(dimension, "dimension")
    spread, slope = positive(sigma, "sigma", floats="exact"), positive(lipschitz, "lipschitz", floats="exact")
    ratio: Fraction = spread / slope
    left = downward(
        float_below(nonnegative(epsilon, "epsilon"))
        - log_determinant(lam=lam, smoothness=smoothness, rank=d if rank is None else rank),
        4,
    )
    return chi_tail(downward(left * float_below(ratio) - float_above(1 / (2 * ratio)), 8) if left > 0 else 0.0, d)


def chi_tail(t: float, dimension: int) -> float:
    """Bound P(χ > t) for the norm of a standard normal vector: (t²/d)^{d/2}·e^{(d − t²)/2} for t² > d.

    >>> chi_tail(3.0, 9), chi_tail(10.0, 9) < 1e-14
    (1.0, True)
    """
    if t <= 0 or t * t <= dimension:
        return 1.0
    exponent = (dimension * math.log(t * t / dimension) + dimension - t * t) / 2
    return min(1.0, upward(math.exp(exponent + 2.0**-46 * (t * t + dimension)), 8))
