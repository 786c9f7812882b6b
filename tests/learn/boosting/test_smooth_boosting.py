"""Smooth boosting: what one person moves, the law of the choices by enumeration, and hostile tables."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet import audit, noise
from discreet.learn.boosting.rules import Rules
from discreet.learn.boosting.smooth_boosting import DELTA, QUANTUM, SmoothBoosting, Vote
from tests.learn.boosting.people import PERSONS, ROWS, SMALL, Row, examples, silent

Floats = NDArray[np.float64]

RULES = Rules(SMALL)
EPSILON = Fraction(1, 2)
CHOSEN = st.lists(st.integers(0, RULES.hypotheses - 1), max_size=12)


def scores(persons: list[list[Row]], vote: Vote, rounds: int = 12) -> list[int]:
    boosting = SmoothBoosting(RULES, EPSILON, rounds, 0.2)
    [found] = examples(persons).total(boosting.sums(vote))
    return RULES.scores(found)


@settings(max_examples=150, deadline=None)
@given(PERSONS, st.lists(ROWS, min_size=1, max_size=5), CHOSEN)
def test_one_person_moves_no_score_by_more_than_is_declared(
    others: list[list[Row]], person: list[Row], chosen: list[int]
) -> None:
    vote = Vote(RULES, tuple(chosen))
    moved = np.subtract(scores([*others, person], vote), scores(others, vote))
    assert np.abs(moved).max() <= DELTA


def test_the_declared_sensitivity_is_reached() -> None:
    moved = np.subtract(scores([[(0, 0, 1)]], Vote(RULES)), scores([], Vote(RULES)))
    assert np.abs(moved).max() == DELTA


def test_weights_are_smooth_and_fall_with_the_margin() -> None:
    weights = SmoothBoosting(RULES, EPSILON, 30, 0.15).smooth
    assert weights[0] == QUANTUM
    assert np.all(np.diff(weights) < 0)
    assert weights[10] == int(QUANTUM * np.exp(-1.5))


def test_a_row_that_is_right_counts_for_less_and_one_that_is_wrong_for_no_more_than_one() -> None:
    always = Vote(RULES, (0,) * 5)
    right, wrong = scores([[(0, 0, 1)]], always), scores([[(0, 0, 0)]], always)
    assert right[0] == DELTA // QUANTUM * int(QUANTUM * np.exp(-1.0))
    assert wrong[0] == -DELTA


PAIRS = [
    ([], [[(0, 0, 1)]]),
    ([[(0, 0, 1)]], [[(0, 0, 1)], [(7, 2, 0)]]),
    ([[(3, 1, 0)], [(5, -1, 1)]], [[(3, 1, 0)], [(5, -1, 1)], [(0, 0, 1), (7, 2, 0), (4, 1, 1)]]),
]


@cache
def laws(rounds: int) -> list[tuple[Floats, Floats]]:
    """The probabilities of all outcomes on both tables of each pair, by enumeration of all draws."""
    found = []
    for pair in PAIRS[-1:] if rounds > 1 else PAIRS:
        one, other = (audit.law(partial(release, persons, rounds), unexplored="1e-9") for persons in pair)
        outcomes = list(one.chances)
        assert set(outcomes) == set(other.chances)
        found.append(
            (np.array([one.chance(o)[0] for o in outcomes]), np.array([other.chance(o)[0] for o in outcomes]))
        )
    return found


def release(persons: list[list[Row]], rounds: int) -> list[int]:
    return list(SmoothBoosting(RULES, EPSILON, rounds, 0.2).run(examples(persons), silent)[0].chosen)


def largest_loss(rounds: int) -> float:
    return max(float(np.abs(np.log(p / q)).max()) for p, q in laws(rounds))


def largest_rho(rounds: int) -> float:
    """Return the least ρ for which the Rényi divergences of some orders are at most ρ times the order."""
    divergences = [
        math.log(float((p * (p / q) ** (order - 1)).sum())) / (order - 1) / order
        for pair in laws(rounds)
        for p, q in (pair, pair[::-1])
        for order in (1.01, 1.5, 2, 4, 16)
    ]
    return max(divergences)


@pytest.mark.parametrize("rounds", [1, 2])
def test_the_law_of_the_choices_is_as_private_as_is_charged(rounds: int) -> None:
    assert largest_loss(rounds) <= float(EPSILON) * rounds + 1e-6
    assert largest_rho(rounds) <= rounds * float(EPSILON) ** 2 / 8 + 1e-6


def test_half_the_charge_is_caught() -> None:
    """The bug: ε instead of ε/2 in the exponent, or the sensitivity of scores that move one way only."""
    assert largest_loss(1) > float(EPSILON) / 2
    assert largest_rho(1) > (float(EPSILON) / 2) ** 2 / 8


@pytest.mark.parametrize("persons", [[], [[(0, 0, 1)]], [[(0, 0, 1)]] * 5, [[(-1, -1, -1)]] * 3])
def test_tables_without_rows_or_with_one_class_raise_nothing(persons: list[list[Row]]) -> None:
    vote, tested = SmoothBoosting(RULES, EPSILON, 4, 0.2).run(examples(persons), silent)
    assert len(vote.chosen) == 4
    assert not tested
    assert sum(vote.weights) == 4


def test_predictable_bits_are_seen() -> None:
    with noise.deterministic(1):
        _, tested = SmoothBoosting(RULES, EPSILON, 2, 0.2).run(examples([]), silent)
    assert tested


def test_it_finds_the_rule_that_separates() -> None:
    persons = [[(age, 0, int(age >= 4))] for age in range(8)] * 200
    vote, _ = SmoothBoosting(RULES, Fraction(1), 6, 0.2).run(examples(persons, 8192), silent)
    rule, sign = RULES.chosen(vote.chosen[0])
    assert (RULES.all[rule].words, sign) == ("age from 4", 1)
