"""Hundreds of millions of draws: a law that is off by one part in ten thousand would be noticed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet import noise
from tests.noise.goodness import chi_square, gaussian_pmf, laplace_pmf

MANY, BATCH = 300_000_000, 10_000_000

pytestmark = pytest.mark.slow


def fits_at_length(
    draw: Callable[[int], np.ndarray[tuple[int], np.dtype[np.int64]]], pmf: Callable[[int], float], reach: int
) -> bool:
    """χ² over −reach … reach and one class for all else."""
    observed = np.zeros(2 * reach + 2)
    for _ in range(MANY // BATCH):
        sample = draw(BATCH)
        inside = np.abs(sample) <= reach
        observed[:-1] += np.bincount(sample[inside] + reach, minlength=2 * reach + 1)
        observed[-1] += BATCH - np.count_nonzero(inside)
    expected = MANY * np.array([pmf(abs(x)) for x in range(-reach, reach + 1)])
    return chi_square(observed, np.append(expected, MANY - expected.sum()))


@pytest.mark.parametrize("scale", ["1/2", "1", "7/3", "100"])
def test_discrete_laplace_at_length(scale: str) -> None:
    exact = Fraction(scale)
    assert fits_at_length(lambda n: noise.discrete_laplace(exact, n), laplace_pmf(exact), int(12 * exact) + 3)


@pytest.mark.parametrize("variance", ["1/3", "1", "50", "1024", "1025", "40000"])
def test_discrete_gaussian_at_length(variance: str) -> None:
    exact = Fraction(variance)
    reach = int(5 * float(exact) ** 0.5) + 2
    assert fits_at_length(lambda n: noise.discrete_gaussian(exact, n), gaussian_pmf(exact), reach)
