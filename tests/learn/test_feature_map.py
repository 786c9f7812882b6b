"""Features have norm at most 1, exactly in integers, for every schema and every code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.learn import FeatureMap
from discreet.learn.feature_map import SCALE
from discreet.schema import Boolean, Category, Column, Date, Integer, Real, Text


@st.composite
def columns(draw: st.DrawFn) -> Column:
    kind = draw(st.sampled_from(["integer", "real", "category", "boolean", "date"]))
    filled = draw(st.booleans())
    if kind == "integer":
        low, span = draw(st.integers(-(2**50), 2**50)), draw(st.sampled_from([0, 1, 2, 7, 100, 2**40]))
        return Integer(low, low + span, missing=low if filled else None)
    if kind == "real":
        return Real(0, draw(st.integers(1, 10**6)), step=draw(st.sampled_from(["1", "0.5", "0.0001"])))
    if kind == "category":
        names = [f"c{i}" for i in range(draw(st.integers(1, 12)))]
        return Category(names, missing=names[0] if filled else None)
    if kind == "boolean":
        return Boolean(missing=False if filled else None)
    return Date("2020-01-01", f"20{draw(st.integers(21, 99))}-01-01")


@st.composite
def schemas(draw: st.DrawFn) -> tuple[FeatureMap, dict[str, Any]]:
    """Draw a map, and codes for it: the ends, missing values, and anything between."""
    named = {f"x{i}": draw(columns()) for i in range(draw(st.integers(1, 6)))}
    kind: Any = draw(st.sampled_from(["hats", "linear"]))
    line = draw(st.sampled_from([0, 0.0625, 0.7, 4])) if kind == "hats" else 0
    made = FeatureMap(named, kind, draw(st.integers(2, 12)), line=line)
    codes = {}
    for name, column in named.items():
        last = (column.levels or 1) - 1
        least = -1 if column.filling is None else 0
        some = st.one_of(st.sampled_from([least, 0, last]), st.integers(least, last))
        codes[name] = np.array(draw(st.lists(some, min_size=8, max_size=8)))
    return made, codes


@settings(max_examples=300, deadline=None)
@given(schemas())
def test_a_row_has_norm_at_most_one_exactly(drawn: tuple[FeatureMap, dict[str, Any]]) -> None:
    feature_map, codes = drawn
    rows = feature_map.rows(codes)
    assert rows.shape == (8, feature_map.size)
    exact = [[int(value) for value in row] for row in rows]
    assert [[float(value) for value in row] for row in exact] == rows.tolist()  # integers, and no NaN
    for row in exact:
        assert sum(value**2 for value in row) <= SCALE**2
        assert sum(map(abs, row)) <= feature_map.l1 * SCALE
        # Rounding towards zero loses less than 1 in each of the few features that are not 0.
        assert sum(value**2 for value in row) ** 0.5 > SCALE - 2 * sum(value != 0 for value in row) - 2
        assert row[-1] > 0


@settings(max_examples=100, deadline=None)
@given(schemas())
def test_names_blocks_and_json_fit(drawn: tuple[FeatureMap, dict[str, Any]]) -> None:
    feature_map, codes = drawn
    assert len(feature_map.names) == feature_map.size
    assert feature_map.names[-1] == "intercept"
    assert sum(block.size for block in feature_map.blocks) + 1 == feature_map.size
    again = FeatureMap.from_json(json.loads(json.dumps(feature_map.as_json())))
    assert again == feature_map
    assert np.array_equal(again.rows(codes), feature_map.rows(codes))


@settings(max_examples=100, deadline=None)
@given(schemas())
def test_each_row_is_mapped_alone(drawn: tuple[FeatureMap, dict[str, Any]]) -> None:
    feature_map, codes = drawn
    together = feature_map.rows(codes)
    for i in range(8):
        alone = feature_map.rows({name: column[i : i + 1] for name, column in codes.items()})
        assert np.array_equal(alone[0], together[i])


def test_a_missing_value_has_a_feature_of_its_own_where_the_schema_does_not_fill_it() -> None:
    feature_map = FeatureMap({"age": Integer(0, 80), "city": Category(["a", "b"], missing="a")})
    rows = feature_map.rows({"age": np.array([-1, 40]), "city": np.array([0, 1])})
    place = feature_map.names.index("age missing")
    assert rows[0, place] > 0
    assert rows[1, place] == 0
    assert not any("city missing" in name for name in feature_map.names)
    assert (rows[0, :place] == 0).all()
    linear = FeatureMap(feature_map.columns, "linear")
    assert linear.names == ["age", "city b against a", "intercept"]
    assert linear.rows({"age": np.array([-1]), "city": np.array([-1])}).tolist() == [[0, 0, SCALE]]


def test_hats_interpolate_and_linear_features_are_centred() -> None:
    column = {"x": Integer(0, 100, missing=0)}
    hats = FeatureMap(column, knots=3).rows({"x": np.array([0, 25, 50, 100])})
    assert ((hats / hats[:, -1:]).round(2)).tolist() == [
        [1, 0, 0, 1],
        [0.5, 0.5, 0, 1],
        [0, 1, 0, 1],
        [0, 0, 1, 1],
    ]
    linear = FeatureMap(column, "linear").rows({"x": np.array([0, 50, 100])})
    assert (linear / linear[:, -1:] / 2).round(2).tolist() == [[-1, 0.5], [0, 0.5], [1, 0.5]]


def test_a_line_stands_beside_three_hats_or_more_and_is_nothing_where_a_value_is_missing() -> None:
    column: dict[str, Column] = {
        "x": Integer(0, 100),
        "few": Integer(0, 1, missing=0),
        "town": Category(["a", "b"], missing="a"),
    }
    made = FeatureMap(column, knots=3, line=2)
    assert made.names[:6] == ["x 0", "x 50", "x 100", "x line", "x missing", "few 0"]
    codes = {"x": np.array([0, 25, 100, -1]), "few": np.zeros(4, int), "town": np.zeros(4, int)}
    rows = made.rows(codes)
    assert ((rows / rows[:, -1:]).round(2))[:, :5].tolist() == [
        [1, 0, 0, -2, 0],
        [0.5, 0.5, 0, -1, 0],
        [0, 0, 1, 2, 0],
        [0, 0, 0, 0, 1],
    ]
    assert not any("line" in name for name in made.names[5:])
    assert "line" not in FeatureMap(column).as_json()  # as models were written that know of no line


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"columns": {"a": Integer(0, 1)}, "line": 5}, "line is 0"),
        ({"columns": {"a": Integer(0, 1)}, "line": -1}, "line is 0"),
        ({"columns": {"a": Integer(0, 1)}, "kind": "linear", "line": 1}, "line is 0"),
        ({"columns": {"a": Text()}}, "strings that the schema does not list"),
        ({"columns": {"a": Integer(0, 1)}, "kind": "cubic"}, "no such feature map"),
        ({"columns": {"a": Integer(0, 1)}, "knots": 1}, "knots"),
    ],
)
def test_what_has_no_meaning_is_refused(given_: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        FeatureMap(**given_)


def test_the_column_of_the_intercept_is_kept_in_files_and_was_1_in_older_ones() -> None:
    column = {"x": Integer(0, 100)}
    made = FeatureMap(column, "linear", intercept=0.25)
    assert FeatureMap.from_json(made.as_json()) == made
    older = {name: value for name, value in FeatureMap(column, "linear").as_json().items() if name != "intercept"}
    assert FeatureMap.from_json(older).intercept == 1.0
    rows = made.rows({"x": np.array([0, 100])})
    assert (np.abs(rows[:, 0]) > 3.9 * np.abs(rows[:, -1])).all()
    assert ((rows**2).sum(axis=1) <= SCALE**2).all()
    for wrong in (0.0, -1.0, float("nan"), 1e9):
        with pytest.raises(ParameterError, match="intercept"):
            FeatureMap(column, intercept=wrong)
