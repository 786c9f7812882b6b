"""Add Gaussian noise to every gradient of a descent of so many steps.

    G_t = ∇L(θ_t) + noise,   v ← 0.9·v + (G_t + λθ_t)/n,   θ ← θ − rate·v,   then the mean of the last half

All rows are used in every step, n is a noisy count, and the number of steps is fixed in advance.

Claim. Neighbours differ by one person, all of their rows. Gradients are vectors of integers; one person moves
each by at most Δ in l2, exactly: Δ = R for two classes. For more it is R, with residuals shortened to norm 1, or
√2·R without, where the noisy count says that persons are many (`softmax` has the units); the noise follows Δ.
With discrete Gaussian noise of variance v on the count and on each of T gradients, the run is Σ Δ²/2v-zCDP,
which the ledger is charged, and but for a factor within 1 ± 10⁻⁵⁸ it is μ-Gaussian DP with μ² = Σ Δ²/(v − 9),
which proves (ε, δ). Both hold though each gradient depends on the ones before. Everything else is
post-processing.

With `batch`, each step sees a Poisson sample of the persons, drawn with exact coins. The plan of T sampled
Gaussians is then accounted by their privacy loss distribution. That is no amount that a ledger adds up, so a
vault refuses it. Theory: docs/theory/gradient-descent.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.gradients import FEATURES, SIGNS, signed
from discreet.learn.methods.margin_losses import MarginLoss
from discreet.learn.methods.problem import Count, Problem
from discreet.learn.methods.softmax import GRID, LARGEST, PERSON, STEPS, SoftmaxSums, labelled
from discreet.learn.price import Price, short
from discreet.learn.training import Progress, State, Training
from discreet.mechanisms import Exact, Gaussian, Sensitivity
from discreet.privacy import plan as plans
from discreet.privacy.losses import Gaussian as RealGaussian
from discreet.privacy.losses import Losses, PoissonSubsampled, ZeroConcentrated
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from discreet.rational import Rational, positive, rational, shown, whole
from discreet.release.label import Noise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COUNTED = Fraction(1, 100)
"""The share of ρ for the noisy count."""

MOMENTUM = 0.9

_TWO, _MORE = 60, 35  # steps by default, for two classes and for more
_CLEAR = 10.0  # persons · μ / features from which steps have their full length, for two classes
_CLEAR_CLASSES = 80.0  # the same times the number of classes, for more
_PLENTY = (
    50.0  # persons · μ / features from which residuals have their full length: noise is small, and bias is not
)
_SLACK = 1 - Fraction(1, 10**9)  # of δ, for the factor 1 ± 10⁻⁵⁸ and for rounding here


@dataclass(frozen=True)
class MarginSums:
    """The gradient of a loss of the margin over signed rows, with slopes rounded down.

    The slope of a row of weight w is an integer a = ⌊STEPS·w·s⌋ with 0 ≤ a ≤ STEPS·w, for 0 ≤ s ≤ 1. So a person
    with Σ w ≤ WHOLE moves Σ a·y·x by at most STEPS·WHOLE·SCALE.

    Args:
        examples: The rows, made by `gradients.signed`.
        loss: The loss of the margin.
        size: The number of features.

    >>> from discreet.engines.examples import MemoryExamples
    >>> from discreet.learn.methods.margin_losses import Logistic
    >>> rows = {FEATURES: np.array([[0, SCALE], [0, SCALE]]), SIGNS: np.array([1, -1])}
    >>> sums = MarginSums(MemoryExamples(rows, np.array([WHOLE, WHOLE // 2])), Logistic(), 2)
    >>> sums.gradient(np.zeros((1, 2))) / PERSON
    array([[ 0.  , -0.25]])
    """

    examples: Examples
    loss: MarginLoss
    size: int

    @property
    def l2_squared(self) -> int:
        """The square of the l2 norm of what one person adds, at most."""
        return PERSON**2

    def gradient(self, theta: Floats) -> Integers:
        """Return the gradient at coefficients in units of 2^-GRID, in units of 1/`PERSON`."""

        def part(batch: Batch) -> list[Floats]:
            features = batch.codes[FEATURES].astype(np.float64)
            margins = (features @ theta[0]) / float(SCALE << GRID) * batch.codes[SIGNS]
            slopes = np.floor(np.clip(self.loss.slope(margins), 0.0, 1.0) * (STEPS * batch.weights.astype(float)))
            return [-(slopes * batch.codes[SIGNS])[None, :] @ features]

        [total] = self.examples.total(part)
        return total


@dataclass(frozen=True)
class GradientDescent:
    """Noisy gradient descent, with its parameters. All of them are public.

    Args:
        steps: The number of steps; by default 60 for two classes, and 35 for more.
        rate: The length of a step. By default 2 over the largest curvature of the loss: 8 for the logistic loss,
            and 4 for the softmax loss. Where a noisy count says that persons are few for the noise it is less:
            down to a half of that for two classes, and to an eighth for more.
        batch: The chance of each person to be in the sample of a step; None, the default, takes all persons.

    >>> GradientDescent(steps=50)
    GradientDescent(steps=50, rate=None, batch=None)
    """

    steps: int | None = None
    rate: float | None = None
    batch: Rational | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            object.__setattr__(self, "steps", whole(self.steps, "steps"))
        if (self.steps or 0) > 10_000:
            raise ParameterError("steps must be at most 10,000.", found=shown(self.steps), fix=Fix("steps", _MORE))
        if self.rate is not None:
            object.__setattr__(self, "rate", float(rational(self.rate, "rate", floats="exact")))
        if self.rate is not None and not 0 < self.rate < 1e6:
            raise ParameterError("rate must be above 0.", found=shown(self.rate), fix=Fix("rate", 2))
        if self.batch is not None:
            share = rational(self.batch, "batch")
            if not 0 < share < 1:
                raise ParameterError(
                    "batch is the chance of a person to be sampled, between 0 and 1.",
                    found=shown(self.batch),
                    fix=[Fix("batch", "0.1"), Fix("batch", None, note="takes all persons in every step")],
                )
            object.__setattr__(self, "batch", share)

    def plan(self, problem: Problem, price: Price) -> Training:
        """Return the training for a problem and a price. It reads no row, and may refuse."""
        if price.rho is None:
            raise ParameterError(
                "Gradient descent adds Gaussian noise, which is not pure differential privacy.",
                found=f"{problem.classes} classes, delta 0",
                fix=[
                    Fix("method", "objective_perturbation", note="which is pure for any number of classes"),
                    Fix("delta", "1e-6", note="in a vault, the delta of its budget"),
                ],
            )
        steps = self.steps or (_MORE if problem.loss is None else _TWO)
        fixed = replace(self, steps=steps)
        return fixed._whole(problem, price, steps) if self.batch is None else fixed._sampled(problem, price, steps)

    def _whole(self, problem: Problem, price: Price, steps: int) -> Training:
        rho = price.rho or Fraction(0)
        counted, each = short(COUNTED * rho), short((1 - COUNTED) * rho / steps)
        counting = Count(Gaussian(_variance(WHOLE**2, counted), WHOLE))

        def step(square: int) -> Gaussian:
            return Gaussian(_variance(square, each), Sensitivity(l2_squared=square))

        losses: Losses = [ZeroConcentrated(counted), ZeroConcentrated(each) * steps]
        return self._training(problem, price, steps, counting, step, losses)

    def _sampled(self, problem: Problem, price: Price, steps: int) -> Training:
        if problem.task.several:
            raise ParameterError(
                "A batch samples persons, and rows do not say whose they are.", fix=Fix("batch", None)
            )
        if price.most is not None or not price.proves or price.rho is None:
            raise ParameterError(
                "Sampled batches have no amount that adds up in a ledger: sampling lowers no ρ of Gaussian noise.",
                fix=[Fix("batch", None), "Or fit arrays, with epsilon and delta of their own."],
            )
        counting = Count(Gaussian(_variance(WHOLE**2, COUNTED * price.rho), WHOLE))
        sigma = _sampled_sigma(steps, _exact(self.batch), counting, price)

        def step(square: int) -> Gaussian:
            return Gaussian(math.ceil(sigma**2 * square) + SMOOTHING, Sensitivity(l2_squared=square))

        # Of both noises, that for the longer residuals is less over its sensitivity: 5 units of rounding, not 9.
        sampled = PoissonSubsampled(step(2 * PERSON**2).loss, _exact(self.batch)) * steps
        return self._training(problem, price, steps, counting, step, [counting.mechanism.loss, sampled])

    def _training(
        self,
        problem: Problem,
        price: Price,
        steps: int,
        counting: Count,
        step: Callable[[int], Gaussian],
        losses: Losses,
    ) -> Training:
        spread = math.sqrt(step(PERSON**2).variance) / PERSON
        described = (
            f"Noisy gradient descent: {steps} steps over "
            + ("all rows" if self.batch is None else f"Poisson samples of rate {float(_exact(self.batch)):g}")
            + f", Gaussian noise on every gradient, momentum {MOMENTUM:g}, and the mean of the second half."
        )

        notes = ["The momentum and the number of steps are public; a noisy count decided how long steps are."]
        if problem.loss is None:
            notes.append(
                "Where that count says that persons are many, residuals may be longer by √2, and noise is as well."
            )

        def run(examples: Examples, progress: Progress) -> State:
            progress("counting", 0.0)
            count, test = counting.released(examples)
            # Each class has coefficients of its own, and so many features must be worth their noise.
            chosen = problem.chosen(count, price.strength / (problem.classes - 1))
            persons = max(count, counting.deviation)
            sums = _sums(examples, problem, chosen, persons * price.strength / chosen.size)
            mechanism = step(sums.l2_squared)
            theta, predictable = self._descend(sums, problem, price, persons, steps, mechanism, progress)
            return {
                "theta": theta.tolist() if problem.loss is None else theta[0].tolist(),
                "grid": GRID,
                "map": chosen.as_json(),
                "count": count,
                "facts": {"Steps": f"{steps}", "Features": f"{chosen.size}, {chosen.kind}"},
                "test_bits": test or predictable,
            }

        return Training(
            losses,
            run,
            [
                Noise("persons", "discrete Gaussian noise", counting.deviation, 1.0),
                Noise(f"each of {steps} gradients", "discrete Gaussian noise", spread, 1.0),
            ],
            described,
            notes,
        )

    def _descend(
        self,
        sums: MarginSums | SoftmaxSums,
        problem: Problem,
        price: Price,
        count: float,
        steps: int,
        step: Gaussian,
        progress: Progress,
    ) -> tuple[Integers, bool]:
        """Return the mean of the second half of the iterates, and whether the noise was predictable."""
        rows = problem.classes if problem.loss is None else 1
        theta, speed, mean = (np.zeros((rows, sums.size)) for _ in range(3))
        ridge = 0.0 if problem.regularisation is None else problem.regularisation / float(price.epsilon)
        rate = self.rate or _rate(problem, count * price.strength / sums.size)
        share = 1.0 if self.batch is None else float(_exact(self.batch))
        test = False
        for done in range(steps):
            progress("descending", done / steps)
            seen = sums if self.batch is None else _sample(sums, _exact(self.batch))
            exact = Exact(seen.gradient(theta).ravel(), Sensitivity(l2_squared=sums.l2_squared))
            noisy = step.release(exact)
            test = test or noise.is_test_noise(noisy)
            gradient = np.asarray(noisy, float).reshape(theta.shape) / PERSON / share
            speed = MOMENTUM * speed + (gradient + ridge * theta / 2.0**GRID) / count
            moved = theta - np.rint(rate * speed * 2.0**GRID)
            theta = np.clip(moved, -LARGEST * 2.0**GRID, LARGEST * 2.0**GRID)
            if done >= steps // 2:
                mean = mean + theta
        return np.rint(mean / (steps - steps // 2)).astype(np.int64), test


def plan(problem: Problem, price: Price) -> Training:
    """Return the training by noisy gradient descent, with the parameters that are the default."""
    return GradientDescent().plan(problem, price)


def _sums(examples: Examples, problem: Problem, chosen: FeatureMap, signal: float) -> MarginSums | SoftmaxSums:
    """Return the sums over rows, with residuals that are shortened unless persons are many for the noise."""
    if problem.loss is not None:
        return MarginSums(signed(examples, chosen, problem.task.target), problem.loss, chosen.size)
    rows = labelled(examples, chosen, problem.task.target)
    return SoftmaxSums(rows, problem.classes, chosen.size, 2 if signal >= _PLENTY else 1)


def _rate(problem: Problem, signal: float) -> float:
    """Return the length of a step, by the number of persons over that at which noise drowns a feature.

    It is at most 2 over the largest curvature of a row of norm 1, which is ½ for the softmax loss. Where a model
    knows nothing yet, that loss bends by 1/k only, so that more classes need longer steps.
    """
    if problem.loss is None:
        return 4.0 * min(max(problem.classes * signal / _CLEAR_CLASSES, 1 / 8), 1.0)
    longest = float((8 if problem.loss.law.saturates else 2) / problem.loss.law.curvature)
    return longest * min(max(signal / _CLEAR, 0.5), 1.0)


def _variance(square: int, rho: Fraction) -> int:
    """Return the variance for an l2 sensitivity whose square is given, such that Δ²/(v − 9) is at most 2ρ."""
    return math.ceil(square / (2 * rho)) + SMOOTHING


def _sample(sums: MarginSums | SoftmaxSums, rate: Fraction) -> MarginSums | SoftmaxSums:
    """Return the sums over a fresh Poisson sample: rows that are not in it have no weight."""

    def drawn(batch: Batch) -> Batch:
        kept = np.asarray(noise.bernoulli(rate, size=batch.size), bool)
        return Batch(batch.codes, np.where(kept, batch.weights, 0).astype(np.int16))

    taken = _Sampled(sums.examples, drawn)
    if isinstance(sums, MarginSums):
        return MarginSums(taken, sums.loss, sums.size)
    return SoftmaxSums(taken, sums.classes, sums.size, sums.longest)


@dataclass(frozen=True, repr=False, eq=False)
class _Sampled:
    """Rows of which a sample is drawn each time they are added up."""

    source: Examples
    draw: Any

    def total(self, function: Any) -> list[NDArray[Any]]:
        """Return the exact sums over the sample."""
        return self.source.total(lambda batch: function(self.draw(batch)))

    def derived(self, function: Any, width: int, share: float = 1.0) -> Examples:
        """Refuse: a sample is added up once."""
        raise NotImplementedError


def _sampled_sigma(steps: int, rate: Fraction, counting: Count, price: Price) -> Fraction:
    """Return nearly the least σ, in units of the sensitivity, such that the plan is (ε, δ)-DP."""
    counted = counting.mechanism
    if not isinstance(counted, Gaussian):
        raise AssertionError("the count of a Gaussian plan is Gaussian")
    # A real Gaussian of variance v − 9 says all about a discrete one of variance v (docs/theory/synthesis.md).
    beside = _root_below(Fraction(counted.variance - SMOOTHING, WHOLE**2))
    return _least_sigma(steps, rate, beside, price.epsilon, price.delta)


@lru_cache(maxsize=64)  # the fits of a grid, or of folds, ask for the same few σ
def _least_sigma(steps: int, rate: Fraction, beside: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    def private(grains: int) -> bool:
        sampled = PoissonSubsampled(RealGaussian(Fraction(grains, 128)), rate) * steps
        return plans.delta([sampled, RealGaussian(beside)], epsilon) <= float(delta * _SLACK)

    low, high = 8, 16
    while not private(high):
        low, high = high, 2 * high
    while high - low > max(1, high // 256):
        middle = (low + high) // 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return Fraction(high, 128)


def _root_below(value: Fraction) -> Fraction:
    return Fraction(math.isqrt(int(value * 2**40)), 2**20)


def _exact(share: Rational | None) -> Fraction:
    return positive(share if share is not None else 1, "batch")
