"""Test means on a grid: exact laws, no bias, and the variances of the papers as steps shrink."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import epsilon_above
from discreet.local.primitives.randomness import SCALE
from discreet.local.protocols.numeric.means import Duchi, Hybrid, Piecewise
from discreet.local.protocols.numeric.piecewise import Window, window
from tests.local.protocols.exactly import (
    estimates_of,
    mean_and_variance,
    reports_are_well_kept,
    the_code_has_the_law,
    the_loss_is_the_worst_ratio,
)

MEANS: list[type[Duchi] | type[Hybrid]] = [Duchi, Piecewise, Hybrid]


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_the_loss_is_what_the_bytes_show(kind: type[Hybrid], epsilon: str) -> None:
    randomiser = kind.for_epsilon(6, epsilon)
    the_loss_is_the_worst_ratio(randomiser, range(6))
    the_code_has_the_law(randomiser, (0, 3, 5))
    assert float(epsilon) - 1e-9 < randomiser.loss.epsilon <= Fraction(epsilon)
    reports_are_well_kept(randomiser, np.arange(6))


@given(st.integers(2, 12), st.integers(1, 12), st.decimals("0.1", 6, places=2), st.data())
@settings(max_examples=60)
def test_any_window_is_exactly_unbiased_and_as_private_as_asked(
    domain: int, width: int, epsilon: Decimal, data: st.DataObject
) -> None:
    law = window(domain, width, Fraction(epsilon))
    value = data.draw(st.integers(0, domain - 1))
    chances = law.law(value)
    assert sum(chances) == 1
    assert sum(o * p for o, p in enumerate(chances)) == law.offset + law.slope * value
    assert epsilon_above(law.ratio) <= epsilon


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize("value", [0, 37, 100])
def test_means_are_unbiased(kind: type[Hybrid], value: int) -> None:
    mean, _ = mean_and_variance(kind.for_epsilon(101, 1), value)
    assert mean[0] == pytest.approx(value / 100, abs=1e-12)


def continuous(kind: type, x: float, epsilon: float) -> float:
    """n·Var on [−1, 1] in the papers."""
    e, h = math.exp(epsilon), math.exp(epsilon / 2)
    duchi = ((e + 1) / (e - 1)) ** 2 - x * x
    piecewise = x * x / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    return {Duchi: duchi, Piecewise: piecewise, Hybrid: (1 - 1 / h) * piecewise + duchi / h}[kind]


@pytest.mark.parametrize("kind", MEANS)
@pytest.mark.parametrize("epsilon", [1, 2, 4])
def test_variances_are_those_of_the_papers_within_one_part_in_the_steps(kind: type[Hybrid], epsilon: int) -> None:
    steps = 400
    randomiser = kind.for_epsilon(steps + 1, epsilon)
    for value in (0, steps // 2, steps):
        _, variance = mean_and_variance(randomiser, value)
        wanted = continuous(kind, 2 * value / steps - 1, epsilon)
        assert 4 * variance[0] == pytest.approx(wanted, rel=10 / steps)  # shares of the range are half as wide


def test_hybrid_is_duchi_alone_below_the_turn() -> None:
    assert Hybrid.for_epsilon(1025, "0.6").piecewise == 0
    assert Hybrid.for_epsilon(1025, "0.62").piecewise > 0


@pytest.mark.parametrize("kind", MEANS)
def test_influence_is_how_far_a_lie_can_be_from_the_truth(kind: type[Hybrid]) -> None:
    randomiser = kind.for_epsilon(9, 1)
    found = [estimates_of(randomiser, seen)[0] for seen in randomiser.law(3)]
    assert randomiser.influence == pytest.approx(max(found) - min(found))


@pytest.mark.parametrize("kind", [Piecewise, Hybrid])
def test_stated_errors_are_those_of_many_devices(kind: type[Hybrid]) -> None:
    """100,000 devices with one value: 6 standard errors for the mean, false alarm below 2e-9."""
    randomiser, n = kind.for_epsilon(1025, 1), 100_000
    with noise.deterministic(5):
        reports = randomiser.encode(np.full(n, 768))
    state = randomiser.state()
    randomiser.add(state, reports)
    found = randomiser.estimate(state, n)
    assert abs(found.values[0] - 0.75) < 6 * found.standard_errors[0]
    assert found.standard_errors[0] == pytest.approx(math.sqrt(continuous(kind, 0.5, 1) / 4 / n), rel=0.02)
    assert "mean" in found.kind


def test_answers_that_never_occur_are_no_reports() -> None:
    pure, never = Piecewise.for_epsilon(9, 1), Hybrid.for_epsilon(9, "0.5")
    answers = 8 + pure.width
    assert pure.valid(np.array([[0], [answers - 1], [answers], [255]], np.uint8)).tolist() == [
        True,
        True,
        False,
        False,
    ]
    beyond = 8 + never.width
    assert never.valid(np.array([[0], [beyond], [beyond + 1], [beyond + 2]], np.uint8)).tolist() == [
        False,
        True,
        True,
        False,
    ]


def test_windows_that_favour_the_others_and_grids_that_overflow_are_refused() -> None:
    with pytest.raises(ParameterError, match="less likely"):
        Window(5, 4, SCALE // 4)
    with pytest.raises(ParameterError, match=r"2\^14"):
        Hybrid.for_epsilon(2**17, 1)
    with pytest.raises(ParameterError, match="domain"):
        Piecewise.for_epsilon(1, 1)
