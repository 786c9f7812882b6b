"""Estimate marginals from residual tables, for a hypothesis to be fitted to.

A marginal is the sum of the residuals of its sets, each spread evenly over the columns that it lacks: the least
squares estimate. Its cells share noise. Strategies for ranges make single cells vague and their sums over ranges
precise, and a fit that takes each cell for itself does not know that. So ordered columns are estimated in coarse
parts as well, with the variance of these parts: the fit then follows the sums where they are precise. All of this
is computed from released numbers; it decides how many answers are free, never whether they are private or right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.oracle.fit import Measurement
from discreet.oracle.span.design import Columns, variance
from discreet.oracle.span.span import Span
from discreet.query.bins import Axis

MOST_PARTS = 400
"""The most coarse parts of three columns that a hypothesis is fitted to."""


def estimated(
    tables: Mapping[Columns, NDArray[np.float64]], span: Span, columns: Columns, sizes: Sequence[int]
) -> Measurement | None:
    """Return the least squares estimate of a marginal from residual tables; None if one of its sets was lost."""
    shape = [sizes[i] for i in columns]
    values, variance = np.zeros(shape), 0.0
    for some in chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1)):
        if some not in tables:
            return None
        rest = math.prod(size for i, size in zip(columns, shape, strict=True) if i not in some)
        along = [size if i in some else 1 for i, size in zip(columns, shape, strict=True)]
        values = values + tables[some].reshape(along) / rest
        variance += span.cell_variance(some) / rest**2
    return Measurement(columns, values, variance)


def in_parts(fine: Measurement, span: Span, axes: Sequence[Axis]) -> Measurement | None:
    """Return an estimated marginal in the coarse parts of its ordered columns; None if they have none."""
    starts = tuple(axes[i].parts for i in fine.columns)
    if not any(starts):
        return None
    factors = []
    for i, begins in zip(fine.columns, starts, strict=True):
        ends = [*(begins or range(axes[i].size)), axes[i].size]
        boxes = np.array([span.columns[i].box(low, high) for low, high in pairwise(ends)])
        factors.append({(): float(boxes[:, 0].mean()), (i,): float(boxes[:, 1].mean())})
    spread = variance(factors, span.variances)  # of a part at random: choices of columns are independent
    coarse = Measurement(fine.columns, fine.values, spread, None, starts)
    return Measurement(fine.columns, coarse.gathered(fine.values), spread, None, starts)


def for_hypothesis(span: Span, axes: Sequence[Axis], most_cells: int) -> Iterator[Measurement]:
    """Yield marginals of one and two columns, and those of three with few cells, also in coarse parts.

    Of three columns with more cells the coarse parts alone are taken, up to MOST_PARTS of them. Single cells would
    have as much noise as rows, and a fit to them is worse than none.
    """
    sizes = [axis.size for axis in axes]
    for columns in span.tables:
        few = len(columns) < 3 or math.prod(sizes[i] for i in columns) <= most_cells
        parts = math.prod(len(axes[i].parts or range(sizes[i])) for i in columns)
        if not 1 <= len(columns) <= 3 or not (few or parts <= MOST_PARTS):
            continue
        if (fine := estimated(span.tables, span, columns, sizes)) is not None:
            if few:
                yield fine
            if (coarse := in_parts(fine, span, axes)) is not None:
                yield coarse
