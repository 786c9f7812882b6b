"""What an oracle's budget is divided into: everything together is within ρ, and widths are what they say."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.ledger.costs import cost
from discreet.oracle.sentry import gap_radius, slack
from discreet.oracle.terms import FINE, FREE, GAP, PAID, SENTRY, SHARES, Terms, prices, terms


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


@settings(max_examples=15, deadline=None)
@given(
    rho=st.fractions("1/100000", 10, max_denominator=10**6),
    within=st.sampled_from(["0.001", "0.01", "0.1", 1, 50, 10**6, "1%"]),
    rows=st.floats(-100, 1e9),
    queries=st.integers(1, 10**7),
    each=st.integers(1, 1000),
)
def test_every_price_is_what_its_mechanism_loses_and_fits(
    rho: Fraction, within: object, rows: float, queries: int, each: int
) -> None:
    known = agreed(rho=rho, within=within, queries=queries, rows_per_person=each)
    found = prices(known, rows)
    assert found.width >= 1
    if found.watch is not None:
        assert found.runs >= 2
        assert found.runs * found.run <= rho * SENTRY
        assert cost(found.watch.loss).rho <= found.run
        assert found.watch.sensitivity == known.moves * (FINE // 4096)
        assert found.watch.threshold + slack(found.watch, FREE * known.doubt / found.runs) == found.width
        assert gap_radius(found.watch, GAP * known.doubt / found.runs) == found.reach
    else:
        assert found.runs == 0
    if found.payment is not None:
        assert cost(found.payment.loss).rho <= found.single <= rho
        assert found.payment.error(1 - PAID * known.doubt) <= found.width
    assert FREE + PAID + GAP == 1


@pytest.mark.parametrize("start", list(SHARES))
def test_the_start_and_the_sentry_leave_something_for_payments(start: str) -> None:
    known = agreed(start=start)
    assert sum(SHARES[start].values()) + SENTRY < 1
    assert known.part("pairs", 28) * 28 + known.part("singles", 8) * 8 + known.part("total") < known.rho


def test_a_whole_marginal_is_as_private_as_it_is_charged() -> None:
    known = agreed(rows_per_person=3)
    assert cost(known.marginal(Fraction(1, 1000)).loss).rho == Fraction(1, 1000)


@pytest.mark.parametrize(("within", "rows"), [("1%", 10_000), ("0.01", 10_000), (100, 77), ("100", 5)])
def test_within_is_a_share_of_the_rows_or_so_many(within: object, rows: float) -> None:
    assert prices(agreed(within=within), rows).width == 100 * FINE


@pytest.mark.parametrize(
    ("changes", "word"),
    [({"within": 0}, "above 0"), ({"start": "triples"}, "starts with"), ({"confidence": 2}, "between 0 and 1")],
)
def test_terms_that_make_no_sense_are_refused(changes: dict[str, object], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        agreed(**changes)
