"""Output perturbation: how far one person moves the minimiser, the noise that hides it, and hostile rows."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.audit.replay.replay import findings
from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.linear_classifier import LogisticRegression
from discreet.learn.methods import plan
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.learn.methods.output_perturbation import GRID, distance
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from discreet.ledger.costs import cost
from discreet.noise.testing import Asked, scripted
from discreet.privacy.pld.normal import gaussian_delta
from discreet.schema import Boolean, Category, Column, Integer
from tests.learn.hostile_rows import ROWS, fitted

COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["Bergen", "Oslo"])}
PRICE = Price.alone(1, "1e-6")


def problem(loss: MarginLoss | None = None, factor: float | None = None) -> Problem:
    task = Task(COLUMNS, "ill", Boolean())
    return Problem(task, loss or Logistic(), feature_maps(task, "hats"), factor)


def examples(count: int, seed: int = 1, size: int = 8192) -> MemoryExamples:
    random = np.random.default_rng(seed)
    codes = {name: random.integers(-1, column.levels or 1, count) for name, column in COLUMNS.items()}
    return MemoryExamples({**codes, "ill": random.integers(-1, 2, count)}, np.full(count, WHOLE, np.int16), size)


def exact_minimiser(rows: MemoryExamples, loss: MarginLoss) -> tuple[list[int], list[Asked]]:
    """Return the coefficients without noise, and the noise that would have been drawn."""
    asked: list[Asked] = []

    def zero(one: Asked) -> int:
        asked.append(one)
        return 0

    with scripted(zero):
        state = plan("output_perturbation", problem(loss, factor=1.5), PRICE).run(rows, silent)
    return state["theta"], asked


@pytest.mark.parametrize("loss", [Logistic(), Logistic(0.5, shift=1.0), HuberHinge()])
@pytest.mark.parametrize("several", [1, 3])
def test_one_person_moves_the_minimiser_by_no_more_than_the_sensitivity(loss: MarginLoss, several: int) -> None:
    size = FeatureMap(COLUMNS).size
    largest = 0.0
    for seed in range(4):
        rows = examples(7 + several, seed)
        weights = np.where(np.arange(7 + several) < 7, WHOLE, WHOLE // several).astype(np.int16)
        rows.codes["ill"][7:] = seed % 2
        with_person, asked = exact_minimiser(MemoryExamples(rows.codes, weights), loss)
        without, _ = exact_minimiser(
            MemoryExamples(rows.codes, np.where(np.arange(len(weights)) < 7, weights, 0)), loss
        )
        moved = math.sqrt(sum((a - b) ** 2 for a, b in zip(with_person, without, strict=True)))
        assert moved <= distance(size, 1.5)
        largest = max(largest, moved)
        drawn = asked[-1].parameter
        assert isinstance(drawn, Fraction)
        left = Fraction(99, 100) * (PRICE.rho or 0)
        assert distance(size, 1.5) ** 2 / (drawn - 9) <= 2 * left
    assert largest > 0.1 * distance(size, 1.5), "the test has neighbours that matter"


def test_the_sensitivity_is_nearly_reached_so_half_of_it_would_be_wrong() -> None:
    """One row far from its corner pulls with slope 1: a model of nothing else moves by 1/λ."""
    loss = Logistic(0.05, shift=30.0)
    one = MemoryExamples(
        {"age": np.array([4]), "city": np.array([1]), "ill": np.array([1])}, np.array([WHOLE], np.int16)
    )
    none = MemoryExamples(one.codes, np.array([0], np.int16))
    moved = np.subtract(exact_minimiser(one, loss)[0], exact_minimiser(none, loss)[0])
    assert np.linalg.norm(moved) > 0.99 * distance(FeatureMap(COLUMNS).size, 1.5)


def test_the_charge_is_within_the_price_and_proves_it() -> None:
    training = plan("output_perturbation", problem(), PRICE)
    charged = cost(training.losses)
    assert charged.rho <= (PRICE.rho or 0)
    assert gaussian_delta(math.sqrt(2 * float(charged.rho)), 1.0)[1] <= 1e-6
    assert cost(plan("output_perturbation", problem(), Price.alone(1)).losses).epsilon == 1


@pytest.mark.parametrize("price", [Price.alone(20, "1e-6"), Price.alone(20)])
def test_the_whole_run_is_private_on_hostile_tables(price: Price) -> None:
    run = fitted(LogisticRegression(method="output_perturbation"), price, target="ill")
    found = findings(run, ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("price", [PRICE, Price.alone(1)])
def test_few_rows_or_none_give_a_model_of_the_same_shape(count: int, price: Price) -> None:
    state = plan("output_perturbation", problem(), price).run(examples(count), silent)
    assert len(state["theta"]) == FeatureMap(COLUMNS).size
    assert json.loads(json.dumps(state)) == state
    assert state["grid"] == GRID


def test_batches_do_not_change_the_model() -> None:
    made = []
    for size in (8192, 5):
        with noise.deterministic(4):
            made.append(plan("output_perturbation", problem(), PRICE).run(examples(60, size=size), silent))
    assert made[0] == made[1]
    assert made[0]["test_bits"]


def test_more_classes_are_refused_with_the_method_that_has_them() -> None:
    task = Task(COLUMNS, "kind", Category(["a", "b", "c"]))
    with pytest.raises(ParameterError, match="gradient_descent"):
        plan("output_perturbation", Problem(task, None, feature_maps(task, "auto")), PRICE)
