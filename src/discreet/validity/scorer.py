"""Give scikit-learn a scorer that asks the holdout, and a split that never shows it.

    GridSearchCV(model, grid, cv=guard.cv(X), scoring=guard.scorer())

scikit-learn fits each candidate on all training rows, and calls the scorer with them. The scorer takes the score
on the training rows as its guess, and asks the holdout, which scikit-learn never sees. Everything is in one
process: a copy of the scorer in a worker would have a transcript of its own, and spend the same β again.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from discreet.validity.metric import Metric

ONE_PROCESS = (
    "The scorer of a holdout is not copied to other processes: each copy would have a transcript of its own. "
    'Set n_jobs=1, or use threads: with joblib.parallel_config(backend="threading").'
)
"""The message of a scorer that would be pickled."""


class Scored(Protocol):
    """A holdout that scores models: of plain arrays, or inside of a vault."""

    metric: Metric

    def score(self, model: Any, X: Any = None, y: Any = None) -> Any:
        """Answer how good a model is."""


class HoldoutScorer:
    """A scorer with scikit-learn's face: `scorer(model, X, y)`, where X and y are training rows."""

    def __init__(self, guard: Scored):
        self._guard = guard

    def __call__(self, estimator: Any, X: Any, y: Any = None, **_: Any) -> float:
        """Return the holdout's answer as a number, larger for better models."""
        value = float(self._guard.score(estimator, X, y))
        return value if self._guard.metric.greater_is_better else -value

    def __repr__(self) -> str:
        return f"<scorer of {self._guard!r}>"

    def __copy__(self) -> HoldoutScorer:
        return self  # scikit-learn clones what has parameters; the transcript is one

    def __deepcopy__(self, _: Any) -> HoldoutScorer:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(ONE_PROCESS)
