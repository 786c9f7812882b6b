"""Learn who cycles to work, and draw what the model has learnt: docs/tutorials/learning.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import discreet as dp
from discreet import learn
from discreet.schema import Column

COLUMNS: dict[str, Column] = {
    "age": dp.Integer(16, 90, missing=16),
    "km": dp.Real(0, 50, step="0.1", missing=0),
    "town": dp.Category(["Bergen", "Oslo", "Tromsø"], missing="Oslo"),
}


def people(count: int = 20_000) -> tuple[dict[str, Any], Any]:
    """Invent people: their columns, and whether each of them cycles."""
    dice = np.random.default_rng(1)
    age, km = dice.integers(16, 91, count), np.minimum(dice.exponential(8, count), 50).round(1)
    town = dice.choice(["Bergen", "Oslo", "Tromsø"], count, p=[0.3, 0.5, 0.2])
    liking = 2.5 - ((age - 35) / 18) ** 2 - km / 5 + 0.9 * (town == "Oslo") - 1.1 * (town == "Tromsø")
    return {"age": age, "km": km, "town": town}, dice.random(count) < 1 / (1 + np.exp(-liking))


def chart() -> Any:
    """Draw the shape functions of a model at ε = 1."""
    estimator = learn.LogisticRegression(epsilon=1, delta="1e-6", columns=COLUMNS, classes=[False, True])
    return replace(estimator.fit(*people()).shapes(), title="cycles, by LogisticRegression").plot()


if __name__ == "__main__":
    frame, cycles = people()
    model = learn.LogisticRegression(epsilon=1, delta="1e-6", columns=COLUMNS, classes=[False, True])
    print(model.fit(frame, cycles).shapes())
