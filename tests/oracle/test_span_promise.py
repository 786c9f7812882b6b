"""The two promises of an oracle with a span, each against its own attacker, span and payments together."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.oracle.pricing import FINE, payment_within, terms
from discreet.oracle.span.confidence import quantile, split

RUNS = 200_000


@pytest.mark.parametrize("confidence", ["0.95", "0.8"])
def test_an_analyst_who_knows_that_the_span_failed_asks_it_and_pays_otherwise_and_is_misled_no_more_than_alpha(
    confidence: str,
) -> None:
    """The span fails as a whole with its part of alpha, a payment by fresh noise. Five standard errors: 3e-7."""
    agreed = terms(
        rho=Fraction(1, 70), within=500, confidence=confidence, queries=100, start="span", rows_per_person=1
    )
    span, paid = split(agreed.alpha, True, "every")
    mechanism, _ = payment_within(agreed, 500 * FINE, paid)
    assert mechanism is not None
    rng = np.random.default_rng(7)
    failed = rng.random(RUNS) < float(span)
    missed = np.abs(rng.normal(0, float(mechanism.variance) ** 0.5, RUNS)) > mechanism.error(1 - paid)
    alpha = float(agreed.alpha)
    assert (failed | missed).mean() <= alpha + 5 * np.sqrt(alpha / RUNS)
    assert span + paid <= agreed.alpha


def test_without_a_span_a_payment_has_all_of_alpha_and_costs_what_a_plain_gaussian_answer_costs() -> None:
    agreed = terms(rho=Fraction(1, 70), within=500, confidence="0.95", queries=9, start="span", rows_per_person=1)
    assert split(agreed.alpha, False, "every") == (Fraction(0), agreed.alpha)
    _, single = payment_within(agreed, 500 * FINE, agreed.alpha)
    assert float(single) == pytest.approx(1.959963985**2 / (2 * 500**2), rel=1e-5)


def test_each_keeps_a_part_of_alpha_back_for_questions_that_follow_free_answers() -> None:
    alpha, paid = split(Fraction(1, 20), True, "each")
    assert (alpha, paid) == (Fraction(1, 25), Fraction(1, 20))
    assert quantile(float(alpha)) == pytest.approx(2.0537, abs=1e-4)
