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
    from discreet.learn.card import LIMITS, facts, title
    from discreet.release.serialize import written_label

    model = _fitted(vault, arguments["opening"])
    return Result(
        {
            "card": model.card(),
            "title": title(model),
            "facts": facts(model),
            "limits": [*LIMITS, *model.label.notes[1:]],
            "features": {name: column.as_json() for name, column in model.task_.features.items()},
            "shapes": _shapes(model),
            "label": written_label(model.label),
        },
        public=True,
    )


def _shapes(model: Any) -> dict[str, Any] | None:
    """Return the shape functions as JSON; None if the model has none."""
    if not hasattr(model, "shapes"):
        return None
    found = model.shapes()
    columns = [
        {
            "name": shape.name,
            "categorical": shape.categorical,
            "steps": shape.steps,
            "places": [_place(value) for value in shape.values],
            "effects": [shape.told(i) for i in range(len(found.scores))],
        }
        for shape in found
    ]
    return {"unit": found.unit, "scores": list(found.scores), "columns": columns}


def _place(value: Any) -> float | None:
    """Return the place of a value on the axis of a picture: a number, or the number of a day; None for a name."""
    if hasattr(value, "toordinal"):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def file(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return a model that was fitted before, as the JSON that `discreet.learn.from_json` reads."""
    return Result({"model": _fitted(vault, arguments["opening"]).to_json()}, public=True)


def predict(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Predict for rows that the client sends."""
    import pyarrow

    model = _fitted(vault, arguments["opening"])
    columns = {name: arguments["rows"].get(name) for name in model.task_.features}
    if missing := sorted(name for name, values in columns.items() if not isinstance(values, list)):
        raise ParameterError("The rows lack a column that the model predicts from.", found=missing[0])
    if len({len(values) for values in columns.values()}) != 1:
        raise ParameterError("All columns of the rows must have the same length.")
    try:
        rows = pyarrow.table(columns)
    except (OverflowError, pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        raise ParameterError(
            "A column of the rows has values of several kinds, or a number that is too large.",
            fix="Send numbers as numbers below 2^63, and texts as texts.",
        ) from None
    predicted = model.predict(rows)
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
    "model_file": Verb(file, public=True),
    "predict": Verb(predict, public=True),
}
