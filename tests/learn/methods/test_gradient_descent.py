"""Noisy gradient descent: what it charges, what it proves, and what one person can change."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.audit.replay.replay import findings
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn import LogisticRegression
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods import gradient_descent, plan
from discreet.learn.methods.gradient_descent import GradientDescent, MarginSums
from discreet.learn.methods.gradients import FEATURES, SIGNS
from discreet.learn.methods.margin_losses import HuberHinge, Logistic
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.methods.softmax import GRID, PERSON, SoftmaxSums
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger.costs import cost
from discreet.noise.testing import Asked, scripted
from discreet.privacy import plan as plans
from discreet.privacy.losses import Gaussian, PoissonSubsampled
from discreet.privacy.pld.normal import gaussian_delta
from discreet.schema import Boolean, Category, Column, Integer
from tests.learn.hostile_rows import ROWS, fitted

COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["Bergen", "Oslo"])}
PRICE = Price.alone(1, "1e-6")
HOSTILE = fitted(LogisticRegression(method=GradientDescent(steps=3)), Price.alone(20, "1e-6"))


def problem(classes: int = 3) -> Problem:
    outcome = Boolean() if classes == 2 else Category([str(i) for i in range(classes)])
    task = Task(COLUMNS, "kind", outcome)
    return Problem(task, Logistic() if classes == 2 else None, feature_maps(task, "auto"))


def examples(count: int, classes: int = 3, size: int = 8192, seed: int = 1) -> MemoryExamples:
    random = np.random.default_rng(seed)
    codes = {name: random.integers(-1, column.levels or 1, count) for name, column in COLUMNS.items()}
    codes["kind"] = random.integers(-1, classes, count)
    return MemoryExamples(codes, np.full(count, WHOLE, np.int16), size)


def variances(method: GradientDescent, classes: int, persons: int = 30) -> list[Fraction]:
    """Return the variances of all noise that a run draws, the count's first."""
    asked: list[Asked] = []

    def zero(one: Asked) -> int:
        asked.append(one)
        return 0

    with scripted(zero):
        method.plan(problem(classes), PRICE).run(examples(persons, classes), silent)
    assert {one.law for one in asked} == {"discrete_gaussian"}
    parameters = [one.parameter for one in asked if isinstance(one.parameter, Fraction)]
    found = parameters[:1]
    rest = parameters[1:]
    width = len(rest) // (method.steps or 35)
    assert all(len({*rest[i : i + width]}) == 1 for i in range(0, len(rest), width))
    return [*found, *rest[::width]]


@pytest.mark.parametrize(("classes", "square", "persons"), [(2, 1, 30), (3, 1, 30), (3, 2, 15_000)])
def test_the_noise_that_is_drawn_proves_what_was_asked(classes: int, square: int, persons: int) -> None:
    """The law of the worst neighbours is that of shifted noise, and real noise of variance v − 9 dominates it.

    Where persons are many, residuals are not shortened: a person moves more, and the noise is as much larger.
    """
    counted, *steps = variances(GradientDescent(steps=35), classes, persons)
    assert len(steps) == 35
    mu = WHOLE**2 / (counted - 9) + sum(square * PERSON**2 / (v - 9) for v in steps)
    assert gaussian_delta(float(mu) ** 0.5, 1.0)[1] <= 1e-6
    assert float(mu) > 0.99 * 2 * float(PRICE.rho or 0), "the budget is used"
    charged = cost(GradientDescent(steps=35).plan(problem(classes), PRICE).losses)
    drawn = WHOLE**2 / (2 * counted) + sum(square * PERSON**2 / (2 * v) for v in steps)
    assert drawn <= charged.rho <= (PRICE.rho or 0)


@pytest.mark.parametrize(("persons", "longest"), [(30, 1), (15_000, 2)])
def test_noise_and_residuals_follow_the_same_count(persons: int, longest: int) -> None:
    """The noisy count alone decides which bound holds, and every gradient is released with that bound."""
    seen: list[int] = []

    def zero(_: Asked) -> int:
        return 0

    honest = SoftmaxSums.gradient

    def watched(sums: SoftmaxSums, theta: Any) -> Any:
        seen.append(sums.longest)
        return honest(sums, theta)

    with pytest.MonkeyPatch.context() as patch, scripted(zero):
        patch.setattr(SoftmaxSums, "gradient", watched)
        GradientDescent(steps=2).plan(problem(), PRICE).run(examples(persons), silent)
    assert seen == [longest] * 2


def test_steps_are_longer_for_more_persons_and_for_more_classes_and_never_too_long() -> None:
    ten, three, two = problem(10), problem(3), problem(2)
    lengths = [gradient_descent._rate(ten, signal) for signal in (0.0, 1.0, 4.0, 8.0, 1e9)]
    assert lengths == [0.5, 0.5, 2.0, 4.0, 4.0]
    assert gradient_descent._rate(three, 8.0) == pytest.approx(1.2)
    assert [gradient_descent._rate(two, signal) for signal in (0.0, 8.0, 1e9)] == pytest.approx([4.0, 6.4, 8.0])


def test_half_the_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = gradient_descent._variance
    monkeypatch.setattr(gradient_descent, "_variance", lambda square, rho: honest(square, rho) // 4)
    with pytest.raises(AssertionError):
        test_the_noise_that_is_drawn_proves_what_was_asked(3, 1, 30)


def test_one_step_in_one_dimension_has_the_density_ratio_that_is_charged() -> None:
    """Two laws on the integers, by their probabilities: a person alone against an empty table."""
    price, variance = Price.alone("0.5", "1e-5"), 0.0
    rho = float(price.rho or 0)
    variance = float(gradient_descent._variance(PERSON**2, price.rho or Fraction(1))) / PERSON**2
    grid = np.arange(-40.0, 40.0, 1 / 512) * variance**0.5
    shifted, still = (np.exp(-((grid - shift) ** 2) / (2 * variance)) for shift in (1.0, 0.0))
    shifted, still = shifted / shifted.sum(), still / still.sum()
    excess = np.maximum(shifted - np.exp(0.5) * still, 0.0).sum()
    assert excess <= 1e-5 * (1 + 1e-3)
    assert 1 / (2 * variance) <= rho


@pytest.mark.parametrize("seed", range(20))
def test_a_person_with_several_rows_stays_within_the_sensitivity(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 9))
    features = random.normal(size=(count, 4))
    features = np.trunc(features * (SCALE / np.linalg.norm(features, axis=1, keepdims=True)))
    loss = HuberHinge() if seed % 2 else Logistic()
    rows = {FEATURES: features, SIGNS: random.choice([-1, 1], count)}
    sums = MarginSums(MemoryExamples(rows, np.full(count, WHOLE // count)), loss, 4)
    moved = sums.gradient(np.rint(random.normal(size=(1, 4)) * 2.0**GRID * random.choice([0.1, 100.0])))
    assert sum(int(value) ** 2 for value in moved.ravel()) <= sums.l2_squared


def test_the_whole_run_is_private_on_hostile_tables_with_several_rows_for_a_person() -> None:
    found = findings(HOSTILE, ROWS, person="who", limit=1)
    assert not found, found[0].words


def test_the_replay_catches_a_gradient_that_counts_rows_and_not_persons(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SoftmaxSums.gradient
    monkeypatch.setattr(SoftmaxSums, "gradient", lambda sums, theta: 3 * honest(sums, theta))
    assert findings(HOSTILE, ROWS, person="who", limit=1)


@pytest.mark.parametrize(("classes", "signal"), [(2, 0.0), (3, 0.0), (3, 1000.0)])
def test_what_a_row_adds_to_a_gradient_depends_on_no_other_row(classes: int, signal: float) -> None:
    """An exponential that has another last bit in another place of an array would move rows of other persons."""
    many, chosen = examples(331, classes), FeatureMap(COLUMNS, "hats")
    sums = gradient_descent._sums(many, problem(classes), chosen, signal)
    theta = np.rint(
        np.random.default_rng(3).normal(size=(1 if classes == 2 else classes, chosen.size)) * 2.0**GRID
    )

    def alone(row: int) -> Any:
        codes = {name: column[row : row + 1] for name, column in many.codes.items()}
        one = MemoryExamples(codes, many.weights[row : row + 1])
        return gradient_descent._sums(one, problem(classes), chosen, signal).gradient(theta)

    assert np.array_equal(sums.gradient(theta), sum(alone(row) for row in range(331)))


def test_batches_do_not_change_the_model() -> None:
    made = []
    for size in (8192, 13, 1):
        with noise.deterministic(4):
            made.append(plan("auto", problem(), PRICE).run(examples(120, size=size), silent))
    assert made[0] == made[1] == made[2]
    assert made[0]["test_bits"]


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("classes", [2, 3])
def test_few_rows_or_none_give_a_model_of_the_same_shape(count: int, classes: int) -> None:
    state = GradientDescent(steps=4).plan(problem(classes), PRICE).run(examples(count, classes), silent)
    taken = FeatureMap.from_json(state["map"])
    assert np.shape(state["theta"]) == ((taken.size,) if classes == 2 else (classes, taken.size))
    assert json.loads(json.dumps(state)) == state


def test_a_class_without_rows_and_a_constant_column_are_no_exception() -> None:
    codes = {"age": np.full(50, 7), "city": np.full(50, -1), "kind": np.full(50, 2)}
    state = plan("auto", problem(), PRICE).run(MemoryExamples(codes, np.full(50, WHOLE, np.int16)), silent)
    assert len(state["theta"]) == 3


def test_pure_privacy_is_refused_with_the_methods_that_have_it() -> None:
    with pytest.raises(ParameterError, match="objective_perturbation"):
        plan("gradient_descent", problem(2), Price.alone(1))


def test_a_model_learns_and_comes_back_from_json() -> None:
    age = np.arange(6000) % 100
    estimator = LogisticRegression(
        epsilon=8, delta="1e-6", columns={"age": Integer(0, 99)}, classes=["low", "middle", "high"]
    )
    model = estimator.fit({"age": age}, np.array(["low", "middle", "high"])[age // 34])
    assert model.predict({"age": [5, 50, 95]}).tolist() == ["low", "middle", "high"]
    again = LogisticRegression.from_json(json.loads(json.dumps(model.to_json())))
    assert (again.coef_ == model.coef_).all()
    assert again.label.notes[0].startswith("Noisy gradient descent: 35 steps")


# -- sampled batches ----------------------------------------------------------------------------------------


def test_sampled_batches_are_accounted_by_the_plan() -> None:
    method = GradientDescent(steps=20, batch="1/10")
    counted, *steps = _sampled_variances(method)
    real = [Gaussian(Fraction(int(((v - 9) / PERSON**2) ** Fraction(1, 2) * 2**20), 2**20)) for v in steps]
    assert len({*real}) == 1
    beside = Gaussian(Fraction(int(((counted - 9) / WHOLE**2) ** Fraction(1, 2) * 2**20), 2**20))
    losses = [PoissonSubsampled(real[0], Fraction(1, 10)) * 20, beside]
    assert plans.delta(losses, 1) <= 1e-6
    assert plans.delta(losses, "0.97") > 1e-6, "the budget is used"
    whole, *_ = variances(GradientDescent(steps=20), 2)[1:]
    assert steps[0] < whole, "sampling is credited"


def _sampled_variances(method: GradientDescent) -> list[Fraction]:
    asked: list[Asked] = []

    def zero(one: Asked) -> int:
        asked.append(one)
        return 0

    with scripted(zero):
        method.plan(problem(2), PRICE).run(examples(30, 2), silent)
    coins = [one for one in asked if one.law == "bernoulli"]
    assert len(coins) == 30 * (method.steps or 0), "every person has a coin in every step"
    assert {one.parameter for one in coins} == {Fraction(1, 10)}
    drawn = [
        one.parameter for one in asked if one.law == "discrete_gaussian" and isinstance(one.parameter, Fraction)
    ]
    width = (len(drawn) - 1) // (method.steps or 1)
    return [drawn[0], *drawn[1::width]]


@pytest.mark.parametrize("task", ["several", "vault"])
def test_sampled_batches_are_refused_where_their_proof_does_not_hold(task: str) -> None:
    given: Any = problem(2)
    price = PRICE
    if task == "several":
        given = Problem(Task(COLUMNS, "kind", Boolean(), several=True), Logistic(), given.maps)
    else:
        price = Price(PRICE.epsilon, PRICE.delta, PRICE.rho, PRICE.rho)
    with pytest.raises(ParameterError):
        GradientDescent(batch="0.1").plan(given, price)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"rate": -1}, {"batch": 2}, {"batch": 0}, {"steps": 10**6}])
def test_parameters_without_a_meaning_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        GradientDescent(**wrong)
