"""Calibrate objective perturbation with Gaussian noise.

Claim. θ̂ minimises Σ wᵢ·ℓ(yᵢ·xᵢ·θ) + λ/2·‖θ‖² + b·θ over all of Rᵈ, b ~ N(0, σ²I). If

    - ℓ is a margin loss of `margin_loss`, ‖xᵢ‖ ≤ R with the constant column inside, wᵢ ≥ 0,
    - neighbours differ by one person, all of whose rows together weigh at most K,
    - λ, σ, R, K and d are fixed without looking at the data, and θ̂ is the exact minimiser,

then releasing θ̂ is (ε, `delta(ε, …)`)-differentially private for every ε ≥ 0, and `gdp(…)`-Gaussian DP. With
`rows="one"` a person has one row. With `gaussian_mu` the release includes further Gaussian releases, chosen on
seeing θ̂ or before, of that parameter in total. What a solver and a noise grid add is in `tolerance`.

`delta` is the least of what theorem 1, the joint bound, theorem 2 and the flow prove. Objective perturbation is
not K·R/σ-Gaussian DP: only its profile from ε = K·R²·curvature/λ on is that of the Gaussian mechanism. What is
added up in a ledger must be `gdp`. Proofs and figures: docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.privacy.pld import normal
from discreet.privacy.rounding import float_above, float_below, upward
from discreet.privacy.theorems.learning import closed_forms, flow, joint_bound
from discreet.privacy.theorems.learning.calibration import gaussian_mu as gaussian_mu_for
from discreet.privacy.theorems.learning.calibration import least_sigma
from discreet.privacy.theorems.learning.loss_law import LossLaw
from discreet.privacy.theorems.learning.margin_loss import LOGISTIC, MarginLoss, Objective
from discreet.rational import Rational, positive, shown

Rows = Literal["one", "several"]


def delta(
    epsilon: Rational,
    *,
    sigma: Rational,
    lam: Rational,
    R: Rational = 1,
    K: Rational = 1,
    loss: MarginLoss = LOGISTIC,
    rows: Rows = "several",
    gaussian_mu: Rational = 0,
) -> float:
    """Return the least δ that is proved: the exact minimiser is (ε, δ)-DP.

    Args:
        epsilon: ε, 0 or more.
        sigma: Standard deviation of every coordinate of b.
        lam: λ, the strength of the regulariser λ/2·‖θ‖².
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        loss: The margin loss; logistic by default.
        rows: "one" if every person has at most one row; "several" holds for any number.
        gaussian_mu: √(Σ μᵢ²) of Gaussian releases made beside it.

    >>> from discreet.privacy.theorems.conversions import gdp_delta
    >>> delta(1, sigma=4, lam=1, rows="one") == gdp_delta("0.25", 1)
    True
    >>> delta(1, sigma=4, lam=1) < 1.01 * gdp_delta("0.25", 1)
    True
    """
    objective = Objective(lam, R, K, loss)
    exact, spread, mu = nonnegative(epsilon, "epsilon"), positive(sigma, "sigma", floats="exact"), _mu(gaussian_mu)
    return _delta(objective, spread, exact, _checked(rows), mu)


def _delta(objective: Objective, sigma: Fraction, epsilon: Fraction, rows: Rows, mu: float) -> float:
    if not mu:
        closed = [closed_forms.gronwall(objective, sigma, epsilon)]
        if rows == "one":
            free = closed_forms.free_determinant(objective, sigma, epsilon)
            if free < 1:
                return free  # theorem 1 is attained: nothing that is true can be below it
            closed.append(closed_forms.bounded_curvature(objective, sigma, epsilon))
    else:
        closed = [_by_gdp(objective, sigma, epsilon, mu)]
    adding, removing = _flow(objective, sigma)
    below = float_below(epsilon)
    bounds = [*closed, max(adding.delta(below, mu), removing.delta(below, mu))]
    if rows == "one":
        bounds.append(_joint(objective, sigma).delta(below, mu))
    return min(bounds)


@lru_cache(maxsize=4)
def _flow(objective: Objective, sigma: Fraction) -> tuple[LossLaw, LossLaw]:
    return flow.loss_laws(objective.shift(sigma), _bend(objective, sigma), objective.loss.saturates)


@lru_cache(maxsize=4)
def _joint(objective: Objective, sigma: Fraction) -> LossLaw:
    return joint_bound.loss_law(objective.shift(sigma), objective.determinant_above(), objective.loss.saturates)


def _bend(objective: Objective, sigma: Fraction) -> float:
    return float_above(objective.R * sigma * objective.loss.curvature / objective.lam)


def _by_gdp(objective: Objective, sigma: Fraction, epsilon: Fraction, mu: float) -> float:
    together = upward(math.hypot(_gdp(objective, sigma), mu), 4)
    return normal.gaussian_delta(together, float_below(epsilon))[1]


def gdp(*, sigma: Rational, lam: Rational, R: Rational = 1, K: Rational = 1, loss: MarginLoss = LOGISTIC) -> float:
    """Return μ such that the exact minimiser is μ-Gaussian DP, for persons with any number of rows.

    Sessions and ledgers that add up ρ = μ²/2 use this μ. It is K·R/σ times a factor that tends to 1 as λ grows.

    Args:
        sigma: Standard deviation of every coordinate of b.
        lam: λ, the strength of the regulariser.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        loss: The margin loss; logistic by default.

    >>> round(gdp(sigma=4, lam=1), 4), round(gdp(sigma=4, lam=2), 4), round(gdp(sigma=4, lam=20), 4)
    (0.3351, 0.2789, 0.2503)
    """
    return _gdp(Objective(lam, R, K, loss), positive(sigma, "sigma", floats="exact"))


def _gdp(objective: Objective, sigma: Fraction) -> float:
    speed = flow.largest_speed(_bend(objective, sigma), objective.loss.saturates)
    return upward(objective.shift(sigma) * speed, 2)


def sigma_for(
    epsilon: Rational,
    delta: Rational,
    *,
    lam: Rational,
    R: Rational = 1,
    K: Rational = 1,
    loss: MarginLoss = LOGISTIC,
    rows: Rows = "several",
    gaussian_mu: Rational = 0,
) -> Fraction:
    """Return nearly the least σ with δ(ε) ≤ `delta`: a short decimal that has passed the certified bound.

    Args:
        epsilon: ε, above 0.
        delta: δ, between 0 and 1.
        lam: λ, the strength of the regulariser; K·R²·curvature/ε or more is best.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        loss: The margin loss; logistic by default.
        rows: "one" if every person has at most one row; "several" holds for any number.
        gaussian_mu: √(Σ μᵢ²) of Gaussian releases made beside it.

    >>> float(sigma_for(1, "1e-5", lam=1, rows="one")), float(sigma_for(1, "1e-5", lam=1))
    (3.73064, 3.73...)
    """
    objective, chosen, mu = Objective(lam, R, K, loss), _checked(rows), _mu(gaussian_mu)
    exact, small = positive(epsilon, "epsilon", floats="exact"), positive(delta, "delta", floats="exact")
    if small >= 1:
        raise ParameterError("delta must be below 1.", found=shown(delta), fix=Fix("delta", "1e-9"))
    if mu and normal.gaussian_delta(mu, float_below(exact))[1] > small:
        raise ParameterError("gaussian_mu alone exceeds this epsilon and delta.", found=shown(gaussian_mu))
    return _sigma_for(objective, exact, small, chosen, mu)


@lru_cache(maxsize=64)  # a grid of fits asks for the same few σ
def _sigma_for(objective: Objective, epsilon: Fraction, delta: Fraction, rows: Rows, mu: float) -> Fraction:
    # No σ below this helps: the part of μ² that the other releases leave.
    left = math.sqrt(max(gaussian_mu_for(epsilon, delta) ** 2 - mu**2, 1e-24))
    floor, within = float(objective.K * objective.R) / left, 2e-4 if mu else 1e-5  # with μ a step costs more
    return least_sigma(
        lambda sigma: _delta(objective, sigma, epsilon, rows, mu) <= delta, floor, objective.lam, within=within
    )


def sigma_for_gdp(
    mu: Rational, *, lam: Rational, R: Rational = 1, K: Rational = 1, loss: MarginLoss = LOGISTIC
) -> Fraction:
    """Return nearly the least σ such that the exact minimiser is μ-Gaussian DP.

    Args:
        mu: μ, above 0.
        lam: λ, the strength of the regulariser; well above K·R²·curvature/μ.
        R: The largest norm of a row.
        K: The largest total weight of one person's rows.
        loss: The margin loss; logistic by default.

    >>> sigma = sigma_for_gdp("0.25", lam=20)
    >>> float(sigma), gdp(sigma=sigma, lam=20) <= 0.25
    (4.00546, True)
    """
    objective, wanted = Objective(lam, R, K, loss), positive(mu, "mu", floats="exact")
    floor = float(objective.K * objective.R / wanted)
    return least_sigma(lambda sigma: _gdp(objective, sigma) <= wanted, floor, objective.lam)


def _mu(value: Rational) -> float:
    return float_above(nonnegative(value, "gaussian_mu"))


def _checked(rows: str) -> Rows:
    if rows == "one":
        return "one"
    if rows == "several":
        return "several"
    raise ParameterError('rows must be "one" or "several".', found=shown(rows), fix=Fix("rows", "several"))
