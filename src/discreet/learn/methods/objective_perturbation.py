"""Minimise an objective that has noise inside it, and add a little noise to what the solver leaves open.

    θ̂ = argmin Σ wᵢ·ℓ(yᵢ·xᵢθ) + λ/2·‖θ‖² + b·θ  over all of R^d,   released: θ̂ on a grid, with discrete noise

Claim. With δ, b is Gaussian, and the release is (ε, δ)-DP for adding or removing one person with all of their
rows, by the free determinant (λ ≥ R²/ε), convolved with the Gaussian noise of the count and of the output. A
ledger is charged its Gaussian DP parameter, which adds up under adaptivity. Without δ, b has independent Laplace
coordinates, and the release is ε-DP. The noise and the tolerance are fixed before any row is read. The feature
map, λ and the margin of the loss follow from a noisy count that is paid for; the noise is calibrated for the least
λ, and the bound is the same for every margin.

b is drawn on a grid. It is within a few grid steps of a continuous b with the law of the theorem, and the solver
stops within its tolerance of the minimiser: together they move θ̂ by at most a public distance, and the noise on
the output hides that distance (docs/theory/objective-perturbation.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from discreet import noise
from discreet.engines.examples import Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.methods.curvature import Curvature
from discreet.learn.methods.gradients import Sums, signed
from discreet.learn.methods.hat_sums import HatSums
from discreet.learn.methods.margin_losses import Logistic, MarginLoss
from discreet.learn.methods.minimum import minimum
from discreet.learn.methods.problem import Count, Problem
from discreet.learn.methods.solver import TOLERANCE
from discreet.learn.price import Price, short
from discreet.learn.training import SOLVED, Progress, State, Training
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.mechanisms.exact import Integers
from discreet.privacy.losses import GaussianDP, Loss, Pure, ZeroConcentrated
from discreet.privacy.theorems.learning import tolerance
from discreet.privacy.theorems.learning.objective_perturbation import Rows, gdp, sigma_for, sigma_for_gdp
from discreet.privacy.theorems.learning.pure_noise import scale_for
from discreet.release.label import Noise

GRID = 24
"""Released coefficients are multiples of 2⁻²⁴."""

STEP = 30
"""b is a multiple of 2⁻³⁰."""

METHOD = "Objective perturbation"
ARITHMETIC = (
    "The sums over rows are exact integers, and a cryptographic generator draws all noise with exactly its law. "
    "The minimiser is computed in floating point to a fixed tolerance, and the noise on coefficients pays for it."
)

_GRAIN = Fraction(1, 2**STEP)
_SLACK = 2.0  # the tolerance that is paid for, over that of the solver: rounding of sums of up to 2³⁰ rows
_COUNT_SHARE = Fraction(1, 100)  # of μ², for the count that chooses the feature map
_OUTPUT_SHARE = Fraction(1, 2500)  # of μ², for the noise on the output
_CURVATURE_SHARE = Fraction(1, 10)  # of μ², for the Hessian that intervals need
_PURE_COUNT_SHARE, _PURE_OUTPUT_SHARE = Fraction(1, 100), Fraction(1, 200)  # of ε
_MOST = 1 - Fraction(1, 10**9)  # of δ: the rest covers the tails of the coupling
_FAILURE = Fraction(1, 10**40)  # of δ: how likely b is farther from its partner than is paid for
_DOWN = 1 - Fraction(1, 2**40)
_ABOVE = 1 + Fraction(1, 10**4)  # λ is a little above its multiple of R²/ε, because a part of ε blurs the grid


def plan(problem: Problem, price: Price) -> Training:
    """Return the training by objective perturbation.

    Args:
        problem: Two classes, and a smooth loss of the margin.
        price: What it may cost.
    """
    if problem.loss is None:
        raise ParameterError(
            "Objective perturbation separates two classes.",
            found=f"{problem.classes} classes",
            fix=Fix("method", "gradient_descent"),
        )
    return _pure(problem, price, problem.loss) if price.pure else _gaussian(problem, price, problem.loss)


def _gaussian(problem: Problem, price: Price, loss: MarginLoss) -> Training:
    """Return the training with Gaussian noise in the objective."""
    rho = price.rho or Fraction(0)
    paid = short(rho * _COUNT_SHARE) if problem.counts else Fraction(0)
    count = Count.gaussian(paid) if paid else None
    output = short(rho * _OUTPUT_SHARE)
    bent = short(rho * _CURVATURE_SHARE) if problem.intervals else Fraction(0)
    lam = _lam(problem.least_factor, loss, price.epsilon)
    rows: Rows = "several" if problem.task.several else "one"
    beside = math.sqrt(2 * float(paid + output + bent)) * (1 + 2**-40)
    sigma = Fraction(0)
    if price.proves:
        sigma = sigma_for(
            price.epsilon, price.delta * _MOST, lam=lam, loss=loss.law, rows=rows, gaussian_mu=beside
        )
    if price.most is not None:
        left = short(Fraction(math.sqrt(2 * float(price.most - paid - output - bent))) * _DOWN)
        sigma = max(sigma, sigma_for_gdp(left, lam=lam, loss=loss.law))
    variance = tolerance.variance_for(sigma, _GRAIN)
    failure = price.delta * _FAILURE / (2 + 2 * Fraction(math.exp(min(float(price.epsilon), 700.0))))

    def drawn(feature_map: FeatureMap) -> Integers:
        return noise.discrete_gaussian(variance, feature_map.size)

    def mechanism(feature_map: FeatureMap) -> Gaussian:
        away = tolerance.gaussian_error(_GRAIN, feature_map.size, failure)
        moved = _moved(feature_map.size, lam, away, "l2")
        least = math.ceil(Fraction(moved**2) / (2 * output)) + tolerance.SMOOTHING
        return Gaussian(least, Sensitivity(l2_squared=moved**2))

    mu = short(Fraction(gdp(sigma=sigma, lam=lam, loss=loss.law)), up=True)
    losses: list[Loss] = [GaussianDP(mu), ZeroConcentrated(output)]
    told = [_told("the objective", "Gaussian noise, drawn on a grid", float(sigma), 1.0)]
    widest = max((mechanism(one) for one in problem.maps), key=lambda one: one.variance)
    told.append(_told("coefficients", "discrete Gaussian noise", math.sqrt(widest.variance) / 2**GRID))
    if count is not None:
        losses.append(count.mechanism.loss)
        told.append(_told("persons", "discrete Gaussian noise", count.deviation, 1.0))

    if problem.intervals:
        losses.append(ZeroConcentrated(bent))
        noise_of_curvature = max(Curvature(one.size, loss.law, bent).deviation for one in problem.maps)
        told.append(_told("the Hessian", "discrete Gaussian noise", noise_of_curvature))

    def run(examples: Examples, progress: Progress) -> State:
        plan = _Plan(problem, loss, price, count, drawn, mechanism, bent, float(sigma))
        return _run(plan, examples, progress)

    return Training(losses, run, told, f"{METHOD} with Gaussian noise, {loss.name}.", _notes(problem), ARITHMETIC)


def _pure(problem: Problem, price: Price, loss: MarginLoss) -> Training:
    """Return the training with independent Laplace noise in the objective."""
    if problem.intervals:
        raise ParameterError(
            "Intervals of coefficients need a noisy Hessian, which takes a budget with δ.",
            fix=[Fix("intervals", False), Fix("delta", "1e-6")],
        )
    paid = price.epsilon * _PURE_COUNT_SHARE if problem.counts else Fraction(0)
    count = Count.pure(paid) if paid else None
    output = price.epsilon * _PURE_OUTPUT_SHARE
    rest = price.epsilon - paid - output
    lam = _lam(problem.least_factor, loss, rest)

    def scale(feature_map: FeatureMap) -> Fraction:
        size, norm = feature_map.size, feature_map.l1
        return scale_for(rest, lam=lam, norm=norm, loss=loss.law, grid=_GRAIN, dimension=size)

    def drawn(feature_map: FeatureMap) -> Integers:
        return noise.discrete_laplace(scale(feature_map) * 2**STEP, feature_map.size)

    def mechanism(feature_map: FeatureMap) -> Laplace:
        away = tolerance.laplace_error(_GRAIN, feature_map.size)
        moved = _moved(feature_map.size, lam, away, "l1")
        return Laplace.for_epsilon(output, moved)

    widest = max(scale(one) for one in problem.maps)
    told = [_told("the objective", "discrete Laplace noise", float(widest))]
    losses: list[Loss] = [Pure(rest), Pure(output)]
    if count is not None:
        losses.append(Pure(paid))
        told.append(_told("persons", "discrete Laplace noise", count.deviation, 1.0))
    inner = replace(price, epsilon=rest)

    def run(examples: Examples, progress: Progress) -> State:
        return _run(_Plan(problem, loss, inner, count, drawn, mechanism), examples, progress)

    return Training(losses, run, told, f"{METHOD} with Laplace noise, {loss.name}.", _notes(problem), ARITHMETIC)


@dataclass(frozen=True)
class _Plan:
    """What a run needs, all of it public: the noise is drawn when the feature map is known."""

    problem: Problem
    loss: MarginLoss
    price: Price
    count: Count | None
    drawn: Callable[[FeatureMap], Integers]
    mechanism: Callable[[FeatureMap], Gaussian | Laplace]
    bent: Fraction = Fraction(0)
    sigma: float = 0.0


def _run(plan: _Plan, examples: Examples, progress: Progress) -> State:
    """Count, choose the feature map, draw the noise, minimise, and release."""
    problem, price, count = plan.problem, plan.price, plan.count
    persons, tested = (None, False) if count is None else count.released(examples)
    feature_map = problem.chosen(persons, price.strength)
    loss = problem.wide_loss(feature_map, persons, price.strength) or plan.loss
    margin = loss.margin if isinstance(loss, Logistic) else 0.0
    factor = problem.factor(feature_map, persons, price.strength, margin)
    lam = float(_lam(factor, loss, price.epsilon))
    progress("features", 0.05)
    sums = sums_over(examples, loss, feature_map, problem.task.target)
    perturbation = plan.drawn(feature_map)
    tested = tested or noise.is_test_noise(perturbation)
    tilt = np.asarray(perturbation, float) * 2.0**-STEP
    theta = minimum(sums, lam, tilt, persons, lambda done: progress("minimising", 0.1 + 0.85 * done))
    release = plan.mechanism(feature_map)
    moved = Sensitivity(l1=release.sensitivity) if isinstance(release, Laplace) else release.sensitivity
    exact = Exact(np.rint(theta * 2.0**GRID).astype(np.int64), moved)
    noisy = release.release(exact)
    told: dict[str, Any] = {}
    if plan.bent:
        curvature = Curvature(feature_map.size, loss.law, plan.bent)
        hessian, also = curvature.released(sums, np.asarray(noisy, float) * 2.0**-GRID)
        told, tested = {"deviations": curvature.deviations(hessian, lam, plan.sigma).tolist()}, tested or also
    return {
        **told,
        "theta": np.asarray(noisy, np.int64).tolist(),
        "grid": GRID,
        "map": feature_map.as_json(),
        "count": persons,
        "facts": {
            "Features": f"{feature_map.size:,} {feature_map.kind}, every row of norm 1, with an intercept",
            "Regularisation": f"λ = {lam:.6g}",
            **({"Margin": f"{margin:.6g}, by a noisy number of persons"} if problem.widens else {}),
        },
        "test_bits": bool(tested or noise.is_test_noise(noisy)),
    }


def sums_over(examples: Examples, loss: MarginLoss, feature_map: FeatureMap, target: str) -> Sums | HatSums:
    """Return the sums over all rows: hats by their places, as most of them are 0."""
    if feature_map.kind == "hats":
        return HatSums.of(examples, loss, feature_map, target)
    return Sums(signed(examples, feature_map, target), loss, feature_map.size)


def _lam(factor: float, loss: MarginLoss, epsilon: Fraction) -> Fraction:
    """Return λ, a multiple of R²/ε times what the loss bends: a float, as noise is calibrated to what is used."""
    bends = loss.law.curvature * (1 if loss.law.saturates else 4)
    return Fraction(float(Fraction(factor) * bends * _ABOVE / epsilon))


def _moved(size: int, lam: Fraction, away: Fraction, norm: Literal["l1", "l2"]) -> int:
    """Return how far apart two released points may be that have the same ideal minimiser, in grid steps."""
    paid = Fraction(_SLACK * TOLERANCE)
    return tolerance.output_sensitivity(
        tolerance=paid, noise_error=away, lam=lam, grid=Fraction(1, 2**GRID), dimension=size, norm=norm
    )


def _told(on: str, law: str, spread: float, sensitivity: float | None = None) -> Noise:
    return Noise(on=on, law=law, spread=spread, sensitivity=sensitivity)


def _notes(problem: Problem) -> list[str]:
    listed = ["Coefficients are those of a regularised fit: they are smaller than those of a fit without noise."]
    if problem.counts:
        margin = ", about the margin of the loss" if problem.widens else ""
        listed.append(f"A noisy number of persons decided about the features{margin} and about regularisation.")
    return [*listed, SOLVED]
