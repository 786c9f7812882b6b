"""Minimise the objective, and add noise to the minimiser.

    θ̂ = argmin Σ wᵢ·ℓ(yᵢ·xᵢθ) + λ/2·‖θ‖²,   released: θ̂ on a grid, plus discrete noise

Claim. Neighbours differ by one person, whose rows weigh 1 together. At the minimiser θ* without that person the
gradient with them has norm at most R = 1, and the objective is λ-strongly convex, so θ* moves by at most 1/λ;
the solver leaves 2·TOLERANCE/λ open on either side, and the grid half a step in each coordinate. The sum of
these, in grid steps and rounded up, is an l2 sensitivity Δ of integers, and √d·Δ one in l1. With discrete
Gaussian noise the release is ρ-zCDP, and μ-Gaussian DP as noise on a gradient is; with discrete Laplace noise it
is ε-DP. λ follows from public constants and from a noisy count, which is paid for. Theory:
docs/theory/gradient-descent.md.

The noise has the deviation 1/(λμ) in every direction, however many rows speak for it: objective perturbation is
better wherever both apply. Output perturbation is here because its proof is the shortest.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.methods.gradients import Sums, signed
from discreet.learn.methods.margin_losses import MarginLoss
from discreet.learn.methods.problem import Count, Problem
from discreet.learn.methods.solver import TOLERANCE, minimise
from discreet.learn.price import Price, short
from discreet.learn.training import SOLVED, Progress, State, Training
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.privacy.losses import Loss, Pure, ZeroConcentrated
from discreet.privacy.theorems.learning.output_perturbation import sensitivity
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from discreet.release.label import Noise

GRID = 24
"""Released coefficients are multiples of 2⁻²⁴."""

LENGTH = 12
"""The norm of coefficients for which λ is best: about that of a good classifier on rows of norm 1."""

_COUNT = Fraction(1, 100)  # the share of the count in ρ, or in ε
_OPEN = 2.0  # the tolerance that is paid for, over that of the solver: rounding of sums of up to 2³⁰ rows
_LEAST = 0.01  # of λ, so that no count makes the objective flat
_FARTHEST = 2.0**61  # of a coefficient in grid steps, before noise

ARITHMETIC = (
    "The sums over rows are exact integers, and a cryptographic generator draws all noise with exactly its law. "
    "The minimiser is computed in floating point to a fixed tolerance, which is a part of the sensitivity."
)


def plan(problem: Problem, price: Price) -> Training:
    """Return the training by output perturbation. It reads no row, and may refuse.

    Args:
        problem: Two classes, and a smooth loss of the margin.
        price: What it may cost.
    """
    loss = problem.loss
    if loss is None:
        raise ParameterError(
            "Output perturbation separates two classes.",
            found=f"{problem.classes} classes",
            fix=Fix("method", "objective_perturbation" if price.pure else "gradient_descent"),
        )
    losses: list[Loss]
    if price.rho is None:
        counted, left = price.epsilon * _COUNT, price.epsilon * (1 - _COUNT)
        counting, losses = Count.pure(counted), [Pure(counted), Pure(left)]
    else:
        counted, left = short(price.rho * _COUNT), short(price.rho * (1 - _COUNT))
        variance = math.ceil(WHOLE**2 / (2 * counted)) + SMOOTHING
        counting, losses = Count(Gaussian(variance, WHOLE)), [ZeroConcentrated(counted), ZeroConcentrated(left)]

    def run(examples: Examples, progress: Progress) -> State:
        count, tested = counting.released(examples)
        feature_map = problem.chosen(count, price.strength)
        lam = regularisation(problem, loss, price, feature_map, max(count, counting.deviation))
        progress("features", 0.05)
        sums = Sums(signed(examples, feature_map, problem.task.target), loss, feature_map.size)
        theta = minimise(
            lambda at: sums.gradient(at) + lam * at,
            lambda at: sums.hessian(at) + lam * np.eye(feature_map.size),
            np.zeros(feature_map.size),
            progress=lambda done: progress("minimising", 0.1 + 0.85 * done),
        )
        moved = distance(feature_map.size, lam)
        steps = np.clip(np.rint(theta * 2.0**GRID), -_FARTHEST, _FARTHEST).astype(np.int64)
        noisy = _noise(feature_map.size, moved, left, pure=price.pure).release(
            Exact(steps, Sensitivity(l1=_l1(feature_map.size, moved), l2_squared=moved**2))
        )
        return {
            "theta": np.asarray(noisy, np.int64).tolist(),
            "grid": GRID,
            "map": feature_map.as_json(),
            "count": count,
            "facts": {
                "Features": f"{feature_map.size:,} {feature_map.kind}, every row of norm 1, with an intercept",
                "Regularisation": f"λ = {lam:.6g}",
            },
            "test_bits": bool(tested or noise.is_test_noise(noisy)),
        }

    law = f"discrete {'Laplace' if price.pure else 'Gaussian'} noise"
    told = [
        Noise("persons", law, counting.deviation, 1.0),
        Noise("coefficients times λ", law, _spread(price), 1.0),
    ]
    notes = [
        "Coefficients are those of a regularised fit: they are smaller than those of a fit without noise.",
        "A noisy number of persons chose λ" + (" and the features." if len(problem.maps) > 1 else "."),
        SOLVED,
    ]
    return Training(losses, run, told, f"Output perturbation, {loss.name}.", notes, ARITHMETIC)


def regularisation(
    problem: Problem, loss: MarginLoss, price: Price, feature_map: FeatureMap, count: float
) -> float:
    """Return λ: the multiple of R²/ε that was asked for, or the least bound of the excess loss.

    Noise of variance s²/λ² in every coordinate costs at most n·c·s²/(2λ²), because rows have norm 1, and
    regularisation at most λ/2·B². The sum is least at λ³ = 2·n·c·s²/B².

    Args:
        problem: What is to be solved.
        loss: Its loss, of curvature at most c.
        price: What it may cost, which decides s.
        feature_map: The features.
        count: The noisy number of persons n.
    """
    if problem.regularisation is not None:
        return max(float(problem.regularisation) / float(price.epsilon), _LEAST)
    curvature = float(loss.law.curvature) / (4 if loss.law.saturates else 1)
    spread = _spread(price) * (math.sqrt(2 * feature_map.size) if price.pure else 1.0)
    return max(math.cbrt(2 * count * curvature * (spread / LENGTH) ** 2), _LEAST)


def distance(size: int, lam: float) -> int:
    """Return the l2 sensitivity of the minimiser on the grid: so many steps, rounded up.

    >>> distance(1, 1.0) - 2**GRID
    65
    """
    real: Fraction = sensitivity(lam=lam, tolerance=_OPEN * TOLERANCE) * 2**GRID
    return math.ceil(real) + math.isqrt(size - 1) + 1


def _spread(price: Price) -> float:
    """Return the spread of the noise at sensitivity 1, per coordinate or, for Laplace noise, over √d."""
    return 1 / price.mu if price.rho is not None else 1 / float(price.epsilon)


def _l1(size: int, moved: int) -> int:
    return math.isqrt(size * moved**2) + 1


def _noise(size: int, moved: int, left: Fraction, *, pure: bool) -> Gaussian | Laplace:
    if pure:
        return Laplace.for_epsilon(left, _l1(size, moved))
    return Gaussian(math.ceil(Fraction(moved**2) / (2 * left)) + SMOOTHING, Sensitivity(l2_squared=moved**2))
