"""Hardt and Rothblum's mechanism: its constants, its loss against the exact law, its answers, and its failure."""

from __future__ import annotations

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit import Law, hockey_stick, law
from discreet.errors import BudgetExceeded, ParameterError
from discreet.mechanisms import Exact, Laplace
from discreet.oracle import HardtRothblum, Queries
from discreet.oracle.textbook.setting import Setting
from discreet.privacy import plan
from tests.oracle.textbook.online import FALSE_ALARM, seen, skewed, stubborn

ADULT: dict[str, Any] = {"cells": 40_912_140_474_777_600, "rows": 48_842, "queries": 2_647_508, "failure": "0.05"}


def mechanism(**changed: Any) -> HardtRothblum:
    given: dict[str, Any] = {
        "epsilon": 1,
        "delta": "1e-6",
        "cells": 16,
        "rows": 10**11,
        "queries": 200,
        "failure": FALSE_ALARM,
    }
    return HardtRothblum(**(given | changed))


def test_parameters_are_those_of_the_paper() -> None:
    made = mechanism(failure="0.01")
    root = math.log(16) ** 0.25
    sigma = 10 * math.log(1e6) * root / math.sqrt(1e11)
    assert float(made.noise.scale) / 1e11 == pytest.approx(sigma, rel=1e-6)
    assert made.threshold / 1e11 == pytest.approx(4 * sigma * (math.log(200) + math.log(100)), rel=1e-6)
    assert made.rate == pytest.approx(root / math.sqrt(1e11))
    assert made.most_updates == math.floor(1e11 * math.sqrt(math.log(16)))
    assert made.promise.error == pytest.approx(1.25 * made.threshold / 1e11)


def test_noise_grows_with_what_one_person_moves() -> None:
    plain = mechanism()
    assert mechanism(sensitivity=3).noise.scale == pytest.approx(3 * plain.noise.scale, rel=1e-3)
    assert mechanism(grid=10).noise.scale == pytest.approx(10 * plain.noise.scale, rel=1e-3)
    assert plan.epsilon(mechanism(sensitivity=3, grid=5).loss, "1e-6") <= 1


@settings(max_examples=25, deadline=None)
@given(
    st.fractions("1/100", 1),
    st.sampled_from(["1e-9", "1e-6", "1e-3", "0.1"]),
    st.integers(2, 10**9),
    st.integers(1, 10**9),
)
def test_the_theorem_holds_with_room_to_spare(epsilon: Fraction, delta: str, cells: int, rows: int) -> None:
    made = HardtRothblum(epsilon=epsilon, delta=delta, cells=cells, rows=rows, queries=10, failure="0.05")
    assert plan.epsilon(made.loss, delta) <= epsilon / (2 if rows > 100 else 1)


def test_where_it_cannot_be_proven_it_is_refused() -> None:
    with pytest.raises(ParameterError, match="smaller epsilon"):
        mechanism(rows=1, cells=2, epsilon=20, delta="0.5")


@pytest.mark.parametrize(
    "bad", [{"delta": 1}, {"delta": 0}, {"failure": 1}, {"cells": 1}, {"rows": 0}, {"epsilon": 0}, {"queries": 0}]
)
def test_parameters_without_meaning_are_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(bad))):
        mechanism(**bad)


# -- what the notes say -----------------------------------------------------------------------------------------


def test_the_noise_of_the_notes_loses_more_than_epsilon() -> None:
    """σ = 10·ln(1/δ)·(ln N)^{1/4}/√(n·ε) at n = 1: one answer, shown with a chance above 0.98, refutes it."""
    epsilon = delta = Fraction(1, 10**6)
    logs = math.log(1 / delta) * math.log(2) ** 0.25
    shown = 0.98
    literal, corrected = 10 * logs / math.sqrt(epsilon), 10 * logs / float(epsilon)
    one_answer = 1 / literal
    # Of one Laplace release at ε₀: δ(ε) = 1 − e^{(ε − ε₀)/2}; what is not shown hides 0.02·ε₀ of it at most.
    assert -math.expm1((float(epsilon) - one_answer) / 2) - (1 - shown) * one_answer > delta
    assert 1 / corrected < epsilon


def test_only_updates_count_so_that_more_queries_are_answered_than_rounds_would_allow() -> None:
    """The notes raise m in every round: this run would have failed after two queries."""
    made = mechanism(rows=2, cells=2, epsilon="0.1")
    assert made.most_updates == 1
    run = made.start(Exact([1, 1], sensitivity=1))
    assert [run.ask([1, 0]).paid for _ in range(30)] == [False] * 30


# -- the exact law ----------------------------------------------------------------------------------------------

NARROW: dict[str, Any] = {"epsilon": 6, "delta": "0.5", "cells": 2, "rows": 2, "queries": 1, "failure": "0.9"}
QUERIES = ((1, 0), (1, 1), (1, 0))
PAIRS = [((1, 0), (0, 0)), ((2, 1), (1, 1))]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LittleNoise(HardtRothblum):
    """A third of the noise, at the loss of all of it."""

    def __post_init__(self) -> None:
        Setting.__post_init__(self)

    @functools.cached_property
    def noise(self) -> Laplace:
        return Laplace(narrow().noise.scale / 3)


@functools.cache
def narrow() -> HardtRothblum:
    return HardtRothblum(**NARROW)


@functools.cache
def law_of(kind: Any, counts: tuple[int, ...]) -> Law:
    """Every answer to three queries, exactly: a run may show one of them, and the next makes it fail."""
    made = kind(**NARROW)
    return law(lambda: seen(made, counts, QUERIES), unexplored="5e-3")


def moment(P: Law, Q: Law, order: float) -> float:
    """E_Q[(P/Q)^α] at least: what was not explored may all belong to any one outcome of Q."""
    both = [(P.chance(x)[0], Q.chance(x)[1] + Q.unexplored) for x in P.chances if x in Q.chances]
    return float(sum(p**order * q ** (1 - order) for p, q in both))


def excess(kind: Any, pair: Any) -> float:
    """By how much the exact law is above the declared curve, at the order where that is most."""
    P, Q = (law_of(kind, counts) for counts in pair)
    curve: Any = narrow().loss
    return max(
        math.log(moment(P, Q, float(order))) / (float(order) - 1) - float(bound)
        for order, bound in zip(curve.orders[::16], curve.epsilons[::16], strict=True)
    )


@pytest.mark.parametrize(
    "pair", [*PAIRS, *(pytest.param(pair[::-1], marks=pytest.mark.slow) for pair in PAIRS)], ids=str
)
def test_no_rényi_divergence_of_the_exact_law_is_above_the_declared_curve(pair: Any) -> None:
    assert narrow().most_updates == 1
    assert excess(HardtRothblum, pair) < 0


@pytest.mark.parametrize("pair", [*PAIRS, *(pair[::-1] for pair in PAIRS)], ids=str)
@pytest.mark.parametrize("delta", ["0.01", "0.05", "0.2"])
def test_no_test_on_the_exact_law_tells_neighbours_apart_better_than_declared(pair: Any, delta: str) -> None:
    P, Q = (law_of(HardtRothblum, counts) for counts in pair)
    assert hockey_stick(P, Q, plan.epsilon(narrow().loss, delta))[0] <= float(delta)


def test_a_third_of_the_noise_is_above_the_declared_curve() -> None:
    """So the comparison is a sharp one, although the pair is not the worst there is."""
    assert max(excess(LittleNoise, pair) for pair in [*PAIRS, *(pair[::-1] for pair in PAIRS)]) > 0


# -- answers ----------------------------------------------------------------------------------------------------


def test_all_answers_are_within_what_the_theorem_promises() -> None:
    """A false alarm has a chance of 10⁻⁷, the failure that is allowed for."""
    made = mechanism()
    assert not made.promise.vacuous
    counts = skewed(16, made.rows, seed=5)
    queries = Queries.marginals([2, 2, 2, 2], ways=2).weights
    found = stubborn(made.start(Exact(counts, sensitivity=1)), counts, queries, times=200)
    bar = made.error(1 - Fraction(FALSE_ALARM), queries=200)
    assert bar <= made.promise.error * made.rows * 1.001
    assert max(abs(answer.value - truth) for answer, truth in found) <= bar
    assert any(answer.paid for answer, _ in found)


def test_a_step_goes_towards_the_noisy_answer_at_the_rate_of_the_paper() -> None:
    made = mechanism(cells=2)
    for counts, query in (([made.rows, 0], [1, 0]), ([made.rows, 0], [0, 1])):
        run = made.start(Exact(counts, sensitivity=1))
        assert run.ask(query).paid
        assert run.hypothesis[0] == pytest.approx(1 / (1 + math.exp(-made.rate)), rel=1e-12)
        assert run.hypothesis[0] > 0.5


def test_the_hypothesis_learns_so_that_what_was_paid_for_becomes_free() -> None:
    made = mechanism(queries=2000, rows=10**13)
    counts = np.array([made.rows, *[0] * 15])
    run = made.start(Exact(counts, sensitivity=1))
    run._learn(np.array([1, *[0] * 15]), 30.0)  # as many updates would
    assert run.ask([1, *[0] * 15]).paid is False
    assert run.ask([0, 1, *[0] * 14]).paid is False


def test_a_run_that_shows_more_than_it_may_fails_and_stays_so() -> None:
    made = mechanism(rows=1, cells=2, epsilon="0.5", failure="0.9", queries=1)
    assert made.most_updates == 0
    run = made.start(Exact([10**9, 0], sensitivity=1))
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match="Failure: 0 answers were shown"):
            run.ask([1, 0])
    assert made.release(Exact([10**9, 0], sensitivity=1), [[1, 0], [1, 0]]) == []


def test_a_row_of_queries_is_answered_like_a_run() -> None:
    made = mechanism()
    answers = made.release(Exact(skewed(16, made.rows, seed=5), 1), Queries.marginals([2, 2, 2, 2], ways=1))
    assert len(answers) == 8
    assert all(answer.share == pytest.approx(answer.value / made.rows) for answer in answers)


def test_on_a_real_table_the_constants_promise_nothing_and_it_says_so() -> None:
    made = HardtRothblum(epsilon=1, delta="1e-9", **ADULT)
    assert made.promise.vacuous
    assert str(made.promise).startswith("nothing: an error of 2.1e+02")
    assert plan.epsilon(made.loss, "1e-9") < 0.04  # and are wasteful as well: a 28th of the budget would do
