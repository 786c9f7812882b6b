"""No neighbour of a hostile table shows in a fit: values, weights, shapes and exceptions are those of the table.

The tables that a replay tries hold missing values, NaN, infinities, extremes of integers, unseen categories, ids
that look alike, persons with many rows, one person, and none.
"""

from __future__ import annotations

from typing import Any

import pytest

from discreet.audit.replay.replay import findings
from discreet.learn import (
    BoostedHistograms,
    BoostedStumps,
    CategoricalNB,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    PrivateSearch,
    Ridge,
)
from discreet.learn.methods.gradient_descent import GradientDescent
from discreet.learn.price import Price
from tests.learn import hostile_rows
from tests.learn.hostile_rows import fitted

PROVEN, PURE = Price.alone(20, "1e-6"), Price.alone(20)
TUNED = LogisticRegression(method="output_perturbation", feature_map="linear")

# Every row is a fit by another method; a target that is missing, constant or of one class is among the tables.
MODELS = {
    "descent": (LogisticRegression(method=GradientDescent(steps=3)), PROVEN, "ill"),
    "descent with three classes": (LogisticRegression(method=GradientDescent(steps=3)), PROVEN, "kind"),
    "output": (LogisticRegression(method="output_perturbation"), PROVEN, "ill"),
    "pure output": (LogisticRegression(method="output_perturbation"), PURE, "ill"),
    "regression": (LinearRegression(), PROVEN, "age"),
    "pure regression": (LinearRegression(), PURE, "age"),
    "ridge": (Ridge(), PROVEN, "age"),
    "counts": (CategoricalNB(), PROVEN, "kind"),
    "pure counts": (CategoricalNB(), PURE, "kind"),
    "histograms": (BoostedHistograms(epochs=1), PROVEN, "ill"),
    "pure histograms": (BoostedHistograms(epochs=1), PURE, "ill"),
    "stumps": (BoostedStumps(rounds=2), PURE, "ill"),
    "search": (PrivateSearch(TUNED, {"regularisation": [10, 50]}, candidates=2), PURE, "ill"),
}


QUICK = ("pure counts", "regression")
"""The other ones take 5 to 10 seconds each; descent, output and boosting have quick tests in tests/learn."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in MODELS]
)
def test_no_neighbour_of_a_hostile_table_shows_in_a_fit(name: str) -> None:
    model, price, target = MODELS[name]
    found = findings(fitted(model, price, target=target), hostile_rows.ROWS, person="who", limit=2, seed=5)
    assert not found, found[0].words


def test_a_category_has_no_mean_on_any_table() -> None:
    """A refusal follows from the schema alone, so it is the same on every neighbour."""
    run = fitted(GaussianNB(), PROVEN, target="ill")
    assert not findings(run, hostile_rows.ROWS, person="who", limit=1, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["counts", "regression"])
def test_the_replay_catches_weights_that_are_not_shared(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person with two rows counts twice."""
    model, price, target = MODELS[name]

    def alone(persons: list[Any]) -> dict[Any, int]:
        return dict.fromkeys(persons, 1)

    monkeypatch.setattr(hostile_rows, "Counter", alone)
    assert findings(fitted(model, price, target=target), hostile_rows.ROWS, person="who", limit=20, seed=5)
