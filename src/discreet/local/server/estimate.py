"""What a server knows after counting reports: frequencies, how far off they may be, and two honest versions.

The **unbiased** version is what the reports say: right on average, and right to add up over groups and days.
Single values may be below zero. The **consistent** version is a distribution (nothing below zero, all adding up
to one), by Norm-Sub: the one nearest to the estimates, by subtracting the same amount from every frequency that
stays above zero. It is closer to the truth for most values and biased for small ones, so both are given, each
with its name.

Intervals come from the normal law, for one value or for all at once (Bonferroni); with some thousand reports that
is accurate, and the tests say how accurate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.rational import Rational, rational

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Frequencies, or means, with their standard errors, from n reports.

    >>> found = Estimate(np.array([0.7, 0.4, -0.1]), np.array([0.1, 0.1, 0.1]), n=100)
    >>> found.consistent().values.round(2)
    array([0.65, 0.35, 0.  ])
    >>> low, high = found.interval("0.95")
    >>> low.round(2)
    array([ 0.5,  0.2, -0.3])
    """

    values: Floats
    standard_errors: Floats
    n: int
    kind: str = field(default="unbiased")

    def interval(self, confidence: Rational = "0.95", *, simultaneous: bool = False) -> tuple[Floats, Floats]:
        """Return the ends of an interval for each value, or of intervals that hold all at once."""
        alpha = 1 - float(rational(confidence, "confidence"))
        if not 0 < alpha < 1:
            raise ParameterError(f'confidence is between 0 and 1, such as "0.95", not {confidence!r}.')
        each = alpha / len(self.values) if simultaneous and len(self.values) else alpha
        reach = -NormalDist().inv_cdf(each / 2) * self.standard_errors
        return self.values - reach, self.values + reach

    def of_devices_with(self, reports: float) -> Estimate:
        """Return what is known if up to so many of the reports are of one device, and repeat what it said.

        With t reports of a device that are all alike, the variance is Σt²/Σt times as large. `reports` is that, or
        the largest t, which is no less.

        >>> Estimate(np.array([0.7]), np.array([0.1]), n=100).of_devices_with(4).standard_errors
        array([0.2])
        """
        return replace(self, standard_errors=self.standard_errors * math.sqrt(reports))

    def consistent(self) -> Estimate:
        """Return the nearest distribution, by Norm-Sub. Its standard errors are those of the unbiased version."""
        return Estimate(norm_sub(self.values), self.standard_errors, self.n, "consistent (Norm-Sub), biased")


def norm_sub(values: Floats, total: float = 1.0) -> Floats:
    """Return the nonnegative values nearest to these that add up to the total.

    >>> norm_sub(np.array([0.7, 0.4, -0.1])).round(2)
    array([0.65, 0.35, 0.  ])
    """
    if not len(values):
        return values
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    shifted: Floats = values - excess[kept]
    return np.maximum(shifted, 0.0)
