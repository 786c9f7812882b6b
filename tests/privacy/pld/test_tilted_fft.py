"""Convolution by FFT: the error it states is never below the error it makes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.privacy import Laplace, Pure
from discreet.privacy.pld.lattice import discretise
from discreet.privacy.pld.tilted_fft import Bundle, Row, TooWide, _fft_length, convolve

Weights = NDArray[np.float64]


def exactly(parts: list[tuple[Row, int]]) -> tuple[int, list[Fraction]]:
    first, law = 0, [Fraction(1)]
    for row, count in parts:
        for _ in range(count):
            first += row.first
            weights = [Fraction(w) for w in row.weights.tolist()]
            grown = [Fraction(0)] * (len(law) + len(weights) - 1)
            for i, a in enumerate(law):
                for j, b in enumerate(weights):
                    grown[i + j] += a * b
            law = grown
    return first, law


def distance(row: Row, first: int, law: list[Fraction]) -> float:
    """Total mass by which the computed law is off, counting what its window leaves out."""
    computed = {row.first + i: Fraction(w) for i, w in enumerate(row.weights.tolist())}
    true = {first + i: w for i, w in enumerate(law)}
    return float(sum(abs(computed.get(n, Fraction(0)) - true.get(n, Fraction(0))) for n in {*computed, *true}))


def normalised(weights: list[int]) -> Weights:
    return np.array(weights, dtype=np.float64) / sum(weights)


rows = st.builds(
    lambda first, weights: Row(first, normalised(weights)),
    st.integers(-50, 50),
    st.lists(st.integers(0, 100), min_size=1, max_size=12).filter(lambda w: sum(w) > 0),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(rows, st.integers(1, 4)), min_size=1, max_size=7))
def test_the_stated_error_covers_the_real_one(parts: list[tuple[Row, int]]) -> None:
    row, error = convolve(parts)
    first, law = exactly(parts)
    assert distance(row, first, law) <= error
    assert error < 1e-9


def test_a_high_power_is_right_within_its_stated_error() -> None:
    coin = Row(-1, np.array([0.75, 0.0, 0.25]))
    row, error = convolve([(coin, 700)])
    binomial, law = Fraction(1), []
    for k in range(701):
        law.extend([binomial * Fraction(1, 4) ** k * Fraction(3, 4) ** (700 - k), Fraction(0)])
        binomial = binomial * (700 - k) / (k + 1)
    assert distance(row, -700, law[:-1]) <= error
    assert error < 1e-9


def test_the_window_may_be_narrower_than_the_support() -> None:
    coin = Row(0, np.array([0.5, 0.5]))
    row, _ = convolve([(coin, 100_000)])
    assert len(row.weights) < 4000
    assert row.weights.sum() == pytest.approx(1, abs=1e-9)


def test_a_sum_that_would_need_too_many_nodes_is_refused() -> None:
    wide = Row(0, np.full(1 << 20, 2.0**-20))
    with pytest.raises(TooWide):
        convolve([(wide, 64)])


@given(st.integers(1, 10**7))
def test_transform_lengths_are_smooth_and_long_enough(least: int) -> None:
    length = _fft_length(least)
    assert least <= length < 2 * least + 2
    assert length // (length & -length) in (1, 3, 5)


@pytest.mark.parametrize("theta", [-3.0, 0.0, 1.0, 40.0])
def test_the_cumulant_of_a_bundle_is_that_of_the_sum(theta: float) -> None:
    lattices = [discretise(loss, 0.05, (-1, 1)) for loss in (Pure(1), Laplace(1))]
    log_moment, mean, variance = Bundle.of(lattices, [2, 3]).cumulant(theta)
    logs = [np.log(lat.mass @ np.exp(theta * lat.losses)) for lat in lattices]
    assert log_moment == pytest.approx(2 * logs[0] + 3 * logs[1], abs=1e-9)
    assert -5 <= mean <= 5
    assert variance >= 0


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-30])
def test_the_tilt_puts_the_chernoff_bound_at_delta(delta: float) -> None:
    bundle = Bundle.of([discretise(Laplace(50), 0.002, (-0.02, 0.02))], [5000])
    theta = bundle.tilt_for_delta(delta)
    log_moment, mean, _ = bundle.cumulant(theta)
    assert theta * mean - log_moment == pytest.approx(-np.log(delta), rel=0.05)
    assert bundle.cumulant(bundle.tilt_for_epsilon(3.0))[1] == pytest.approx(3.0, rel=0.05)
