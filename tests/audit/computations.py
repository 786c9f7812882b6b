"""Define computations on a small table that the tests of record and replay share, and their expected verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from discreet import noise
from discreet.audit.replay.recorder import primitive
from discreet.audit.replay.replay import replay
from discreet.audit.report.verdict import Verdict
from discreet.mechanisms import (
    AboveThreshold,
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    NumericSparse,
    PermuteAndFlip,
    ReportNoisyMax,
    Sensitivity,
    Sparse,
)
from discreet.privacy import Pure, Session, losses

Rows = list[dict[str, Any]]
PEOPLE: Rows = [
    {"age": 34, "weight": 70.5, "city": "Bath"},
    {"age": 51, "weight": 81.0, "city": "York"},
    {"age": 19, "weight": 55.25, "city": "Bath"},
    {"age": 78, "weight": 64.0, "city": "Ely"},
]
VISITS: Rows = [{"id": i, "cost": cost} for i, cost in [(1, 20), (2, 35), (1, 10), (3, 80), (1, 5)]]
CITIES = ["Bath", "York", "Ely"]
ONE = Laplace(scale=1)


def whole(value: Any, most: int) -> int:
    """Return any value as an integer of 0 … most; a value that is not a number counts as 0."""
    if not isinstance(value, int | float) or math.isnan(value):
        return 0
    return math.floor(max(0, min(most, value)))


def caught(computation: Callable[[Rows], Any], rows: Rows = PEOPLE, limit: int | None = 20, **options: Any) -> str:
    """Return why the computation was caught: usually a few neighbours are enough."""
    verdict = replay(computation, rows, limit=limit, seed=7, **options)
    assert verdict.caught, verdict.words
    assert verdict.attack == "replay"
    return verdict.words


def passes(computation: Callable[[Rows], Any], rows: Rows = PEOPLE, **options: Any) -> Verdict:
    verdict = replay(computation, rows, seed=7, **options)
    assert not verdict.caught, verdict.words
    assert "nothing" not in verdict.words
    return verdict


# -- honest computations pass -----------------------------------------------------------------------------------


def count_in_bath(rows: Rows) -> Any:
    return ONE.release(Exact(sum(row["city"] == "Bath" for row in rows), sensitivity=1))


def clamped_sum(rows: Rows) -> Any:
    total = sum(whole(row["age"], 100) for row in rows)
    return Laplace(scale=50, sensitivity=100).release(Exact(total, Sensitivity(each=100, monotonic="up")))


def histogram(rows: Rows) -> dict[str, int]:
    counts = Counter(row["city"] for row in rows)
    noisy = Gaussian(variance=4).release(Exact([counts[city] for city in CITIES], sensitivity=1))
    return {city: int(count) for city, count in zip(CITIES, noisy, strict=True)}  # type: ignore[arg-type]


def noisy_mean(rows: Rows) -> float:
    return float(clamped_sum(rows) / max(1, ONE.release(Exact(len(rows), sensitivity=1))))


def chosen_city(rows: Rows) -> str:
    counts = Counter(row["city"] for row in rows)
    votes = Exact([counts[city] for city in CITIES], Sensitivity(entries=1, each=1, monotonic="up"))
    names = dict(enumerate(CITIES))
    return names[ReportNoisyMax(1, monotonic=True).release(votes)] + names[PermuteAndFlip(1).release(votes)]


def first_threshold_passed(rows: Rows) -> list[bool]:
    run, answers = AboveThreshold(epsilon=1, threshold=2).start(), []
    for age in (80, 60, 40, 20, 0):
        if not run.left:
            break
        answers.append(run.ask(Exact(sum(whole(row["age"], 100) >= age for row in rows), sensitivity=1)))
    return answers


def numbers_above(rows: Rows) -> Any:
    ages = [sum(whole(row["age"], 100) >= age for row in rows) for age in (60, 40, 20)]
    run = NumericSparse(epsilon=2, threshold=1, positives=2).start()
    single = [run.ask(Exact(count, sensitivity=1)) for count in ages if run.left]
    many = NumericSparse(epsilon=2, threshold=1).release(Exact(ages, Sensitivity(each=1)))
    return single, many, Sparse(epsilon=1, threshold=2).release(Exact(ages, Sensitivity(each=1)))


def adaptive(rows: Rows) -> list[int]:
    """Choose the next step by what was released, which a session allows."""
    session, answers = Session(Pure(3)), []
    while session.can_afford(Pure(1)):
        session.charge(Pure(1))
        answers.append(count_in_bath(rows))
        if answers[-1] > 2:
            session.charge(losses.Exponential(1))
            answers.append(Exponential(1).release(Exact([len(rows), 3], Sensitivity(each=1))))
    return answers


def sample_count(rows: Rows) -> Any:
    """Draw the coins of a sample from our noise, so that they are the same in the replay."""
    answers: list[Any] = []
    for _ in range(9):
        coin = noise.bernoulli("1/2")
        answers += [ONE.release(Exact(len(rows) if coin else 0, sensitivity=1)), bool(coin)]
    return answers


def stream(rows: Rows) -> Iterator[Any]:
    yield count_in_bath(rows)


def mutating(rows: Rows) -> Any:
    number = len(rows)
    rows.clear()
    return ONE.release(Exact(number, sensitivity=1))


HONEST = [
    *(count_in_bath, clamped_sum, histogram, noisy_mean, chosen_city, first_threshold_passed, numbers_above),
    *(adaptive, sample_count, stream, mutating),
]


@primitive
def with_noise(value: Any, *, sensitivity: Any, epsilon: Any = 1, generator: Any = None) -> Any:
    return value + np.random.default_rng().laplace(scale=float(sensitivity) / float(epsilon), size=np.shape(value))


@primitive(norm="l2")
def with_normal_noise(value: Any, *, sensitivity: float) -> Any:
    return value + np.random.default_rng().normal(scale=sensitivity, size=np.shape(value))


def weights(rows: Rows) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([w if isinstance(w := row["weight"], float) else 0.0 for row in rows])
