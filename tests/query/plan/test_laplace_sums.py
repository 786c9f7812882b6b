"""Test bounds of sums of Laplace noise: never below the true quantile, and hardly above it."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.query.plan.laplace_sums import quantile


def exceeded(coefficients: list[float], s: float) -> float:
    """Return P(Σ c_j·Λ_j > s) by partial fractions, for coefficients of different sizes."""
    with mpmath.workdps(80):
        sizes = [mpmath.mpf(abs(c)) for c in coefficients]
        total = mpmath.mpf(0)
        for j, one in enumerate(sizes):
            others = [other for i, other in enumerate(sizes) if i != j]
            share = mpmath.fprod(one**2 / (one**2 - other**2) for other in others)
            total += share * mpmath.exp(-mpmath.mpf(s) / one) / 2
        return float(total)


SUMS = [
    [1.0],
    [1.0, -0.5],
    [3.0, 2.0, 1.0, 0.5, 0.25, 0.3],
    [1.01, 1.02, 1.03, 1.04, 1.0, 0.99],
    [10.0, 0.1, -0.2],
]


@pytest.mark.parametrize("beta", [0.05, 0.025, 1e-3, 1e-6])
@pytest.mark.parametrize("coefficients", SUMS)
def test_the_quantile_is_exceeded_as_often_as_stated_and_hardly_less(
    coefficients: list[float], beta: float
) -> None:
    found = exceeded(coefficients, quantile(np.array(coefficients), beta))
    assert 0.96 * beta <= found <= beta


@given(
    sizes=st.lists(st.integers(1, 10**6), min_size=1, max_size=12, unique=True),
    beta=st.sampled_from([0.3, 0.05, 0.01, 1e-5]),
)
def test_no_sum_exceeds_its_quantile_more_often_than_stated(sizes: list[int], beta: float) -> None:
    coefficients = [size / 1000 for size in sizes]
    found = exceeded(coefficients, quantile(np.array(coefficients), beta))
    assert found <= beta * (1 + 1e-9)


def test_many_equal_terms_are_nearly_normal() -> None:
    assert quantile(np.full(10_000, 0.01), 0.025) == pytest.approx(1.959964 * 2**0.5, rel=1e-3)


def test_nothing_uncertain_has_no_margin() -> None:
    assert quantile(np.zeros(3), 0.05) == 0
