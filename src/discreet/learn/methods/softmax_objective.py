"""Minimise the softmax objective of several classes with noise inside it.

    Θ̂ = argmin Σ wᵢ·(log Σ_c e^{xᵢθ_c} − xᵢθ_{yᵢ}) + λ/2·‖Θ‖² + ⟨b, Θ⟩  over all k×d matrices

Claim. As for two classes (`objective_perturbation`): with δ, b is Gaussian, and the release is (ε, δ)-DP by the
bound for softmax losses, convolved with the Gaussian noise of the count and of the output; a ledger is charged
its Gaussian DP parameter. Without δ, b has independent Laplace coordinates, and the release is ε-DP: the only
way here to fit a linear model of several classes with pure ε. The noise on the output hides how far the solver
and the grid of b move Θ̂.

The gradient. Scores xᵢθ_c are compared with that of the likeliest class before they are rounded, so that a
probability is off by a few units of 2⁻⁵³ of its size, however large coefficients are; residuals are multiples of
2⁻⁵² and their sums are exact. The gradient of n rows is off by less than n·(2k + 16)·2⁻⁵³, which is paid for up to
2³⁰ rows (`_slack`). Theory: docs/theory/objective-perturbation.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.gradients import FEATURES, split
from discreet.learn.methods.objective_perturbation import ARITHMETIC, GRID, METHOD, STEP
from discreet.learn.methods.problem import Count, Problem
from discreet.learn.methods.softmax import CODES, labelled
from discreet.learn.methods.solver import TOLERANCE, minimise
from discreet.learn.price import Price, short
from discreet.learn.training import SOLVED, Progress, State, Training
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.mechanisms.exact import Integers
from discreet.privacy.losses import GaussianDP, Loss, Pure, ZeroConcentrated
from discreet.privacy.theorems.learning import softmax as theorem
from discreet.privacy.theorems.learning import softmax_pure, tolerance
from discreet.release.label import Noise

Floats = NDArray[np.float64]

FACTOR, PURE_FACTOR = 16.0, 10.0
"""λ as a multiple of R²/ε, unless it is given: the determinant costs little noise from there on."""

LARGEST = 2048
"""The most coefficients, classes times features: the solver holds a matrix of so many rows and columns."""

_GRAIN = Fraction(1, 2**STEP)
_COUNT, _OUTPUT = Fraction(1, 100), Fraction(1, 2500)  # shares of ρ
_PURE_COUNT, _PURE_OUTPUT = Fraction(1, 100), Fraction(1, 200)  # shares of ε
_MOST = 1 - Fraction(1, 10**9)  # of δ: the rest covers the tails of the coupling
_FAILURE = Fraction(1, 10**40)  # of δ: how likely b is farther from its partner than is paid for
_DOWN = 1 - Fraction(1, 2**40)
_ABOVE = 1 + Fraction(1, 10**4)  # λ is a little above its multiple of R²/ε
_COARSE, _FINE, _HALF = 2.0**16, 2.0**52, 2.0**26  # as in `gradients`
_CURVE = 2.0**17  # p_c·p_e is at most a quarter: 15 bits


@dataclass(frozen=True)
class SoftmaxObjective:
    """The derivatives of the softmax loss over labelled rows, for a vector of k·d coefficients.

    Args:
        examples: The rows, made by `softmax.labelled`.
        classes: The number of classes.
        size: The number of features.

    >>> from discreet.engines.examples import MemoryExamples
    >>> rows = MemoryExamples({FEATURES: np.array([[SCALE]]), CODES: np.array([2])}, np.array([WHOLE]))
    >>> sums = SoftmaxObjective(rows, 4, 1)
    >>> sums.gradient(np.zeros(4)), sums.hessian(np.zeros(4))[0]
    (array([ 0.25,  0.25, -0.75,  0.25]), array([ 0.1875, -0.0625, -0.0625, -0.0625]))
    """

    examples: Examples
    classes: int
    size: int

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient of the loss at Θ."""
        parts = split(theta.reshape(self.classes, self.size))

        def part(batch: Batch) -> list[Floats]:
            features = batch.codes[FEATURES].astype(np.float64)
            row, codes = np.arange(batch.size), np.asarray(batch.codes[CODES], np.int64)
            weights = (batch.weights / WHOLE * _FINE)[:, None]
            residuals = np.rint(probabilities(features, parts) * weights)
            residuals[row, codes] = 0.0
            residuals[row, codes] = -residuals.sum(axis=1)
            leading = np.trunc(residuals / _HALF)
            return [leading.T @ features, (residuals - leading * _HALF).T @ features]

        leading, rest = self.examples.total(part)
        exact = (leading.astype(object) * int(_HALF) + rest.astype(object)).ravel()
        return np.array([int(value) / (SCALE * int(_FINE)) for value in exact])

    def hessian(self, theta: Floats) -> Floats:
        """Return the Hessian of the loss at Θ, with curvatures rounded down: it steers the solver.

        diag p − ppᵀ is the Laplacian of a graph with the weights p_c·p_e. With weights rounded down it still is
        one: the matrix is never below 0, whatever rounding does, and a step of the solver leads down.
        """
        parts = split(theta.reshape(self.classes, self.size))
        pairs = list(combinations(range(self.classes), 2))

        def part(batch: Batch) -> list[Floats]:
            features = batch.codes[FEATURES].astype(np.float64)
            p, weights = probabilities(features, parts), batch.weights / WHOLE * _CURVE
            curves = (np.floor(p[:, c] * p[:, e] * weights) for c, e in pairs)
            return [(features * curve[:, None]).T @ features for curve in curves]

        found = np.zeros((self.classes, self.size, self.classes, self.size))
        for (c, e), total in zip(pairs, self.examples.total(part), strict=True):
            block = np.asarray(total, float) / (_CURVE * SCALE**2)
            found[c, :, e, :] = found[e, :, c, :] = -block
            found[c, :, c, :] += block
            found[e, :, e, :] += block
        return found.reshape(self.classes * self.size, -1)


def probabilities(features: Floats, parts: Floats) -> Floats:
    """Return the probability of each class for each row, for coefficients that were `split`.

    The two parts of a score are exact; so are the differences from the likeliest class, until they are added.

    >>> far = split(np.array([[2.0**20], [2.0**20 + 1.0], [0.0]]))
    >>> probabilities(np.array([[float(SCALE)]]), far).round(6).tolist()
    [[0.268941, 0.731059, 0.0]]
    """
    leading, rest = features @ parts[0].T, features @ parts[1].T
    first = (leading / (_COARSE * SCALE) + rest / (_FINE * SCALE)).argmax(axis=1)[:, None]
    leading = leading - np.take_along_axis(leading, first, axis=1)
    rest = rest - np.take_along_axis(rest, first, axis=1)
    raised = np.exp(leading / (_COARSE * SCALE) + rest / (_FINE * SCALE))
    found: Floats = raised / raised.sum(axis=1, keepdims=True)
    return found


def plan(problem: Problem, price: Price) -> Training:
    """Return the training of several classes by objective perturbation. It reads no row, and may refuse.

    Args:
        problem: More than two classes.
        price: What it may cost.
    """
    if problem.classes * problem.maps[-1].size > LARGEST:
        raise ParameterError(
            "Objective perturbation solves for the coefficients of all classes at once, and they are too many.",
            found=f"{problem.classes * problem.maps[-1].size:,} coefficients, of at most {LARGEST:,}",
            fix=[
                "Choose fewer features or classes.",
                "Or fit CategoricalNB, which is pure." if price.pure else Fix("method", "gradient_descent"),
            ],
        )
    return _pure(problem, price) if price.pure else _gaussian(problem, price)


def _gaussian(problem: Problem, price: Price) -> Training:
    """Return the training with Gaussian noise in the objective."""
    rho, k = price.rho or Fraction(0), problem.classes
    paid, output = short(rho * _COUNT) if _chooses(problem) else Fraction(0), short(rho * _OUTPUT)
    count = Count.gaussian(paid) if paid else None
    lam = _lam(problem, FACTOR, price.epsilon)
    sigma = Fraction(0)
    if price.proves:
        beside = math.sqrt(2 * float(paid + output)) * (1 + 2**-40)
        sigma = theorem.sigma_for(price.epsilon, price.delta * _MOST, classes=k, lam=lam, gaussian_mu=beside)
    if price.most is not None:
        left = short(Fraction(math.sqrt(2 * float(price.most - paid - output))) * _DOWN)
        sigma = max(sigma, theorem.sigma_for_gdp(left, classes=k, lam=lam))
    variance = tolerance.variance_for(sigma, _GRAIN)
    failure = price.delta * _FAILURE / (2 + 2 * Fraction(math.exp(min(float(price.epsilon), 700.0))))

    def drawn(feature_map: FeatureMap) -> Integers:
        return noise.discrete_gaussian(variance, k * feature_map.size)

    def mechanism(feature_map: FeatureMap) -> Gaussian:
        away = tolerance.gaussian_error(_GRAIN, k * feature_map.size, failure)
        square = _moved(k, feature_map.size, lam, away, pure=False) ** 2
        least = math.ceil(Fraction(square) / (2 * output)) + tolerance.SMOOTHING
        return Gaussian(least, Sensitivity(l2_squared=square))

    mu = short(Fraction(theorem.gdp(classes=k, sigma=sigma, lam=lam)), up=True)
    losses: list[Loss] = [GaussianDP(mu), ZeroConcentrated(output)]
    told = [
        Noise("the objective", "Gaussian noise, drawn on a grid", float(sigma), math.sqrt(2)),
        _on_output([mechanism(one) for one in problem.maps]),
    ]
    if count is not None:
        losses.append(count.mechanism.loss)
        told.append(Noise("persons", "discrete Gaussian noise", count.deviation, 1.0))
    made = _Plan(problem, price, lam, count, drawn, mechanism)
    return Training(
        losses, made.run, told, f"{METHOD} with Gaussian noise, softmax loss.", _notes(problem), ARITHMETIC
    )


def _pure(problem: Problem, price: Price) -> Training:
    """Return the training with independent Laplace noise in the objective."""
    k, output = problem.classes, price.epsilon * _PURE_OUTPUT
    paid = price.epsilon * _PURE_COUNT if _chooses(problem) else Fraction(0)
    rest = price.epsilon - paid - output
    count, lam = Count.pure(paid) if paid else None, _lam(problem, PURE_FACTOR, rest)

    def scale(feature_map: FeatureMap) -> Fraction:
        return softmax_pure.scale_for(
            rest, classes=k, lam=lam, norm=feature_map.l1, grid=_GRAIN, dimension=feature_map.size
        )

    def drawn(feature_map: FeatureMap) -> Integers:
        return noise.discrete_laplace(scale(feature_map) * 2**STEP, k * feature_map.size)

    def mechanism(feature_map: FeatureMap) -> Laplace:
        away = tolerance.laplace_error(_GRAIN, k * feature_map.size)
        return Laplace.for_epsilon(output, _moved(k, feature_map.size, lam, away, pure=True))

    told = [
        Noise("the objective", "discrete Laplace noise", float(max(scale(one) for one in problem.maps))),
        _on_output([mechanism(one) for one in problem.maps]),
    ]
    losses: list[Loss] = [Pure(rest), Pure(output)]
    if count is not None:
        losses.append(Pure(paid))
        told.append(Noise("persons", "discrete Laplace noise", count.deviation, 1.0))
    made = _Plan(problem, price, lam, count, drawn, mechanism)
    return Training(
        losses, made.run, told, f"{METHOD} with Laplace noise, softmax loss.", _notes(problem), ARITHMETIC
    )


def _chooses(problem: Problem) -> bool:
    """Return whether a noisy number of persons is needed: it decides about the features."""
    return len(problem.maps) > 1


def _notes(problem: Problem) -> list[str]:
    regularised = (
        "Coefficients are those of a regularised fit: they are smaller than those of a fit without noise."
    )
    counted = ["A noisy number of persons decided about the features."] if _chooses(problem) else []
    return [regularised, *counted, SOLVED]


@dataclass(frozen=True)
class _Plan:
    """What a run needs, all of it public: the noise is drawn when the feature map is known."""

    problem: Problem
    price: Price
    lam: Fraction
    count: Count | None
    drawn: Callable[[FeatureMap], Integers]
    mechanism: Callable[[FeatureMap], Gaussian | Laplace]

    def run(self, examples: Examples, progress: Progress) -> State:
        """Count, choose the feature map, draw the noise, minimise, and release."""
        problem, lam, k = self.problem, float(self.lam), self.problem.classes
        persons, tested = (None, False) if self.count is None else self.count.released(examples)
        # Each class has coefficients of its own, and so many features must be worth their noise.
        chosen = problem.chosen(persons, self.price.strength / (k - 1))
        chosen = chosen if k * chosen.size <= LARGEST else problem.maps[-1]
        progress("features", 0.05)
        sums = SoftmaxObjective(labelled(examples, chosen, problem.task.target), k, chosen.size)
        perturbation = self.drawn(chosen)
        tilt = np.asarray(perturbation, float) * 2.0**-STEP
        ridge = lam * np.eye(k * chosen.size)
        theta = minimise(
            lambda at: sums.gradient(at) + lam * at + tilt,
            lambda at: sums.hessian(at) + ridge,
            np.zeros(k * chosen.size),
            progress=lambda done: progress("minimising", 0.1 + 0.85 * done),
        )
        release = self.mechanism(chosen)
        moved = Sensitivity(l1=release.sensitivity) if isinstance(release, Laplace) else release.sensitivity
        noisy = release.release(Exact(np.rint(theta * 2.0**GRID).astype(np.int64), moved))
        return {
            "theta": np.asarray(noisy, np.int64).reshape(k, chosen.size).tolist(),
            "grid": GRID,
            "map": chosen.as_json(),
            "count": persons,
            "facts": {
                "Features": f"{chosen.size:,} {chosen.kind}, every row of norm 1, with an intercept",
                "Regularisation": f"λ = {lam:.6g}",
            },
            "test_bits": bool(tested or noise.is_test_noise(perturbation) or noise.is_test_noise(noisy)),
        }


def _lam(problem: Problem, default: float, epsilon: Fraction) -> Fraction:
    """Return λ, a multiple of R²/ε, as a float: noise is calibrated to what is used."""
    factor = default if problem.regularisation is None else max(problem.regularisation, 2.0)
    return Fraction(float(Fraction(factor) * _ABOVE / epsilon))


def _slack(classes: int) -> Fraction:
    """Return the tolerance that is paid for, over that of the solver: rounding of sums of up to 2³⁰ rows.

    n·(2k + 16)·2⁻⁵³ is at most (k + 8)/4 times 2⁻²⁰ for n ≤ 2³⁰.

    >>> _slack(4)
    Fraction(4, 1)
    """
    return 1 + Fraction(classes + 8, 4)


def _moved(classes: int, size: int, lam: Fraction, away: Fraction, *, pure: bool) -> int:
    """Return how far apart two released points may be that have the same ideal minimiser, in grid steps."""
    return tolerance.output_sensitivity(
        tolerance=_slack(classes) * Fraction(TOLERANCE),
        noise_error=away,
        lam=lam,
        grid=Fraction(1, 2**GRID),
        dimension=classes * size,
        norm="l1" if pure else "l2",
    )


def _on_output(mechanisms: list[Gaussian] | list[Laplace]) -> Noise:
    law = "Laplace" if isinstance(mechanisms[0], Laplace) else "Gaussian"
    spreads = [float(one.scale) if isinstance(one, Laplace) else math.sqrt(one.variance) for one in mechanisms]
    return Noise("coefficients", f"discrete {law} noise", max(spreads) / 2**GRID)
