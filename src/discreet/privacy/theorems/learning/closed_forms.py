"""State the closed forms: objective perturbation at the price of the Gaussian mechanism.

Write M = K·R/σ, A = K·R²·curvature/λ. All hold for adding and for removing one person.

    free_determinant   one row, a loss that saturates, A ≤ ε (theorem 1):
                       δ(ε) = δ of the Gaussian mechanism with μ = M
    bounded_curvature  one row, any margin loss: the same at ε − ln(1 + A), or ln(1 + A/4) if the loss saturates
    gronwall           any rows, a loss that saturates, A ≤ ε (theorem 2):
                       δ(ε) ≤ (e^ε − 1)·(φ(c)/c − Φ(−c)), c = ε/M
                       any rows, any margin loss, A < ε:
                       δ(ε) ≤ (e^ε − 1)·(M/ε)·(φ(c) − c·Φ(−c)), c = (ε − A)/M

Each returns 1 where its condition fails. Proofs: docs/theory/objective-perturbation.md. Results are rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.pld import normal
from discreet.privacy.rounding import downward, float_above, float_below, sum_upward, upward
from discreet.privacy.theorems.learning.margin_loss import Objective


def free_determinant(objective: Objective, sigma: Fraction, epsilon: Fraction) -> float:
    """Return theorem 1's δ(ε): one row per person, a loss that saturates, λ ≥ K·R²·curvature/ε.

    >>> free_determinant(Objective(lam=1), Fraction(4), Fraction(1)) == normal.gaussian_delta(0.25, 1.0)[1]
    True
    >>> free_determinant(Objective(lam="0.9"), Fraction(4), Fraction(1))
    1.0
    """
    if not objective.loss.saturates or objective.determinant > epsilon:
        return 1.0
    return normal.gaussian_delta(objective.shift(sigma), float_below(epsilon))[1]


def bounded_curvature(objective: Objective, sigma: Fraction, epsilon: Fraction) -> float:
    """Return δ(ε) for one row per person from the largest curvature alone.

    >>> from discreet.privacy.theorems.learning.margin_loss import huberised_hinge
    >>> bounded_curvature(Objective(lam=8, loss=huberised_hinge()), Fraction(4), Fraction(1))
    2.01124...e-05
    """
    curvature = objective.determinant / (4 if objective.loss.saturates else 1)  # s·(1 − s) is at most 1/4
    left = downward(float_below(epsilon) - upward(math.log1p(float_above(curvature)), 8), 2)
    if left <= 0:
        return 1.0
    return normal.gaussian_delta(objective.shift(sigma), left)[1]


def gronwall(objective: Objective, sigma: Fraction, epsilon: Fraction) -> float:
    """Return theorem 2's δ(ε) in closed form, for any rows of total weight K.

    >>> gronwall(Objective(lam=1), Fraction(4), Fraction(1)) < 1.05 * normal.gaussian_delta(0.25, 1.0)[1]
    True
    """
    free = objective.loss.saturates and objective.determinant <= epsilon
    left = epsilon if free else epsilon - objective.determinant
    if left <= 0 or epsilon > 700:
        return 1.0
    shift = objective.K * objective.R / sigma
    growth = upward(math.expm1(float_above(epsilon)), 8)
    return min(1.0, upward(growth * float_above(shift / epsilon) * mean_excess(float_below(left / shift)), 4))


def mean_excess(c: float) -> float:
    """Return E(U − c)₊ = φ(c) − c·Φ(−c) for U ~ N(0, 1) and c ≥ 0, rounded up.

    >>> round(mean_excess(0.0), 9), round(mean_excess(3.0), 9)
    (0.39894228, 0.000382154)
    """
    mills, tail = normal.mills(c)[0], normal.upper_tail(c)[1]
    # φ = Φ(−c)/R(c); 1 − c·R(c) is about 1/c², so the difference keeps most of its digits.
    return upward(tail / mills * max(0.0, sum_upward(1.0, -c * mills, ulps=4)), 4)
