"""Read the votes of a fitted ensemble: its voters one by one, each with a weight.

A vote is a row of shares over the classes: 1 for one class where the voter names a class, shares that add up to
1 where it is unsure. In two classes it is the h(x) in [−1, 1] of the theory, written (1 − h)/2, (1 + h)/2.

    our own models                       `votes(X)`, which yields the same pairs
    AdaBoostClassifier                   estimator_weights_, predicted classes
    BaggingClassifier, random forests    equal weights, probabilities (as their own predict averages them)
    VotingClassifier                     its weights; predicted classes or probabilities, as it votes
    GradientBoostingClassifier           two classes: a tree divided by its largest |leaf| votes in [−1, 1], with
                                         that leaf times the learning rate as its weight; the start votes first

Models are recognised by what they have, and scikit-learn is not imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

Floats: TypeAlias = NDArray[np.float64]
Vote: TypeAlias = tuple[float, Floats]
"""The weight of a voter, and its shares over the classes, one row per example."""


def votes(model: Any, X: Any) -> Iterator[Vote]:
    """Yield the weight and the votes of every voter of a fitted model, in the order of training.

    >>> from sklearn.ensemble import BaggingClassifier
    >>> bagged = BaggingClassifier(n_estimators=3, random_state=0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> [weight for weight, _ in votes(bagged, [[0], [3]])]
    [1.0, 1.0, 1.0]
    """
    if callable(getattr(model, "votes", None)):
        yield from model.votes(X)
    elif hasattr(model, "init_") and hasattr(model, "learning_rate") and hasattr(model, "estimators_"):
        yield from _gradient_boosting(model, X)
    elif hasattr(model, "estimator_weights_") and hasattr(model, "classes_"):
        yield from _adaboost(model, X)
    elif hasattr(model, "estimators_") and hasattr(model, "voting"):
        yield from _voting(model, X)
    elif hasattr(model, "estimators_") and hasattr(model, "classes_"):
        yield from _average(model, X)
    else:
        raise ParameterError(
            "Margins are defined for a fitted classifier that votes.",
            found=type(model).__name__,
            fix="Fit it first, or give a boosting, bagging, forest or voting classifier.",
        )


def shares(predicted: Any, classes: Any) -> Floats:
    """Return predicted classes as votes: 1 for the class named, 0 for the others.

    >>> shares(["b", "a"], ["a", "b"]).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return np.asarray(np.asarray(predicted)[:, None] == np.asarray(classes)[None, :], float)


def two_sided(scores: Any) -> Floats:
    """Return votes h(x) in [−1, 1] as shares of two classes.

    >>> two_sided([1.0, -0.5]).tolist()
    [[0.0, 1.0], [0.75, 0.25]]
    """
    h = np.asarray(scores, float)
    return np.stack([(1 - h) / 2, (1 + h) / 2], axis=1)


def _adaboost(model: Any, X: Any) -> Iterator[Vote]:
    for weight, voter in zip(model.estimator_weights_, model.estimators_, strict=False):
        yield float(weight), shares(voter.predict(X), model.classes_)


def _average(model: Any, X: Any) -> Iterator[Vote]:
    if np.ndim(model.classes_) != 1 or isinstance(model.classes_, list):
        raise ParameterError("Margins are defined for one target column.", found="several")
    rows = np.asarray(X)
    used = getattr(model, "estimators_features_", None) or [None] * len(model.estimators_)
    for voter, columns in zip(model.estimators_, used, strict=True):
        seen = rows if columns is None else rows[:, columns]
        yield 1.0, _unsure(voter, seen, len(model.classes_))


def _voting(model: Any, X: Any) -> Iterator[Vote]:
    count = len(model.classes_)
    given = [1.0] * len(model.estimators) if model.weights is None else model.weights
    pairs = zip(given, model.estimators, strict=True)
    used = [float(weight) for weight, (_, voter) in pairs if not isinstance(voter, str)]  # a string is "drop"
    for weight, voter in zip(used, model.estimators_, strict=True):
        if model.voting == "soft":
            yield weight, _unsure(voter, X, count)
        else:
            yield weight, shares(np.asarray(voter.predict(X)), np.arange(count))


def _unsure(voter: Any, X: Any, count: int) -> Floats:
    """Return probabilities over all classes, also where a voter has seen only some of them."""
    if not hasattr(voter, "predict_proba"):
        return shares(voter.predict(X), np.arange(count))
    known = np.asarray(voter.predict_proba(X), float)
    if known.shape[1] == count:
        return known
    full = np.zeros((len(known), count))
    full[:, np.asarray(voter.classes_).astype(int)] = known  # ensembles fit their voters on codes 0, 1, …
    return full


def _gradient_boosting(model: Any, X: Any) -> Iterator[Vote]:
    if len(model.classes_) != 2 or not hasattr(model, "loss"):
        raise ParameterError(
            "Margins of gradient boosting are defined for two classes.", found=f"{len(model.classes_)} classes"
        )
    rows = np.asarray(X, np.float32)
    trees = [row[0] for row in model.estimators_]
    # The start is what is left of the score when the trees are taken away: a constant if init is not an estimator.
    total = np.asarray(model.decision_function(X), float)
    for tree in trees:
        total = total - model.learning_rate * tree.predict(rows)
    start = float(np.abs(total).max(initial=0.0))
    if start > 0:
        yield start, two_sided(total / start)
    for tree in trees:
        largest = float(np.abs(tree.tree_.value).max())
        if largest > 0:
            yield model.learning_rate * largest, two_sided(tree.predict(rows) / largest)
