"""Calibrate one sample from a posterior, or from any Gibbs law exp(−k·objective).

Claims, for one sample θ, neighbours differing by one person of total weight at most K:

    1. θ ∝ π(θ)·exp(−k·Σ wᵢ·ℓ(θ; zᵢ)), 0 ≤ ℓ ≤ B, any prior π: k·K·B-DP for add/remove, 2·k·K·B-DP for replace.
    2. θ ∝ exp(−k·(Σ wᵢ·ℓ(θ; zᵢ) + λ/2·‖θ‖²)), ℓ convex and R-Lipschitz: μ-Gaussian DP, μ = K·R·√(k/λ), for
       add/remove, and twice that for replace (Gopi, Lee and Liu 2022).
    3. The older bound of the same sample (Minami, Arai, Sato and Nakagawa 2016), for comparison:
       k ≤ (ε/(2·K·R))²·λ/(1 + 2·ln(1/δ)) gives (ε, δ)-DP.

*Proof of 1.* One more row multiplies the density by e^{−kwℓ} in [e^{−kKB}, 1] and divides it by the mean of that
factor, in the same interval; the ratio is within e^{±kKB}. A replacement is one of each. ∎  Claims 2 and 3 are
cited, not proved here; 2 is checked against exact laws in
tests/privacy/theorems/learning/test_posterior_sampling.py.

A sampler whose law is within total variation TV of the Gibbs law, for every data set, is (ε, δ + (1 +
e^ε)·TV)-DP (`tolerance.total_variation_cost`). A Markov chain without such a bound has no guarantee.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import log_inverse, nonnegative
from discreet.privacy.rounding import downward, float_below
from discreet.privacy.theorems.learning.calibration import root_above
from discreet.rational import Rational, positive, shown

Neighbours = Literal["add or remove", "replace"]


def pure_epsilon(
    *, temperature: Rational, bound: Rational, K: Rational = 1, neighbours: Neighbours = "add or remove"
) -> Fraction:
    """Return the ε of one sample with a loss in [0, `bound`]: k·K·B, twice that for replacement.

    Args:
        temperature: k, the factor of the loss in the exponent.
        bound: B, the largest loss of weight 1; the least is 0.
        K: The largest total weight of one person's rows.
        neighbours: "add or remove" or "replace" one person.

    >>> pure_epsilon(temperature="0.25", bound=4), pure_epsilon(temperature=1, bound=1, neighbours="replace")
    (Fraction(1, 1), Fraction(2, 1))
    """
    weight = nonnegative(temperature, "temperature") * nonnegative(bound, "bound")
    return weight * positive(K, "K", floats="exact") * _persons(neighbours)


def gdp(
    *,
    temperature: Rational,
    lam: Rational,
    R: Rational = 1,
    K: Rational = 1,
    neighbours: Neighbours = "add or remove",
) -> float:
    """Return μ = K·R·√(k/λ) of one sample from exp(−k·(Σ wᵢ·ℓ + λ/2·‖θ‖²)), rounded up.

    Args:
        temperature: k, the factor of the objective in the exponent.
        lam: λ, the strength of the regulariser, inside that factor.
        R: The Lipschitz constant of one loss of weight 1.
        K: The largest total weight of one person's rows.
        neighbours: "add or remove" or "replace" one person.

    >>> round(gdp(temperature=1, lam=16), 12)
    0.25
    """
    moved = positive(R, "R", floats="exact") * positive(K, "K", floats="exact") * _persons(neighbours)
    return root_above(moved**2 * nonnegative(temperature, "temperature") / positive(lam, "lam", floats="exact"))


def temperature_for_gdp(mu: Rational, *, lam: Rational, R: Rational = 1, K: Rational = 1) -> Fraction:
    """Return the largest k with K·R·√(k/λ) ≤ μ, exactly: λ·(μ/(K·R))².

    Args:
        mu: μ, the Gaussian DP parameter.
        lam: λ, the strength of the regulariser.
        R: The Lipschitz constant of one loss of weight 1.
        K: The largest total weight of one person's rows.

    >>> temperature_for_gdp("0.25", lam=16)
    Fraction(1, 1)
    """
    moved = positive(R, "R", floats="exact") * positive(K, "K", floats="exact")
    return positive(lam, "lam", floats="exact") * (nonnegative(mu, "mu") / moved) ** 2


def minami_temperature(
    epsilon: Rational, delta: Rational, *, lam: Rational, R: Rational = 1, K: Rational = 1
) -> float:
    """Return the k of the older bound, (ε/(2KR))²·λ/(1 + 2·ln(1/δ)), rounded down, for comparison.

    Args:
        epsilon: ε.
        delta: δ, between 0 and 1.
        lam: λ, the strength of the regulariser.
        R: The Lipschitz constant of one loss of weight 1.
        K: The largest total weight of one person's rows.

    >>> round(minami_temperature(1, "1e-5", lam=16), 4)
    0.1665
    """
    moved = 2 * positive(R, "R", floats="exact") * positive(K, "K", floats="exact")
    square = (nonnegative(epsilon, "epsilon") / moved) ** 2 * positive(lam, "lam", floats="exact")
    odds = log_inverse(nonnegative(delta, "delta"))
    return 0.0 if math.isinf(odds) else max(0.0, downward(float_below(square) / (1 + 2 * odds), 4))


def _persons(neighbours: str) -> int:
    if neighbours not in ("add or remove", "replace"):
        raise ParameterError(
            "neighbours has another value.", found=shown(neighbours), fix=Fix("neighbours", "add or remove")
        )
    return 2 if neighbours == "replace" else 1
