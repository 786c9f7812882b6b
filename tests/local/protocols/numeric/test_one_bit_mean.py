"""Test 1BitMean: its law, its estimate, and one ε for a lifetime of the same number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from discreet.errors import ParameterError
from discreet.local.primitives.randomness import SCALE, Keyed
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean, on_range, to_grid
from discreet.local.server.estimate import Estimate
from tests.local.protocols.exactly import (
    mean_and_variance,
    reports_are_well_kept,
    the_code_has_the_law,
    the_loss_is_the_worst_ratio,
)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("domain", [2, 5])
def test_the_loss_is_what_the_bytes_show(epsilon: str, domain: int) -> None:
    randomiser = OneBitMean.for_epsilon(domain, epsilon)
    the_loss_is_the_worst_ratio(randomiser, range(domain))
    the_code_has_the_law(randomiser, range(domain))
    assert float(epsilon) - 1e-9 < randomiser.loss.epsilon <= Fraction(epsilon)
    reports_are_well_kept(randomiser, np.arange(domain))


def test_the_notes_survey_is_the_grid_of_two() -> None:
    """Example 13.2: the truth in 55 % of the answers, 10·(X − 0.45), ε = ln 11/9."""
    survey = OneBitMean(2, math.ceil(Fraction(45, 100) * SCALE))
    assert float(survey.loss.epsilon) == pytest.approx(math.log(11 / 9), abs=1e-11)
    assert survey.estimate(np.array([520]), 1000).values[0] == pytest.approx(10 * (0.52 - 0.45))


@pytest.mark.parametrize("value", [0, 3, 10])
def test_the_estimate_is_unbiased_with_the_variance_of_the_paper(value: int) -> None:
    randomiser = OneBitMean.for_epsilon(11, 1)
    mean, variance = mean_and_variance(randomiser, value)
    one = 1 / (math.e + 1) + value / 10 * (math.e - 1) / (math.e + 1)
    assert mean[0] == pytest.approx(value / 10)
    assert variance[0] == pytest.approx(one * (1 - one) * ((math.e + 1) / (math.e - 1)) ** 2)
    assert variance[0] <= ((math.e + 1) / (math.e - 1)) ** 2 / 4 + 1e-9


def test_the_stated_error_is_that_of_the_bits() -> None:
    """A mean of 200,000 bits: 6 standard errors, false alarm below 2e-9."""
    randomiser = OneBitMean.for_epsilon(101, 2)
    with noise.deterministic(3):
        reports = randomiser.encode(np.tile([10, 30, 80, 100], 50_000))
    state = randomiser.state()
    randomiser.add(state, reports)
    found = randomiser.estimate(state, 200_000)
    assert found.standard_errors[0] == pytest.approx(
        math.sqrt(0.25 / 200_000) * (math.e**2 + 1) / (math.e**2 - 1), rel=0.05
    )
    assert abs(found.values[0] - 0.55) < 6 * found.standard_errors[0]


def test_a_remembered_bit_changes_once_at_most_as_the_number_climbs() -> None:
    randomiser = OneBitMean.for_epsilon(101, 1)
    lives = [
        [int(randomiser.remembered(j, key, b"c")[0, 0]) for j in range(101)] for key in (b"a", b"b", b"c", b"d")
    ]
    assert all(np.count_nonzero(np.diff(life)) <= 1 for life in lives)
    assert all(len({int(randomiser.remembered(30, b"k", b"c")[0, 0]) for _ in range(20)}) == 1 for _ in range(2))


def test_remembered_bits_of_many_devices_have_the_law_of_fresh_ones() -> None:
    """3000 keys, 6 standard errors: false alarm below 2e-9."""
    randomiser = OneBitMean.for_epsilon(5, 1)
    ones = sum(int(randomiser.remembered(3, b"%d" % i, b"c")[0, 0]) for i in range(3000))
    one = float(randomiser.law(3)[b"\1"])
    assert abs(ones - 3000 * one) < 6 * math.sqrt(3000 * one * (1 - one))


def test_keyed_reports_are_the_words_of_the_stream() -> None:
    """Do what a client in another language does: one integer for the rounding, one coin for the flip."""
    randomiser = OneBitMean.for_epsilon(101, 1)
    stream = Keyed(b"key", b"context")
    rounded = bool(stream.below(100, 1)[0] < 40)
    expected = rounded ^ bool(stream.coins(randomiser.flip, 1)[0])
    assert randomiser.encode(np.array([40]), Keyed(b"key", b"context"))[0, 0] == expected


def test_numbers_go_to_the_nearest_code_and_back() -> None:
    assert to_grid(np.array([-5.0, 0.24, 0.26, 7.0]), 0, 1, 3).tolist() == [0, 0, 1, 2]
    with pytest.raises(ParameterError, match="finite"):
        to_grid(np.array([math.nan]), 0, 1, 3)
    share = Estimate(np.array([0.25]), np.array([0.5]), 9)
    assert on_range(share, -2, 2).values[0] == -1
    assert on_range(share, -2, 2).standard_errors[0] == 2


@pytest.mark.parametrize("flip", [0, SCALE // 2, -3])
def test_a_flip_that_protects_nothing_or_tells_nothing_is_refused(flip: int) -> None:
    with pytest.raises(ParameterError, match="flip"):
        OneBitMean(3, flip)


def test_a_grid_is_no_finer_than_all_clients_can_count() -> None:
    assert OneBitMean.for_epsilon(2**53 - 1, 1).domain == 2**53 - 1
    with pytest.raises(ParameterError, match=r"2\^53 - 1"):
        OneBitMean.for_epsilon(2**53, 1)
