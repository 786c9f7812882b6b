"""Exhibits about floating point. A black-box attack fails with probability at most 1e-6 per run."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import noise
from discreet.audit.museum import floats


def test_every_answer_from_0_is_reachable_from_0_and_most_answers_from_1_are_not() -> None:
    assert floats.reachable_by_inversion(floats.by_inversion(0.0, 20_000)).all()
    # About 60 % fall into holes; below half with probability e^(−2·20000·0.1²) < 1e-170.
    assert floats.reachable_by_inversion(floats.by_inversion(1.0, 20_000)).mean() < 0.5


def test_on_a_grid_every_answer_is_reachable_from_either_value() -> None:
    for value in (0.0, 1.0):
        assert floats.reachable_on_the_grid(floats.on_a_grid(value, 20_000)).all()


def test_only_a_value_of_0_leaves_digits_below_the_grid_of_1() -> None:
    def finer(answers: floats.Floats) -> float:
        return float(np.mean(answers * 2.0**53 != np.rint(answers * 2.0**53)))

    # 27 % of answers; 20 % or fewer with probability e^(−2·20000·0.07²) < 1e-80.
    assert finer(floats.of_full_precision(0.0, 20_000)) > 0.2
    assert finer(floats.of_full_precision(1.0, 20_000)) == 0


def test_the_noise_of_full_precision_is_laplace_noise() -> None:
    with noise.deterministic(20):
        drawn = np.asarray(floats.of_full_precision(0.0, 200_000))
    assert np.mean(np.abs(drawn)) == pytest.approx(1, abs=0.02)
    assert np.mean(drawn) == pytest.approx(0, abs=0.02)
    assert np.mean(np.abs(drawn) > 2) == pytest.approx(np.exp(-2), abs=0.01)


def test_a_loss_without_bound_is_found_where_one_value_can_never_make_the_answer() -> None:
    found = {exhibit.name: exhibit.broken().found for exhibit in floats.EXHIBITS}
    assert all(epsilon is not None and epsilon > 3 for epsilon in found.values()), found


def test_noise_multiplied_after_rounding_shows_the_remainder_of_the_count() -> None:
    verdict = floats.SCALED_AFTER_ROUNDING.broken()
    assert "41" in verdict.words
    assert "42" in verdict.words
    assert verdict.claimed == pytest.approx(1 / 4)
