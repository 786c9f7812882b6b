"""Objective perturbation as it is run: the noise that is drawn proves what was asked, and what is charged."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.methods import objective_perturbation as method
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.methods.solver import TOLERANCE
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger.costs import cost
from discreet.noise.testing import Asked, scripted
from discreet.privacy.theorems.learning import objective_perturbation as theorem
from discreet.privacy.theorems.learning import pure_noise
from discreet.schema import Boolean, Category, Column, Integer

COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["Bergen", "Oslo"])}
LOSSES = [Logistic(), Logistic(shift=2.0), Logistic(0.5, shift=1.0), HuberHinge()]
STEP, GRID = Fraction(1, 2**method.STEP), Fraction(1, 2**method.GRID)


def problem(
    loss: MarginLoss, *, several: bool = False, regularisation: float | None = None, widens: bool = False
) -> Problem:
    task = Task(COLUMNS, "ill", Boolean(), several=several)
    return Problem(task, loss, feature_maps(task, "auto"), regularisation, widens=widens)


def examples(count: int, size: int = 8192) -> MemoryExamples:
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(-1, column.levels or 1, count) for name, column in COLUMNS.items()}
    codes["ill"] = rng.integers(-1, 2, count)
    return MemoryExamples(codes, np.full(count, WHOLE, np.int16), size)


def drawn(given: Problem, price: Price, count: int = 30) -> tuple[dict[str, Fraction], FeatureMap]:
    """Return the parameter of the noise on the count, in the objective and on the output, and the features.

    The script draws 0 for all of it, so that a run is exact: it shows which noise is asked for, in which order.
    """
    asked: list[Asked] = []

    def zero(one: Asked) -> int:
        asked.append(one)
        return 0

    with scripted(zero):
        state = method.plan(given, price).run(examples(count), silent)
    feature_map = FeatureMap.from_json(state["map"])
    parameters = [one.parameter for one in asked if isinstance(one.parameter, Fraction)]
    assert len(parameters) == len(asked) == 1 + 2 * feature_map.size
    inside, output = parameters[1 : 1 + feature_map.size], parameters[1 + feature_map.size :]
    assert len({*inside}) == len({*output}) == 1
    return {"count": parameters[0], "inside": inside[0], "output": output[0]}, feature_map


def least_lam(given: Problem, price: Price) -> Fraction:
    """Return the least λ that a run may choose, from the definition: 2·R²·curvature/ε."""
    law = given.loss.law if given.loss is not None else None
    assert law is not None
    return 2 * law.curvature * (1 if law.saturates else 4) / price.epsilon


def moved(size: int, lam: Fraction, away: float, *, l1: bool) -> float:
    """Return how far apart releases with one ideal minimiser may be, in steps of the output's grid."""
    distance = 2 * (2 * TOLERANCE + away) / float(lam * GRID)
    return math.sqrt(size) * distance + size if l1 else distance + math.sqrt(size)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("0.1", "1e-9")])
def test_the_gaussian_noise_that_is_drawn_proves_what_was_asked(
    loss: MarginLoss, epsilon: str, delta: str, several: bool
) -> None:
    price, given = Price.alone(epsilon, delta), problem(loss, several=several)
    found, feature_map = drawn(given, price)
    lam = least_lam(given, price)
    sigma = Fraction(math.sqrt(found["inside"] - 9)) * STEP
    away = 40 * float(STEP) * math.sqrt(feature_map.size)  # farther with a probability below 1e-35
    other = WHOLE**2 / float(found["count"] - 9)
    other += moved(feature_map.size, lam, away, l1=False) ** 2 / float(found["output"] - 9)
    claimed = theorem.delta(
        epsilon,
        sigma=sigma,
        lam=lam,
        loss=loss.law,
        rows="several" if several else "one",
        gaussian_mu=Fraction(math.sqrt(other)),
    )
    assert claimed <= float(Fraction(delta))
    weaker = theorem.delta(
        epsilon, sigma=sigma * Fraction(97, 100), lam=lam, loss=loss.law, rows="one", gaussian_mu=0
    )
    assert weaker > float(Fraction(delta)), "hardly any noise is wasted"


@pytest.mark.parametrize("price", [Price.alone(1, "1e-5"), Price.alone(1)], ids=["gaussian", "pure"])
def test_a_margin_by_a_noisy_count_changes_no_noise_and_no_charge(price: Price) -> None:
    plain, wide = problem(Logistic()), problem(Logistic(), widens=True)
    assert drawn(plain, price) == drawn(wide, price)
    assert list(method.plan(plain, price).losses) == list(method.plan(wide, price).losses)  # type: ignore[arg-type]


def test_the_margin_follows_from_the_noisy_count_alone() -> None:
    """One table, two counts, and two tables with one noisy count: a margin by the rows themselves would leak."""
    training = method.plan(problem(Logistic(), widens=True), Price.alone(1, "1e-5"))

    def margin(rows: int, persons: int) -> str:
        script = iter([(persons - rows) * WHOLE])
        with scripted(lambda _: next(script, 0)):
            state = training.run(examples(rows), silent)
        assert state["count"] == persons
        return f"{state['facts']['Margin']}, {state['facts']['Regularisation']}"

    assert margin(30, 100_000) == margin(5, 100_000) != margin(30, 30)
    assert margin(30, 30) == margin(40, 30)
    assert margin(30, 30).startswith("2, by a noisy number of persons")


def test_the_ledger_is_charged_what_the_noise_is_worth_as_gaussian_dp() -> None:
    price, given = Price.alone(1, "1e-5"), problem(Logistic())
    found, _ = drawn(given, price)
    sigma = Fraction(math.sqrt(found["inside"] - 9)) * STEP
    mu = theorem.gdp(sigma=sigma, lam=least_lam(given, price))
    beside = WHOLE**2 / float(2 * found["count"])
    charged = float(cost(method.plan(given, price).losses).rho)
    assert mu**2 / 2 + beside <= charged <= (mu**2 / 2 + beside) * 1.01


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_laplace_noise_that_is_drawn_proves_pure_epsilon(loss: MarginLoss) -> None:
    price, given = Price.alone("0.5"), problem(loss)
    found, feature_map = drawn(given, price)
    counted, output = WHOLE / found["count"], 0.0
    size = feature_map.size
    rest = price.epsilon * Fraction(197, 200)
    lam = least_lam(given, Price.alone(rest))
    inside = pure_noise.pure_epsilon(
        scale=found["inside"] * STEP,
        lam=lam,
        norm=feature_map.l1,
        loss=loss.law,
        grid=STEP,
        dimension=size,
    )
    output = moved(size, lam, float(STEP) * math.sqrt(size) / 2, l1=True) / float(found["output"])
    total = float(counted + inside) + output
    assert 0.99 * 0.5 <= total <= 0.5
    assert cost(method.plan(given, price).losses).epsilon == price.epsilon


def test_the_noise_on_the_output_pays_for_the_grid_of_the_noise_in_the_objective() -> None:
    """With a small λ that grid is more than a step of the output: √v·√(2ρ) is at least the whole distance."""
    price = Price.alone(100, "1e-5")
    given = problem(Logistic(), regularisation=1.0)
    training = method.plan(given, price)
    _, output, _ = (cost(loss).rho for loss in training.losses)  # type: ignore[union-attr]
    size, lam = max(one.size for one in given.maps), Fraction(10001, 10000) / price.epsilon
    reach = 3 * math.sqrt(2 * math.log(1e40))  # of one coordinate, but for a chance below 1e-40
    paid = (training.noise[1].spread or 0) / float(GRID) * math.sqrt(2 * output)
    assert paid >= moved(size, lam, float(STEP) * reach * math.sqrt(size), l1=False)


def test_a_share_of_a_budget_is_not_exceeded() -> None:
    price = Price(Fraction(1), Fraction(1, 10**6), Fraction(1, 50), Fraction(1, 50), proves=False)
    assert cost(method.plan(problem(Logistic()), price).losses).rho <= Fraction(1, 50)


def test_a_count_is_made_only_if_it_decides_something() -> None:
    task = Task(COLUMNS, "ill", Boolean())
    fixed = Problem(task, Logistic(), feature_maps(task, "hats"), 2.0)
    free = Problem(task, Logistic(), feature_maps(task, "hats"))
    assert len(method.plan(fixed, Price.alone(1)).noise) < len(method.plan(free, Price.alone(1)).noise)


def test_no_batch_and_no_order_changes_the_model() -> None:
    given, price = problem(Logistic()), Price.alone(1, "1e-6")
    made = []
    for size in (8192, 13, 1):
        with noise.deterministic(4):
            made.append(method.plan(given, price).run(examples(120, size), silent))
    assert made[0] == made[1] == made[2]
    assert made[0]["test_bits"]


@pytest.mark.parametrize("price", [Price.alone(1), Price.alone(1, "1e-6")], ids=["pure", "gaussian"])
@pytest.mark.parametrize("count", [0, 1])
def test_tables_with_hardly_a_row_are_fitted_like_any_other(price: Price, count: int) -> None:
    state = method.plan(problem(Logistic()), price).run(examples(count), silent)
    assert len(state["theta"]) == FeatureMap.from_json(state["map"]).size


def test_more_than_two_classes_are_for_another_method() -> None:
    task = Task(COLUMNS, "kind", Category(["a", "b", "c"]))
    with pytest.raises(ParameterError, match="two classes"):
        method.plan(Problem(task, None, feature_maps(task, "auto")), Price.alone(1))


def test_the_coefficients_are_those_of_the_minimum() -> None:
    """Without noise, which a script takes away: scikit-learn finds the same, to the tolerance of both."""
    linear_model: Any = pytest.importorskip("sklearn.linear_model")
    task = Task(COLUMNS, "ill", Boolean())
    features = FeatureMap(COLUMNS, "linear")
    given = Problem(task, Logistic(), (features,), 2.0)
    rows = examples(500)
    with scripted(lambda _: 0):
        state = method.plan(given, Price.alone(1)).run(rows, silent)
    lam = float(least_lam(given, Price.alone(Fraction(199, 200)))) * (1 + 1e-4)
    known = rows.codes["ill"] >= 0
    x = features.rows({name: rows.codes[name] for name in COLUMNS})[known] / 4096
    plain = linear_model.LogisticRegression(C=1 / lam, fit_intercept=False, tol=1e-10, max_iter=10_000)
    plain.fit(x, rows.codes["ill"][known])
    assert np.allclose(np.array(state["theta"]) * float(GRID), plain.coef_[0], atol=1e-4)
