"""Fit models, and use them: the card and the predictions come from the record, and are free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError
from discreet.serve.verbs.verb import Result, Tell, Verb, given, recorded_only

if TYPE_CHECKING:
    from discreet.learn.estimator import PrivateEstimator
    from discreet.vault.vault import Vault

ESTIMATORS = (
    *("LogisticRegression", "LinearSVC", "LinearRegression", "Ridge", "GaussianNB", "CategoricalNB"),
    *("AdaBoost", "BoostedStumps", "BoostedHistograms"),
)
"""The estimators of `discreet.learn` that a request may name."""


def fit(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Fit a model, and charge it once."""
    model = vault.fit(estimator_of(arguments), **_terms(arguments), progress=tell)
    model.expect_release("the service")
    return Result(model.to_json())


def card(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the card of a model that was fitted before."""
    return Result({"card": _fitted(vault, arguments["opening"]).card()}, public=True)


def predict(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Predict for rows that the client sends."""
    import pyarrow

    model = _fitted(vault, arguments["opening"])
    columns = {name: arguments["rows"].get(name) for name in model.task_.features}
    if missing := sorted(name for name, values in columns.items() if not isinstance(values, list)):
        raise ParameterError("The rows lack a column that the model predicts from.", found=missing[0])
    if len({len(values) for values in columns.values()}) != 1:
        raise ParameterError("All columns of the rows must have the same length.")
    predicted = model.predict(pyarrow.table(columns))
    return Result({"target": model.task_.target, "predictions": predicted.tolist()}, public=True)


def estimator_of(arguments: Mapping[str, Any]) -> PrivateEstimator:
    """Return the estimator that a request names, with its parameters."""
    from discreet import learn

    name, parameters = arguments["estimator"], arguments.get("parameters") or {}
    if name not in ESTIMATORS:
        raise ParameterError("There is no such estimator.", found=name, fix=f"There are: {', '.join(ESTIMATORS)}.")
    kind = getattr(learn, name)
    if unknown := sorted(parameters.keys() - kind().get_params().keys()):
        raise ParameterError(f"The estimator {name} has no such parameter.", found=unknown[0])
    made: PrivateEstimator = kind(**parameters)
    return made


def _terms(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given(arguments).items() if name not in ("estimator", "parameters")}


def _fitted(vault: Vault, opening: Mapping[str, Any]) -> Any:
    from discreet.learn.fit import fit as again

    return again(recorded_only(vault), estimator_of(opening), **_terms(opening))


VERBS = {
    "fit": Verb(fit, job=True),
    "model_card": Verb(card, public=True),
    "predict": Verb(predict, public=True),
}
