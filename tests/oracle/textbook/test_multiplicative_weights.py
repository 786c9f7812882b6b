"""Multiplicative weights: the potential falls as every proof says, and regret stays below its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.oracle.textbook.multiplicative_weights import Weights, mistakes, regret, regret_at

cells = st.integers(2, 12)
seeds = st.integers(0, 2**32 - 1)


@given(cells, seeds, st.floats(-6, 6))
def test_a_step_lowers_the_divergence_by_the_error_it_mends_less_an_eighth_of_its_square(
    size: int, seed: int, step: float
) -> None:
    rng = np.random.default_rng(seed)
    truth, query = rng.dirichlet(np.full(size, 0.3)), rng.random(size)
    before = Weights(rng.normal(scale=3, size=size))
    fall = before.divergence(truth) - before.moved(query, step).divergence(truth)
    gained = step * float(query @ (truth - before.shares))
    assert fall >= gained - step**2 / 8 - 1e-9
    if abs(step) <= 1:
        assert fall >= gained - step**2 * float(before.shares @ query**2) - 1e-9  # what the textbook has


@given(cells, seeds)
def test_the_eighth_cannot_be_made_smaller(size: int, seed: int) -> None:
    """Half of the weight on either end of the query is the worst case of Hoeffding's lemma."""
    query = np.arange(size) % 2
    query[: 2 * (size // 2)] = np.arange(2 * (size // 2)) % 2
    before = Weights(np.where(np.arange(size) < 2 * (size // 2), 0.0, -200.0))
    step = 0.01
    fall = before.divergence(before.shares) - before.moved(query, step).divergence(before.shares)
    assert fall == pytest.approx(-(step**2) / 8, rel=1e-3)


@settings(max_examples=30)
@given(cells, seeds, st.integers(1, 200))
def test_regret_against_every_fixed_choice_stays_below_the_bound(size: int, seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    rate = math.sqrt(math.log(size) / rounds)
    weights, suffered, losses = Weights.uniform(size), 0.0, np.zeros(size)
    for _ in range(rounds):
        loss = np.where(weights.shares > 1 / size, 1.0, rng.uniform(-1, 1, size))  # whatever it trusts is punished
        suffered += float(weights.shares @ loss)
        losses += loss
        weights = weights.moved(loss, -rate)
    assert suffered <= losses.min() + regret(size, rounds) + 1e-9


def test_no_number_of_steps_loses_a_cell() -> None:
    weights = Weights.uniform(3)
    for _ in range(1000):
        weights = weights.moved(np.array([1, 0, 0]), 5.0)
    for _ in range(2000):
        weights = weights.moved(np.array([0, 1, 0]), 5.0)
    assert weights.shares.round(9).tolist() == [0, 1, 0]


def test_mistakes_are_where_what_they_cost_meets_what_regret_allows() -> None:
    most = mistakes(64, "0.1")
    assert most == math.floor(4 * math.log(64) / 0.01)
    assert most * 0.1 <= regret_at(64, most, rate=0.05)
    assert (most + 1) * 0.1 > regret_at(64, most + 1, rate=0.05)
