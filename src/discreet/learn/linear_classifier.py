"""Offer linear classifiers with scikit-learn's face: logistic regression, and support vector machines.

Claim. A fitted model is (ε, δ)-differentially private, or ε-DP, for adding or removing one person, as its label
says; the proof is that of its method (`discreet.learn.methods`). Classes, ranges and categories are declared,
every row is scaled to norm 1 with its intercept column inside, and the intercept is regularised and noised like
the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from discreet.errors import Fix, ParameterError
from discreet.learn import methods
from discreet.learn.estimator import Columns, PrivateEstimator, class_values, outcome_of_classes
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.margin_losses import Logistic, MarginLoss, hinge
from discreet.learn.methods.problem import LINE, LINES, MapChoice, Problem, feature_maps
from discreet.learn.price import Price
from discreet.learn.shape_charts import named
from discreet.learn.shapes import Shapes, shapes_of
from discreet.learn.training import State, Task, Training
from discreet.rational import Rational, rational, shown
from discreet.release.estimate import Estimate
from discreet.schema import Column

Floats = NDArray[np.float64]

APPROXIMATE = "approximate: of the regularised fit, for noise and sample"
"""What is said of the intervals of coefficients."""

_NORMAL = 1.959964  # the quantile of 95 %
Name = Literal["auto", "objective_perturbation", "output_perturbation", "gradient_descent", "posterior_sampling"]
Method = Name | methods.Method


class _LinearClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """What both classifiers share."""

    classes: Sequence[Any] | None
    method: Method
    feature_map: MapChoice
    regularisation: float | None
    margin: float | None = 0.0
    intervals: bool = False

    def outcome(self) -> Column:
        """Return the declaration of the classes."""
        return outcome_of_classes(self.classes)

    def loss_of(self, classes: int) -> MarginLoss | None:
        """Return the loss for so many classes; None is the softmax loss."""
        raise NotImplementedError

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        given = self.regularisation
        factor = None if given is None else float(rational(given, "regularisation", floats="exact"))
        if factor is not None and not 1 <= factor < 1e6:
            raise ParameterError(
                "regularisation is λ as a multiple of R²/ε, and at least 1: below, the noise would not be enough.",
                found=shown(factor),
                fix=Fix("regularisation", 2),
            )
        intervals = bool(self.intervals)
        problem = Problem(
            task,
            self.loss_of(len(task.classes)),
            feature_maps(task, self.feature_map, self._line(task, price)),
            factor,
            intervals,
            widens=self.margin is None and factor is None and not intervals,
        )
        return methods.plan(self.method, problem, price)

    def _line(self, task: Task, price: Price) -> float:
        """Return the size of the line beside the hats of a number.

        There is none for pure ε, whose noise grows with the sum of a row's features, nor for intervals: a line
        follows from hats, so that neither would have coefficients of its own.
        """
        if price.pure or self.intervals:
            return 0.0
        return LINE if len(task.classes) == 2 else LINES

    def restore(self, state: State) -> None:
        """Set `coef_`, `intercept_`, `classes_` and `feature_map_` from a released model."""
        self.feature_map_ = FeatureMap.from_json(state["map"])
        if dict(self.feature_map_.columns) != dict(self.task_.features):
            raise ValueError("the feature map is for other columns")
        self.classes_ = class_values(self.task_)
        theta = np.atleast_2d(np.array(state["theta"], float)) * 2.0 ** -int(state["grid"])
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        if theta.shape != (scores, self.feature_map_.size) or not np.isfinite(theta).all():
            raise ValueError(f"theta has shape {theta.shape}, or an entry that is not a number")
        self.coef_, self.intercept_ = theta[:, :-1], theta[:, -1]

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each row: above 0 for the second of two classes; one for each of more classes."""
        codes = self._codes(X)
        theta = np.column_stack([self.coef_, self.intercept_])
        scores: Floats = (self.feature_map_.rows(codes) / SCALE) @ theta.T
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        found: NDArray[Any] = self.classes_[places]
        return found

    @property
    def coefficients_(self) -> dict[str, Estimate]:
        """The coefficients by feature, with approximate 95 % intervals for noise and sample: `intervals=True`."""
        self._expect_fitted()
        deviations = self.state_.get("deviations")
        if deviations is None:
            # As for every fitted attribute that is not there: scikit-learn looks for them with hasattr.
            offered = (
                "intervals=True" if "intervals" in self.get_params() else "LogisticRegression(intervals=True)"
            )
            raise AttributeError(f"This model was fitted without intervals. Try: {offered}.")
        values = [*self.coef_[0], self.intercept_[0]]
        return {
            name: Estimate(
                name,
                values=[value],
                low=[value - _NORMAL * deviation],
                high=[value + _NORMAL * deviation],
                note=APPROXIMATE,
                kind="coefficient",
                test_bits=self.test_bits,
                basis="normal approximation",
            )
            for name, value, deviation in zip(self.feature_map_.names, values, deviations, strict=True)
        }

    def shapes(self) -> Shapes:
        """Return what each value of each column adds to the score. It is post-processing, and costs nothing."""
        self._expect_fitted()
        return shapes_of(self, self.unit)

    @property
    def unit(self) -> str:
        """What a score is, in words."""
        return f"score of {named(self.classes_[-1])}" if len(self.classes_) == 2 else "score of each class"


class LogisticRegression(_LinearClassifier):
    """Logistic regression of two or more classes, that remembers no person.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        classes: The declared classes of `fit(X, y)`, the second of two being the positive one.
        method: "auto" by default: objective perturbation for two classes and for pure ε, noisy gradient descent
            otherwise.
        feature_map: "auto" by default: hats, or linear features where a noisy count says that rows are few.
        regularisation: λ as a multiple of R²/ε; by default between 2 and 10, by a noisy number of persons, for two
            classes. A draw from a bounded posterior has a prior instead, and does not use it.
        margin: The margin c of the loss log(1 + exp(c − m)) of two classes, between 0 and 10. By default objective
            perturbation takes up to 2 where a noisy number of persons says that they are few for the noise; all
            else takes 0, and so does a fit with a regularisation that is given, or with intervals.
        intervals: Whether a tenth of the budget buys intervals for `coefficients_`; False by default.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(2000) % 100
    >>> model = LogisticRegression(epsilon=1, delta="1e-6", columns={"age": dp.Integer(0, 99)}, classes=[0, 1])
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
        method: Method = "auto",
        feature_map: MapChoice = "auto",
        regularisation: float | None = None,
        margin: float | None = None,
        intervals: bool = False,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.method = method
        self.feature_map = feature_map
        self.regularisation = regularisation
        self.margin = margin
        self.intervals = intervals

    def loss_of(self, classes: int) -> MarginLoss | None:
        """Return the logistic loss for two classes, and the softmax loss for more, which has no margin."""
        margin = 0.0 if self.margin is None else float(rational(self.margin, "margin", floats="exact"))
        if not 0 <= margin <= 10:
            raise ParameterError("margin must lie between 0 and 10.", found=shown(margin), fix=Fix("margin", 2))
        if margin and (self.intervals or classes > 2):
            raise ParameterError(
                "Intervals are for a loss without a margin: with one, a sample varies by more than its Hessian."
                if self.intervals
                else "A loss with a margin separates two classes.",
                found=f"margin {margin:g}, {classes} classes",
                fix=Fix("margin", 0),
            )
        return Logistic(shift=margin) if classes == 2 else None

    @property
    def unit(self) -> str:
        """What a score is, in words."""
        return f"log-odds of {named(self.classes_[-1])}" if len(self.classes_) == 2 else "log-odds of each class"

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        scores = self.decision_function(X)
        scores = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Floats = raised / raised.sum(axis=1, keepdims=True)
        return found

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of each class."""
        found: Floats = np.log(self.predict_proba(X))
        return found


class LinearSVC(_LinearClassifier):
    """A linear support vector machine of two classes with a smooth hinge, that remembers no person.

    Args:
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        columns: The declared columns of `fit(X, y)`; a vault has its own.
        classes: The declared classes of `fit(X, y)`, the second being the positive one.
        loss: "smooth_hinge" by default, T·log(1 + exp((1 − m)/T)); or "huber_hinge". The plain hinge is refused.
        width: The width T of the smooth hinge, or the half width of the huberised one; 1 by default.
        method: "auto" by default: objective perturbation.
        feature_map: "auto" by default: hats, or linear features where a noisy count says that rows are few.
        regularisation: λ as a multiple of R²/ε, over the width; by default between 2 and 10, by a noisy count.

    It offers no intervals: the gradient of a hinge varies by more than its Hessian, from which they would follow.

    >>> import numpy as np, discreet as dp
    >>> age = np.arange(2000) % 100
    >>> model = LinearSVC(epsilon=1, delta="1e-6", columns={"age": dp.Integer(0, 99)}, classes=["no", "yes"])
    >>> model.fit({"age": age}, np.where(age >= 50, "yes", "no")).predict({"age": [5, 95]}).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        columns: Columns | None = None,
        classes: Sequence[Any] | None = None,
        loss: str = "smooth_hinge",
        width: float = 1.0,
        method: Method = "auto",
        feature_map: MapChoice = "auto",
        regularisation: float | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.columns = columns
        self.classes = classes
        self.loss = loss
        self.width = width
        self.method = method
        self.feature_map = feature_map
        self.regularisation = regularisation

    def loss_of(self, classes: int) -> MarginLoss | None:
        """Return the hinge of this estimator, and refuse more than two classes."""
        if classes != 2:
            raise ParameterError(
                "A support vector machine separates two classes.",
                found=f"{classes} classes",
                fix="Use LogisticRegression, which fits all classes as one problem.",
            )
        return hinge(self.loss, self.width)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
