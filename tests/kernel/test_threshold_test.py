"""The threshold test: its law by exact enumeration on neighbours, its slack, and its runs across restarts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.audit.attacks.exact import Law, hockey_stick, law
from discreet.errors import BudgetExceeded, SensitivityExceeded
from discreet.kernel.journal import Journal
from discreet.kernel.threshold_test import (
    NoisyThreshold,
    Run,
    Side,
    Watch,
    gap_margin,
    one_sided,
    slack,
    start,
)
from discreet.mechanisms import Exact, Sensitivity
from discreet.oracle.pricing import Prices, Terms, guard, prices, terms
from discreet.oracle.threshold_oracle import ThresholdOracle
from tests.oracle.people import town

WATCH = Watch(4, threshold=2, monotonic=True)


def exact(value: int, side: Side) -> Exact:
    return Exact(value, Sensitivity(entries=1, each=1, monotonic=side))


def watched(counts: list[int], predicted: list[int], side: Side) -> tuple[Any, ...]:
    """Return all outputs of one side for some queries: None for each below, and the gap of the first above."""
    run, shown = start(WATCH, side, 0), []
    for count, h in zip(counts, predicted, strict=True):
        shown.append(run.gap(exact(count - h if side == "up" else h - count, side)))
        if run.over:
            break
    return tuple(shown)


def laws(side: Side, joins: tuple[int, ...]) -> list[Law]:
    """Return the law of all outputs of a run, without and with one person, who raises the marked counts by one."""
    counts = [5, 9]
    moved = [count + d for count, d in zip(counts, joins, strict=True)]
    return [law(lambda c=c: watched(c, [7, 7], side), unexplored="1e-4") for c in (counts, moved)]  # type: ignore[misc]


@pytest.mark.parametrize("side", ["up", "down"])
@pytest.mark.parametrize("joins", [(1, 1), (1, 0), (0, 1)], ids=str)
def test_answers_and_gaps_of_a_run_lose_no_more_than_epsilon(side: Side, joins: tuple[int, int]) -> None:
    """Half the noise anywhere, or a gap that shows the noise of the threshold, would lose more."""
    P, Q = laws(side, joins)
    assert hockey_stick(P, Q, WATCH.epsilon)[0] <= 0
    assert hockey_stick(Q, P, WATCH.epsilon)[0] <= 0


def test_a_run_that_claimed_half_of_its_epsilon_would_be_caught() -> None:
    P, Q = laws("up", (0, 1))
    third = Fraction(4, 3)
    assert max(hockey_stick(P, Q, third)[0], hockey_stick(Q, P, third)[0]) > 0.01


def chance(watch: Watch, values: list[int], gap: int | None) -> float:
    """Return the probability that all values but the last are below, and the last is `gap` above, or below too."""
    line = np.arange(0, 401)
    outer, inner = float(watch.threshold_scale), float(watch.query_scale)

    def mass(scale: float, x: Any) -> Any:
        return np.where(x >= 0, -np.expm1(-1 / scale) * np.exp(-np.maximum(x, 0) / scale), 0.0)

    def below(value: int) -> Any:  # value + ν < T + ρ
        return -np.expm1(-np.maximum(watch.threshold + line - value, 0) / inner)

    shown = below(values[-1]) if gap is None else mass(inner, watch.threshold + line + gap - values[-1])
    return float((mass(outer, line) * np.prod([below(value) for value in values[:-1]], axis=0) * shown).sum())


@pytest.mark.parametrize("value", [-1, 2, 4])
def test_the_code_has_the_law_that_the_proof_is_about(value: int) -> None:
    """Thresholds and comparisons with other noise than declared would fail here."""
    found = law(lambda: start(WATCH, "up", 0).gap(exact(value, "up")), unexplored="1e-5")
    for gap in (None, 0, 1, 2, 3):
        low, high = found.chance(gap)
        assert low - 1e-9 <= chance(WATCH, [value], gap) <= high + 1.1e-5


@pytest.mark.parametrize(
    "watch",
    [WATCH, Watch("0.5", threshold=3, monotonic=True), Watch("1.5", threshold=3, sensitivity=3, monotonic=True)],
    ids=["4", "0.5", "1.5, three at once"],
)
def test_no_row_of_queries_and_no_gap_loses_more_than_epsilon_and_some_lose_all_of_it(watch: Watch) -> None:
    """Noise that is a millionth too narrow or too wide would fail: one exceeds ε, the other stays below."""
    worst, steps = 0.0, (0, 1, watch.sensitivity)
    for small, large, count in itertools.product((-30, -8, -3, 0, 3), (-40, -10, 0, 5), (0, 1, 20)):
        for rises, last, gap in itertools.product(steps, steps, (None, 0, 2, 9)):
            values = [watch.threshold + small] * count + [watch.threshold + large]
            moved = [value + rises for value in values[:-1]] + [values[-1] + last]
            P, Q = chance(watch, values, gap), chance(watch, moved, gap)
            if min(P, Q) > 1e-200:
                worst = max(worst, abs(math.log(P / Q)))
    assert worst == pytest.approx(float(watch.epsilon), rel=1e-12)


def test_a_run_ends_at_its_first_alarm_and_takes_one_side_only() -> None:
    run = start(Watch(1, threshold=10, monotonic=True), "up", 3)
    assert run.gap(exact(-10_000, "up")) is None
    with pytest.raises(SensitivityExceeded, match='monotonic "up"'):
        run.gap(exact(0, "down"))
    assert run.gap(exact(10_000, "up")) > 9_000
    with pytest.raises(BudgetExceeded, match="over"):
        run.gap(exact(0, "up"))
    assert "over" in repr(run)


def test_noisy_thresholds_show_nothing_and_runs_are_not_copied() -> None:
    import copy
    import pickle

    run = start(WATCH, "up", 0)
    assert str(run.threshold.value) not in repr(run.threshold)
    assert run.threshold == NoisyThreshold(WATCH, run.threshold.value + 5)
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="copied or pickled"):
            copying(run)


def drawn(scale: Fraction, trials: int) -> Any:
    """Return many draws of one-sided noise."""
    two_sided = np.asarray(noise.discrete_laplace(scale, trials))
    return np.where(two_sided >= 0, two_sided, -1 - two_sided)


def test_one_sided_noise_is_geometric() -> None:
    found = law(lambda: one_sided(Fraction(2)), unexplored="1e-6")
    for value in range(6):
        low, high = found.chance(value)
        assert low - 1e-9 <= (1 - math.exp(-0.5)) * math.exp(-value / 2) <= high + 1.1e-6
    assert found.chance(-1)[0] == 0


@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 100)])
def test_a_wrong_below_is_as_frequent_as_the_slack_allows_and_not_much_less(alpha: Fraction) -> None:
    """A query that lies just beyond T + s, in a fresh run each time; five deviations are below 1e-6."""
    watch = Watch("0.2", threshold=50, monotonic=True)
    s, trials = slack(watch, alpha), 40_000
    with noise.deterministic(1):
        lines = 50 + drawn(watch.threshold_scale, trials)
        noisy = 50 + s + 1 + drawn(watch.query_scale, trials)
    wrong = float((noisy < lines).mean())
    margin = 5 * math.sqrt(float(alpha) / trials)
    assert float(alpha) * 0.85 - margin < wrong < float(alpha) + margin


@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 100)])
def test_a_gap_is_off_by_more_than_its_margin_as_often_as_alpha_says(alpha: Fraction) -> None:
    watch = Watch("0.2", threshold=50, monotonic=True)
    r, trials = gap_margin(watch, alpha), 40_000
    with noise.deterministic(2):
        apart = drawn(watch.threshold_scale, trials) - drawn(watch.query_scale, trials)
    margin = 5 * math.sqrt(float(alpha) / trials)
    assert float(alpha) * 0.85 - margin < float((np.abs(apart) > r).mean()) < float(alpha) + margin


def test_a_run_that_is_resumed_has_the_same_threshold() -> None:
    run = start(WATCH, "down", 1)
    again = Run(NoisyThreshold(WATCH, run.threshold.value), "down", 1)
    assert again.threshold.value == run.threshold.value
    assert not again.over


TERMS: Terms = terms(
    rho=Fraction(2), within=200, confidence="0.95", queries=1000, start="singles", rows_per_person=1
)
PRICES: Prices = prices(TERMS, 10_000)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "a.oracle", rho=TERMS.rho, facts={})


def test_a_run_for_either_side_is_paid_for_once_and_goes_on(journal: Journal) -> None:
    tests = guard(journal, TERMS, PRICES)
    runs = tests.ready()
    assert runs is not None
    assert set(runs) == {"up", "down"}
    assert journal.spent == 2 * PRICES.run > 0
    assert tests.ready() == runs
    assert journal.spent == 2 * PRICES.run


def test_only_the_side_that_gave_an_alarm_begins_another_run(journal: Journal) -> None:
    tests = guard(journal, TERMS, PRICES)
    first = tests.ready()
    assert first is not None
    tests.end(first["up"].number)
    second = tests.ready()
    assert second is not None
    assert second["up"] is not first["up"]
    assert second["down"] is first["down"]
    assert not second["up"].over
    assert journal.spent == 3 * PRICES.run


def test_there_are_as_many_runs_as_were_planned_and_no_more(journal: Journal) -> None:
    tests = guard(journal, TERMS, PRICES)
    assert tests.to_come == PRICES.runs
    while (runs := tests.ready()) is not None:
        tests.end(runs["up"].number)
    assert tests.to_come == 0
    assert journal.spent == PRICES.runs * PRICES.run


def test_a_run_that_is_resumed_from_the_journal_has_the_threshold_that_it_had(journal: Journal) -> None:
    runs = guard(journal, TERMS, PRICES).ready()
    assert runs is not None
    again = guard(journal, TERMS, PRICES)
    for record in journal.begun.values():
        again.resume(record)
    assert [run.threshold.value for run in again.runs] == [run.threshold.value for run in runs.values()]
    assert again.ready() is not None
    assert journal.spent == 2 * PRICES.run


def test_the_cost_of_runs_that_are_still_to_come_is_not_for_payments(tmp_path: Path) -> None:
    few: dict[str, Any] = {"epsilon": 6, "within": 200, "bins": {"age": 20}, "start": "nothing"}
    with town(tmp_path, 2_000) as vault, vault.oracle(["age", "ill"], **few) as oracle:
        assert isinstance(oracle, ThresholdOracle)
        oracle._bad = oracle._seen = 10**6  # the hypothesis was always wrong, so answers are paid for
        assert oracle.ask("select count(*) from people where age < 50").how == ("paid",)
        kept = oracle._guard.to_come * oracle._prices.run
        assert kept > 0
        oracle._journal.begin("payment", oracle._journal.left - kept)
        assert oracle.ask("select count(*) from people where age >= 50").how in [("checked",), ("alarm",)]
