"""Share what both private boosters have: cells, scores, margins, certificates, and the noise on margins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from discreet.engines.examples import Batch, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.boosting import noisy_margins
from discreet.learn.boosting.cells import CELLS, SIGNS, Cells
from discreet.learn.boosting.certificate import Certificate
from discreet.learn.boosting.margins import Margins, margins
from discreet.learn.boosting.noisy_margins import NoisyMargins
from discreet.learn.boosting.rules import Rules
from discreet.learn.boosting.votes import Vote as Ballot
from discreet.learn.boosting.votes import two_sided
from discreet.learn.estimator import PrivateEstimator, class_values, outcome_of_classes
from discreet.learn.training import State, Task
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy.losses import describe
from discreet.rational import Rational, rational, shown
from discreet.release.label import Noise
from discreet.schema import Column

Floats = NDArray[np.float64]

_MOST_CELLS = 8192  # rules are a table of all cells


class _Boosted(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """What both estimators share: cells, scores, margins and certificates."""

    classes: Sequence[Any] | None
    bins: int
    certificate_share: Rational

    def outcome(self) -> Column:
        """Return the declaration of the classes."""
        return outcome_of_classes(self.classes)

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the second class."""
        codes = self._codes(X)
        return self._scores(self.cells_.place(codes))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely class of each row."""
        scores = self.decision_function(X)
        found: NDArray[Any] = self.classes_[(scores > 0).astype(int)]
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class."""
        likely = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -500, 500)))
        return np.column_stack([1 - likely, likely])

    def votes(self, X: Any) -> Iterator[Ballot]:
        """Yield the weight and the votes of every rule, as `margins` reads them."""
        codes = self._codes(X)
        cells = self.cells_.place(codes)
        for rule, weight in self._voters():
            block = self.rules_.all[rule].block
            said = self.rules_.votes[rule][cells[:, block]] * (1 if weight > 0 else -1)
            yield abs(weight), two_sided(said)

    def margins(self, X: Any, y: Any) -> Margins:
        """Return the margins of rows. Not private, if the rows are not."""
        return margins(self, X, y)

    def certificate(self, X: Any = None, y: Any = None, *, alpha: Rational = "0.05") -> Certificate:
        """Return bounds on the error for new persons: private ones, or from the rows of training themselves.

        Args:
            X: The rows of training; by default none, and the certificate is from the noisy margins.
            y: Their classes.
            alpha: The probability that a bound fails; 0.05 by default.
        """
        self._expect_fitted()
        about, size = f"this {type(self).__name__}", self.rules_.hypotheses
        if X is not None:
            bounds = self.margins(X, y).bounds(size, alpha=alpha, weights=self._alphas())
            return Certificate(bounds, private=False, about=about)
        if self.noisy_margins_ is None:
            raise ParameterError(
                "The model was fitted without noisy margins, so it has no private certificate.",
                fix=[
                    Fix("certificate_share", "0.03"),
                    "Or give the rows of training, for one that is not private.",
                ],
            )
        return Certificate(self.noisy_margins_.bounds(size, alpha=alpha, weights=self._alphas()), True, about)

    # -- what a subclass decides --------------------------------------------------------------------------------

    def _scores(self, cells: NDArray[np.integer]) -> Floats:
        raise NotImplementedError

    def _voters(self) -> list[tuple[int, float]]:
        """Return the rules that vote, with their signed weights, in the order of training."""
        raise NotImplementedError

    def _alphas(self) -> list[float]:
        """Return the weight of every distinct hypothesis."""
        total: dict[tuple[int, bool], float] = {}
        for rule, weight in self._voters():
            total[rule, weight > 0] = total.get((rule, weight > 0), 0.0) + abs(weight)
        return list(total.values())

    # -- parts of a plan ----------------------------------------------------------------------------------------

    def _cells(self, task: Task) -> Cells:
        if len(task.classes) != 2:
            raise ParameterError(
                "Boosting tells two classes apart.",
                found=f"{len(task.classes)} classes",
                fix="Use LogisticRegression.",
            )
        cells = Cells(task.features, self.bins)
        if cells.size > _MOST_CELLS:
            raise ParameterError(
                f"Boosting takes columns with {_MOST_CELLS:,} values in all, and these have more.",
                found=f"{cells.size:,}",
                fix="Leave out the category with the most values.",
            )
        return cells

    def _share(self) -> Fraction:
        share = rational(self.certificate_share, "certificate_share", floats="exact")
        if not 0 <= share < 1:
            raise ParameterError(
                "certificate_share is the share of the budget for noisy margins, from 0 to below 1.",
                found=shown(self.certificate_share),
                fix=Fix("certificate_share", "0.03"),
            )
        return share

    def _noisy(
        self, examples: Examples, mechanism: Gaussian | Laplace | None, cells: Cells, model: Any, total: float
    ) -> tuple[State | None, bool]:
        """Return the noisy margins of a released model as JSON, and whether their noise was predictable."""
        if mechanism is None:
            return None, False

        def margin(batch: Batch) -> Floats:
            scores = model(batch.codes[CELLS]) * batch.codes[SIGNS]
            return np.asarray(scores / total if total > 0 else np.zeros(batch.size))

        counts, tested = noisy_margins.released(examples, mechanism, margin)
        spread = mechanism.variance if isinstance(mechanism, Gaussian) else mechanism.scale
        law = "gaussian" if isinstance(mechanism, Gaussian) else "laplace"
        return {"counts": counts, "law": law, "spread": str(spread)}, tested

    def _restored(self, state: State) -> None:
        self.cells_ = Cells.from_json(state["cells"])
        self.rules_ = Rules(self.cells_)
        self.classes_ = class_values(self.task_)
        found = state["margins"]
        self.noisy_margins_ = None
        if found is not None:
            counts, spread = tuple(map(int, found["counts"])), Fraction(found["spread"])
            self.noisy_margins_ = NoisyMargins(type(self).__name__, counts, found["law"], spread)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def noise_told(mechanism: Gaussian | Laplace | None, on: str = "rows by margin") -> list[Noise]:
    """Return the noise of a histogram for a label, in persons; nothing without a mechanism."""
    if mechanism is None:
        return []
    unit = math.isqrt(int(mechanism.sensitivity.l2_squared or 1)) if isinstance(mechanism, Gaussian) else 0  # type: ignore[union-attr]
    if isinstance(mechanism, Gaussian):
        spread, law = math.sqrt(mechanism.variance) / unit, "discrete Gaussian noise"
    else:
        spread, law = float(mechanism.scale / mechanism.sensitivity), "discrete Laplace noise"
    return [Noise(on, law, spread, 1, describe(mechanism.loss))]
