"""Calibrate objective perturbation of softmax regression for pure ε.

Claim. In the setting of `softmax`, let the k·d coordinates of b be independent Laplace variables of scale S, and
let every row have ‖x‖₁ ≤ N and ‖x‖₂ ≤ R. With A = K·R²/λ and B = K·N/S the exact minimiser is ε-DP for adding or
removing one person, any number of rows, with

    ε = max_{0≤s≤1} A·(2s − s²·k/(k−1)) + 2·B·s
      = 2B + A·(k−2)/(k−1)       if A ≤ (k−1)·B, and (A + B)²·(k−1)/(A·k) otherwise.

2B is what the gradient costs: (p − e_y)xᵀ has the l1 norm 2s·‖x‖₁, s = 1 − p_y. The determinant costs the rest,
which falls with λ, and is free for k = 2 only. With b on a grid ω·Z, smoothed over its cells, the minimiser is
(ε + k·d·ω/S)-DP, as for two classes (`pure_noise`). All is exact arithmetic. Proof:
docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.rational import Rational, positive, whole


def pure_epsilon(
    *,
    classes: int,
    scale: Rational,
    lam: Rational,
    norm: Rational = 1,
    R: Rational = 1,
    K: Rational = 1,
    grid: Rational = 0,
    dimension: int = 1,
) -> Fraction:
    """Return the ε of the minimiser with independent Laplace coordinates in the objective.

    Args:
        classes: k, 2 or more.
        scale: S, the scale of the noise.
        lam: λ, the strength of the regulariser.
        norm: The largest l1 norm of a row.
        R: The largest l2 norm of a row.
        K: The largest total weight of one person's rows.
        grid: ω, if b is a discrete Laplace vector on a grid, smoothed over its cells; 0 for continuous noise.
        dimension: d, the number of features, which matters for a grid only.

    >>> pure_epsilon(classes=3, scale=4, lam=4), pure_epsilon(classes=2, scale=4, lam=4)
    (Fraction(5, 8), Fraction(1, 2))
    """
    k, wide = whole(classes, "classes", least=2), positive(scale, "scale", floats="exact")
    weight = positive(K, "K", floats="exact")
    A = weight * positive(R, "R", floats="exact") ** 2 / positive(lam, "lam", floats="exact")
    B = weight * positive(norm, "norm", floats="exact") / wide
    smoothing = k * whole(dimension, "dimension") * nonnegative(grid, "grid") / wide
    most = 2 * B + A * Fraction(k - 2, k - 1) if (k - 1) * B >= A else (A + B) ** 2 * (k - 1) / (A * k)
    return most + smoothing


def scale_for(
    epsilon: Rational,
    *,
    classes: int,
    lam: Rational,
    norm: Rational = 1,
    R: Rational = 1,
    K: Rational = 1,
    grid: Rational = 0,
    dimension: int = 1,
) -> Fraction:
    """Return the scale with `pure_epsilon` = ε, exactly. λ must be a little above 2·K·R²/ε, or more.

    Args:
        epsilon: ε, above 0.
        classes: k, 2 or more.
        lam: λ, the strength of the regulariser.
        norm: The largest l1 norm of a row.
        R: The largest l2 norm of a row.
        K: The largest total weight of one person's rows.
        grid: ω, the step of the grid that b is drawn on; 0 for continuous noise.
        dimension: d, the number of features, which matters for a grid only.

    >>> scale_for("0.625", classes=3, lam=4)
    Fraction(4, 1)
    """
    wanted, k = positive(epsilon, "epsilon", floats="exact"), whole(classes, "classes", least=2)
    weight, strength = positive(K, "K", floats="exact"), positive(lam, "lam", floats="exact")
    A = weight * positive(R, "R", floats="exact") ** 2 / strength
    left = wanted - A * Fraction(k - 2, k - 1)
    reach = weight * positive(norm, "norm", floats="exact")
    scale: Fraction = (2 * reach + k * whole(dimension, "dimension") * nonnegative(grid, "grid")) / left
    if wanted < 2 * A or (k - 1) * reach / scale < A:
        raise ParameterError(
            "lam is too small: the determinant would take more than half of epsilon.",
            found=f"lam={float(strength):.4g}",
            fix=Fix("lam", float(f"{float(2.001 * float(A * strength / wanted)):.4g}")),
        )
    return scale
