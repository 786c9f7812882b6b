"""Broken randomisers are caught, by exactly as much as their odds say; the mended ones are not."""

from __future__ import annotations

import math

import pytest

from discreet.audit.attacks import exact
from discreet.audit.museum import responses
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.museum.responses import EXHIBITS, LN_3, LN_9

NO_BOUND = [
    responses.TRUE_BIT_NEVER_FLIPPED,
    responses.TRUE_VALUE_FIRST,
    responses.LENGTH_LEAKS,
    responses.LAST_BIT_BARE,
]


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)
def test_the_mended_one_loses_all_that_it_claims(exhibit: Exhibit) -> None:
    """The attack is sharp: a slightly smaller claim would be refuted."""
    mended = exhibit.mended()
    assert mended.found == pytest.approx(mended.claimed, abs=2e-4)


def test_the_claims_are_rounded_up() -> None:
    assert 0 < float(LN_3) - math.log(3) < 1e-4
    assert 0 < float(LN_9) - math.log(9) < 1e-4


def test_a_lie_that_may_be_the_truth_has_odds_of_seven_to_one() -> None:
    assert responses.LIE_MAY_BE_TRUTH.broken().found == pytest.approx(math.log(7), abs=1e-4)


def test_a_bit_set_twice_has_odds_of_thirteen_to_one() -> None:
    assert responses.TRUE_BIT_SET_TWICE.broken().found == pytest.approx(math.log(13), abs=1e-4)


@pytest.mark.parametrize("exhibit", NO_BOUND, ids=lambda exhibit: exhibit.name)
def test_no_epsilon_holds_where_an_outcome_rules_something_out(exhibit: Exhibit) -> None:
    found = exhibit.broken().found
    assert found is not None
    assert found > 40  # the attack stops counting somewhere above


def test_the_first_place_of_a_list_is_the_truth_three_times_out_of_four() -> None:
    law = exact.law(lambda: responses.true_one_first(2))
    first = [law.chance((2, other))[0] for other in (0, 1, 3)]
    assert first == pytest.approx([1 / 4] * 3)
    assert not {(other, 2) for other in (0, 1, 3)} & law.chances.keys()


def test_the_set_itself_is_that_of_subset_selection() -> None:
    law = exact.law(lambda: responses.without_order(2))
    assert [law.chance(held)[0] for held in ((0, 2), (1, 2), (2, 3))] == pytest.approx([1 / 4] * 3)
    assert [law.chance(lacking)[0] for lacking in ((0, 1), (0, 3), (1, 3))] == pytest.approx([1 / 12] * 3)
