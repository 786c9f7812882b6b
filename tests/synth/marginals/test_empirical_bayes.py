"""Shrinkage: better than the measurement where noise is large, and equal to it where noise is small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synth.marginals import shrink
from discreet.synth.marginals.empirical_bayes import determined


def table(seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return cells of very different size, most near the base and some far off."""
    rng = np.random.default_rng(seed)
    base = rng.pareto(1.0, 2000) * 5 + 0.1
    odd = rng.random(2000) < 0.1
    return base, base * np.where(odd, rng.lognormal(0, 1.0, 2000), 1.0)


@pytest.mark.parametrize("deviation", [1.0, 20.0, 200.0])
def test_the_estimate_is_much_nearer_than_the_measurement(deviation: float) -> None:
    base, truth = table(1)
    noisy = truth + np.random.default_rng(2).normal(0, deviation, len(truth))
    mean, variance = shrink(noisy, deviation, base)
    assert np.abs(mean - truth).sum() < 0.25 * np.abs(np.maximum(noisy, 0) - truth).sum()
    assert mean.min() >= 0
    assert variance.min() >= 0
    assert variance.max() <= deviation**2 * (1 + 1e-9)


def test_little_noise_changes_little() -> None:
    base, truth = table(3)
    mean, _ = shrink(truth, 1e-3, base)
    assert np.abs(mean - truth).max() < 0.05


def test_the_variance_is_about_the_squared_error() -> None:
    base, truth = table(4)
    noisy = truth + np.random.default_rng(5).normal(0, 10.0, len(truth))
    mean, variance = shrink(noisy, 10.0, base)
    assert 0.5 < np.square(mean - truth).mean() / variance.mean() < 2


def test_a_base_that_is_clearly_wrong_is_abandoned() -> None:
    truth = np.r_[np.full(50, 1000.0), np.full(50, 10.0)]
    noisy = truth + np.random.default_rng(6).normal(0, 20.0, 100)
    mean, _ = shrink(noisy, 20.0, np.full(100, truth.mean()))
    assert np.abs(mean - truth).max() < 120


def test_large_tables_are_done_in_parts_without_a_seam() -> None:
    rng = np.random.default_rng(7)
    base = np.full(40_000, 5.0)
    noisy = base + rng.normal(0, 3.0, len(base))
    noisy[::2] = 8.0  # the same cell in both parts
    mean, _ = shrink(noisy, 3.0, base)
    assert np.ptp(mean[::2]) < 1e-12


def test_a_cell_of_a_thousand_times_its_expectation_stays_as_measured() -> None:
    """Two rare values that come together: their cell was cut to 60 times what independence expects."""
    base = np.full(5000, 0.05)
    noisy = np.random.default_rng(5).normal(0, 8.0, 5000)
    noisy[:20] += 240.0
    mean, _ = shrink(noisy, 8.0, base)
    assert np.abs(mean[:20] - noisy[:20]).max() < 10
    assert mean[20:].mean() < 1


def test_a_large_cell_that_agrees_with_its_base_was_determined_by_its_measurement() -> None:
    """Its posterior variance is small, as if it had stayed at its base: 1,205 rows ± 10 were raked to 983."""
    measured, base = np.array([1205.0, 3.0, 2.0, -4.0]), np.array([1203.0, 1.0, 2.0, 1.5])
    mean, posterior = shrink(np.r_[measured, np.zeros(400)], 10.0, np.r_[base, np.ones(400)])
    found = determined(mean, posterior, 100.0)
    assert found[0] > 0.99
    assert found[1:].max() < 0.1


def test_cells_measured_more_precisely_than_their_base_is_good_keep_their_values() -> None:
    """Tables of four cells, known within .5 %, with bases off by 1.5 %. Many were taken for equal to the base,
    and off by 7.8 on average, where measurements are off by 4."""
    rng = np.random.default_rng(2)
    truth, off = np.full(4, 1000.0), []
    for _ in range(100):
        base = truth * np.where(rng.random(4) < 0.5, 0.985, 1.015)
        mean, _ = shrink(truth + rng.normal(0, 5.0, 4), 5.0, base)
        off.append(float(np.abs(mean - truth).mean()))
    assert np.mean(off) < 5.5
