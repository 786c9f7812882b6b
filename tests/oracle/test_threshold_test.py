"""The sentry: its law, gap and all, by exact enumeration on neighbours; its slack against the law of its noise."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.audit.attacks.exact import Law, hockey_stick, law
from discreet.errors import BudgetExceeded, SensitivityExceeded
from discreet.mechanisms import Exact, Sensitivity
from discreet.oracle.threshold_test import (
    Line,
    Run,
    Side,
    Watch,
    gap_radius,
    one_sided,
    slack,
    start,
)

WATCH = Watch(4, threshold=2, monotonic=True)


def exact(value: int, side: Side) -> Exact:
    return Exact(value, Sensitivity(entries=1, each=1, monotonic=side))


def watched(counts: list[int], believed: list[int], side: Side) -> tuple[Any, ...]:
    """All that one side shows of some queries: nothing for each below, and the gap of the first above."""
    run, shown = start(WATCH, side, 0), []
    for count, h in zip(counts, believed, strict=True):
        shown.append(run.gap(exact(count - h if side == "up" else h - count, side)))
        if run.over:
            break
    return tuple(shown)


def laws(side: Side, joins: tuple[int, ...]) -> list[Law]:
    """The law of all that a run shows, without and with one person, who raises the counts so marked by one."""
    counts = [5, 9]
    moved = [count + d for count, d in zip(counts, joins, strict=True)]
    return [law(lambda c=c: watched(c, [7, 7], side), unexplored="1e-4") for c in (counts, moved)]  # type: ignore[misc]


@pytest.mark.parametrize("side", ["up", "down"])
@pytest.mark.parametrize("joins", [(1, 1), (1, 0), (0, 1)], ids=str)
def test_answers_and_gaps_of_a_run_lose_no_more_than_epsilon(side: Side, joins: tuple[int, int]) -> None:
    """Half the noise anywhere, or a gap that shows the line's own noise, would lose more."""
    P, Q = laws(side, joins)
    assert hockey_stick(P, Q, WATCH.epsilon)[0] <= 0
    assert hockey_stick(Q, P, WATCH.epsilon)[0] <= 0


def test_a_run_that_claimed_half_of_its_epsilon_would_be_caught() -> None:
    P, Q = laws("up", (0, 1))
    third = Fraction(4, 3)
    assert max(hockey_stick(P, Q, third)[0], hockey_stick(Q, P, third)[0]) > 0.01


def chance(watch: Watch, values: list[int], gap: int | None) -> float:
    """The chance that all values but the last are below the line, and the last by so much above, or below too."""
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
    """Lines and comparisons with other noise than they are said to have would show here."""
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
    """Noise that is a millionth too narrow or too wide would show: one would exceed ε, the other stay below."""
    worst, steps = 0.0, (0, 1, watch.sensitivity)
    for small, large, count in itertools.product((-30, -8, -3, 0, 3), (-40, -10, 0, 5), (0, 1, 20)):
        for rises, last, gap in itertools.product(steps, steps, (None, 0, 2, 9)):
            values = [watch.threshold + small] * count + [watch.threshold + large]
            moved = [value + rises for value in values[:-1]] + [values[-1] + last]
            P, Q = chance(watch, values, gap), chance(watch, moved, gap)
            if min(P, Q) > 1e-200:
                worst = max(worst, abs(math.log(P / Q)))
    assert worst == pytest.approx(float(watch.epsilon), rel=1e-12)


def test_a_run_ends_at_its_first_alarm_and_watches_one_side_only() -> None:
    run = start(Watch(1, threshold=10, monotonic=True), "up", 3)
    assert run.gap(exact(-10_000, "up")) is None
    with pytest.raises(SensitivityExceeded, match="other way"):
        run.gap(exact(0, "down"))
    assert run.gap(exact(10_000, "up")) > 9_000
    with pytest.raises(BudgetExceeded, match="over"):
        run.gap(exact(0, "up"))
    assert "over" in repr(run)


def test_lines_show_nothing_and_runs_are_not_copied() -> None:
    import copy
    import pickle

    run = start(WATCH, "up", 0)
    assert str(run.line.height) not in repr(run.line)
    assert run.line == Line(WATCH, run.line.height + 5)
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="copied or pickled"):
            copying(run)


def drawn(scale: Fraction, trials: int) -> Any:
    """Noise of the sentry, many at once."""
    two_sided = np.asarray(noise.discrete_laplace(scale, trials))
    return np.where(two_sided >= 0, two_sided, -1 - two_sided)


def test_one_sided_noise_is_geometric() -> None:
    found = law(lambda: one_sided(Fraction(2)), unexplored="1e-6")
    for value in range(6):
        low, high = found.chance(value)
        assert low - 1e-9 <= (1 - math.exp(-0.5)) * math.exp(-value / 2) <= high + 1.1e-6
    assert found.chance(-1)[0] == 0


@pytest.mark.parametrize("alpha", [Fraction(1, 20), Fraction(1, 100)])
def test_below_is_said_wrongly_as_often_as_the_slack_allows_and_not_much_less(alpha: Fraction) -> None:
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
def test_a_gap_is_off_by_more_than_its_radius_as_often_as_was_said(alpha: Fraction) -> None:
    watch = Watch("0.2", threshold=50, monotonic=True)
    r, trials = gap_radius(watch, alpha), 40_000
    with noise.deterministic(2):
        apart = drawn(watch.threshold_scale, trials) - drawn(watch.query_scale, trials)
    margin = 5 * math.sqrt(float(alpha) / trials)
    assert float(alpha) * 0.85 - margin < float((np.abs(apart) > r).mean()) < float(alpha) + margin


def test_a_run_that_is_taken_up_again_has_the_same_line() -> None:
    run = start(WATCH, "down", 1)
    again = Run(Line(WATCH, run.line.height), "down", 1)
    assert again.line.height == run.line.height
    assert not again.over
