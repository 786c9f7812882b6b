"""Shapes add up to the score of the model, and are drawn for every kind of column."""

from __future__ import annotations

import datetime
import itertools
import re
from typing import Any

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learn import BoostedHistograms, FeatureMap, LinearSVC, LogisticRegression, Ridge
from discreet.learn.shape_charts import named
from discreet.learn.training import Task
from discreet.schema import Boolean, Category, Column, Date, Datetime, Integer, Real

COLUMNS: dict[str, Column] = {
    "age": Integer(0, 80),
    "pay": Real(0, 1000, step="0.5", missing=0),
    "town": Category(["Oslo", "Bergen", "<b>Rome</b>"]),
    "kids": Boolean(missing=False),
    "day": Date("2024-01-01", "2024-01-09"),
    "seen": Datetime("2024-01-01", "2024-01-09", step="1h"),
    "only": Category(["one"]),
}


def model(kind: Any = "hats", estimator: Any = LogisticRegression) -> Any:
    made = estimator(epsilon=1, columns=COLUMNS, classes=["no", "yes"], feature_map=kind)
    return made.fit({name: [None] * 50 for name in COLUMNS}, ["yes", "no"] * 25)


def of_three(two: Any) -> Any:
    """Return a model of three classes with coefficients of our own."""
    rng = np.random.default_rng(0)
    theta = [[int(x) for x in rng.normal(0, 2, two.feature_map_.size) * 2**24] for _ in range(3)]
    task = Task(two.task_.features, "way", Category(["car", "bus", "bike"]))
    return LogisticRegression().released(task, {**two.state_, "theta": theta}, two.label)


@pytest.mark.parametrize("kind", ["hats", "linear"])
def test_base_and_effects_add_up_to_the_score_at_knots(kind: Any) -> None:
    made = model(kind)
    shapes = made.shapes()
    names = ["age", "pay", "town", "kids", "day", "seen"]
    ends = [[0, len(shapes[name].values) - 1, "missing"] for name in names]
    picks = list(itertools.islice(itertools.product(*ends), 0, None, 7))
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    wanted = []
    for pick in picks:
        total = float(shapes.base[0]) + float(shapes["only"].effects[0, 0])
        for name, place in zip(names, pick, strict=True):
            shape = shapes[name]
            if place == "missing" and shape.missing is not None:
                rows[name].append(None)
                total += float(shape.missing[0])
            else:
                at = 0 if place == "missing" else place
                rows[name].append(shape.values[at])
                total += float(shape.effects[0, at])
        rows["only"].append("one")
        wanted.append(total)
    # Features are rounded to 1/4096.
    slack = np.abs(made.coef_).sum() / 4096
    assert made.decision_function(rows) == pytest.approx(wanted, abs=slack)


def test_a_score_between_knots_has_the_sign_of_its_effects_and_is_not_smaller() -> None:
    made = model()
    shapes = made.shapes()
    ages = np.linspace(0, 80, 41)
    column = {name: [None] * 41 for name in COLUMNS} | {"age": ages.tolist()}
    at_age = np.interp(ages, shapes["age"].values, shapes["age"].effects[0])
    rest = made.decision_function({name: [None] for name in COLUMNS})[0] - shapes["age"].missing[0]
    truth = made.decision_function(column)
    # Features are rounded to 1/4096, in the score and in the rest: 2 % of a score that is 150 times as large.
    clear = np.abs(at_age + rest) > 150 * np.abs(made.coef_).sum() / 4096
    ratio = truth[clear] / (at_age + rest)[clear]
    assert ((ratio > 0.98) & (ratio < 2**0.5)).all()


def test_with_lines_effects_are_the_score_but_for_the_norm_of_its_row() -> None:
    feature_map = FeatureMap(COLUMNS, line=2)
    made = model(feature_map)
    shapes = made.shapes()
    stated = np.sqrt(len(COLUMNS) + 4 * 4 / 3 + 1)  # age, pay, day and seen have lines of 2
    for place, t in enumerate(np.linspace(-1, 1, 9)):
        row = {name: [None] for name in COLUMNS} | {"only": ["one"], "age": [shapes["age"].values[place]]}
        total = float(shapes.base[0]) + float(shapes["only"].effects[0, 0])
        total += float(shapes["age"].effects[0, place])
        for name in ("town", "day", "seen"):
            total += float(shapes[name].missing[0])
        total += float(shapes["pay"].effects[0, 0]) + float(shapes["kids"].effects[0, 0])
        norm = np.sqrt(len(COLUMNS) + (2 * t) ** 2 + 2**2 + 1)  # pay is filled with 0, the left end of its line
        slack = np.abs(made.coef_).sum() / 4096 * norm / stated
        assert total == pytest.approx(made.decision_function(row)[0] * norm / stated, abs=slack)


def test_effects_are_centred_and_ordered_by_their_range() -> None:
    for made in (model(), model("linear", LinearSVC)):
        shapes = made.shapes()
        assert all(np.abs(shape.effects.mean(axis=1)).max() < 1e-12 for shape in shapes)
        ranges = [shape.range for shape in shapes]
        assert ranges == sorted(ranges, reverse=True)
        assert {shape.name for shape in shapes} == set(COLUMNS)
        assert len(shapes) == len(COLUMNS)
        assert (shapes["age"].missing is None) == (made.feature_map == "linear")
        assert shapes["pay"].missing is None
        assert shapes["day"].values[0] == datetime.date(2024, 1, 1)


def test_classes_have_their_own_effects_around_their_mean() -> None:
    made = of_three(model())
    shapes = made.shapes()
    assert shapes.scores == ("car", "bus", "bike")
    row: dict[str, list[Any]] = {name: [shapes[name].values[0]] for name in COLUMNS}
    total = shapes.base + sum(shapes[name].effects[:, 0] for name in COLUMNS)
    scores = made.decision_function(row)[0]
    assert total - total.mean() == pytest.approx(scores - scores.mean(), abs=0.05)
    assert total.mean() == pytest.approx(0, abs=1e-9)
    assert "age, bus" in str(shapes)
    shapes.plot().to_dict()


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(ParameterError, match="no column 'x'"):
        model().shapes()["x"]


def test_shapes_are_a_table_and_text() -> None:
    shapes = model().shapes()
    frame = shapes.to_pandas()
    assert list(frame.columns) == ["column", "value", "score", "effect"]
    assert len(frame) == sum(len(shape.told()) for shape in shapes)
    assert frame[frame["value"].isna()]["column"].nunique() == 5
    assert "log-odds of yes" in str(shapes)
    assert "score of yes" in str(model("linear", LinearSVC).shapes())
    assert max(map(len, str(shapes).split("\n"))) <= 100


@pytest.mark.parametrize("made", [model(), model("linear"), of_three(model())], ids=["hats", "linear", "three"])
def test_a_picture_for_each_column_fits_a_phone(made: Any) -> None:
    page = made.shapes()._repr_html_()
    pictures = re.findall(r'<svg[^>]*? width="([\d.]+)"', page)
    assert len(pictures) == len(COLUMNS)
    several = len(made.classes_) > 2  # a legend stands beside
    assert all(float(width) <= (460 if several else 380) for width in pictures)
    assert "<b>Rome" not in page
    chart = made.shapes().plot(columns=1).to_dict()
    assert (chart["columns"], len(chart["concat"])) == (1, len(COLUMNS))


def test_effects_share_one_scale() -> None:
    chart = model().shapes().plot().to_dict()
    found = {str(part) for part in re.findall(r"'domain': (\[[^\]]*\])", str(chart))}
    assert len(found) == 1


def test_values_are_named_in_few_letters() -> None:
    assert named(np.True_) == "true"
    assert named(datetime.date(2024, 1, 2)) == "2024-01-02"


@pytest.mark.parametrize("kind", ["hats", "linear"])
def test_the_shapes_of_a_regression_add_up_to_its_predictions(kind: Any) -> None:
    pay = {"pay": Real(-500_000, 500_000, step=100)}
    given: dict[str, Any] = {"columns": COLUMNS, "feature_map": kind, "target_column": pay["pay"]}
    made = Ridge(epsilon=50, delta="1e-6", **given).fit({name: [None] * 50 for name in COLUMNS}, [1000.0] * 50)
    assert_additive(made, made.predict)
    assert re.search(r"[+-]\d+,\d{3}", str(made.shapes())) or "+0.00" in str(made.shapes())


def test_the_shapes_of_boosted_histograms_add_up_to_their_scores_and_are_steps() -> None:
    made = BoostedHistograms(epsilon=5, delta="1e-6", columns=COLUMNS, classes=["no", "yes"], bins=4)
    made.fit({name: [None] * 50 for name in COLUMNS}, ["yes", "no"] * 25)
    assert_additive(made, made.decision_function)
    assert made.shapes()["age"].values == (0.0, 21.0, 41.0, 61.0, 80.0)
    assert "step-after" in str(made.shapes().plot().to_dict())
    assert "What each value adds to the log-odds of yes" in made.card()


def assert_additive(made: Any, score: Any) -> None:
    """Check that base and effects are the score, at the first, the last and the missing value of every column."""
    shapes = made.shapes()
    rng = np.random.default_rng(0)
    rows: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    wanted = []
    for _ in range(40):
        total = float(shapes.base[0])
        for name in COLUMNS:
            shape = shapes[name]
            at = int(rng.integers(0, len(shape.values) + (shape.missing is not None)))
            gone = at == len(shape.values)
            rows[name].append(None if gone else shape.values[at])
            total += float(shape.missing[0] if gone and shape.missing is not None else shape.effects[0, at])
        wanted.append(total)
    assert score(rows) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    shapes.plot().to_dict()
