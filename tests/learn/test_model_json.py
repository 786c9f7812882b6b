"""A model that is written is read again as it was, and a damaged file is an error in words."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import learn
from discreet.errors import ParameterError
from discreet.learn import FeatureMap, LinearSVC, LogisticRegression
from discreet.learn.estimator import PrivateEstimator
from tests.learn.people import FEATURES, people

TABLE = people(500)
OWN = FeatureMap(FEATURES, knots=4)


@pytest.fixture(scope="module")
def model() -> LogisticRegression:
    given: dict[str, Any] = {"columns": FEATURES, "feature_map": OWN, "classes": [False, True]}
    return LogisticRegression(epsilon=Fraction(7, 3), delta="1e-6", **given).fit(TABLE, TABLE["rich"])


@pytest.fixture
def record(model: LogisticRegression) -> Any:
    return json.loads(json.dumps(model.to_json(), allow_nan=False))


def test_a_model_is_read_as_it_was_written(model: LogisticRegression, record: Any) -> None:
    again = LogisticRegression.from_json(record)
    assert np.array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert again.to_json()["state"] == model.to_json()["state"]
    assert again.label.facts == model.label.facts
    assert again.task_ == model.task_
    assert again.feature_map == OWN
    assert again.classes_.tolist() == [False, True]
    assert again.receipt.promise == (Fraction(7, 3), Fraction(1, 10**6))


def test_a_file_is_loaded_whatever_its_estimator_is(model: LogisticRegression, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    model.save(file)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    for load in (LogisticRegression.load, PrivateEstimator.load, learn.load):
        assert np.array_equal(load(file).coef_, model.coef_)
    with pytest.raises(ParameterError, match="none of LinearSVC"):
        LinearSVC.load(file)


def test_the_file_has_no_row_and_no_count_of_rows(record: Any) -> None:
    """What is written is the state, which was released, and public facts."""
    assert set(record) == {"schema", "estimator", "parameters", "task", "state", "receipt", "label"}
    assert set(record["state"]) == {"theta", "grid", "map", "count", "facts", "test_bits"}
    assert isinstance(record["state"]["count"], float)  # a noisy one, which was paid for


def paths(value: Any, at: tuple[Any, ...] = ()) -> Any:
    """Return the place of every entry of a record, a few of each list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def test_damage_anywhere_is_an_error_in_words_or_harmless(record: Any) -> None:
    damages: list[Any] = [None, {}, "x", -1]
    rows = TABLE.slice(0, 3)
    for path in paths(record):
        for damage in [*damages, "gone"]:
            broken = copy.deepcopy(record)
            where = broken
            for key in path[:-1]:
                where = where[key]
            if damage == "gone":
                del where[path[-1]]
            else:
                where[path[-1]] = damage
            try:
                read = LogisticRegression.from_json(broken)
            except ParameterError:
                continue
            if path[0] in ("state", "task"):
                assert read.predict_proba(rows).shape == (3, 2), (path, damage)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.update(schema="discreet model 9"), "reads .discreet model 1."),
        (lambda r: r.update(estimator="Forest"), "none of"),
        (lambda r: r["state"].update(theta=[1, 2]), "damaged"),
        (lambda r: r["state"].pop("theta"), "lacks 'theta'"),
        (lambda r: r["task"].update(target=3), "damaged"),
    ],
)
def test_damage_is_named(record: Any, change: Any, words: str) -> None:
    change(record)
    with pytest.raises(ParameterError, match=words):
        LogisticRegression.from_json(record)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        learn.load(tmp_path / "nothing.json")
    for text in ("", "[1", "[" * 100_000, "\x00"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ParameterError, match="not the file of a model"):
            learn.load(tmp_path / "bad.json")
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError):
        learn.load(tmp_path / "bad.json")
