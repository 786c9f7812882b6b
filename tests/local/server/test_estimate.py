"""Test estimates: two versions, each with its name, and intervals with their confidence."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.local.protocols.protocol import checked
from discreet.local.server.estimate import Estimate, norm_sub

FREQUENCIES = st.lists(st.floats(-1, 2, allow_nan=False), min_size=1, max_size=12)


@given(FREQUENCIES)
def test_norm_sub_is_the_nearest_distribution(values: list[float]) -> None:
    given_, found = np.array(values), norm_sub(np.array(values))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    kept = found > 1e-12  # nearest: all that stay above zero were moved by the same amount, the others by no more
    moves = given_ - found
    assert np.ptp(moves[kept]) < 1e-9
    assert (moves[~kept] <= moves[kept].max() + 1e-9).all()


def test_the_versions_say_which_is_which() -> None:
    raw = Estimate(np.array([1.2, -0.2]), np.array([0.1, 0.1]), n=50)
    assert raw.kind == "unbiased"
    assert "biased" in raw.consistent().kind
    assert "Norm-Sub" in raw.consistent().kind


def test_intervals_are_those_of_the_normal_law_for_one_or_for_all_at_once() -> None:
    raw = Estimate(np.zeros(4), np.full(4, 2.0), n=50)
    low, high = raw.interval("0.9")
    assert high == pytest.approx(2 * NormalDist().inv_cdf(0.95))
    assert low == pytest.approx(-high)
    assert raw.interval("0.9", simultaneous=True)[1] == pytest.approx(2 * NormalDist().inv_cdf(1 - 0.1 / 8))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        raw.interval(1)


@pytest.mark.parametrize("values", [[-1], [4], [0.5], [[1, 2]], [True]])
def test_values_outside_of_the_domain_are_refused_before_anything_is_drawn(values: list[object]) -> None:
    with pytest.raises(ParameterError, match="from 0 to 3"):
        checked(np.array(values), domain=4)
    assert checked(np.array([0, 3], np.uint8), domain=4).dtype == np.int64
    assert len(checked(np.array([]), domain=4)) == 0
