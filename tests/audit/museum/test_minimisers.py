"""Each exhibit of minimisers loses what its story says, and no more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.audit.museum import minimisers
from discreet.audit.museum.minimisers import Objective
from discreet.learn.methods.solver import TOLERANCE
from discreet.noise.testing import scripted


def test_a_release_is_the_minimiser_of_its_objective() -> None:
    objective = Objective(1.0, lambda n: [2.0, 3.0], intercept=True)
    rows = [(0.5, 1), (-1.0, -1), (0.25, 1)]
    with scripted(lambda asked: minimisers.FINE // 4):
        theta = np.array(objective.release(rows))
    signed = np.array([[x * y, y] for x, y in rows])
    slope = -signed.T @ (1 / (1 + np.exp(signed @ theta))) + np.array([2.0, 3.0]) * theta + 0.25
    assert float(np.linalg.norm(slope)) <= TOLERANCE


def test_an_intercept_without_a_regulariser_costs_its_determinant() -> None:
    """At θ = 0 one row bends an intercept of λ = 0.02 by 1/4: ln(1 + 0.25/0.02) less half of the slope's ε."""
    found = minimisers.UNREGULARISED_INTERCEPT.broken().found
    assert found is not None
    assert found > math.log(1 + 0.49 / 8 + 0.25 / 0.02) - 0.5


def test_stopping_early_puts_neighbours_on_opposite_sides() -> None:
    """The points are 0.469 and 2.508, in units of 1/λ: more than one apart, and less than 1 + 2τ."""
    found = minimisers.TOLERANCE_FOR_FREE.broken().found
    assert found == pytest.approx(2.039)
    assert found is not None
    assert found <= 1 + 2 * minimisers.STOP


def test_the_wrong_sign_has_two_modes_and_the_right_one_has_one() -> None:
    assert _modes(minimisers.CROWD, sign=1) == 1
    assert _modes(minimisers.CROWD, sign=-1) == 2


def _modes(rows: minimisers.Points, *, sign: int) -> int:
    gaps: list[tuple[float, ...]] = []

    def listen(asked: object) -> int:
        gaps.append(tuple(map(float, asked.parameter)))  # type: ignore[attr-defined]
        return 0

    with scripted(listen):
        minimisers.drawn(rows, sign=sign)
    [listed] = gaps
    inside = zip(listed[:-2], listed[1:-1], listed[2:], strict=True)
    return sum(low > here < high for low, here, high in inside)
