"""Private multiplicative weights of the notes: constants, the loss against the exact law, answers, the end."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.audit import Subject
from discreet.audit.attacks.exact import attack
from discreet.errors import BudgetExceeded, ParameterError
from discreet.mechanisms import AboveThreshold, Exact, Laplace
from discreet.noise.testing import Asked, scripted
from discreet.oracle import PrivateMultiplicativeWeights, Queries
from discreet.oracle.textbook.interaction import QueryRun
from discreet.oracle.textbook.pmw import dwork_roth_alpha
from discreet.privacy import plan
from tests.oracle.textbook.online import FALSE_ALARM, seen, skewed, stubborn

ADULT: dict[str, Any] = {"cells": 40_912_140_474_777_600, "rows": 48_842, "queries": 2_647_508, "failure": "0.05"}
"""The census table of `prototypes/synth`: its domain, its rows, and the cells of its 455 three-way marginals."""

SETTING: dict[str, Any] = {"cells": 16, "rows": 10**9, "queries": 500, "failure": FALSE_ALARM}


def test_parameters_are_those_of_the_theorem() -> None:
    made = PrivateMultiplicativeWeights.for_alpha("0.1", **SETTING)
    logs = math.log(3 * 500 / 1e-7)
    assert float(made.each) == pytest.approx(16 * logs / (1e9 * 0.1), rel=1e-6)
    assert made.most_updates == math.floor(16 * math.log(16) / 0.01)
    assert made.rate == 0.025 == pytest.approx(math.sqrt(math.log(16) / (16 * math.log(16) / 0.01)))
    assert made.line.threshold == 10**8 + 1
    assert made.line.epsilon == made.each
    assert made.number.scale == 1 / made.each
    whole = plan.epsilon(made.loss, 0)
    assert whole == pytest.approx(512 * logs * math.log(16) / (1e9 * 0.1**3), rel=1e-3)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 7])
def test_for_a_pure_budget_all_of_it_is_spent_to_the_last_digit(epsilon: Any) -> None:
    made = PrivateMultiplicativeWeights.for_epsilon(epsilon, **SETTING)
    assert 2 * made.most_updates * made.each == Fraction(epsilon)
    assert plan.epsilon(made.loss, 0) == float(Fraction(epsilon))
    logs = math.log(3 * 500 / 1e-7)
    theorem = (512 * logs * math.log(16) / (1e9 * float(Fraction(epsilon)))) ** (1 / 3)
    assert theorem <= made.alpha <= 1.01 * theorem
    assert made.promise.error == pytest.approx(1.375 * float(made.alpha), rel=1e-6)


def test_noise_and_threshold_grow_with_grid_and_sensitivity() -> None:
    plain = PrivateMultiplicativeWeights.for_alpha("0.1", **SETTING)
    made = PrivateMultiplicativeWeights.for_alpha("0.1", grid=10, sensitivity=3, **SETTING)
    assert float(made.each) == pytest.approx(3 * float(plain.each), rel=1e-6)  # three times as much at the same α
    assert made.number.sensitivity == made.line.sensitivity == 30
    assert made.line.threshold == 10**9 + 1


def test_with_delta_the_budget_is_met_and_less_is_not_enough() -> None:
    setting = SETTING | {"rows": 10**6}
    made = PrivateMultiplicativeWeights.for_epsilon(1, delta="1e-6", **setting)
    assert 0.97 < plan.epsilon(made.loss, "1e-6") <= 1
    assert (
        plan.epsilon(PrivateMultiplicativeWeights.for_alpha(made.alpha * Fraction("0.98"), **setting).loss, "1e-6")
        > 1
    )
    assert made.alpha < PrivateMultiplicativeWeights.for_epsilon(1, **setting).alpha / 2
    assert not made.promise.vacuous


@pytest.mark.parametrize("bad", [{"failure": 1}, {"failure": 0}, {"cells": 1}, {"rows": 0}, {"queries": 0}])
def test_parameters_without_meaning_are_refused_by_name(bad: dict[str, Any]) -> None:
    for make in (PrivateMultiplicativeWeights.for_epsilon, PrivateMultiplicativeWeights.for_alpha):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            make(1, **(SETTING | bad))


@pytest.mark.parametrize("delta", [-1, 1, 2])
def test_a_delta_without_meaning_is_refused(delta: int) -> None:
    with pytest.raises(ParameterError, match="delta"):
        PrivateMultiplicativeWeights.for_epsilon(1, delta=delta, **SETTING)


# -- on a real table, and where the notes slip ------------------------------------------------------------------


def test_on_adult_at_epsilon_one_the_theorems_promise_nothing_and_say_so() -> None:
    assert round(dwork_roth_alpha(1, **ADULT), 2) == 0.89  # and 3α is what it promises
    nltcs = {"cells": 2**16, "rows": 21_574, "queries": 4_480, "failure": "0.05"}
    assert round(dwork_roth_alpha(1, **nltcs), 2) == 0.69
    made = PrivateMultiplicativeWeights.for_epsilon(1, **ADULT)
    assert made.alpha == Fraction("1.97")
    assert made.promise.vacuous
    assert str(made.promise).startswith("nothing: an error of 2.7, where every share lies between 0 and 1")
    assert PrivateMultiplicativeWeights.for_epsilon(1, delta="1e-9", **ADULT).promise.vacuous


def test_on_adult_an_error_of_five_percent_would_cost_an_absurd_epsilon() -> None:
    made = PrivateMultiplicativeWeights.for_alpha("0.05", **(ADULT | {"failure": "1e-9"}))
    assert plan.epsilon(made.loss, 0) == pytest.approx(1.2e5, rel=0.03)


def test_an_epsilon_below_that_of_the_theorem_keeps_its_privacy_and_loses_its_promise() -> None:
    made = PrivateMultiplicativeWeights.for_alpha("0.1", **SETTING)
    cheaper = dataclasses.replace(made, each=made.each / 2)
    assert not made.promise.vacuous
    assert cheaper.promise.error == math.inf


def within(bound: float, *, sign: dict[str, int]) -> Any:
    """Noise that is as large as claim 2 of the notes allows, each at its scale: the line's, then the query's."""
    drawn: list[Asked] = []

    def choose(asked: Asked) -> int:
        drawn.append(asked)
        return sign["line" if len(drawn) == 1 else "query"] * math.floor(float(asked.parameter) * bound)  # type: ignore[arg-type]

    return choose


def test_claim_2_of_the_notes_allows_an_error_above_five_fourths_of_alpha() -> None:
    """Every noise within what the union bound allows, and yet an answer off by more than 1.25·α: 11/8 it is."""
    made = PrivateMultiplicativeWeights.for_alpha("0.1", **(SETTING | {"failure": "0.05"}))
    logs = math.log(3 * 500 / 0.05)
    off = math.floor(1.35 * float(made.alpha) * made.rows)
    counts = np.full(16, made.rows // 16)
    counts[0] += off
    counts[1:] -= off // 15
    with scripted(within(logs, sign={"line": 1, "query": -1})):
        answer = made.start(Exact(counts, sensitivity=1)).ask([1, *[0] * 15])
    error = abs(int(answer.value) - int(counts[0])) / made.rows
    assert answer.paid is False
    assert 1.25 * float(made.alpha) < error <= made.promise.error


# -- the exact law ----------------------------------------------------------------------------------------------


def narrow(
    kind: type[PrivateMultiplicativeWeights] = PrivateMultiplicativeWeights,
) -> PrivateMultiplicativeWeights:
    """One update, so narrow a noise that all of it can be walked through; rows are only declared."""
    return kind(alpha=3, each=3, failure="0.5", cells=2, rows=1, queries=2)


def audited(made: PrivateMultiplicativeWeights, loss: Any, pair: tuple[list[int], list[int]]) -> Any:
    queries = [[1, 0], [0, 1]]
    subject = Subject(name="run", release=lambda counts: seen(made, counts, queries), loss=loss, pairs=[pair])
    return attack(subject, unexplored="2e-3", most=20_000)


@pytest.mark.parametrize("pair", [([4, 5], [5, 5]), ([4, 5], [4, 6])], ids=str)
def test_no_answers_give_away_more_than_is_declared(pair: Any) -> None:
    made = narrow()
    assert made.most_updates == 1
    verdict = audited(made, made.loss, pair)
    assert verdict.claimed == 6
    assert not verdict.caught, verdict.words


def test_the_line_alone_would_be_too_small_a_claim() -> None:
    """Whoever forgets to charge the noisy answers is caught."""
    made = narrow()
    verdict = audited(made, made.line.loss, ([4, 0], [3, 0]))
    assert verdict.claimed == 3
    assert verdict.caught, verdict.words


class Peeking(PrivateMultiplicativeWeights):
    """It answers with the truth once the line is crossed."""

    @property
    def number(self) -> Any:
        return Laplace(Fraction(1, 1000), self.moves)


def test_an_answer_with_next_to_no_noise_is_caught() -> None:
    assert audited(narrow(Peeking), narrow().loss, ([4, 5], [5, 5])).caught


def test_a_new_line_begins_after_every_update() -> None:
    """Two updates draw two lines: with the draws on a script, the second one is seen."""
    made = PrivateMultiplicativeWeights(alpha="2.3", each=3, failure="0.5", cells=2, rows=1, queries=2)
    assert made.most_updates == 2
    asked: list[Fraction] = []

    def choose(draw: Asked) -> int:
        assert isinstance(draw.parameter, Fraction)
        asked.append(draw.parameter)
        return 0

    with scripted(choose):
        run = made.start(Exact([50, 0], sensitivity=1))
        assert run.ask([1, 0]).paid
        assert run.ask([1, 0]).paid
    line, query, number = made.line.threshold_scale, made.line.query_scale, made.number.scale
    assert asked == [line, query, number, line, query, number]


# -- answers ----------------------------------------------------------------------------------------------------


def test_all_answers_are_within_what_the_theorem_promises_and_updates_within_their_bound() -> None:
    """A false alarm has a chance of 10⁻⁷, the failure that is allowed for."""
    made = PrivateMultiplicativeWeights.for_epsilon(1, **(SETTING | {"rows": 3 * 10**7}))
    assert made.promise.error < 0.15
    counts = skewed(16, made.rows, seed=3)
    queries = Queries.marginals([2, 2, 2, 2], ways=2).weights
    run = made.start(Exact(counts, sensitivity=1))
    found = stubborn(run, counts, queries, times=500)
    worst = max(abs(answer.value - truth) for answer, truth in found)
    assert worst <= made.promise.error * made.rows
    assert worst <= made.error(1 - Fraction(FALSE_ALARM), queries=500)
    assert 0 < run.updates == sum(answer.paid for answer, _ in found) < made.most_updates
    assert np.abs(queries @ (run.hypothesis - counts / made.rows)).max() <= made.promise.error


def test_weights_between_zero_and_one_are_answered_on_their_grid() -> None:
    made = PrivateMultiplicativeWeights.for_epsilon(1, grid=4, **SETTING)
    counts = skewed(16, made.rows, seed=3)
    query = np.arange(16) % 5
    answer = made.start(Exact(counts, sensitivity=1)).ask(query)
    assert abs(answer.share - float(query @ counts) / (4 * made.rows)) <= made.promise.error


def test_a_free_answer_draws_the_same_whether_the_table_agrees_or_not_and_costs_nothing_more() -> None:
    made = PrivateMultiplicativeWeights.for_epsilon(1, **SETTING)
    run = made.start(Exact([made.rows // 16] * 16, sensitivity=1))
    answers = [run.ask([1] * 8 + [0] * 8) for _ in range(20)]
    assert {(answer.value, answer.share, answer.paid) for answer in answers} == {(made.rows // 2, 0.5, False)}
    assert run.updates == 0


def test_a_run_ends_after_its_last_update_and_its_hypothesis_stays() -> None:
    made = PrivateMultiplicativeWeights(alpha=3, each=100, failure="0.5", cells=2, rows=1, queries=2)
    run = made.start(Exact([10**6, 0], sensitivity=1))
    assert run.ask([1, 0]).paid
    before = run.hypothesis
    assert before[0] > 0.5
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match=r"All of 1 updates are made.*mechanism\.start"):
            run.ask([1, 0])
    assert (run.hypothesis == before).all()
    assert [answer.paid for answer in made.release(Exact([10**6, 0], 1), [[1, 0]] * 3)] == [True]


def test_a_step_goes_towards_the_noisy_answer() -> None:
    made = PrivateMultiplicativeWeights(alpha="2.3", each=100, failure="0.5", cells=2, rows=1, queries=2)
    up, down = (made.start(Exact(counts, sensitivity=1)) for counts in ([100, 0], [0, 100]))
    up.ask([1, 0])
    down.ask([0, 1])
    assert up.hypothesis[0] == down.hypothesis[1] == pytest.approx(1 / (1 + math.exp(-2.3 / 4)))


def test_test_bits_leave_their_mark_on_every_answer() -> None:
    made = PrivateMultiplicativeWeights.for_epsilon(1, **SETTING)
    with noise.deterministic(1):
        run: QueryRun = made.start(Exact([made.rows, *[0] * 15], sensitivity=1))
        paid, free = run.ask([1, *[0] * 15]), run.ask([1] * 16)
    assert (paid.paid, free.paid) == (True, False)
    assert noise.is_test_noise(paid.value)
    assert noise.is_test_noise(free.value)
    assert not noise.is_test_noise(made.start(Exact([made.rows, *[0] * 15], 1)).ask([1] * 16).value)


def test_its_parts_are_the_mechanisms_of_the_kernel() -> None:
    made = PrivateMultiplicativeWeights.for_epsilon(1, **SETTING)
    assert isinstance(made.line, AboveThreshold)
    assert made.loss == (made.line.loss * made.most_updates, made.number.loss * made.most_updates)
