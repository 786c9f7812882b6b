"""Test Square Wave: an exact law, an unbiased and a likeliest estimate, and quantiles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.protocols.numeric.square_wave import SquareWave
from tests.local.protocols.exactly import (
    estimates_of,
    mean_and_variance,
    reports_are_well_kept,
    the_code_has_the_law,
    the_loss_is_the_worst_ratio,
)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_the_loss_is_what_the_bytes_show(epsilon: str) -> None:
    randomiser = SquareWave.for_epsilon(6, epsilon)
    the_loss_is_the_worst_ratio(randomiser, range(6))
    the_code_has_the_law(randomiser, (0, 3, 5))
    assert float(epsilon) - 1e-9 < randomiser.loss.epsilon <= Fraction(epsilon)
    reports_are_well_kept(randomiser, np.arange(6))


def test_least_squares_are_unbiased_for_every_cell() -> None:
    randomiser = SquareWave.for_epsilon(8, 1)
    for value in range(8):
        mean, _ = mean_and_variance(randomiser, value)
        assert mean == pytest.approx(np.eye(8)[value], abs=1e-9)


def test_stated_errors_are_those_of_the_law() -> None:
    """All devices hold one value, and the state is what is expected of them: the plug-in variance is exact."""
    randomiser, n = SquareWave.for_epsilon(8, 1), 10**12
    law = np.array([float(p) for p in randomiser.law(5).values()])
    found = randomiser.estimate(np.rint(n * law).astype(np.int64), n)
    assert found.standard_errors == pytest.approx(np.sqrt(mean_and_variance(randomiser, 5)[1] / n), rel=1e-6)


def test_influence_is_the_widest_that_two_reports_differ() -> None:
    randomiser = SquareWave.for_epsilon(5, 1)
    seen = np.array([estimates_of(randomiser, payload) for payload in randomiser.law(0)])
    assert randomiser.influence == pytest.approx(np.ptp(seen, axis=0).max())


def test_the_width_is_the_one_of_the_paper() -> None:
    e = math.e
    assert SquareWave.for_epsilon(1000, 1).width == round(1000 * 2 * (e - e + 1) / (2 * e * (e - 2)))
    assert SquareWave.for_epsilon(1000, "0.0005").width == 1000  # no digits are lost near zero


def test_the_likeliest_distribution_and_its_quantiles_are_near_the_truth() -> None:
    """Half a million devices of a beta law: over 60 seeds quantiles were off by 0.019 with deviation 0.001."""
    randomiser, n = SquareWave.for_epsilon(64, 1), 500_000
    numbers = np.random.default_rng(7).beta(2, 5, n)
    with noise.deterministic(7):
        reports = randomiser.encode((64 * numbers).astype(np.int64))
    state = randomiser.state()
    randomiser.add(state, reports)
    found = randomiser.distribution(state)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    truth = np.bincount((64 * numbers).astype(np.int64), minlength=64) / n
    assert np.abs(np.cumsum(found - truth)).max() < 0.05
    for share in ("0.1", "0.5", "0.9"):
        assert randomiser.quantile(state, share) == pytest.approx(np.quantile(numbers, float(share)), abs=0.05)
    raw = randomiser.estimate(state, n)
    assert np.abs((raw.values - truth) / raw.standard_errors).max() < 7  # 64 of them: false alarm below 2e-10
    assert np.abs(raw.values - truth).mean() > 3 * np.abs(found - truth).mean()  # what smoothing is for


def test_without_smoothing_every_step_makes_the_reports_likelier() -> None:
    randomiser = SquareWave.for_epsilon(16, 2)
    state = np.random.default_rng(1).integers(0, 50, len(randomiser.state()))
    few, many = (randomiser.distribution(state, smooth=False, tolerance=t) for t in (1e-1, 1e-8))
    likelihood = [
        state @ np.log(np.array([[float(p) for p in randomiser.law(j).values()] for j in range(16)]).T @ f)
        for f in (np.full(16, 1 / 16), few, many)
    ]
    assert likelihood[0] < likelihood[1] < likelihood[2]


def test_what_has_no_meaning_is_refused() -> None:
    randomiser = SquareWave.for_epsilon(4, 1)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        randomiser.quantile(randomiser.state(), 1)
    with pytest.raises(ParameterError, match="cells"):
        SquareWave.for_epsilon(5000, 1)
