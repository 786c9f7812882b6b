"""A sample of the rows leads to the minimum over all of them, and never decides where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn.methods.margin_losses import MarginLoss
from discreet.learn.methods.minimum import minimum
from discreet.learn.methods.objective_perturbation import sums_over
from discreet.learn.methods.solver import TOLERANCE
from tests.learn.methods.test_solver import LOSSES, MAPS, TABLES


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("persons", [None, -500.0, 1e6])
@pytest.mark.parametrize("kind", ["hats", "linear"])
def test_the_tolerance_is_reached_over_all_rows_whatever_the_count_says(
    name: str, loss: MarginLoss, persons: float | None, kind: str
) -> None:
    codes, feature_map, lam = TABLES[name], MAPS[kind], 0.5
    codes = {column: values[:20_000] for column, values in codes.items()}
    examples = MemoryExamples(codes, np.full(len(codes["y"]), WHOLE, np.int16))
    sums = sums_over(examples, loss, feature_map, "y")
    tilt: Any = np.random.default_rng(2).normal(0, 20, feature_map.size)
    found = minimum(sums, lam, tilt, persons)
    assert np.linalg.norm(sums.gradient(found) + lam * found + tilt) <= TOLERANCE
