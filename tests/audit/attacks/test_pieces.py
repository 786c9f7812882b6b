"""The exact attack by pieces: laws of whole transcripts, to events of probability 1e-7, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import pytest

from discreet import noise, oracle, privacy
from discreet.audit.attacks import exact, pieces
from discreet.audit.attacks.draw_laws import weaker
from discreet.audit.battery import check_mechanism
from discreet.audit.inputs.subject import Subject
from discreet.audit.inputs.transcripts import aimed
from discreet.audit.shipped.oracles import oracles
from discreet.errors import NotEnumerable
from discreet.mechanisms import AboveThreshold, Exact, Mechanism, ReportNoisyMax, RestartingSparse, Sparse
from discreet.privacy import Pure

LAPLACE = math.exp(-1)  # the ratio of discrete Laplace noise of scale 1


def chen(counts: Sequence[int]) -> list[bool]:
    """Algorithm 6 of Lyu, Su and Li's catalogue (Chen et al.), at T = 5 and ε = 2: it never halts."""
    line = 5 + noise.discrete_laplace(1)
    return [bool(count + noise.discrete_laplace(1) >= line) for count in counts]


CHEN = Subject(name="algorithm 6", release=chen, loss=Pure(2), pairs=[((5, 6, 6, 6), (6, 5, 5, 5))])


def at_least(value: int) -> float:
    """The probability that discrete Laplace noise of scale 1 is at least this."""
    tail = LAPLACE ** abs(value - (value <= 0)) / (1 + LAPLACE)
    return tail if value > 0 else 1 - tail


def test_the_law_of_a_transcript_is_the_sum_over_the_threshold_of_products() -> None:
    found = pieces.law(lambda: chen((5, 6, 6, 6)))
    expected = sum(
        (1 - LAPLACE) / (1 + LAPLACE) * LAPLACE ** abs(line) * at_least(line) * (1 - at_least(line - 1)) ** 3
        for line in range(-60, 61)
    )
    low, high = found.chance((True, False, False, False))
    assert low == pytest.approx(expected, rel=1e-9)
    assert high - low < 1e-12
    assert found.unexplored < 1e-12


def test_pieces_and_single_values_have_the_same_law() -> None:
    def run() -> list[bool]:
        line = noise.discrete_laplace("1/2")
        return [bool(count + noise.discrete_laplace("1/2") >= line) for count in (0, 1)]

    by_pieces, one_by_one = pieces.law(run), exact.law(run, unexplored="1e-7")
    for seen in one_by_one.chances:
        assert by_pieces.chance(seen)[0] == pytest.approx(one_by_one.chance(seen)[0], abs=2e-7)


def test_lyus_algorithm_6_loses_2_79_and_is_caught_by_the_battery() -> None:
    report = check_mechanism(CHEN, samples=1000, budget=3000)
    assert report.caught
    assert report.verdicts[0].found == pytest.approx(2.794, abs=1e-3)


def test_code_that_differs_inside_of_a_range_is_refused() -> None:
    """An island that no point of the grid touches: a law without it would be wrong."""
    with pytest.raises(NotEnumerable, match="different things"):
        pieces.law(lambda: 21 <= noise.discrete_laplace(30) + noise.discrete_laplace(30) <= 22, pivots=())


def test_an_attack_that_may_not_run_long_enough_is_undecided_and_never_holds() -> None:
    verdict = pieces.attack(replace(CHEN, loss=Pure(3)), most=200)
    assert verdict.undecided
    assert not verdict.caught
    assert verdict.unexplored is not None
    assert verdict.unexplored > 1e-3
    assert not pieces.attack(replace(CHEN, loss=Pure(3))).undecided


# -- mechanisms with too little noise -----------------------------------------------------------------------------


@dataclass(frozen=True)
class WeakAbove(AboveThreshold):
    """Noise of both kinds × share, at the price of all of it."""

    share: Fraction = Fraction(1, 2)

    @cached_property
    def threshold_scale(self) -> Fraction:
        return self.share * super().threshold_scale

    @cached_property
    def query_scale(self) -> Fraction:
        return self.share * super().query_scale


@dataclass(frozen=True)
class WeakSparse(Sparse):
    """A quarter of the noise."""

    @cached_property
    def threshold_scale(self) -> Fraction:
        return super().threshold_scale / 4

    @cached_property
    def query_scale(self) -> Fraction:
        return super().query_scale / 4


def by_pieces(mechanism: Mechanism, loss: Any = None) -> Any:
    made = aimed(mechanism)
    assert made is not None
    return pieces.attack(replace(made.subject, loss=loss or mechanism.loss), pivots=made.pivots)


@pytest.mark.parametrize(
    "mechanism",
    [
        WeakAbove(1, threshold=0, share=Fraction(1, 2)),
        WeakAbove(5, threshold=0, share=Fraction(1, 5)),
        WeakAbove(3, threshold=0, share=Fraction(4, 5)),
        WeakSparse(8, threshold=0, positives=2),
    ],
    ids=["half", "a fifth", "four fifths", "Sparse with a quarter"],
)
def test_a_run_with_too_little_noise_is_caught(mechanism: Mechanism) -> None:
    assert by_pieces(mechanism).caught


@pytest.mark.parametrize(
    ("mechanism", "charged"),
    [
        (AboveThreshold(2, threshold=0), "1.8"),
        (AboveThreshold(4, threshold=7, monotonic=True), "3.6"),
        (Sparse(6, threshold=0, positives=2, monotonic=True), "5.4"),
        (ReportNoisyMax(2), "1.8"),
        (ReportNoisyMax(1, monotonic=True), "0.9"),
    ],
)
def test_a_run_or_a_choice_undercharged_by_a_tenth_is_caught_and_no_more(
    mechanism: Mechanism, charged: str
) -> None:
    verdict = by_pieces(mechanism, Pure(charged))
    assert verdict.caught
    assert not verdict.undecided
    assert verdict.found <= privacy.epsilon(mechanism.loss, 0)


def test_the_battery_itself_catches_half_the_noise() -> None:
    assert check_mechanism(WeakAbove(3, threshold=0), samples=1000, budget=300).caught


def attacked(name: str, loss: Any = None, **changes: Any) -> bool:
    subject = oracles()[name]
    claimed = replace(subject, loss=loss or subject.loss, **changes)
    runs = (claimed.attacks or {"exact": exact.attack}).items()
    return any(run(claimed).caught for key, run in runs if key != "black box")


def test_multiplicative_weights_charged_half_or_without_their_laplace_half_are_caught() -> None:
    subject = oracles()["PrivateMultiplicativeWeights"]
    line, number = subject.loss  # type: ignore[misc]
    assert privacy.epsilon(line, 0) == privacy.epsilon(number, 0) == 1  # so both mistakes claim ε = 1
    assert attacked("PrivateMultiplicativeWeights", line)


def test_blr_at_twice_its_epsilon_is_caught() -> None:
    twice = oracle.BLR(epsilon=2, queries=oracle.Queries([[1, 0]]), rows=12, size=1)
    release = {"release": lambda counts: twice.release(Exact(counts, 1)).tolist()}
    assert attacked("BLR", **release)
    assert not attacked("BLR")


def test_hardt_and_rothblum_with_a_tenth_of_their_noise_are_caught() -> None:
    """The claim is a Rényi curve: it is compared at its orders, where (ε, δ) would be too generous to fail."""
    assert not attacked("HardtRothblum")
    with weaker(Fraction(10)):
        assert attacked("HardtRothblum")


@pytest.mark.slow
def test_restarts_lose_nearly_what_they_charge() -> None:
    mechanism = RestartingSparse(6, threshold=0, positives=2)
    assert not by_pieces(mechanism).caught
    assert by_pieces(mechanism, Pure(10)).caught
