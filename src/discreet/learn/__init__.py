"""Learn models that remember no person: estimators with scikit-learn's face, paid by a ledger.

    model = vault.fit(LogisticRegression(), target="income", epsilon=1)

Estimators:

    linear_classifier     LogisticRegression, LinearSVC
    linear_regression     LinearRegression, Ridge
    naive_bayes           GaussianNB, CategoricalNB
    boosting              AdaBoost, BoostedStumps, BoostedHistograms, and margins: those of any vote
    selection             PrivateSearch: the best of several estimators, at a price
    finite                choose: the best of finitely many hypotheses
    statistical_queries   SQOracle, and learners that only ask it
    theorems              how many rows learning takes, with privacy and without

What they stand on:

    estimator, fit        what all estimators share, and how a vault pays for one
    training, price       what is learnt from what, and what it may cost
    encoding, feature_map, transformer   from values to codes, and from codes to vectors of norm 1
    methods               how a linear classifier is made private: losses, exact gradients, solvers, noise
    threads               linear algebra on one thread
    statistics            sums that an engine adds up by itself
    label, card, shapes, shape_charts, model_json   the label of a model, its card, its shapes, and its files

Estimators need scikit-learn (`discreet[learn]`), and are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.errors import extra

if TYPE_CHECKING:
    from discreet.learn import boosting, finite, methods, statistical_queries, theorems
    from discreet.learn.boosting import AdaBoost, BoostedHistograms, BoostedStumps
    from discreet.learn.boosting.margins import margins
    from discreet.learn.feature_map import FeatureMap
    from discreet.learn.finite import choose
    from discreet.learn.linear_classifier import LinearSVC, LogisticRegression
    from discreet.learn.linear_regression import LinearRegression, Ridge
    from discreet.learn.naive_bayes import CategoricalNB, GaussianNB
    from discreet.learn.selection import PrivateSearch
    from discreet.learn.statistical_queries import SampleOracle, SQOracle
    from discreet.learn.transformer import Features

_HOMES = {
    "AdaBoost": "boosting",
    "BoostedHistograms": "boosting",
    "BoostedStumps": "boosting",
    "CategoricalNB": "naive_bayes",
    "FeatureMap": "feature_map",
    "Features": "transformer",
    "GaussianNB": "naive_bayes",
    "LinearRegression": "linear_regression",
    "LinearSVC": "linear_classifier",
    "LogisticRegression": "linear_classifier",
    "PrivateSearch": "selection",
    "Ridge": "linear_regression",
    "SQOracle": "statistical_queries",
    "SampleOracle": "statistical_queries",
    "choose": "finite",
    "margins": "boosting",
}
_PACKAGES = ("boosting", "finite", "methods", "statistical_queries", "theorems")

__all__ = [
    "AdaBoost",
    "BoostedHistograms",
    "BoostedStumps",
    "CategoricalNB",
    "FeatureMap",
    "Features",
    "GaussianNB",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "PrivateSearch",
    "Ridge",
    "SQOracle",
    "SampleOracle",
    "boosting",
    "choose",
    "finite",
    "from_json",
    "load",
    "margins",
    "methods",
    "statistical_queries",
    "theorems",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"discreet.learn.{name}")
    if name in _HOMES:
        with extra("learn", "Models need scikit-learn"):
            return getattr(importlib.import_module(f"discreet.learn.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet.learn' has no attribute {name!r}; it has {', '.join(__all__)}.")


def load(path: Any) -> Any:
    """Return the model of a file that `model.save` wrote, whatever its estimator is.

    >>> load("nothing.json")
    Traceback (most recent call last):
    discreet.errors.ParameterError: nothing.json cannot be read (found: No such file or directory).
    """
    for name in _HOMES:
        __getattr__(name)  # so that it is known which estimators there are
    from discreet.learn.estimator import PrivateEstimator

    return PrivateEstimator.load(path)


def from_json(record: Any) -> Any:
    """Return the model that `model.to_json` wrote, whatever its estimator is."""
    name = record.get("estimator") if isinstance(record, dict) else None
    if isinstance(name, str) and name in _HOMES:
        __getattr__(name)  # so that this estimator is known
    from discreet.learn.estimator import PrivateEstimator

    return PrivateEstimator.from_json(record)


def __dir__() -> list[str]:
    return __all__
