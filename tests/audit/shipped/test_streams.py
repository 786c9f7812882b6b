"""The exact attack catches streams with half the noise; shipped ones hold in tests/audit/test_battery.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from discreet import noise
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.shipped.streams import correlated, looked_at, streams
from discreet.privacy.losses import DiscreteGaussian, Pure, ZeroConcentrated
from discreet.stream import distinct
from discreet.stream.distinct import Distinct, odds
from discreet.stream.factorisations.tree import TreeSums

EVENTS = [([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [0, 0, 1])]
ONE = [([1, 0], [2, 0]), ([1, 0], [1, 1])]


def caught(release: Any, loss: Any, pairs: Any, unexplored: str = "1e-3", most: int = 20_000) -> bool:
    subject = Subject(name="with a fault", release=release, loss=loss, pairs=pairs)
    return exact.attack(subject, unexplored=unexplored, most=most).caught


def test_a_counter_with_half_the_noise_is_caught() -> None:
    assert caught(correlated(Fraction(8)), ZeroConcentrated(2), EVENTS[1:])


def test_an_event_in_the_last_tick_shows_exactly_what_a_gaussian_shows() -> None:
    """The bound is attained there: a tenth less noise than is charged for would be seen."""
    last = EVENTS[1:]
    assert not caught(correlated(Fraction(2)), DiscreteGaussian(9, 6), last)
    assert caught(correlated(Fraction(2)), DiscreteGaussian(10, 6), last)


def test_a_tree_with_half_the_noise_is_caught() -> None:
    def release(counts: Sequence[int]) -> Any:
        sums, shown = TreeSums(Pure(4), 3), []
        for count in counts:
            sums.push(count)
            shown.append(round(float(sums.value), 9))
        return shown

    assert caught(release, Pure(2), EVENTS)
    assert not caught(release, Pure(4), EVENTS)


def test_a_look_at_a_private_state_shows_what_is_claimed_and_half_the_noise_is_caught() -> None:
    """With all but 1e-4 enumerated, less than e^−8: a state without noise would be caught at ε = 8."""
    assert not caught(looked_at(Pure(8)), Pure(8), ONE, "1e-4", most=400_000)
    assert caught(looked_at(Pure(8)), Pure(4), ONE, "2e-3")


def test_a_look_at_the_state_of_an_ordinary_tree_is_caught() -> None:
    """An open node without noise shows the event."""

    def release(counts: Sequence[int]) -> Any:
        sums = TreeSums(Pure(6), 2)
        sums.push(counts[0])
        look = [*sums.state()["open"]]
        sums.push(counts[1])
        return [*look, round(float(sums.value), 9)]

    assert caught(release, Pure(6), ONE)


def test_one_draw_per_node_does_not_cover_a_look() -> None:
    """If a node were released with the noise that it was opened with, the difference would be exact."""

    class OneDraw(TreeSums):
        def _close(self, level: int) -> tuple[Any, float]:
            released = self._open[level]
            self._open[level] = self._opened()
            return released, 1.0

    def release(counts: Sequence[int]) -> Any:
        sums = OneDraw(Pure(6), 2, pan_private=True)
        sums.push(counts[0])
        look = [*sums.state()["open"], round(float(sums.value), 9)]
        sums.push(counts[1])
        return [*look, round(float(sums.value), 9)]

    assert caught(release, Pure(6), [([1, 0], [1, 1])])


def test_two_looks_are_covered_if_the_first_is_announced_and_not_otherwise() -> None:
    def release(refreshed: bool) -> Any:
        def run(counts: Sequence[int]) -> Any:
            sums = TreeSums(Pure(9), 4, pan_private=True)
            sums.push(counts[0])
            looks = [sums.state()["open"][2]]
            if refreshed:
                sums.refresh()
            sums.push(counts[1])
            return [*looks, sums.state()["open"][2]]

        return run

    pairs = [([0, 0], [0, 1])]
    # Only the node of one level of three is looked at, so a third of the claim is what it may show.
    assert not caught(release(True), Pure(3), pairs, "3e-2")
    assert caught(release(False), Pure(3), pairs, "3e-2")


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "1.7", "4", "20"])
def test_the_odds_are_exactly_private(epsilon: str) -> None:
    p = odds(Fraction(epsilon))
    most = Fraction(math.exp(float(Fraction(epsilon)))) * (1 + Fraction(1, 10**14))
    assert 0 < p < Fraction(1, 2)
    assert (1 - p) / p <= most
    assert float((1 - p) / p) > math.exp(float(Fraction(epsilon))) * (1 - 1e-3)


def test_the_classical_odds_break_pure_privacy_above_1_594() -> None:
    def release(epsilon: Fraction) -> Any:
        return lambda visited: noise.bernoulli(Fraction(1, 2) + (epsilon / 4 if visited else 0))

    assert caught(release(Fraction("1.61")), Pure("1.61"), [(False, True)])
    assert not caught(release(Fraction("1.58")), Pure("1.58"), [(False, True)])


def test_a_bit_that_is_redrawn_with_twice_the_odds_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = streams()["Distinct(slots=2, epsilon=8, releases=2)"]
    assert not exact.attack(subject, unexplored="1e-5", most=3_000).caught
    monkeypatch.setattr(distinct, "odds", lambda epsilon: odds(2 * epsilon))
    assert exact.attack(subject, unexplored="1e-5", most=3_000).caught


def test_distinct_users_are_estimated_and_intervals_hold() -> None:
    outside = 0
    for run in range(60):
        users = Distinct(3000, epsilon=3, releases=2, salt=str(run))
        users.add(range(1000))
        users.add(range(500, 1000))
        answer = users.release()
        low, high = answer.estimate.interval
        assert low is not None
        assert high is not None
        outside += not low <= 1000 <= high
    assert outside < 16  # 60 tries at 5 %: 16 and more have a chance below 1e-6
    assert users.left == 1
    assert answer.value is not None
    assert abs(answer.value - 1000) < 600
