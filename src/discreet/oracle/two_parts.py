"""Widen the parts of sums and averages, so that two of them hold together as one count does."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

from discreet.kernel.threshold_test import gap_margin, slack
from discreet.oracle.pricing import FREE, GAP, PAID, Prices, Terms


def widening(agreed: Terms, known: Prices) -> dict[str, int]:
    """Return how much wider the interval of a part must be if the part may miss with alpha/2, by its source.

    An answer of two parts, a sum or an average, then holds with the confidence that was asked for: each part
    misses with alpha/2 at most, and they add up to alpha. Each of the three ways to be wrong gets half of what
    it has for a count, and the margin that goes with half is wider by a difference of two quantiles.

    >>> from discreet.oracle.pricing import FINE, prices, terms
    >>> agreed = terms(rho=Fraction(1, 70), within="0.01", confidence="0.95", queries=10_000, start="pairs",
    ...                rows_per_person=1)
    >>> {how: round(more / FINE) for how, more in widening(agreed, prices(agreed, 50_000)).items()}
    {'measured': 72, 'paid': 53, 'checked': 25, 'alarm': 24}
    """
    alpha, half = agreed.alpha, agreed.alpha / 2
    ratio = -NormalDist().inv_cdf(float(half) / 2) / -NormalDist().inv_cdf(float(alpha) / 2)
    wider = {"measured": math.ceil(known.margin * (ratio - 1)) + 1}  # its own margin is at most known.margin
    if known.payment is not None:
        shares = (Fraction(1), PAID)  # paid for at once, or after an alarm
        wider["paid"] = max(known.payment.error(1 - s * half) - known.payment.error(1 - s * alpha) for s in shares)
    if known.watch is not None:
        free, gap = FREE / known.runs, GAP / known.runs
        wider["checked"] = slack(known.watch, free * half) - slack(known.watch, free * alpha)
        wider["alarm"] = gap_margin(known.watch, gap * half) - gap_margin(known.watch, gap * alpha)
    return wider
