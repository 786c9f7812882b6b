"""MWEM: what it spends, the exact law of a round, the theorem's error, and what replay is good for."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise, privacy
from discreet.audit import Subject
from discreet.audit.attacks.exact import attack
from discreet.errors import ParameterError, SensitivityExceeded
from discreet.mechanisms import Exact, Exponential, Gaussian, Laplace
from discreet.oracle import MWEM, Queries
from discreet.privacy import plan
from discreet.privacy.loss_measures import zcdp_rho
from tests.oracle.textbook.online import skewed

WORKLOAD = Queries.marginals([2, 2, 2, 2], ways=2)


def test_half_of_each_round_is_for_the_choice_and_half_for_the_measurement() -> None:
    made = MWEM.for_epsilon("0.6", queries=WORKLOAD, rows=1000, rounds=3, sensitivity=2)
    assert made.choosing == Exponential("0.1", sensitivity=2)
    assert made.measuring == Laplace(20, sensitivity=2)
    assert plan.epsilon(made.loss, 0) == pytest.approx(0.6, rel=1e-12)


def test_in_zcdp_the_rounds_add_up_to_rho_and_hardly_less() -> None:
    made = MWEM.for_rho("0.3", queries=WORKLOAD, rows=1000, rounds=7)
    rho = sum((zcdp_rho(loss) or Fraction(0) for loss in made.loss), Fraction(0))
    assert Fraction("0.2999999") < rho <= Fraction("0.3")
    assert isinstance(made.measuring, Gaussian)
    assert float(made.choosing.epsilon) == pytest.approx(2 * math.sqrt(0.3 / 7))
    privacy.Session(privacy.ZeroConcentrated("0.3")).charge(made.loss[0])


def test_a_grid_is_part_of_what_one_person_moves() -> None:
    made = MWEM.for_epsilon(1, queries=Queries([[5, 0], [2, 3]], grid=5), rows=1000, rounds=1)
    assert made.choosing.sensitivity == made.measuring.sensitivity == 5


# -- the exact law ----------------------------------------------------------------------------------------------

NARROW = MWEM.for_epsilon(6, queries=Queries([[1, 0], [0, 1]]), rows=4, rounds=1)
PAIRS = [([3, 1], [3, 0]), ([4, 0], [5, 0]), ([0, 0], [0, 1])]


def verdict_on(made: MWEM, loss: Any) -> Any:
    release = lambda counts: made.release(Exact(counts, sensitivity=1)).measured  # noqa: E731
    return attack(Subject(name="MWEM", release=release, loss=loss, pairs=PAIRS), unexplored="1e-5")


def test_what_is_chosen_and_measured_gives_away_no_more_than_is_declared() -> None:
    verdict = verdict_on(NARROW, NARROW.loss)
    assert verdict.claimed == 6
    assert not verdict.caught, verdict.words
    assert verdict.found > 0.6 * 6  # so that a claim a little lower would be refuted


def test_a_choice_at_twice_its_epsilon_as_the_notes_have_it_is_caught() -> None:
    """exp(ε·u) in place of exp(ε·u/(2Δ)), and all measurements as declared."""
    literal = replace(NARROW, choosing=Exponential(6, 1), measuring=Laplace("1/6"))
    assert verdict_on(literal, NARROW.loss).caught


def test_two_rounds_give_away_no_more_than_is_declared() -> None:
    made = MWEM.for_epsilon(12, queries=Queries([[1, 0], [0, 1]]), rows=4, rounds=2)
    release = lambda counts: made.release(Exact(counts, sensitivity=1)).measured  # noqa: E731
    subject = Subject(name="MWEM", release=release, loss=made.loss, pairs=[([3, 1], [3, 0])])
    verdict = attack(subject, unexplored="1e-3", most=20_000)
    assert not verdict.caught, verdict.words


# -- what is learned --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", ["epsilon", "rho"])
def test_every_query_is_within_the_error_that_it_states(made: str) -> None:
    """A false alarm has a chance of 10⁻⁷."""
    make = MWEM.for_epsilon if made == "epsilon" else MWEM.for_rho
    mechanism = make(1, queries=WORKLOAD, rows=10**7, rounds=100)
    counts = skewed(16, mechanism.rows, seed=11)
    learned = mechanism.release(Exact(counts, sensitivity=1))
    bar = mechanism.error(1 - Fraction("1e-7"))
    assert bar < 0.4 * mechanism.rows
    assert np.abs(learned.answers - WORKLOAD.weights @ counts).max() <= bar


def test_its_error_is_that_of_the_paper_at_the_papers_doubt() -> None:
    many = Queries(np.random.default_rng(0).integers(0, 2, (2000, 16)))
    mechanism = MWEM.for_epsilon(1, queries=many, rows=10**6, rounds=20)
    alpha = Fraction(2 * 20, 2000)
    assert mechanism.error(1 - alpha) <= mechanism.theorem(1) + 3  # whole rows
    assert mechanism.theorem(1) == pytest.approx(
        2e6 * math.sqrt(math.log(16) / 20) + 10 * 20 * math.log(2000), rel=1e-9
    )


def test_it_learns_the_table_that_it_cannot_see() -> None:
    counts = np.array([600_000, *[0] * 14, 400_000])
    mechanism = MWEM.for_epsilon(1, queries=WORKLOAD, rows=10**6, rounds=30, replay=3)
    learned = mechanism.release(Exact(counts, sensitivity=1))
    nothing = np.abs(WORKLOAD.weights @ np.full(16, 10**6 / 16) - WORKLOAD.weights @ counts).max()
    assert np.abs(learned.answers - WORKLOAD.weights @ counts).max() < nothing / 10
    assert learned.histogram.sum() == pytest.approx(10**6)
    assert learned.histogram.min() >= 0
    assert len(learned.measured) == 30


def test_replay_learns_more_from_the_same_measurements_and_the_theorem_is_silent_about_it() -> None:
    counts = skewed(16, 10**6, seed=2)
    plain, replayed = (
        MWEM.for_epsilon(10, queries=WORKLOAD, rows=10**6, rounds=12, replay=times) for times in (0, 20)
    )
    errors = []
    for mechanism in (plain, replayed):
        with noise.deterministic(4):
            learned = mechanism.release(Exact(counts, sensitivity=1))
        errors.append(np.abs(np.asarray(learned.answers) - WORKLOAD.weights @ counts).max())
    assert errors[1] < errors[0] / 2
    assert replayed.loss == plain.loss
    assert plain.promise.error < math.inf == replayed.promise.error


def test_answers_are_those_of_the_histogram() -> None:
    queries = Queries([[4, 1], [0, 3]], grid=4)
    learned = MWEM.for_epsilon(1, queries=queries, rows=100, rounds=2).release(Exact([60, 40], sensitivity=1))
    assert learned.answers == pytest.approx(queries.floats @ learned.histogram)


def test_test_bits_leave_their_mark() -> None:
    with noise.deterministic(1):
        learned = NARROW.release(Exact([3, 1], sensitivity=1))
    assert noise.is_test_noise(learned.histogram)
    assert noise.is_test_noise(learned.answers)
    assert not noise.is_test_noise(NARROW.release(Exact([3, 1], sensitivity=1)).answers)


def test_hostile_counts_make_no_exception() -> None:
    for counts in ([2**62 - 1, 2**62 - 1], [-(2**62) + 1, 0]):
        assert NARROW.release(Exact(counts, sensitivity=1)).histogram.sum() == pytest.approx(4)


def test_what_it_was_not_built_for_is_refused() -> None:
    with pytest.raises(SensitivityExceeded):
        NARROW.release(Exact([3, 1], sensitivity=2))
    with pytest.raises(ParameterError, match="3 cells"):
        NARROW.release(Exact([3, 1, 1], sensitivity=1))
    with pytest.raises(ParameterError, match="two cells"):
        MWEM.for_epsilon(1, queries=Queries([[1]]), rows=1, rounds=1)
    with pytest.raises(ParameterError, match="multiple of grid=3"):
        replace(NARROW, queries=Queries([[3, 0], [0, 3]], grid=3))
    for bad in ({"rounds": 0}, {"rows": 0}, {"replay": -1}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            replace(NARROW, **bad)  # type: ignore[arg-type]
