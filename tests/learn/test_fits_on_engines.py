"""The same noise makes the same model on every engine, to the last digit: all that a fit adds up is exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.engines.engine import Engine
from discreet.engines.examples import WHOLE, Examples, MemoryExamples
from discreet.learn import methods
from discreet.learn.methods.gradient_descent import GradientDescent
from discreet.learn.methods.margin_losses import Logistic, MarginLoss
from discreet.learn.methods.problem import Problem, feature_maps
from discreet.learn.price import Price
from discreet.learn.training import Task, silent
from tests.engines.test_engines import ENGINES, HOSTILE, PEOPLE, Load

MARKS = {name: [pytest.mark.xdist_group(name)] for name in ("postgres", "spark")}
FEATURES = ("age", "income", "city")
PROVEN, PURE = Price.alone(2, "1e-6"), Price.alone(2)

FITS: dict[str, tuple[str, MarginLoss | None, Any, Price]] = {
    "objective perturbation": ("insured", Logistic(), "objective_perturbation", PROVEN),
    "softmax objective perturbation, pure": ("town", None, "objective_perturbation", PURE),
    "noisy gradient descent": ("insured", Logistic(), GradientDescent(steps=2), PROVEN),
    "posterior sampling, bounded likelihood": ("insured", Logistic(), "posterior_sampling", PURE),
}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=MARKS.get(name, [])) for name in ENGINES])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with ENGINES[request.param](request) as load:
        yield _loaded(load)


def _loaded(load: Load) -> Engine:
    return load(HOSTILE)


def _here(names: tuple[str, ...]) -> MemoryExamples:
    """Return the same rows in memory, each person's weights shared out one by one."""
    whole = {row["person"]: sum(r["w"] for r in HOSTILE if r["person"] == row["person"]) for row in HOSTILE}
    codes = {
        name: np.array([-1 if (code := row[PEOPLE.sealed_name(name)]) is None else code for row in HOSTILE])
        for name in names
    }
    weights = [WHOLE * row["w"] // max(whole[row["person"]], 1) for row in HOSTILE]
    return MemoryExamples(codes, np.array(weights, np.int64))


def _fitted(rows: Examples, fit: str) -> dict[str, Any]:
    target, loss, method, price = FITS[fit]
    task = Task({name: PEOPLE.columns[name] for name in FEATURES}, target, PEOPLE.columns[target], several=True)
    training = methods.plan(method, Problem(task, loss, feature_maps(task, "linear")), price)
    with noise.deterministic(7):
        return training.run(rows, silent)


@pytest.mark.parametrize("fit", FITS)
def test_the_same_noise_makes_the_same_model_to_the_last_digit(engine: Engine, fit: str) -> None:
    names = (*FEATURES, FITS[fit][0])
    rows = engine.examples(engine.rows.selection({name: PEOPLE.sealed_name(name) for name in names}))
    found = _fitted(rows, fit)
    assert found == _fitted(_here(names), fit)
    assert found["test_bits"]
