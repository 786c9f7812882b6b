"""Describe models to their pages: what is predicted from what, the card, shape functions, and predictions."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from discreet.errors import ParameterError
from discreet.release.serialize import read_label
from discreet.render import svg
from discreet.serve.api.bodies import ModelTerms
from discreet.serve.console.products.kind import Described, Form, Kind, columns_of, read

ESTIMATORS = {
    "LogisticRegression": "a class: additive (logistic regression)",
    "BoostedHistograms": "yes or no: additive, in steps (boosted histograms)",
    "CategoricalNB": "a class: simple, for few people (naive Bayes)",
    "LinearRegression": "a number: additive (linear regression)",
    "Ridge": "a number: additive, steadier (ridge regression)",
}
"""The estimators of the form, and what they predict."""
_FIRST = ("Predicts", "Classes", "Protects")  # facts in plain words; the others are shown on request
_READ = {"integer": "whole number", "real": "number", "date": "day, such as 2026-03-04"}
_READ |= {"datetime": "moment, such as 2026-03-04T12:00"}
_MOST, _LISTED = 24, 200  # bars of a picture, values of a list


def terms(form: Form, described: Described) -> ModelTerms:
    """Return the parameters of a model."""
    target = form.get("target", "")
    if target not in {column["name"] for column in described["columns"]}:
        raise ParameterError("Choose the column to predict.", found=target[:64] or None)
    features = [name for name in columns_of(form, described) if name != target]
    if form.get("estimator") not in ESTIMATORS:
        raise ParameterError("Choose how to predict.", found=form.get("estimator", "")[:64])
    return read(ModelTerms, form, estimator=form["estimator"], target=target, features=features)


def drawn(body: dict[str, Any], described: Described) -> dict[str, Any]:
    """Return what the page of a model shows."""
    shapes = body["shapes"]
    return {
        "title": body["title"],
        "facts": {name: fact for name, fact in body["facts"].items() if name in _FIRST},
        "how": {name: fact for name, fact in body["facts"].items() if name not in _FIRST},
        "limits": body["limits"],
        "features": {name: _choices(column) for name, column in body["features"].items()},
        "unit": shapes["unit"] if shapes else "",
        "pictures": pictures(shapes) if shapes else [],
        "label": read_label(body["label"]),
    }


def _choices(column: dict[str, Any]) -> list[str] | None:
    """Return the values of a column that one can choose from; None if one has to type."""
    if column["type"] == "boolean":
        return ["true", "false"]
    return list(map(str, column["values"][:_LISTED])) if column["type"] == "category" else None


def pictures(shapes: dict[str, Any]) -> list[dict[str, Any]]:
    """Draw what each value adds to the score, one picture for each column and score, all on one scale."""
    effects = [effect for column in shapes["columns"] for told in column["effects"] for _, effect in told]
    scale = (min(0.0, *effects), max(0.0, *effects))
    several = len(shapes["scores"]) > 1
    found = []
    for column in shapes["columns"]:
        for score, told in zip(shapes["scores"], column["effects"], strict=True):
            name = f"{column['name']}, {score}" if several else column["name"]
            title = f"What each value of {column['name']} adds to the {score if several else shapes['unit']}"
            found.append({"name": name, "svg": picture(column, told, title, scale)})
    return found


def picture(column: dict[str, Any], told: list[Any], title: str, scale: tuple[float, float]) -> str:
    """Draw one shape function: bars for names, a line for numbers and days; a missing value is told in words."""
    known = [(name, effect) for name, effect in told if name is not None]
    if column["categorical"] or None in column["places"] or len(known) < 2:
        told_all = [("missing" if name is None else name, effect) for name, effect in told]
        bars = [svg.Bar(name, effect, effect, effect, f"{effect:+.2f}") for name, effect in told_all[:_MOST]]
        return svg.bars(bars, title, scale=scale)
    points = [
        svg.Point(place, name, effect, effect, effect)
        for place, (name, effect) in zip(column["places"], known, strict=True)
    ]
    return svg.line(points, title, height=200, steps=column["steps"], scale=scale)


def value_of(text: str, column: dict[str, Any]) -> Any:
    """Return a value that was typed, as the column is declared; None if it is missing.

    >>> value_of("41", {"type": "integer"}), value_of("", {"type": "real"}), value_of("true", {"type": "boolean"})
    (41, None, True)
    >>> value_of("4 March", {"type": "date"})
    Traceback (most recent call last):
    discreet.errors.ParameterError: This is no day, such as 2026-03-04 (found: 4 March).
    """
    plain = text.strip()
    if not plain:
        return None
    if column["type"] == "boolean":
        return plain.lower() == "true"
    try:
        if column["type"] in ("date", "datetime"):
            return (date if column["type"] == "date" else datetime).fromisoformat(plain).isoformat()
        if column["type"] not in ("integer", "real"):
            return plain
        return int(plain) if column["type"] == "integer" else float(plain)
    except ValueError:
        raise ParameterError(f"This is no {_READ[column['type']]}.", found=plain[:40]) from None


KIND = Kind(
    name="model",
    words="a model",
    heading="Train a model",
    verb="fit",
    shown_by="model_card",
    terms=terms,
    drawn=drawn,
    defaults={"spend": "20", "estimator": "LogisticRegression"},
    files={
        "model.json": "application/json",
        "card.md": "text/markdown; charset=utf-8",
        "label.yaml": "application/yaml; charset=utf-8",
    },
)
