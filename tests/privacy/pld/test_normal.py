"""The certified normal law, against 60-digit arithmetic."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.pld import normal
from discreet.privacy.pld.normal import interval_masses


def exact_delta(mu: float, epsilon: float) -> mp.mpf:
    m, e = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


@given(st.floats(0, 60))
def test_mills_ratio_is_bracketed(x: float) -> None:
    low, high = normal.mills(x)
    true = mp.ncdf(-mp.mpf(x)) / mp.npdf(mp.mpf(x))
    assert low <= true <= high
    assert high - low <= 1e-13 * high


@given(st.floats(-36, 36))
def test_the_upper_tail_is_bracketed(x: float) -> None:
    low, high = normal.upper_tail(x)
    assert low <= mp.ncdf(-mp.mpf(x)) <= high
    assert high - low <= 1e-12 * high


@given(st.floats(1e-300, 1 - 1e-12))
def test_the_quantile_is_bracketed(p: float) -> None:
    low, high = normal.quantile(p)
    assert mp.ncdf(low) <= p <= mp.ncdf(high)
    assert high - low < 1e-12


@given(st.floats(-5, 1.5), st.floats(-3, 36))
def test_the_gaussian_profile_is_bracketed_far_into_the_tail(log_mu: float, z: float) -> None:
    mu = 10**log_mu
    epsilon = max(0.0, mu * mu / 2 + mu * z)
    low, high = normal.gaussian_delta(mu, epsilon)
    true = exact_delta(mu, epsilon)
    assert low <= true <= high
    assert true < 1e-280 or high - low <= 1e-4 * true


@pytest.mark.parametrize("delta", [0.5, 1e-6, 1e-10, 1e-14, 1e-30, 1e-100, 1e-300])
@pytest.mark.parametrize("mu", [1e-3, 1.0, 20.0])
def test_epsilon_brackets_the_crossing_of_delta(mu: float, delta: float) -> None:
    low, high = normal.gaussian_epsilon(mu, delta)
    assert exact_delta(mu, high) <= delta
    assert low == 0 or exact_delta(mu, low) >= delta
    assert high - low <= 1e-9 * max(high, mu)


def test_degenerate_questions_have_plain_answers() -> None:
    assert normal.gaussian_delta(0.0, 1.0) == (0.0, 0.0)
    assert normal.gaussian_epsilon(1.0, 0.0) == (math.inf, math.inf)
    assert normal.gaussian_epsilon(1.0, 1.0) == (0.0, 0.0)
    assert normal.gaussian_delta(1e-300, 1.0)[1] <= math.ulp(0.0)


@pytest.mark.parametrize("cells", [7, 400, 20_000])
def test_interval_masses_keep_their_relative_accuracy_in_both_tails(cells: int) -> None:
    edges = np.concatenate(([-np.inf], np.linspace(-37, 37, cells), [np.inf]))
    masses = normal.interval_masses(edges)
    for i in np.linspace(1, cells - 1, 40).astype(int):
        left, right = mp.mpf(float(edges[i])), mp.mpf(float(edges[i + 1]))
        true = mp.ncdf(right) - mp.ncdf(left) if right < 0 else mp.ncdf(-left) - mp.ncdf(-right)
        assert abs(masses[i] / true - 1) < 4e-13
    assert abs(masses.sum() - 1) < 1e-12


@pytest.mark.parametrize("width", [1e-9, 1e-6, 1e-3, 0.02])
@pytest.mark.parametrize("left", [-30.0, -3.3, 0.1, 17.0])
def test_narrow_intervals_keep_their_width_when_they_are_shifted(left: float, width: float) -> None:
    # Edges that are shifted and rounded hold another mass: by 1e-6 of it at a width of 1e-9.
    edges, shift = np.array([left, left + width]), 1.2345678901234567
    with mp.workdps(60):
        a, b = (mp.mpf(float(edge)) + mp.mpf(shift) for edge in edges)
        near, far = (a, b) if a > 0 else (-b, -a)
        exact = (mp.erfc(near / mp.sqrt(2)) - mp.erfc(far / mp.sqrt(2))) / 2
    assert interval_masses(edges, shift).item() == pytest.approx(float(exact), rel=4e-13, abs=0)
