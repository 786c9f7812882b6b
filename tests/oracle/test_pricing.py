"""The division of an oracle's budget: all parts together are within ρ, and margins hold."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.kernel.threshold_test import gap_margin, slack
from discreet.ledger.costs import cost
from discreet.mechanisms.tails import WIDEST
from discreet.oracle.pricing import (
    FINE,
    FREE,
    GAP,
    MOST_ROWS,
    PAID,
    SHARES,
    THRESHOLD_TEST,
    Terms,
    narrowest,
    prices,
    terms,
)
from discreet.oracle.two_parts import widening


def agreed(**changes: object) -> Terms:
    given_ = {
        "rho": Fraction(1, 70),
        "within": "0.01",
        "confidence": "0.95",
        "queries": 10_000,
        "start": "pairs",
        "rows_per_person": 1,
    }
    return terms(**{**given_, **changes})  # type: ignore[arg-type]


@settings(max_examples=30, deadline=None)
@given(
    rho=st.fractions("1/100000", 10, max_denominator=10**6)
    | st.integers(6, 22).map(lambda digits: Fraction(1, 10**digits)),
    within=st.sampled_from(["1e-9", "0.001", "0.01", "0.99", 1, 50, 10**6, MOST_ROWS, "1%"]),
    rows=st.floats(-1e14, 1e9) | st.floats(1e9, 1e14),
    queries=st.integers(1, 10**7) | st.just(10**400),
    each=st.integers(1, 1000) | st.just(2**24),
)
def test_every_cost_is_the_loss_of_its_mechanism_and_fits(
    rho: Fraction, within: object, rows: float, queries: int, each: int
) -> None:
    known = agreed(rho=rho, within=within, queries=queries, rows_per_person=each)
    found = prices(known, rows)
    assert found.margin >= 1
    if found.watch is not None:
        assert found.runs >= 2
        assert found.runs * found.run <= rho * THRESHOLD_TEST
        assert cost(found.watch.loss).rho <= found.run
        assert found.watch.sensitivity == known.sensitivity * (FINE // 4096)
        assert found.watch.threshold + slack(found.watch, FREE * known.alpha / found.runs) == found.margin
        assert gap_margin(found.watch, GAP * known.alpha / found.runs) == found.gap_margin
    else:
        assert found.runs == 0
    if found.payment is not None:
        assert cost(found.payment.loss).rho <= found.single <= rho
        assert found.payment.error(1 - PAID * known.alpha) <= found.margin
    assert FREE + PAID + GAP == 1


@pytest.mark.parametrize(("rho", "each"), [("1/200", 1), ("1/2", 8), ("1e-14", 1)])
def test_the_narrowest_answer_is_one_that_can_be_paid_for_and_half_of_it_is_not(rho: str, each: int) -> None:
    known = agreed(rho=Fraction(rho), rows_per_person=each)
    least = narrowest(known)
    assert least is not None
    assert prices(agreed(rho=Fraction(rho), rows_per_person=each, within=least), 0).answers(known)
    assert not prices(agreed(rho=Fraction(rho), rows_per_person=each, within=least // 2), 0).answers(known)


def test_too_little_pays_for_no_answer_however_wide() -> None:
    assert narrowest(agreed(rho=Fraction(1, 10**24))) is None


def test_wide_answers_are_paid_for_by_the_widest_noise_that_is_drawn() -> None:
    """Without a bound their noise would leave int64, and the widest answers could not be paid for at all."""
    found = prices(agreed(within=MOST_ROWS), 0)
    assert found.payment is not None
    assert found.payment.variance == WIDEST**2


@pytest.mark.parametrize("start", list(SHARES))
def test_the_start_and_the_threshold_test_leave_something_for_payments(start: str) -> None:
    known = agreed(start=start)
    assert sum(SHARES[start].values()) + THRESHOLD_TEST < 1
    assert known.part("pairs", 28) * 28 + known.part("singles", 8) * 8 + known.part("total") < known.rho


def test_a_whole_marginal_is_as_private_as_it_is_charged() -> None:
    known = agreed(rows_per_person=3)
    assert cost(known.marginal(Fraction(1, 1000)).loss).rho == Fraction(1, 1000)


@pytest.mark.parametrize(("within", "rows"), [("1%", 10_000), ("0.01", 10_000), (100, 77), ("100", 5)])
def test_within_is_a_share_of_the_rows_or_a_number_of_rows(within: object, rows: float) -> None:
    assert prices(agreed(within=within), rows).margin == 100 * FINE


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"within": 0}, "above 0"),
        ({"within": MOST_ROWS + 1}, "up to 137438953472"),
        ({"start": "triples"}, "starts with"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"confidence": "0.999999999999999999999"}, "at least 1e-20"),
    ],
)
def test_invalid_terms_are_refused(changes: dict[str, object], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        agreed(**changes)


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_each_part_of_an_average_misses_with_half_of_alpha(confidence: str) -> None:
    """It would catch: an average that holds with 90 % where 95 % was asked for, because its two parts add up."""
    given_ = agreed(confidence=confidence)
    known = prices(given_, 50_000)
    wider, half = widening(given_, known), given_.alpha / 2
    assert known.watch is not None
    assert known.payment is not None
    checked = known.watch.threshold + slack(known.watch, FREE * half / known.runs)
    assert checked <= known.margin + wider["checked"]
    assert gap_margin(known.watch, GAP * half / known.runs) <= known.gap_margin + wider["alarm"]
    for share in (Fraction(1), PAID):
        misses = known.payment.error(1 - share * given_.alpha) + wider["paid"]
        assert misses >= known.payment.error(1 - share * half)
    deviation = Fraction(known.margin) / Fraction(-NormalDist().inv_cdf(float(given_.alpha) / 2))
    assert known.margin + wider["measured"] >= deviation * Fraction(-NormalDist().inv_cdf(float(half) / 2))
    assert min(wider.values()) > 0
