"""Offer naive Bayes classifiers with scikit-learn's face, from sums by class that the engine adds up.

Claim. A fitted model is (ε, δ)-differentially private, or ε-DP, for adding or removing one person with all of
their rows. One vector of exact integers is released with noise: the sums of every class, whether a row is in it
or not. A row changes the sums of its own class only, one cell for each column, and the noise is calibrated to
exactly that (`discreet.learn.statistics.class_sums`). Everything else is computed from the noisy sums. Theory:
docs/theory/naive-bayes.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.encoding import Codes
from discreet.learn.estimator import Columns, PrivateEstimator, class_values, outcome_of_classes
from discreet.learn.feature_map import SCALE
from discreet.learn.price import Price
from discreet.learn.statistics.class_sums import Cells, Counts, Layout, Numbers, class_sums
from discreet.learn.statistics.noisy_sums import NoisySums, amounts, loss_of
from discreet.learn.statistics.scaled_column import ScaledColumn
from discreet.learn.training import Progress, State, Task, Training
from discreet.mechanisms import Sensitivity
from discreet.rational import Rational, rational, shown, whole
from discreet.schema import Category, Column

Floats = NDArray[np.float64]

MOST = 10**6
"""The most sums of one model."""

_NARROW = 1e-4  # the least variance of a number within ±1
_DOUBTFUL = 1.0  # deviations of the noise on a variance that are not told from 0


class _NaiveBayes(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """What both classifiers share."""

    classes: Sequence[Any] | None

    def outcome(self) -> Column:
        """Return the declaration of the classes."""
        return outcome_of_classes(self.classes)

    def layout(self, task: Task) -> Layout:
        """Return what a row adds to the sums of its class."""
        raise NotImplementedError

    @property
    def unit(self) -> int:
        """What a row adds to the first sum of its class."""
        raise NotImplementedError

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        classes, layout = len(task.classes), self.layout(task)
        entries = classes * layout.width
        if entries > MOST:
            raise ParameterError(
                f"A naive Bayes model has at most {MOST:,} sums.",
                found=f"{classes:,} classes with {layout.width:,} sums each",
                fix="Leave out columns of many categories.",
            )
        noisy, unit = self.sums(layout, price), WHOLE * self.unit

        def run(examples: Examples, progress: Progress) -> State:
            progress("adding up classes", 0.1)
            exact = class_sums(examples, layout, task.target, classes)
            values, marked = noisy.released([int(total) for total in exact.ravel()])
            return {
                "sums": values.reshape(classes, -1).astype(np.int64).tolist(),
                "spread": noisy.deviation / unit,
                "facts": {"Sums": f"{layout.width:,} for each of {classes} classes"},
                "test_bits": marked,
            }

        return Training(
            [loss_of(price, _whole(price))], run, [noisy.told(unit)], "Naive Bayes from noisy sums of every class."
        )

    def sums(self, layout: Layout, price: Price) -> NoisySums:
        """Return the noise on the sums of all classes."""
        sensitivity = Sensitivity(l1=WHOLE * layout.l1, l2_squared=WHOLE**2 * layout.l2_squared)
        return NoisySums.of("sums of every class", sensitivity, price, _whole(price))

    def _joint(self, codes: Codes) -> Floats:
        """Return the logarithm of the probability of each class and the row together, up to a constant."""
        raise NotImplementedError

    def _restore_classes(self, sums: Floats) -> None:
        self.classes_ = class_values(self.task_)
        self.class_count_ = np.maximum(sums[:, 0], 0.0)
        self.class_log_prior_ = np.log((self.class_count_ + 1.0) / (self.class_count_ + 1.0).sum())

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of each class."""
        joint = self._joint(self._codes(X))
        highest = joint.max(axis=1, keepdims=True)
        found: Floats = joint - highest - np.log(np.exp(joint - highest).sum(axis=1, keepdims=True))
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        found: Floats = np.exp(self.predict_log_proba(X))
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        joint = self._joint(self._codes(X))
        found: NDArray[Any] = self.classes_[joint.argmax(axis=1)]
        return found


def _whole(price: Price) -> Fraction:
    return amounts(price, {"sums": 1.0})["sums"]


class CategoricalNB(_NaiveBayes):
    """Naive Bayes with a histogram for each column and class, that remembers no person.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        classes: The declared classes of `fit(X, y)`.
        alpha: The rows that are added to every cell; 1 by default.
        bins: The most ranges of a number; 16 by default.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(2000) % 100
    >>> model = CategoricalNB(epsilon=1, columns={"age": dp.Integer(0, 99)}, classes=[0, 1])
    >>> model.fit({"age": age}, (age >= 50).astype(int)).predict({"age": [5, 95]}).tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        classes: Sequence[Any] | None = None,
        alpha: float = 1.0,
        bins: int = 16,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.alpha = alpha
        self.bins = bins

    @property
    def unit(self) -> int:
        """A row counts 1."""
        return 1

    def layout(self, task: Task) -> Counts:
        """Return the cells of every column."""
        if not 0 < rational(self.alpha, "alpha", floats="exact") < 10**9:
            raise ParameterError("alpha must be above 0.", found=shown(self.alpha), fix=Fix("alpha", 1))
        bins = whole(self.bins, "bins", least=2)
        return Counts({name: Cells(column, bins) for name, column in task.features.items()})

    def restore(self, state: State) -> None:
        """Set `class_count_`, `category_count_` and `feature_log_prob_` from a released model."""
        sums = np.array(state["sums"], float) / WHOLE
        self._restore_classes(sums)
        self._layout = self.layout(self.task_)
        self.category_count_, self.feature_log_prob_ = [], []
        for name, cells in self._layout.columns.items():
            start = self._layout.starts[name]
            counts = np.maximum(sums[:, start : start + cells.count], 0.0)
            smooth = counts + float(self.alpha)
            self.category_count_.append(counts)
            self.feature_log_prob_.append(np.log(smooth / smooth.sum(axis=1, keepdims=True)))

    def _joint(self, codes: Codes) -> Floats:
        listed = zip(self._layout.columns.items(), self.feature_log_prob_, strict=True)
        found: Floats = self.class_log_prior_ + sum(
            logs.T[cells.places(codes[name])] for (name, cells), logs in listed
        )
        return found


class GaussianNB(_NaiveBayes):
    """Naive Bayes with a normal law for each number and class, that remembers no person.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        classes: The declared classes of `fit(X, y)`.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(4000) % 100
    >>> model = GaussianNB(epsilon=1, columns={"age": dp.Integer(0, 99)}, classes=["young", "old"])
    >>> model.fit({"age": age}, np.where(age < 50, "young", "old")).predict({"age": [5, 95]}).tolist()
    ['young', 'old']
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        classes: Sequence[Any] | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes

    @property
    def unit(self) -> int:
        """A row counts SCALE, as the end of a range does."""
        return SCALE

    def layout(self, task: Task) -> Numbers:
        """Return the numbers of every column, and refuse categories."""
        for name, column in task.features.items():
            if isinstance(column, Category):
                raise ParameterError(
                    f"A category such as {name!r} has no mean.",
                    fix=["Use CategoricalNB.", f"Or leave {name!r} out of the features."],
                )
        return Numbers({name: ScaledColumn(column) for name, column in task.features.items()})

    def restore(self, state: State) -> None:
        """Set `class_count_`, `theta_` and `var_`, the means and variances, from a released model."""
        sums, spread = np.array(state["sums"], float) / (WHOLE * SCALE), float(state["spread"])
        self._restore_classes(sums)
        self._layout = self.layout(self.task_)
        shape = len(self.classes_), len(self._layout.columns)
        self._means, self._variances = np.zeros(shape), np.zeros(shape)
        self.theta_, self.var_ = np.zeros(shape), np.zeros(shape)
        for i, (name, column) in enumerate(self._layout.columns.items()):
            start = self._layout.starts[name]
            counted = sums[:, start + 2] if column.column.filling is None else sums[:, 0]
            # As many rows as the noise is wide are added at random places of the range: they keep a class with
            # few rows from being described by noise.
            rows = np.maximum(counted, 0.0) + spread + 1e-9
            mean = np.clip(sums[:, start] / rows, -1.0, 1.0)
            square = (np.maximum(sums[:, start + 1], 0.0) + spread / 3.0) / rows
            least = np.clip(_DOUBTFUL * spread / rows, _NARROW, 1.0)  # below it a variance is noise
            self._means[:, i], self._variances[:, i] = mean, np.clip(square - mean**2, least, 1.0)
            worth = SCALE * float(column.unit)
            self.theta_[:, i] = float(column.middle) + worth * mean
            self.var_[:, i] = worth**2 * self._variances[:, i]

    def _joint(self, codes: Codes) -> Floats:
        found: Floats = np.repeat(self.class_log_prior_[None, :], len(next(iter(codes.values()))), axis=0)
        for i, (name, column) in enumerate(self._layout.columns.items()):
            x = column.numbers(codes[name])[:, None] / SCALE
            law = -((x - self._means[:, i]) ** 2) / (2 * self._variances[:, i])
            law = law - 0.5 * np.log(2 * math.pi * self._variances[:, i])
            found = found + np.where(codes[name][:, None] < 0, 0.0, law)
        return found
