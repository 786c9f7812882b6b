"""Turn predictions into one integer per row: a metric is a mean of numbers in [0, 1].

The theorems of this package are about means over rows. A metric that is no such mean, as the area under a curve,
which compares rows with each other, is refused. A number is rounded down to a multiple of 1/GRAIN, so that sums
are exact; answers are widened by that. What a metric of the analyst's own returns for the holdout may be out of
range, or no number. Where the method is private, such a number is clamped to [0, 1], and NaN counts as 0,
because an error message would say something about the rows; the other methods refuse it, and the refusal counts
as an answer. So a message tells which of few things is wrong, and no number of the holdout: not how many rows
were returned, and not how far out of range they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.validity.theorems.sparse_answers import GRAIN

Integers: TypeAlias = NDArray[np.int64]
PerRow: TypeAlias = Callable[[Any, Any], Any]
"""Takes the true and the predicted values, and returns a number in [0, 1] for each row."""

_PAIRS = ("roc_auc", "auc", "average_precision", "r2", "f1", "balanced_accuracy", "precision", "recall", "mcc")


@dataclass(frozen=True)
class Metric:
    """A mean over rows of a number in [0, 1].

    Args:
        name: Its name in answers.
        per_row: The number of each row.
        greater_is_better: Whether a better model has a larger mean.
    """

    name: str
    per_row: PerRow
    greater_is_better: bool = True


def metric_of(given: str | PerRow, greater_is_better: bool = True) -> Metric:
    """Return a metric by its name, or from a function of true and predicted values.

    >>> metric_of("accuracy").per_row(np.array([1, 0]), np.array([1, 1])).tolist()
    [1, 0]
    >>> metric_of("roc_auc")
    Traceback (most recent call last):
    discreet.errors.ParameterError: This metric is not a mean over rows, and no theorem here covers it (found:
    'roc_auc'). Try: metric="accuracy", or metric=lambda y, p: (y - p) ** 2 (any number in [0, 1] for each row).
    """
    if given == "accuracy":
        return Metric("accuracy", lambda y, p: (np.asarray(y) == np.asarray(p)).astype(np.int64))
    if given == "error":
        return Metric("error", lambda y, p: (np.asarray(y) != np.asarray(p)).astype(np.int64), False)
    if callable(given):
        name = getattr(given, "__name__", "metric").replace("<lambda>", "metric")
        return Metric(name, given, bool(greater_is_better))
    own = Fix("metric", Code("lambda y, p: (y - p) ** 2"), note="any number in [0, 1] for each row")
    known = given in _PAIRS
    problem = "This metric is not a mean over rows, and no theorem here covers it." if known else "Unknown metric."
    raise ParameterError(problem, found=repr(given), fix=[Fix("metric", "accuracy"), own])


def quantised(values: Any, rows: int, *, clamp: bool = False) -> Integers:
    """Return one number per row in units of 1/GRAIN, rounded down.

    Args:
        values: The numbers.
        rows: How many there must be.
        clamp: Whether numbers out of range are clamped, and NaN counts as 0, rather than refused.

    >>> quantised([0.5, 1], 2).tolist() == [GRAIN // 2, GRAIN]
    True
    """
    array = np.asarray(values)
    if array.shape != (rows,):
        raise ParameterError(
            f"A statistic needs one number for each of the {rows:,} rows of the holdout.",
            found="another shape",
            fix="Return an array of that length, before any mean is taken.",
        )
    if array.dtype.kind == "b" or (
        array.dtype.kind in "iu" and array.size and 0 <= array.min() <= array.max() <= 1
    ):
        return array.astype(np.int64) * GRAIN
    if array.dtype.kind not in "iuf":
        raise ParameterError(
            "A statistic is made of numbers.", found="another type", fix="Return floats in [0, 1]."
        )
    numbers = array.astype(np.float64)
    if clamp:
        numbers = np.clip(np.nan_to_num(numbers, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    elif np.isnan(numbers).any():
        raise ParameterError(
            "The statistic is not a number on some rows.",
            found="NaN",
            fix="Choose what such a row counts as: 0 or 1.",
        )
    elif numbers.size and (numbers.min() < 0 or numbers.max() > 1):
        raise ParameterError(
            "The statistic must lie in [0, 1] on every row.",
            found="a number below 0 or above 1",
            fix="Divide by its largest possible value, and clip it: np.clip(loss / most, 0, 1).",
        )
    return np.floor(numbers * GRAIN).astype(np.int64)
