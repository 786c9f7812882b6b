"""Screen features by training data that a holdout checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.validity.answer import HoldoutAnswer
from discreet.validity.methods.method import Total
from discreet.validity.theorems.sparse_answers import GRAIN

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Screening:
    """The features that were chosen.

    Args:
        selected: Their indices, the best first.
        signs: 1 where a feature is large in the second class, −1 where it is small.
        answers: The answer about every feature that was asked about.
    """

    selected: NDArray[np.int64]
    signs: NDArray[np.int64]
    answers: Sequence[HoldoutAnswer] = field(repr=False)

    @property
    def corrected(self) -> int:
        """How many features looked other on the training rows than on the holdout."""
        return sum(answer.source == "holdout" for answer in self.answers)


def agreement(
    X: NDArray[Any], y: NDArray[Any], X_hold: NDArray[Any], y_hold: NDArray[Any]
) -> tuple[Floats, Callable[[int], Total]]:
    """Return how often each feature agrees with the label on training rows, and sums of the same on the holdout.

    Args:
        X: The training rows.
        y: Their labels.
        X_hold: The rows of the holdout.
        y_hold: Their labels.
    """
    classes = np.unique(y)
    if X.ndim != 2 or X_hold.ndim != 2 or X.shape[1] != X_hold.shape[1] or len(X) != len(y):
        raise ParameterError(
            "Training rows and holdout need the same features, and a label for each row.",
            found=f"{X.shape} with {len(y):,} labels, and {X_hold.shape}",
        )
    if len(classes) != 2:
        raise ParameterError(
            "Features are screened for labels of two classes.",
            found=f"{len(classes)} classes",
            fix="Compare one class with all others: y == classes[0].",
        )
    medians = np.median(X, axis=0) if X.dtype.kind == "f" else (X.max(axis=0).astype(float) + X.min(axis=0)) / 2
    second, held = y == classes[1], y_hold == classes[1]
    guesses = np.array([np.mean((X[:, j] > medians[j]) == second) for j in range(X.shape[1])])

    def sums(j: int) -> Total:
        agree = (X_hold[:, j] > medians[j]) == held
        return lambda rows: int(np.count_nonzero(agree if rows is None else agree[rows])) * GRAIN

    return guesses, sums


def expect_features(k: int, features: int) -> None:
    """Refuse a k that is no number of features, before any of them is asked about."""
    if isinstance(k, bool) or k != int(k) or not 1 <= k <= features:
        raise ParameterError("k is a number of features.", found=k, fix=Fix("k", min(10, features)))


def chosen(answers: Sequence[HoldoutAnswer], k: int) -> Screening:
    """Return the k features whose answers are farthest from ½."""
    values = np.array([answer.value for answer in answers])
    order = np.argsort(-np.abs(values - 0.5), kind="stable")[:k].astype(np.int64)
    return Screening(order, np.where(values[order] >= 0.5, 1, -1).astype(np.int64), list(answers))
