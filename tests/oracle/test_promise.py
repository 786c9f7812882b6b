"""Each answer holds with its confidence, also against someone who knows the table and asks where it hurts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.oracle.pricing import FREE, GAP, PAID, Prices, prices, terms

RUNS = 200_000


def known(confidence: str) -> Prices:
    agreed = terms(
        rho=Fraction(1, 70),
        within="0.01",
        confidence=confidence,
        queries=10_000,
        start="pairs",
        rows_per_person=1,
    )
    return prices(agreed, 50_000)


@pytest.mark.parametrize("confidence", ["0.95", "0.8"])
def test_whoever_asks_where_the_hypothesis_is_just_too_far_off_is_misled_no_more_often_than_stated(
    confidence: str,
) -> None:
    # The adversary's best: every question is wrong by a hair more than the width. Runs of low lines end, and
    # those of high ones answer. Laws on the real line, of which ours are the integer versions. Of 200,000 oracles
    # more than 5 standard errors above the bound come with a chance below 1e-6.
    found, alpha = known(confidence), 1 - float(confidence)
    watch, payment = found.watch, found.payment
    assert watch is not None
    assert payment is not None
    rng, wrong = np.random.default_rng(5), found.width * (1 + 1e-9)
    line, query = float(watch.threshold_scale), float(watch.query_scale)
    radius = payment.error(1 - PAID * Fraction(alpha))
    lines, left = rng.exponential(line, RUNS), np.full(RUNS, found.runs - 1)
    for _ in range(6):
        noise = rng.exponential(query, RUNS)
        on = left > 0
        free = on & (wrong + noise < watch.threshold + lines)
        alarm = on & ~free
        paid = np.abs(rng.normal(0, float(payment.variance) ** 0.5, RUNS)) > radius
        gap = np.abs(noise - lines) > found.reach
        for after in (paid, gap):
            missed = (free | (alarm & after)).mean()
            assert missed <= alpha + 5 * np.sqrt(alpha / RUNS)
        left = left - alarm
        lines = np.where(alarm, rng.exponential(line, RUNS), lines)


def test_the_ways_to_be_wrong_share_the_doubt() -> None:
    assert FREE + PAID + GAP == 1
