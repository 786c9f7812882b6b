"""What a run of the threshold test loses, beside sums over the laws of both noises."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.audit.replay.comparisons import run_loss
from discreet.audit.replay.recorder import recording
from discreet.kernel.threshold_test import Watch, start
from discreet.mechanisms import Exact, Sensitivity
from discreet.privacy import Loss

WATCH = Watch(epsilon=1, threshold=4000, sensitivity=1000, monotonic=True)


def chance(values: Sequence[int], above: int | None) -> float:
    """Return the probability of "below" for all values, or for those before `above`, which has the gap 9,000."""
    b, c = float(WATCH.query_scale), float(WATCH.threshold_scale)
    line = np.arange(100_000)
    found = -np.expm1(-1 / c) * np.exp(-line / c)
    for place, value in enumerate(values):
        if place == above:
            return float((found * -np.expm1(-1 / b) * np.exp(-(4000 + line + 9000 - value) / b)).sum())
        found = found * -np.expm1(-np.maximum(4000 + line - value, 0) / b)  # P(ν < T + ρ − f)
    return float(found.sum())


@pytest.mark.parametrize(
    "pairs",
    [
        [(4000, 5000), (0, 0)],
        [(3000, 4000), (3500, 4500), (100, 100), (3900, 4900)],
        [(-500, 500)],
        [(5000, 4000), (0, 0), (3000, 2400)],
        [(7000, 8000), (3000, 3000)],
    ],
    ids=str,
)
def test_a_run_loses_what_the_laws_of_its_noise_say(pairs: list[tuple[int, int]]) -> None:
    outcomes = [*range(len(pairs)), None]
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    losses = [abs(np.log(chance(first, above) / chance(second, above))) for above in outcomes]
    assert run_loss(WATCH, pairs) == pytest.approx(max(losses), rel=2e-3)
    assert run_loss(WATCH, pairs) <= 1


def test_a_query_at_the_threshold_and_one_without_the_person_lose_all_of_epsilon() -> None:
    assert run_loss(WATCH, [(4000, 5000), (0, 0)]) == pytest.approx(1, abs=2e-6)
    assert run_loss(WATCH, [(4000, 5000)]) < 0.9


def test_all_comparisons_with_one_noisy_threshold_are_one_run_with_its_loss() -> None:
    """Without this a replay would take the threshold tests of oracles and holdouts for free."""
    with recording(seed=1) as tape:
        for number in (0, 1):
            run = start(WATCH, "up", number)
            for _ in range(3):
                run.gap(Exact(0, Sensitivity(entries=1, each=1000, monotonic="up")))
    expected: tuple[Loss, ...] = (WATCH.loss,)
    assert [(call.owner, call.losses) for call in tape.calls] == [(i, expected) for i in (0, 0, 0, 1, 1, 1)]
