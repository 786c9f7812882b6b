"""Choosing among candidates: the declared loss against the exact law of the choice, choices against that law."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet import noise
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip, ReportNoisyMax, Sensitivity
from discreet.mechanisms.selection import Selection
from discreet.privacy import losses
from tests.mechanisms.output_laws import (
    FALSE_ALARM,
    Law,
    exponential,
    log_ratios,
    neighbours,
    noisy_max,
    p_value,
    permute_and_flip,
)

LAWS: dict[type[Selection], Callable[[Any, Any], Law]] = {
    Exponential: exponential,
    PermuteAndFlip: permute_and_flip,
    ReportNoisyMax: noisy_max,
}
SCORES = [(0, 0, 0), (0, 0, 3), (5, 0, 0), (0, 3, 1), (40, 0, 0), (2, 1, 2)]


def worst_losses(mechanism: Selection) -> tuple[float, float]:
    """The largest loss of any outcome, and the widest range of losses, over all neighbouring scores."""
    law = LAWS[type(mechanism)]
    worst = widest = mpmath.mpf(0)
    moves = [*neighbours(3, mechanism.sensitivity, monotonic=mechanism.monotonic)]
    extreme = [move for move in moves if all(abs(d) in (0, mechanism.sensitivity) for d in move)]
    for scores, move in itertools.product(SCORES, extreme):
        P, Q = law(mechanism, scores), law(mechanism, [u + d for u, d in zip(scores, move, strict=True)])
        ratios = log_ratios(P, Q)
        worst = max(worst, max(ratios), -min(ratios))
        widest = max(widest, max(ratios) - min(ratios))
    return float(worst), float(widest)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("epsilon", "sensitivity"), [("0.7", 1), (2, 2)])
@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_no_choice_gives_away_more_than_epsilon_and_some_almost_that(
    kind: type[Selection], epsilon: str, sensitivity: int, monotonic: bool
) -> None:
    mechanism = kind(epsilon, sensitivity, monotonic)
    worst, _ = worst_losses(mechanism)
    assert 0.9 * float(mechanism.epsilon) < worst <= float(mechanism.epsilon) + 1e-12


@pytest.mark.parametrize(("epsilon", "sensitivity", "monotonic"), [("0.7", 1, False), (2, 1, True)])
def test_no_noisy_maximum_gives_away_more_than_epsilon_and_some_almost_that(
    epsilon: str, sensitivity: int, monotonic: bool
) -> None:
    """Ties go to the lowest index. Half the scale would lose twice as much."""
    mechanism = ReportNoisyMax(epsilon, sensitivity, monotonic)
    worst, _ = worst_losses(mechanism)
    assert 0.7 * float(mechanism.epsilon) < worst <= float(mechanism.epsilon) + 1e-9


@pytest.mark.parametrize("monotonic", [False, True])
def test_the_losses_of_the_exponential_mechanism_lie_in_a_range_of_epsilon(monotonic: bool) -> None:
    _, widest = worst_losses(Exponential(1, 2, monotonic))
    assert 0.99 < widest <= 1 + 1e-12


def test_the_losses_of_permute_and_flip_do_not() -> None:
    """It must not be composed as if it had bounded range."""
    _, widest = worst_losses(PermuteAndFlip(1))
    assert widest > 1.2


def test_the_exponential_mechanism_of_the_notes_loses_up_to_twice_epsilon() -> None:
    """Note 002 writes exp(ε·u)/Δu: without the 2 the choice of a sensitivity-1 score loses more than ε."""
    literal = Exponential(2, sensitivity=1)  # weighs exp(2·u/2) = exp(u), which the notes would call ε = 1
    worst, _ = worst_losses(literal)
    assert worst > 1.8


def test_each_declares_the_loss_that_is_its_own() -> None:
    assert Exponential("0.5").loss == losses.Exponential("0.5")
    assert PermuteAndFlip("0.5").loss == losses.PermuteAndFlip("0.5")
    assert ReportNoisyMax("0.5").loss == losses.Pure("0.5")


@pytest.mark.parametrize("monotonic", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", list(LAWS))
def test_choices_follow_the_law(kind: type[Any], monotonic: bool) -> None:
    """Fails if ε is used without its 2, the sensitivity is ignored, or ties go to another index."""
    mechanism = kind("1.5", 2, monotonic)
    for scores in [(0, 3, 1, 3), (4, 0, 4)]:
        exact = Exact(list(scores), Sensitivity(each=2, monotonic="up"))
        law = LAWS[kind](mechanism, scores)
        assert p_value(partial(mechanism.release, exact), 6_000, law) > FALSE_ALARM


@pytest.mark.parametrize("kind", list(LAWS))
def test_extreme_scores_are_clamped_and_compared_without_wrapping(kind: type[Any]) -> None:
    mechanism = kind(1)
    assert mechanism.release(Exact([-(2**63), 2**63, 0], Sensitivity(each=1))) == 1
    assert mechanism.release(Exact(np.array([-(2**63), 2**63 - 1]), Sensitivity(each=1))) == 1
    assert mechanism.release(Exact([5], Sensitivity(each=1))) == 0


@pytest.mark.parametrize("kind", list(LAWS))
def test_equal_scores_are_all_chosen(kind: type[Any]) -> None:
    mechanism = kind(1)
    exact = Exact([9] * 4, Sensitivity(each=1))
    assert {mechanism.release(exact) for _ in range(300)} == {0, 1, 2, 3}  # one is missed once in 10³⁶


@pytest.mark.parametrize("kind", list(LAWS))
def test_the_bits_that_a_choice_takes_do_not_tell_the_scores(kind: type[Any]) -> None:
    """After one winner by far, or a thousand equal ones, the stream is at the same place."""
    following = set()
    for scores in ([10**6] + [0] * 999, [7] * 1_000, range(1_000)):
        with noise.deterministic(3):
            kind(1).release(Exact(scores, Sensitivity(each=1)))
            following.add(int(noise.uniform_below(2**62)))
    assert len(following) == 1


def test_a_noisy_tie_goes_to_the_lowest_index() -> None:
    mechanism = ReportNoisyMax(1000)  # noise of scale 1/500 is zero, but for one chance in 10²¹⁷
    assert mechanism.release(Exact([3, 7, 7, 7], Sensitivity(each=1))) == 1


@pytest.mark.parametrize("kind", list(LAWS))
def test_a_fine_epsilon_and_many_candidates_are_handled(kind: type[Any]) -> None:
    mechanism = kind(Fraction(1234567, 10**12), 3)
    scores = np.arange(2_000) * 10**12
    assert 0 <= mechanism.release(Exact(scores, Sensitivity(each=3))) < 2_000
