"""A minimiser with all its digits names its data; on a grid, with noise, it loses what the theorem allows."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from discreet.audit.attacks import exact
from discreet.audit.museum import learning


def test_neighbours_share_no_value_at_all() -> None:
    laws = [exact.law(partial(learning.bare, labels), unexplored="1e-3") for labels in ((1, 1, -1), (1, -1))]
    assert not set(laws[0].chances) & set(laws[1].chances)


def test_the_minimum_is_where_the_objective_is_least() -> None:
    labels, b = [1, 1, -1], 0.25

    def objective(theta: float) -> float:
        losses = sum(math.log1p(math.exp(-y * theta)) for y in labels)
        return losses + learning.LAM / 2 * theta**2 + b * theta

    found = learning.minimum(labels, b)
    assert objective(found) < min(objective(found - 1e-3), objective(found + 1e-3))


def test_the_mended_one_loses_much_of_what_it_claims() -> None:
    verdict = learning.DISCRETE_SLOPE.mended()
    assert verdict.claimed == 3 == Fraction(1) + learning.STEP + learning.OUTPUT
    assert verdict.found is not None
    assert 0.5 < verdict.found <= 3
