"""The expert algorithm: its regret never exceeds the theorem, and its draws have their law."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import oracle
from discreet.errors import ParameterError
from discreet.oracle import MultiplicativeWeights

LOSSES = st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=1, max_size=30)


@pytest.mark.hypothesis
@given(LOSSES)
def test_regret_never_exceeds_the_theorem(losses: list[list[float]]) -> None:
    weights = MultiplicativeWeights(experts=3, rounds=len(losses))
    for each in losses:
        weights.incur(each)
    assert weights.regret <= weights.bound + 1e-9
    assert weights.rounds == len(losses)


def test_an_adversary_who_sees_the_weights_makes_regret_large_but_not_beyond_the_bound() -> None:
    """Each round the likelier expert of two loses: regret grows like √T, and the bound is not vacuous."""
    weights = MultiplicativeWeights(experts=2, rounds=400)
    for _ in range(400):
        likely = int(np.argmax(weights.shares))
        weights.incur([1.0 if expert == likely else -1.0 for expert in range(2)])
    assert 0.2 * weights.bound < weights.regret <= weights.bound
    assert weights.bound == pytest.approx(2 * math.sqrt(400 * math.log(2)))
    assert weights.best_bound == pytest.approx(weights.bound)


def test_draws_have_the_law_of_the_weights() -> None:
    """10,000 rounds of weights 3 : 1; each count is within 5 deviations but for a chance of 1e-6."""
    counts: Counter[int] = Counter()
    for _ in range(10_000):
        weights = MultiplicativeWeights(experts=2, rounds=1, rate=math.log(3) / 2)
        weights.incur([-1, 1])
        counts[weights.draw()] += 1
    assert abs(counts[0] - 7500) < 5 * math.sqrt(10_000 * 3 / 16)


def test_a_round_has_one_draw_and_its_loss_is_that_of_the_drawn_expert() -> None:
    weights = MultiplicativeWeights(experts=5, rounds=10)
    drawn = weights.draw()
    assert all(weights.draw() == drawn for _ in range(20))
    assert weights.incur([0.1 * expert for expert in range(5)]) == pytest.approx(0.1 * drawn)
    assert weights.mistakes == (drawn > 0)
    assert weights.drawn_regret == pytest.approx(0.1 * drawn)


@pytest.mark.parametrize("losses", [[math.nan, 0], [1.01, 0], [0], [[0, 0]], [-math.inf, 0]])
def test_losses_without_a_meaning_are_refused_and_change_nothing(losses: object) -> None:
    weights = MultiplicativeWeights(experts=2, rounds=4)
    with pytest.raises(ParameterError, match="each from −1 to 1"):
        weights.incur(losses)  # type: ignore[arg-type]
    assert weights.rounds == 0
    assert weights.shares.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("rate", [0, -1, 1.5, math.nan])
def test_a_rate_without_a_theorem_is_refused(rate: float) -> None:
    with pytest.raises(ParameterError, match="learning rate"):
        MultiplicativeWeights(experts=2, rounds=4, rate=rate)


def test_one_expert_has_no_regret_and_the_picture_needs_a_round() -> None:
    weights = MultiplicativeWeights(experts=1, rounds=3)
    with pytest.raises(ParameterError, match="nothing to draw"):
        weights.plot()
    weights.incur([0.5])
    assert weights.regret == 0
    spec = weights.plot().to_dict()
    assert spec["title"]["subtitle"] == "1 experts, learning rate 1"
    assert "MultiplicativeWeights" in oracle.__all__
