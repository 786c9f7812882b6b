"""Fix the noise and the cost of a certificate, and which sets of columns it may be about, before the charge.

The noise is such that it takes up ROOM of the margin but for its part of alpha: errors of the certified tables may
then be as large as the rest. That costs as much as some tens of payments, whatever the table holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

from discreet.mechanisms import Gaussian, tails
from discreet.oracle.linear_query import GRAIN
from discreet.oracle.pricing import Terms
from discreet.oracle.span.box_search import MOST_CELLS, searched
from discreet.oracle.span.confidence import certificate_alpha
from discreet.oracle.span.design import Columns

ROOM = Fraction(1, 4)
"""The part of the margin that the noise of a certificate takes up, but for its part of alpha."""

MOST_SETS = 300
"""The most sets that a certificate is about: a table is fitted to each, twice."""

MOST_SEARCHED = 2**26
"""The most sums in a search for the largest error: about a second."""


def certifier(agreed: Terms, margin: int) -> tuple[Gaussian, int]:
    """Return the noise of a certificate for a margin in units of 1/FINE rows, and t with P(noise < −t) ≤ β.

    Both are in units of 1/UNIT rows.

    >>> from discreet.oracle.pricing import FINE, terms
    >>> agreed = terms(rho=Fraction(1, 70), within=500, confidence="0.95", queries=10_000, start="span",
    ...                rows_per_person=1)
    >>> noise, tail = certifier(agreed, 500 * FINE)
    >>> round(tail / 4096), round(float(noise.variance) ** 0.5 / 4096)
    (125, 41)
    """
    twice = 2 * certificate_alpha(agreed.alpha)  # of both sides: the law is symmetric
    quantile = -NormalDist().inv_cdf(float(twice) / 2)
    deviation = max(Fraction(1), ROOM * margin / GRAIN / Fraction(quantile))
    noise = Gaussian(min(math.floor(deviation**2), tails.WIDEST**2), agreed.sensitivity)
    return noise, noise.error(1 - twice)


def certified_sets(sizes: Sequence[int], ordered: Sequence[bool]) -> list[Columns]:
    """Return the sets of three columns that a certificate may be about; none if to fit and search takes too long.

    >>> certified_sets([2, 3, 4], [False, False, True])
    [(0, 1, 2)]
    >>> certified_sets([90] * 5, [True] * 5)
    []
    """
    if math.comb(len(sizes), min(3, len(sizes))) > MOST_SETS:
        return []
    sets = list(combinations(range(len(sizes)), min(3, len(sizes))))
    cells = [math.prod(sizes[i] for i in columns) for columns in sets]
    work = sum(searched([sizes[i] for i in columns], [ordered[i] for i in columns]) for columns in sets)
    return sets if work <= MOST_SEARCHED and sum(cells) <= MOST_CELLS else []
