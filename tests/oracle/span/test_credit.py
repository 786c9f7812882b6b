"""The test beside a span: what it costs, when it raises an alarm, and which plans take it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.kernel.threshold_test import Watch, gap_margin, late
from discreet.ledger.costs import cost
from discreet.oracle.pricing import FINE, ROOM, Terms, payment_within, terms
from discreet.oracle.span import credit
from discreet.oracle.span.confidence import split
from discreet.oracle.span.plan import MARGIN, OraclePlan, plan
from discreet.query.bins import Axis

AXES = [
    Axis("age", "c0", 32, False, tuple(range(32)), ordered=True),
    Axis("school", "c1", 16, False, tuple(range(16)), ordered=True),
    *(Axis(f"n{size}", f"n{size}", size, False, tuple(range(size))) for size in (9, 7, 6, 5, 3, 2)),
]
"""As many levels as in the first table of `bench.oracle`."""


def agreed(within: int = 586, promise: str = "every", span: str | None = None) -> Terms:
    return terms(
        rho=Fraction(15, 1000),
        within=within,
        confidence="0.95",
        queries=10_000,
        start="span",
        rows_per_person=1,
        promise=promise,
        span=span,
    )


@pytest.mark.parametrize("deviation", [3.0, 40.0, 90.0, 250.0])
def test_an_alarm_is_foreseen_as_often_as_the_law_of_the_noise_raises_one(deviation: float) -> None:
    """The witness sums the probabilities of both geometric laws, and integrates over errors below T."""
    watch = Watch(epsilon=1, threshold=400, sensitivity=20, monotonic=True)
    b, c = float(watch.query_scale), float(watch.threshold_scale)
    line = np.arange(4000)
    chance = (1 - np.exp(-1 / c)) * np.exp(-line / c)
    errors = np.linspace(-8, 8, 4001) * deviation
    weights = np.exp(-0.5 * (errors / deviation) ** 2)
    alarms = [float((chance * np.exp(-(400 + line - e) / b)).sum()) if e < 400 else 1.0 for e in errors]
    assert credit.alarm(watch, deviation) == pytest.approx(
        2 * float(np.average(alarms, weights=weights)), rel=0.03
    )


def test_runs_that_leave_no_room_for_a_hypothesis_are_not_offered_and_the_most_precise_come_first() -> None:
    for within in (300, 454, 586, 900, 4000):
        given = agreed(within)
        offered = [*credit.shares(given, within * FINE)]
        assert offered == sorted(offered, reverse=True)
        for share in offered:
            watch, rho, gap = credit.credit_test(given, within * FINE, share) or pytest.fail("no test")
            assert rho == cost(watch.loss).rho  # what is set aside is what a run loses
            assert credit.RUNS * rho <= share * given.rho
            # Whichever run is in use, a comparison passes an answer that is off by more than the margin so rarely.
            slack = within * FINE - watch.threshold
            assert credit.RUNS * late(watch, slack + 2) <= credit.FREE * given.alpha
            assert watch.threshold - float(watch.query_scale) * np.log(10_000) >= ROOM * within * FINE
            assert gap >= gap_margin(watch, credit.GAP * given.alpha / credit.RUNS) > 0
    assert not [*credit.shares(agreed(300), 300 * FINE)]
    assert [*credit.shares(agreed(4000), 4000 * FINE)] == [Fraction(5, 100)]


def test_the_first_runs_fit_into_what_the_plan_sets_aside_also_if_the_number_of_rows_was_measured() -> None:
    """They were priced by the whole budget, so with a margin in percent the first one waited for credit."""
    given = replace(agreed(), within=Fraction(12, 1000))
    left = given.rho - given.for_total
    assert left < given.rho
    for share in credit.shares(given, 586 * FINE):
        _, rho, _ = credit.credit_test(given, 586 * FINE, share) or pytest.fail("no test")
        assert credit.AT_ONCE * rho <= credit.at_once(share) * left


def test_a_plan_with_a_test_promises_enough_also_if_its_first_runs_are_lost_at_once() -> None:
    found = plan(AXES, agreed(), 586 * FINE)
    assert found.test > 0
    assert not found.certificate
    assert found.share == found.span + found.test * credit.AT_ONCE / credit.RUNS
    assert found.span + found.test <= 1 - credit.PAYMENTS
    _, alpha = split(Fraction(1, 20), True, "every", test=True)
    _, single = payment_within(agreed(), 586 * FINE, alpha)
    payments = float((1 - found.share) * Fraction(15, 1000) / single)
    assert found.floor == int(payments)
    assert found.expected == pytest.approx(payments / (1 - found.free))
    assert found.expected >= MARGIN * found.plain
    assert OraclePlan.from_json(found.as_json()) == found


def test_a_plan_has_no_test_where_its_runs_are_vague_or_free_answers_follow_from_the_span() -> None:
    vague = plan(AXES, agreed(440), 440 * FINE)
    assert vague.share > 0
    assert vague.test == 0
    assert vague.share == vague.span
    assert plan(AXES, agreed(promise="each"), 586 * FINE).test == 0
    assert plan(AXES, agreed(span="0.8"), 586 * FINE).test == 0  # the runs would leave too little for payments
