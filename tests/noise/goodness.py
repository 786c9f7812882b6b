"""Does a sample follow a law? Witnesses for the tests of this folder, from mpmath and scipy.

Every verdict has a false-alarm rate of 1e-7 or less.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-7


def real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def laplace_pmf(scale: Fraction) -> Callable[[int], float]:
    q = mpmath.exp(-real(1 / scale))
    return lambda x: float((1 - q) / (1 + q) * q ** abs(x))


def gaussian_pmf(variance: Fraction) -> Callable[[int], float]:
    rate = real(1 / (2 * variance))
    total = _theta(rate)
    return lambda x: float(mpmath.exp(-rate * x * x) / total)


@lru_cache
def _theta(rate: mpmath.mpf) -> mpmath.mpf:
    """The sum of exp(−rate·x²) over all integers, by whichever of the two sides of Poisson's formula is short."""
    if rate < 1:
        return mpmath.sqrt(mpmath.pi / rate) * mpmath.jtheta(3, 0, mpmath.exp(-(mpmath.pi**2) / rate))
    return mpmath.jtheta(3, 0, mpmath.exp(-rate))


def fits(sample: NDArray[np.int64], pmf: Callable[[int], float]) -> bool:
    """χ² over every integer that is expected 20 times or more, all others in one class."""
    reach = int(np.abs(sample).max()) + 1
    values = np.arange(-reach, reach + 1)
    expected = len(sample) * np.array([pmf(abs(int(x))) for x in values])
    observed = np.bincount(sample + reach, minlength=len(values))
    often = expected >= 20
    return chi_square(
        np.append(observed[often], observed[~often].sum()),
        np.append(expected[often], len(sample) - expected[often].sum()),
    )


def chi_square(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    """Classes of less than one expected case may hold a few cases, and are left out of the statistic."""
    rare = expected < 1
    if observed[rare].sum() > 20:
        return False
    observed, expected = observed[~rare], expected[~rare]
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return bool(stats.chi2.sf(statistic, max(1, len(expected) - 1)) > FALSE_ALARM)


def happens(hits: int, tries: int, chance: float) -> bool:
    """An exact binomial test."""
    return bool(stats.binomtest(hits, tries, chance).pvalue > FALSE_ALARM)
