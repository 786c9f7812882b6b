"""Account for a solver that stops early, and for noise that is drawn on a grid.

The theorems speak of the exact minimiser θ̂(b) with a continuous b. The release is made of what can be computed:

    1. draw integers k, exactly; the noise of the objective is ω·k
    2. solve for any θ with ‖∇F(θ)‖ ≤ τ
    3. round θ to the output grid g·Zᵈ, and add exact integer noise

Claim. Let b be the continuous noise that k is coupled with: b = ω·(k + U), U uniform on [−½, ½)ᵈ, for discrete
Laplace k; b = ω·X, X ~ N(0, (v − 9)I), k drawn from e^{−(k−X)²/18}, for discrete Gaussian k of variance v. Given
θ̂(b), which is private, and the data, b is known, and θ lies within e = (τ + ‖b − ω·k‖)/λ of θ̂(b), because b ↦
θ̂(b) is 1/λ-Lipschitz and F is λ-strongly convex. So step 3 is an additive mechanism whose value moves by at
most 2e between neighbours before rounding, and `output_sensitivity` grid units after it. The release is θ̂(b),
composed with that mechanism.

    discrete Laplace    ‖b − ω·k‖ ≤ ω·√d/2 always; costs ε + d·ω/S (`pure_noise`)
    discrete Gaussian   ‖b − ω·k‖ ≤ ω·r·√d but for a probability `failure`, r = `gaussian_reach`: it adds
                        (1 + e^ε)·failure to δ; and the law of k is off by a factor 1 ± 1e-70 per coordinate

The tolerance must hold for every data set, by a certificate that includes the rounding of ∇F; a solver that
gives up on some data sets is not covered. Proof: docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import log_inverse, nonnegative
from discreet.privacy.rounding import float_above, upward
from discreet.privacy.theorems.learning.calibration import root_above
from discreet.rational import Rational, positive, shown, whole

SMOOTHING = 9
"""The variance by which a discrete Gaussian is wider than the real one that it is a rounding of."""


def output_sensitivity(
    *,
    tolerance: Rational,
    noise_error: Rational,
    lam: Rational,
    grid: Rational,
    dimension: int,
    norm: Literal["l1", "l2"] = "l2",
) -> int:
    """Return how far the rounded solution moves for a fixed θ̂(b), in units of the output grid, rounded up.

    It is 2·(τ + ‖b − ω·k‖)/(λ·g) + √d in l2, the √d being the rounding of d coordinates on either side; in l1 it
    is √d times the first term, plus d.

    Args:
        tolerance: τ, the largest ‖∇F‖ at which the solver stops, in l2.
        noise_error: The largest l2 distance of the drawn noise from the continuous one.
        lam: λ, the strong convexity of the objective.
        grid: g, the step of the output grid.
        dimension: d, the number of coordinates.
        norm: Whether Gaussian ("l2") or Laplace ("l1") noise follows.

    >>> output_sensitivity(tolerance="1e-6", noise_error="1e-6", lam=2, grid="1e-6", dimension=100)
    12
    >>> output_sensitivity(tolerance="1e-6", noise_error="1e-6", lam=2, grid="1e-6", dimension=100, norm="l1")
    120
    """
    away = nonnegative(tolerance, "tolerance") + nonnegative(noise_error, "noise_error")
    steps = 2 * away / (positive(lam, "lam", floats="exact") * positive(grid, "grid", floats="exact"))
    d = whole(dimension, "dimension")
    if norm == "l1":
        return _root_times(steps, d) + d
    if norm == "l2":
        return math.ceil(steps + Fraction(_root(d)))
    raise ParameterError('norm must be "l1" or "l2".', found=shown(norm), fix=Fix("norm", "l2"))


def _root(d: int) -> Fraction:
    """√d, rounded up to 2⁻⁴⁰; exact for squares."""
    scaled = d << 80
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << 40)


def _root_times(steps: Fraction, d: int) -> int:
    return math.ceil(steps * _root(d))


def laplace_error(grid: Rational, dimension: int) -> Fraction:
    """Return ω·√d/2 rounded up: how far a grid point is from the continuous noise of its cell.

    >>> laplace_error("0.01", 100)
    Fraction(1, 20)
    """
    return nonnegative(grid, "grid") * _root(whole(dimension, "dimension")) / 2


def gaussian_reach(dimension: int, failure: Rational) -> float:
    """Return r such that all of d random roundings are within r, but for a probability `failure`.

    P(|k − X| > r) ≤ e^{−r²/18}/2 for r ≥ 9, so r = 3·√(2·ln(d/(2·failure))), and 9 at least.

    >>> round(gaussian_reach(100, "1e-15"), 3)
    26.308
    """
    odds = log_inverse(min(Fraction(1), 2 * positive(failure, "failure", floats="exact") / whole(dimension, "d")))
    return max(9.0, upward(3 * math.sqrt(2 * odds), 8))


def gaussian_error(grid: Rational, dimension: int, failure: Rational) -> Fraction:
    """Return ω·r·√d rounded up: how far a discrete Gaussian is from its real one, but for a probability `failure`.

    >>> float(gaussian_error("0.001", 100, "1e-15"))
    0.26308...
    """
    reach = Fraction(gaussian_reach(dimension, failure))
    return nonnegative(grid, "grid") * reach * _root(whole(dimension, "dimension"))


def variance_for(sigma: Rational, grid: Rational) -> int:
    """Return the variance of discrete Gaussian noise on ω·Z that is a rounding of N(0, σ²): ⌈σ²/ω²⌉ + 9.

    >>> variance_for(4, "0.01")
    160009
    """
    steps = positive(sigma, "sigma", floats="exact") / positive(grid, "grid", floats="exact")
    return math.ceil(steps**2) + SMOOTHING


def output_mu(sensitivity: int, variance: Rational) -> float:
    """Return the Gaussian DP parameter Δ/√(v − 9) of discrete Gaussian noise of variance v, rounded up.

    Its law is a rounding of N(0, v − 9) but for a factor 1 ± 1e-70 per coordinate.

    >>> output_mu(12, 14409)
    0.1...
    """
    left = positive(variance, "variance", floats="exact") - SMOOTHING
    if left <= 0:
        raise ParameterError(
            f"variance must be above {SMOOTHING}.", found=shown(variance), fix=Fix("variance", 100)
        )
    return root_above(whole(sensitivity, "sensitivity", least=0) ** 2 / left) if sensitivity else 0.0


def total_variation_cost(epsilon: Rational, distance: Rational) -> float:
    """Return (1 + e^ε)·TV: what is added to δ if the law drawn is within TV of the law of the theorem.

    >>> round(total_variation_cost(1, "1e-12") / 1e-12, 6)
    3.718282
    """
    e, away = float_above(nonnegative(epsilon, "epsilon")), float_above(nonnegative(distance, "distance"))
    return math.inf if e > 700 else upward((1 + math.exp(e)) * away, 12)
