"""Boost stumps or small trees by AdaBoost, without privacy: the textbook's algorithm, to compare with.

Round t trains a hypothesis h on weights D_t, takes e = its weighted error and α = ½·ln((1 − e)/e), and
multiplies the weights by e^{−α·y·h(x)}. Every error bound of the textbook is about this vote Σ α·h. **It is not
private**: its thresholds are values of rows. The private learners are `BoostedStumps` and `BoostedHistograms`.

The training error is at most Π 2·√(e_t(1 − e_t)), which `training_bound_` holds for every round.
Theory: docs/theory/boosting.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from discreet.errors import ParameterError
from discreet.learn.boosting.margins import Margins, margins
from discreet.learn.boosting.stumps import SortedColumns, Stump
from discreet.learn.boosting.votes import Vote, two_sided
from discreet.rational import whole

Floats: TypeAlias = NDArray[np.float64]

_LEAST_EDGE = 1e-12  # below it a hypothesis is a coin, and further rounds would repeat it
_LEAST_ERROR = 1e-12  # a perfect hypothesis has a finite weight


class AdaBoost(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """AdaBoost over stumps or small trees, for two classes. Not private.

    Args:
        rounds: The largest number of hypotheses; 100 by default.
        depth: The depth of a hypothesis: 1, the default, for stumps; more for trees of scikit-learn.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoost(rounds=50).fit(X, y)
    >>> bool(model.score(X, y) > 0.98), model.margins(X, y).rounds
    (True, (5, 50))
    """

    def __init__(self, rounds: int = 100, depth: int = 1):
        self.rounds = rounds
        self.depth = depth

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AdaBoost:
        """Train on examples with two classes. Rows with larger `sample_weight` count for more."""
        most, depth = whole(self.rounds, "rounds"), whole(self.depth, "depth")
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            raise ParameterError("Only binary classification is supported.", found=f"{len(self.classes_)} classes")
        if len(self.classes_) < 2:
            raise ParameterError("The classifier can't train when only one class is present.", found="1 class")
        if not weights.sum() > 0:
            raise ParameterError("At least one example needs a sample weight above 0.", found=0)
        used = weights > 0  # a row without weight is a row that is not there: it offers no threshold either
        signs = np.where(codes == 1, 1.0, -1.0)
        self._boost(rows[used], signs[used], weights[used] / weights.sum(), most, depth)
        return self

    def _boost(self, rows: Floats, y: Floats, weights: Floats, most: int, depth: int) -> None:
        sorted_columns = SortedColumns(rows) if depth == 1 else None
        self.estimators_: list[Any] = []
        alphas, errors = [], []
        for _ in range(most):
            if sorted_columns is not None:
                hypothesis: Any = sorted_columns.best(weights * y)
                said = hypothesis.vote(rows)
            else:
                hypothesis = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(rows, y, weights)
                said = hypothesis.predict(rows)
            error = float(weights[said != y].sum())
            if error >= 0.5 - _LEAST_EDGE and self.estimators_:
                break  # no hypothesis knows anything more about these weights
            alpha = 0.5 * np.log((1 - error) / max(error, _LEAST_ERROR)) if error < 0.5 else 1.0
            self.estimators_.append(hypothesis)
            alphas.append(float(alpha))
            errors.append(error)
            weights = weights * np.exp(-alpha * y * said)
            weights = weights / weights.sum()
            if error <= _LEAST_ERROR:
                break
        self.alphas_ = np.array(alphas)
        self.errors_ = np.array(errors)
        self.training_bound_ = np.cumprod(2 * np.sqrt(self.errors_ * (1 - self.errors_)))

    def votes(self, X: Any) -> Iterator[Vote]:
        """Yield the weight and the votes of every hypothesis, in the order of training."""
        rows = self._checked(X)
        for alpha, hypothesis in zip(self.alphas_.tolist(), self.estimators_, strict=True):
            yield alpha, two_sided(_said(hypothesis, rows))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield Σ α·h(x) after every round."""
        rows = self._checked(X)
        total = np.zeros(len(rows))
        for alpha, hypothesis in zip(self.alphas_, self.estimators_, strict=True):
            total = total + alpha * _said(hypothesis, rows)
            yield total

    def decision_function(self, X: Any) -> Floats:
        """Return Σ α·h(x) / Σ α: the vote in [−1, 1], positive for the second class."""
        rows = self._checked(X)
        total = sum(a * _said(h, rows) for a, h in zip(self.alphas_, self.estimators_, strict=True))
        return np.asarray(total / self.alphas_.sum())

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class that most of the vote is for."""
        said: NDArray[Any] = self.decision_function(X)
        chosen: NDArray[Any] = self.classes_[(said > 0).astype(int)]
        return chosen

    def staged_error(self, X: Any, y: Any) -> Floats:
        """Return the share of wrong answers after every round, on training or on test examples."""
        right = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        return np.array([float(((said > 0) != (right > 0)).mean()) for said in self.staged_decision_function(X)])

    def margins(self, X: Any, y: Any) -> Margins:
        """Return the margins of examples after 5, 100, 1000 rounds and all of them. Not private."""
        return margins(self, X, y)

    def _checked(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _said(hypothesis: Any, rows: Floats) -> Floats:
    if isinstance(hypothesis, Stump):
        return hypothesis.vote(rows)
    said: Floats = hypothesis.predict(rows)
    return said
