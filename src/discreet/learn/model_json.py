"""Write a model as JSON, and read it: its parameters, what was released, its label and its receipt.

    {"schema": "discreet model 1", "estimator": "LogisticRegression", "parameters": {…}, "task": {…},
     "state": {…}, "receipt": {…}, "label": {…}}

Reading runs no code: the estimator is looked up by name among those of this package. "receipt" is for programs,
and is not read back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.training import State, Task
from discreet.release.label import Label
from discreet.release.released import expect_schema
from discreet.release.serialize import of_type, read_label, reading, written_label
from discreet.schema import from_json

if TYPE_CHECKING:
    from discreet.learn.estimator import PrivateEstimator

SCHEMA = "discreet model 1"
"""The version of the files that are written and read."""


def written(model: PrivateEstimator) -> dict[str, Any]:
    """Return a fitted model as JSON."""
    task = model.task_
    return {
        "schema": SCHEMA,
        "estimator": type(model).__name__,
        "parameters": {name: plain(value) for name, value in model.get_params(deep=False).items()},
        "task": {
            "features": {name: column.as_json() for name, column in task.features.items()},
            "target": task.target,
            "outcome": task.outcome.as_json(),
            "several": task.several,
        },
        "state": model.state_,
        "receipt": model.receipt.in_numbers(),
        "label": written_label(model.label),
    }


def read(record: Any, kinds: Mapping[str, type[PrivateEstimator]]) -> tuple[PrivateEstimator, Task, State, Label]:
    """Return an estimator that is not fitted, and what it was fitted with; `kinds` are those that may be named."""
    expect_schema(record, SCHEMA)
    with reading("model"):
        named = kinds.get(of_type(str, record["estimator"]))
        if named is None:
            raise ValueError(f"{record['estimator']!r} is none of {', '.join(kinds)}")
        task = record["task"]
        known = Task(
            {name: from_json(column) for name, column in task["features"].items()},
            of_type(str, task["target"]),
            from_json(task["outcome"]),
            several=of_type(bool, task["several"]),
        )
        allowed = set(named._get_param_names())
        given = {name: value for name, value in record["parameters"].items() if name in allowed}
        if isinstance(given.get("feature_map"), Mapping):
            given["feature_map"] = FeatureMap.from_json(given["feature_map"])
        made = named(**{name: value for name, value in given.items() if name not in ("columns", "target_column")})
        return made, known, of_type(dict, record["state"]), read_label(of_type(dict, record["label"]))


def plain(value: Any) -> Any:
    """Return a parameter as JSON.

    >>> plain(Fraction(1, 3)), plain((1, 2))
    ('1/3', [1, 2])
    """
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if hasattr(value, "as_json"):
        return value.as_json()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def save(record: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the JSON of a model to a file, completely or not at all."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(
            json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1) + "\n", encoding="utf-8"
        )
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the JSON of the file of a model."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as wrong:
        raise ParameterError(f"{os.fspath(path)} cannot be read.", found=wrong.strerror) from None
    except (ValueError, RecursionError) as wrong:
        raise ParameterError(
            f"{os.fspath(path)} is not the file of a model.", found=str(wrong), fix="Restore it from a backup."
        ) from None
