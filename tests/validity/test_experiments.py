"""Adaptive analysts: what they report of a plain holdout is wrong, and what they report of a guarded one holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.validity import ReusableHoldout
from discreet.validity.experiments import Point, boosting, screening
from discreet.validity.memorising import memorised, remembered_privately
from discreet.validity.pictures import screening_chart
from discreet.validity.theorems.concentration import hoeffding_width


def of(points: list[Point], analyst: str, features: int) -> Point:
    return next(point for point in points if (point.analyst, point.features) == (analyst, features))


def test_screening_overfits_a_plain_holdout_and_not_a_guarded_one() -> None:
    points = screening(2000, 2000, sizes=(11, 101))
    plain, guarded = (of(points, f"{kind} holdout", 101) for kind in ("plain", "guarded"))
    assert plain.reported > 0.57
    assert guarded.reported <= 0.51
    assert abs(plain.fresh - 0.5) < 0.04
    assert guarded.train > 0.65


@pytest.mark.slow
def test_the_experiment_of_2015_at_its_full_size() -> None:
    """10,000 rows and features, and 500 of them: a plain holdout reports about 63 %, where the truth is 50 %."""
    points = screening()
    assert of(points, "plain holdout", 501).reported == pytest.approx(0.63, abs=0.015)
    for point in points:
        assert abs(point.fresh - 0.5) < 0.02
        assert point.analyst == "plain holdout" or point.features == 1 or point.reported <= 0.51


@pytest.mark.slow
def test_the_experiment_of_2015_with_a_signal() -> None:
    points = screening(signal=True)
    for point in points:
        if point.analyst == "guarded holdout":
            assert abs(point.reported - point.fresh) < 0.03
    assert of(points, "plain holdout", 501).reported - of(points, "plain holdout", 501).fresh > 0.1


def test_a_vote_of_lucky_guesses_fools_a_plain_holdout_only() -> None:
    assert boosting(4000, 800) > 0.62
    assert boosting(4000, 800, method="ladder") <= 0.53
    assert boosting(4000, 800, method="guess_and_check") <= 0.53


def test_the_picture_has_a_panel_for_each_analyst() -> None:
    points = [Point(1, kind, 0.6, 0.55, 0.5) for kind in ("plain holdout", "guarded holdout")]
    assert len(screening_chart(points, "Title").to_dict()["hconcat"]) == 2


# -- coverage ---------------------------------------------------------------------------------------------------


def covered(method: str, rows: int, queries: int, seed: int, **terms: Any) -> bool:
    """Return whether all intervals hold against an analyst who lets vote what did well, and asks about it."""
    rng = np.random.default_rng(seed)
    with noise.deterministic(seed):
        features = rng.integers(0, 2, (rows, queries), dtype=np.int8)
        labels = rng.integers(0, 2, rows, dtype=np.int8)
        agree = features == labels[:, None]
        guard = ReusableHoldout(features, labels, method=method, queries=queries + 5, width=1.0, **terms)
        guess = None if method == "guess_and_check" else 0.5  # the analyst asks for every score
        answers = [guard.check(agree[:, j], guess) for j in range(queries)]
        signs = np.array([np.sign(answer.value - 0.5) for answer in answers])
        for _ in range(5):
            vote = (2.0 * features - 1) @ signs
            held = (vote > 0) == labels
            answers.append(guard.check(held, guess=0.5 if rng.random() < 0.5 else float(held.mean())))
            signs = signs * rng.choice([1.0, 1.0, -1.0], queries)
    return all(answer.low <= 0.5 <= answer.high for answer in answers)


@pytest.mark.parametrize(
    ("method", "rows", "queries"),
    [
        ("guess_and_check", 600, 150),
        ("ladder", 600, 40),
        ("split", 2000, 100),
        ("gaussian", 3000, 5),
        ("thresholdout", 5000, 10),
    ],
)
def test_all_intervals_hold_together_against_an_adaptive_analyst(method: str, rows: int, queries: int) -> None:
    """30 analysts at β = 0.2: at least 80 % are covered, and fewer than 15 would be a bug. The seeds are fixed."""
    terms = {"confidence": "0.8", "overfits": 2} if method == "thresholdout" else {"confidence": "0.8"}
    good = sum(covered(method, rows, queries, seed, **terms) for seed in range(30))
    assert good >= 15


def test_the_same_analyst_breaks_plain_intervals() -> None:
    """Hoeffding's interval for the last question alone, which is what an analyst without a guard reports."""
    rows, queries, broken = 600, 200, 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        features, labels = rng.integers(0, 2, (rows, queries)), rng.integers(0, 2, rows)
        signs = np.sign((features == labels[:, None]).mean(axis=0) - 0.5)
        reported = float((((2 * features - 1) @ signs > 0) == labels).mean())
        broken += abs(reported - 0.5) > hoeffding_width(rows, 0.05, queries + 1)
    assert broken == 20


# -- memorising -------------------------------------------------------------------------------------------------


def test_a_hypothesis_that_remembers_its_sample_generalises_only_if_it_is_private() -> None:
    rows = np.random.default_rng(0).integers(0, 50_000, 20_000)
    plain = memorised(rows, 50_000)
    assert plain.sample == 1.0
    assert plain.sample - plain.population > 10 * hoeffding_width(20_000, 1e-6)
    private = remembered_privately(rows, 50_000, "0.1")
    slack = hoeffding_width(20_000, 1e-7)  # the bound is about the expectation
    assert private.sample - private.population <= private.bound + slack
    assert private.bound == pytest.approx(math.tanh(0.1))
    assert remembered_privately(rows, 50_000, 2).sample > private.sample + 0.2
