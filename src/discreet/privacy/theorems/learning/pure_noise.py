"""Calibrate objective perturbation for pure ε.

Claim. In the setting of `objective_perturbation`, let b have a density proportional to e^{−‖b‖/S} for some norm
in which every row has ‖x‖ ≤ `norm`, while ‖x‖₂ ≤ R. With A = K·R²·curvature/λ and B = K·norm/S the exact
minimiser is ε-DP for adding or removing one person, any number of rows, with

    ε = B                    if the loss saturates and A ≤ B,
    ε = (A + B)²/(4A)        if the loss saturates and A > B,
    ε = A + B                otherwise.

So S = K·norm/ε and λ ≥ K·R²/ε suffice for the logistic loss: the determinant is free. For the l1 norm the
coordinates of b are independent Laplace, which can be drawn exactly on a grid ω·Zᵈ. A grid point plus uniform
noise on its cell is a continuous b; with it the minimiser is (ε + d·ω/S)-DP, and the grid point is never farther
than ω·√d/2 from it (`tolerance` says how that is paid). All is exact arithmetic. Proof:
docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING
from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.privacy.theorems.learning.margin_loss import LOGISTIC, MarginLoss, Objective
from discreet.rational import Rational, positive, whole
from discreet.render.numbers import decimal


def pure_epsilon(
    *,
    scale: Rational,
    lam: Rational,
    norm: Rational = 1,
    R: Rational = 1,
    K: Rational = 1,
    loss: MarginLoss = LOGISTIC,
    grid: Rational = 0,
    dimension: int = 1,
) -> Fraction:
    """Return the ε of the minimiser with P(b) ∝ e^{−‖b‖/scale}.

    Args:
        scale: S, the scale of the noise.
        lam: λ, the strength of the regulariser.
        norm: The largest norm of a row, in the norm of the noise (l1 for independent Laplace coordinates).
        R: The largest l2 norm of a row.
        K: The largest total weight of one person's rows.
        loss: The margin loss; logistic by default.
        grid: ω, if b is a discrete Laplace vector on ω·Zᵈ, smoothed over its cells; 0 for continuous noise.
        dimension: d, which matters for a grid only.

    >>> pure_epsilon(scale=4, lam=4, norm=2), pure_epsilon(scale=4, lam=1, norm=2)
    (Fraction(1, 2), Fraction(9, 16))
    >>> pure_epsilon(scale=4, lam=4, norm=2, grid="0.001", dimension=100)
    Fraction(21, 40)
    """
    objective, wide = Objective(lam, R, K, loss), positive(scale, "scale", floats="exact")
    smoothing = whole(dimension, "dimension") * nonnegative(grid, "grid") / wide
    return _epsilon(objective, positive(norm, "norm", floats="exact"), wide) + smoothing


def _epsilon(objective: Objective, norm: Fraction, scale: Fraction) -> Fraction:
    A, B = objective.determinant, objective.K * norm / scale
    if not objective.loss.saturates:
        return A + B
    return B if A <= B else (A + B) ** 2 / (4 * A)


def scale_for(
    epsilon: Rational,
    *,
    lam: Rational,
    norm: Rational = 1,
    R: Rational = 1,
    K: Rational = 1,
    loss: MarginLoss = LOGISTIC,
    grid: Rational = 0,
    dimension: int = 1,
) -> Fraction:
    """Return the least scale found with `pure_epsilon` ≤ ε; exact where λ is large, else a short decimal.

    Args:
        epsilon: ε, above 0.
        lam: λ, the strength of the regulariser; K·R²·curvature/ε or more is best.
        norm: The largest norm of a row, in the norm of the noise.
        R: The largest l2 norm of a row.
        K: The largest total weight of one person's rows.
        loss: The margin loss; logistic by default.
        grid: ω, the step of the grid that b is drawn on; 0 for continuous noise.
        dimension: d, which matters for a grid only.

    >>> scale_for("0.5", lam=2, norm=3), scale_for("0.5", lam=1)
    (Fraction(6, 1), Fraction(120711, 50000))
    """
    objective, wanted = Objective(lam, R, K, loss), positive(epsilon, "epsilon", floats="exact")
    size, smoothing = (
        positive(norm, "norm", floats="exact"),
        whole(dimension, "dimension") * nonnegative(grid, "grid"),
    )
    reach = objective.K * size
    free = (reach + smoothing) / wanted
    if _epsilon(objective, size, free) + smoothing / free <= wanted:
        return free
    low, high = float(free), _short(float(free) * 2)
    while _epsilon(objective, size, high) + smoothing / high > wanted:
        low, high = float(high), _short(float(high) * 2)
        if high > free * 2**40:
            raise ParameterError(
                "lam is too small: no amount of noise reaches this epsilon.",
                found=f"lam={float(objective.lam):.4g}",
                fix=Fix("lam", float(f"{float(objective.lam * objective.determinant / wanted):.3g}")),
            )
    while float(high) > low * (1 + 1e-6):
        middle = _short(math.sqrt(low) * math.sqrt(float(high)))
        if not low < middle < high:
            break
        holds = _epsilon(objective, size, middle) + smoothing / middle <= wanted
        low, high = (low, middle) if holds else (float(middle), high)
    return high


def _short(value: float) -> Fraction:
    return Fraction(decimal(Fraction(value), ROUND_CEILING, 6))
