"""Each interval holds with its confidence, also against an attacker who knows the table."""

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
def test_an_attacker_who_asks_where_the_hypothesis_is_just_too_far_off_is_misled_no_more_often_than_alpha(
    confidence: str,
) -> None:
    # The attacker's best: every prediction is wrong by a little more than the margin. Runs of low thresholds end,
    # and those of high ones answer. The noise is continuous here, and ours is its integer version. With 200,000
    # oracles, a result more than 5 standard errors above the bound has a probability below 1e-6.
    found, alpha = known(confidence), 1 - float(confidence)
    watch, payment = found.watch, found.payment
    assert watch is not None
    assert payment is not None
    rng, wrong = np.random.default_rng(5), found.margin * (1 + 1e-9)
    line, query = float(watch.threshold_scale), float(watch.query_scale)
    margin = payment.error(1 - PAID * Fraction(alpha))
    lines, left = rng.exponential(line, RUNS), np.full(RUNS, found.runs - 1)
    for _ in range(6):
        noise = rng.exponential(query, RUNS)
        on = left > 0
        free = on & (wrong + noise < watch.threshold + lines)
        alarm = on & ~free
        paid = np.abs(rng.normal(0, float(payment.variance) ** 0.5, RUNS)) > margin
        gap = np.abs(noise - lines) > found.gap_margin
        for after in (paid, gap):
            missed = (free | (alarm & after)).mean()
            assert missed <= alpha + 5 * np.sqrt(alpha / RUNS)
        left = left - alarm
        lines = np.where(alarm, rng.exponential(line, RUNS), lines)


def test_the_ways_to_be_wrong_share_alpha() -> None:
    assert FREE + PAID + GAP == 1
