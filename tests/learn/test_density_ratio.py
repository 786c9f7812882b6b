"""The density of a minimiser, from the sums that a fit really computes: neighbours are as close as was promised.

b ↦ θ̂ is a bijection, so θ̂ has the density ν(b(θ))·det H(θ), where b(θ) = −∇L(θ) − λθ is the noise that makes θ
the minimiser. Everything that could go wrong on the way from a table to the objective is in it: the norm of
features, the weights of a person's rows, λ, the intercept, the scale of the noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn import methods
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.gradients import Sums
from discreet.learn.methods.hat_sums import HatSums
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.learn.methods.objective_perturbation import sums_over
from discreet.learn.methods.problem import Problem
from discreet.learn.methods.solver import TOLERANCE, minimise
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.privacy.losses import Pure
from discreet.privacy.theorems.learning import joint_bound, loss_law
from discreet.schema import Boolean, Category, Column, Integer

Floats = NDArray[np.float64]

COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "kind": Category(["a", "b", "c"])}
ROUNDING = 1e-3  # curvatures are rounded to 16 bits: up to 20 rows move a log-determinant by less


@dataclass(frozen=True)
class Fit:
    """One training, and what it says of itself."""

    features: FeatureMap
    loss: MarginLoss
    price: Price

    def told(self) -> tuple[float, float, float]:
        """λ, the spread of the noise in the objective, and the ε of the minimiser if it is pure."""
        problem = Problem(Task(COLUMNS, "ill", Boolean(), several=True), self.loss, (self.features,))
        training = methods.plan("objective_perturbation", problem, self.price)
        state = training.run(people(np.random.default_rng(0), 3), silent)
        losses = list(training.losses)  # type: ignore[arg-type]
        epsilon = float(losses[0].epsilon) if isinstance(losses[0], Pure) else 0.0
        return float(state["facts"]["Regularisation"].split()[-1]), training.noise[0].spread or 0.0, epsilon

    def sums(self, rows: MemoryExamples) -> Sums | HatSums:
        return sums_over(rows, self.loss, self.features, "ill")


def people(rng: np.random.Generator, count: int, weights: list[int] | None = None) -> MemoryExamples:
    """Rows with values at the ends of their ranges, missing ones too."""
    codes = {
        "age": rng.choice([-1, 0, 55, 110], count),
        "kind": rng.choice([-1, 0, 1, 2], count),
        "ill": rng.choice([-1, 0, 1, 1], count),
    }
    return MemoryExamples(codes, np.array(weights if weights is not None else [WHOLE] * count, np.int64))


def together(one: MemoryExamples, two: MemoryExamples) -> MemoryExamples:
    codes = {name: np.concatenate([one.codes[name], two.codes[name]]) for name in one.codes}
    return MemoryExamples(codes, np.concatenate([one.weights, two.weights]))


def solved(sums: Sums | HatSums, lam: float, b: Floats) -> Floats:
    return minimise(
        lambda at: sums.gradient(at) + lam * at + b,
        lambda at: sums.hessian(at) + lam * np.eye(len(b)),
        np.zeros(len(b)),
    )


def noise_and_log_determinant(sums: Sums | HatSums, theta: Floats, ridge: Floats) -> tuple[Floats, float]:
    hessian = sums.hessian(theta) + np.diag(ridge)
    return -sums.gradient(theta) - ridge * theta, float(np.linalg.slogdet(hessian)[1])


def largest_ratio(fit: Fit, lam: float, scale: float, *, intercept: float = 1.0, trials: int = 40) -> float:
    """The largest |log density ratio| with Laplace noise, over random tables, persons and points.

    `intercept` scales the regulariser of the intercept: 0 is the mistake of libraries that leave it out.
    """
    rng, worst, d = np.random.default_rng(1), 0.0, fit.features.size
    ridge = np.full(d, lam)
    ridge[-1] *= intercept
    ridge = np.maximum(ridge, 1e-9)
    for _ in range(trials):
        table = people(rng, int(rng.integers(0, 5)))
        m = int(rng.integers(1, 4))
        person = people(rng, m, [WHOLE // m] * m)
        without, with_ = fit.sums(table), fit.sums(together(table, person))
        for spread in (0.0, 0.3, 3.0, 30.0):
            theta = rng.normal(size=d) * spread
            b, log_determinant = noise_and_log_determinant(without, theta, ridge)
            other, larger = noise_and_log_determinant(with_, theta, ridge)
            ratio = larger - log_determinant + (np.abs(b).sum() - np.abs(other).sum()) / scale
            worst = max(worst, abs(float(ratio)))
    return worst


@pytest.mark.parametrize("kind", ["hats", "linear"])
@pytest.mark.parametrize(
    "loss",
    [Logistic(), Logistic(shift=2.0), Logistic(0.5, shift=1.0, hinge=True), HuberHinge()],
    ids=lambda loss: loss.name,
)
def test_pure_minimisers_of_neighbours_are_as_close_as_promised(kind: str, loss: MarginLoss) -> None:
    fit = Fit(FeatureMap(COLUMNS, kind), loss, Price.alone(1))  # type: ignore[arg-type]
    lam, scale, epsilon = fit.told()
    ratio = largest_ratio(fit, lam, scale)
    assert 0.4 * epsilon < ratio <= epsilon + ROUNDING


def test_the_attack_sees_less_noise_and_an_intercept_without_a_regulariser() -> None:
    fit = Fit(FeatureMap(COLUMNS, "linear"), Logistic(), Price.alone(1))
    lam, scale, epsilon = fit.told()
    assert largest_ratio(fit, lam, scale / 2.5) > epsilon
    assert largest_ratio(fit, lam, scale, intercept=0.0) > 2 * epsilon


@pytest.mark.parametrize("loss", [Logistic(), Logistic(shift=2.0), HuberHinge()], ids=lambda loss: loss.name)
def test_gaussian_minimisers_lose_no_more_than_the_joint_bound_at_any_point(loss: MarginLoss) -> None:
    """One row: the loss at θ is at most g(u), u the noise in the direction of the row. Both directions."""
    fit = Fit(FeatureMap(COLUMNS, "linear"), loss, Price.alone(1, "1e-5"))
    lam, sigma, _ = fit.told()
    law = fit.loss.law
    grid = joint_bound.loss_law(1 / sigma, float(law.curvature) / lam, law.saturates).losses
    rng, d, nearest = np.random.default_rng(2), fit.features.size, -np.inf
    for _ in range(25):
        table, person = people(rng, int(rng.integers(0, 6))), people(rng, 1)
        x = fit.features.rows({name: person.codes[name] for name in COLUMNS})[0] / SCALE
        y = 1 if person.codes["ill"][0] == 1 else -1
        laws = [fit.sums(together(table, person)), fit.sums(table)]
        for first, second, sign in ((0, 1, -1), (1, 0, 1)):
            b = sigma * rng.normal(size=d) + 3 * sigma * sign * y * x * rng.choice([0, 1])
            theta = solved(laws[first], lam, b)
            own, own_determinant = noise_and_log_determinant(laws[first], theta, np.full(d, lam))
            other, determinant = noise_and_log_determinant(laws[second], theta, np.full(d, lam))
            assert np.linalg.norm(own - b) <= TOLERANCE
            found = own_determinant - determinant + float(other @ other - own @ own) / (2 * sigma**2)
            u = sign * y * float(x @ own) / (float(np.linalg.norm(x)) * sigma)
            bound = float(grid[np.searchsorted(loss_law.nodes()[1:], u)])
            assert found <= bound + ROUNDING
            nearest = max(nearest, found - bound)
    assert nearest > -0.1, "a bound that nothing comes near would hide a mistake"
