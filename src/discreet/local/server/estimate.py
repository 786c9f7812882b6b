"""Hold the frequencies that a server estimates, with standard errors, in an unbiased and a consistent version.

The **unbiased** version is right on average, and may be added up over groups and days. Single values may be below
zero. The **consistent** version is a distribution (no value below zero, a sum of one), by Norm-Sub: the one
nearest to the estimates, by subtracting the same amount from every frequency that stays above zero. It is closer
to the truth for most values and biased for small ones, so both are given, each with its name.

Intervals come from the normal law, for one value or for all at once (Bonferroni); with some thousand reports that
is accurate, and the tests say how accurate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.rational import Rational, rational
from discreet.release import estimate as released

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
        """Return the ends of an interval for each value, or of simultaneous intervals."""
        alpha = 1 - float(rational(confidence, "confidence"))
        if not 0 < alpha < 1:
            raise ParameterError(
                "The confidence must be between 0 and 1.", found=repr(confidence), fix=Fix("confidence", "0.95")
            )
        each = alpha / len(self.values) if simultaneous and len(self.values) else alpha
        margin = -NormalDist().inv_cdf(each / 2) * self.standard_errors
        return self.values - margin, self.values + margin

    def with_intervals(self, name: str, confidence: Rational = "0.95") -> released.Estimate:
        """Return the numbers with an interval for each, as every release has them.

        The noise is that of devices: whether it was drawn from test bits, a server cannot know.

        >>> Estimate(np.array([0.7]), np.array([0.1]), n=100).with_intervals("share").basis
        'normal approximation'
        """
        low, high = self.interval(confidence)
        return released.Estimate(
            name,
            self.values,
            low,
            high,
            note=self.kind,
            kind="share",
            test_bits=False,
            confidence=rational(confidence, "confidence"),
            basis="normal approximation",
        )

    def of_devices_with(self, reports: float) -> Estimate:
        """Return the estimate with wider errors, if up to so many reports are of one device and repeat its answer.

        With t equal reports of a device, the variance is Σt²/Σt times as large. `reports` is that, or the largest
        t, which is no less.

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
