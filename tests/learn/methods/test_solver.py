"""The solver reaches its tolerance on hostile data, because the noise is made for that tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.errors import DiscreetError
from discreet.learn import FeatureMap
from discreet.learn.methods.gradients import Sums, signed
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.learn.methods.solver import TOLERANCE, minimise
from discreet.schema import Boolean, Integer

MAPS = {kind: FeatureMap({"a": Integer(0, 999), "b": Boolean()}, kind) for kind in ("hats", "linear")}
RNG = np.random.default_rng(0)


def table(a: Any, b: Any, y: Any) -> dict[str, Any]:
    return {"a": np.asarray(a), "b": np.asarray(b), "y": np.asarray(y)}


LOSSES: list[MarginLoss] = [Logistic(), Logistic(0.1, shift=1.0), HuberHinge(0.1)]
NONE = np.zeros(0, int)
TABLES = {
    "no rows": table(NONE, NONE, NONE),
    "one row": table([500], [1], [1]),
    "one class": table(RNG.integers(0, 1000, 3000), RNG.integers(0, 2, 3000), np.ones(3000, int)),
    "constant columns": table(np.full(3000, 7), np.zeros(3000, int), RNG.integers(0, 2, 3000)),
    "duplicated rows": table(np.repeat([3, 990], 5000), np.repeat([0, 1], 5000), np.repeat([0, 1], 5000)),
    "all missing": table(np.full(100, -1), np.full(100, -1), RNG.integers(-1, 2, 100)),
    "separable": table(np.arange(1000), np.zeros(1000, int), (np.arange(1000) > 500).astype(int)),
    "many rows": table(RNG.integers(0, 1000, 10**5), RNG.integers(0, 2, 10**5), RNG.integers(0, 2, 10**5)),
}


@pytest.mark.parametrize(
    "loss", [Logistic(), Logistic(0.1, shift=1.0), HuberHinge(0.1)], ids=lambda loss: loss.name
)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", MAPS)
def test_the_tolerance_is_reached(name: str, kind: str, loss: MarginLoss) -> None:
    codes, feature_map, lam = TABLES[name], MAPS[kind], 0.05
    examples = MemoryExamples(codes, np.full(len(codes["y"]), WHOLE, np.int16))
    sums = Sums(signed(examples, feature_map, "y"), loss, feature_map.size)
    tilt = np.random.default_rng(1).normal(0, 20, feature_map.size)

    def gradient(theta: Any) -> Any:
        return sums.gradient(theta) + lam * theta + tilt

    heard: list[float] = []
    found = minimise(
        gradient,
        lambda at: sums.hessian(at) + lam * np.eye(feature_map.size),
        np.zeros(feature_map.size),
        progress=heard.append,
    )
    assert np.linalg.norm(gradient(found)) <= TOLERANCE
    assert all(0 <= done <= 1 for done in heard)


def test_a_start_that_is_good_enough_is_kept() -> None:
    start = np.array([0.5])
    assert minimise(lambda at: 2 * at - 1, lambda at: np.eye(1) * 2, start) is start


def test_what_cannot_be_minimised_is_an_error_and_not_a_worse_point() -> None:
    """A point above the tolerance would need more noise than was added."""
    with pytest.raises(DiscreetError, match="did not reach its tolerance"):
        minimise(lambda at: np.ones(1), lambda at: np.eye(1), np.zeros(1))
