"""A release holds what was answered, lets it out in every form, and keeps what was made from test bits in."""

from __future__ import annotations

import builtins
import copy
import importlib
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import noise
from discreet.errors import DiscreetError, NotForRelease, ParameterError
from discreet.release.estimate import Estimate
from discreet.release.label import Noise
from discreet.release.release import Release
from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text
from tests.vault.releases import answer, by_city, label, receipt, release

# -- numbers ----------------------------------------------------------------------------------------------------


def test_a_single_number_is_at_hand_with_its_error() -> None:
    single = release()
    assert single.value == 1042.3
    assert single.error == pytest.approx(16.3)
    assert single.interval == (1042.3 - 16.3, 1042.3 + 16.3)


def test_of_several_numbers_none_is_the_value_and_the_error_says_where_they_are() -> None:
    with pytest.raises(ParameterError, match=r"2 aggregates in 3 groups.*release\['count\(\*\)'\]\.values"):
        _ = by_city().value


def test_every_aggregate_is_found_by_its_name() -> None:
    assert by_city()["avg(age)"].values == (40.123, 41.123, 42.123)
    with pytest.raises(KeyError, match=r"It has count\(\*\), avg\(age\)"):
        by_city()["sum(age)"]


def test_rows_are_dictionaries() -> None:
    first = next(iter(by_city()))
    assert first["city"] == "Oslo"
    assert first["count"] == 42.3
    assert list(first) == [
        *("city", "count", "count_low", "count_high"),
        *("avg_age", "avg_age_low", "avg_age_high"),
    ]


def test_digits_are_never_lost_in_the_data() -> None:
    exact = 1234.567890123
    assert release(answers=[answer("sum(x)", [exact], 500)]).value == exact


def test_columns_come_in_the_order_of_the_question_and_may_leave_out_keys() -> None:
    asked = by_city(columns=("avg(age)", "count(*)"))
    assert asked.to_arrow().column_names[0] == "avg_age"
    assert "city" not in asked.to_arrow().column_names


def test_ends_of_intervals_get_names_that_are_free() -> None:
    both = release({"x_low": ["a"]}, [answer("x", [1.0], 1.0)])
    assert both.to_arrow().column_names == ["x_low", "x", "x_low_", "x_high"]
    assert both.to_arrow()["x_low_"].to_pylist() == [0.0]


def test_what_is_no_number_is_no_answer() -> None:
    assert Estimate("x", [math.nan, 1.0], [0.0, 0.0], [2.0, 2.0]).values == (None, 1.0)


@pytest.mark.parametrize(
    ("keys", "answers", "more", "words"),
    [
        ({"x": ["a"]}, [answer("x", [1], 1)], {}, "Two columns"),
        ({"x": ["a", "b"]}, [answer("y", [1], 1)], {}, "per group"),
        ({}, [answer("y", [1], 1)], {"columns": ("z",)}, "unknown or repeated"),
        ({}, [answer("y", [1], 1)], {"columns": ("y", "y")}, "unknown or repeated"),
        ({}, [answer("y", [1], 1)], {"confidence": Fraction(2)}, "confidence"),
        ({"x": [b"bytes"]}, [answer("y", [1], 1)], {}, "A key must be"),
    ],
)
def test_what_makes_no_table_is_refused(keys: Any, answers: Any, more: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        release(keys, answers, **more)


def test_an_answer_without_intervals_is_refused() -> None:
    with pytest.raises(ParameterError, match="1 values, 0 low, 0 high"):
        Estimate("x", [1.0], [], [])


def test_from_the_record_it_is_free_and_knows_what_is_left_now() -> None:
    first = release()
    later = receipt().whole.charged(receipt().cost)
    again = first.again(later)
    assert again.free
    assert not first.free
    assert again.cost.left == "ε = 1.8 of 2 is left"
    assert again.value == first.value


def test_its_repr_is_one_line_however_many_groups_there_are() -> None:
    assert (
        repr(by_city(50)) == "Release('select count(*) from people', 2 aggregates in 50 groups, 5 % of the budget)"
    )


def test_a_release_without_groups_is_still_there() -> None:
    assert bool(release({"city": []}, [answer("count(*)", [], 1)])) is True


# -- tables -----------------------------------------------------------------------------------------------------


def test_arrow_has_types_that_do_not_depend_on_the_numbers() -> None:
    keys: dict[str, list[Any]] = {
        "text": ["a", None],
        "whole": [1, 2],
        "real": [0.5, 1],
        "truth": [True, None],
        "day": [date(2024, 1, 1), None],
        "hour": [datetime(2024, 1, 1, 5), datetime(2024, 1, 1, 6)],
    }
    table = release(keys, [answer("n", [1, 2], 1)]).to_arrow()
    assert [str(field.type) for field in table.schema] == [
        *("string", "int64", "double", "bool", "date32[day]", "timestamp[us]"),
        *("double", "double", "double"),
    ]
    assert table.num_rows == 2


def test_averages_of_dates_are_times() -> None:
    asked = release(answers=[Estimate("avg(day)", [0.5], [0.0], [19783.0], kind="avg", axis="date")])
    assert asked.to_arrow().to_pylist() == [
        {
            "avg_day": datetime(1970, 1, 1, 12),
            "avg_day_low": datetime(1970, 1, 1),
            "avg_day_high": datetime(2024, 3, 1),
        }
    ]


def test_pandas_polars_and_arrow_hold_the_same() -> None:
    asked = by_city()
    rows = asked.to_arrow().to_pylist()
    assert asked.to_polars().to_dicts() == rows
    frame = asked.to_pandas()
    assert list(frame.columns) == asked.to_arrow().column_names
    assert frame["count"].tolist() == [row["count"] for row in rows]
    assert frame["city"].isna().tolist() == [False, False, True]


def test_the_label_goes_along_with_a_table() -> None:
    about = json.loads(by_city().to_arrow().schema.metadata[b"discreet"])
    assert about["label"]["Privacy"]["Unit"].startswith("one person")
    assert by_city().to_pandas().attrs["discreet"]["cost"] == "ε = 0.1"


@pytest.mark.parametrize(("package", "method"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str, method: str
) -> None:
    real = importlib.import_module

    def without(name: str, *args: Any) -> Any:
        if name == package:
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(DiscreetError, match=f"pip install {package}"):
        getattr(by_city(), method)()


def test_importing_releases_is_light() -> None:
    code = "import sys, discreet.release.release, discreet.release.render; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    heavy = {"altair", "duckdb", "pandas", "polars", "pyarrow", "rich", "scipy", "sqlglot"}
    assert not heavy & {name.split(".")[0] for name in loaded.split()}


# -- files ------------------------------------------------------------------------------------------------------

numbers = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
ends = st.one_of(st.none(), st.floats(allow_nan=False))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
kinds_of_keys: list[st.SearchStrategy[Any]] = [
    texts,
    st.integers(-(2**62), 2**62),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(),
]


@st.composite
def releases(draw: st.DrawFn) -> Release:
    size = draw(st.integers(0, 4))
    columns = {
        name: draw(
            st.lists(st.one_of(st.none(), draw(st.sampled_from(kinds_of_keys))), min_size=size, max_size=size)
        )
        for name in draw(st.lists(texts, unique=True, max_size=3))
    }
    values, low, high = (draw(st.lists(kind, min_size=size, max_size=size)) for kind in (numbers, ends, ends))
    aggregate = Estimate("an aggregate with a name of its own", values, low, high, note=draw(texts))
    return release(columns, [aggregate], question=draw(texts), free=draw(st.booleans()))


@given(releases())
def test_what_was_written_reads_back_equal(made: Release) -> None:
    assert Release.from_json(json.loads(json.dumps(made.to_json(), allow_nan=False))) == made


def test_a_file_reads_back_equal(tmp_path: Path) -> None:
    made = by_city(
        label=label(
            columns={
                "a": Integer(0, 9, missing=3),
                "b": Real(0, 1, step="0.1", outside="missing"),
                "c": Category([1, 2]),
                "d": Boolean(),
                "e": Date("2024-01-01", "2024-12-31"),
                "f": Datetime("2024-01-01", "2024-12-31", step="1h"),
                "g": Text(),
            },
            noise=[Noise(on="x", law="permute-and-flip")],
            receipt=receipt("1e-9", keys="1e-11", analyst="ana"),
            groups=0,
            notes=["rounded"],
        ),
        plan="first this\nthen that",
    )
    made.save(tmp_path / "a.json")
    assert Release.load(tmp_path / "a.json") == made
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_the_file_states_its_version_and_another_is_refused(tmp_path: Path) -> None:
    by_city().save(tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text())
    assert record["schema"] == "discreet release 2"
    with pytest.raises(ParameterError, match=r'reads "discreet release 2" and "discreet release 1".*release 3'):
        Release.from_json({**record, "schema": "discreet release 3"})


def _set(*path: str | int) -> Callable[[Any, Any], None]:
    def change(record: Any, value: Any) -> None:
        for step in path[:-1]:
            record = record[step]
        record[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "value"),
    [
        (_set("question"), 5),
        (_set("free"), "no"),
        (_set("confidence"), 0.95),
        (_set("confidence"), "1e999999999"),
        (_set("keys", 0, "type"), "object"),
        (_set("keys", 0, "values"), ["Oslo"]),
        (_set("keys", 0, "values", 0), 7),
        (_set("aggregates", 0, "values", 0), "__import__('os')"),
        (_set("aggregates", 0, "values", 0), True),
        (_set("aggregates", 0, "values", 0), 10**400),
        (_set("aggregates", 0, "values"), {}),
        (_set("aggregates", 0, "test_bits"), None),
        (_set("aggregates", 0, "basis"), "hearsay"),
        (_set("aggregates"), []),
        (_set("label"), None),
        (_set("label", "columns", "age"), {"type": "os.system"}),
        (_set("label", "noise"), [{}]),
        (_set("label", "receipt", "balances"), []),
        (_set("label", "receipt", "cost", "epsilon"), "-1"),
        (_set("label", "receipt", "balances", 0, "budget", "epsilon"), "1/0"),
        (_set("label", "rows_per_person"), 1.5),
    ],
)
def test_a_damaged_file_is_refused_in_words(change: Callable[[Any, Any], None], value: Any) -> None:
    record = json.loads(json.dumps(by_city().to_json()))
    change(record, value)
    with pytest.raises(ParameterError, match="The release"):
        Release.from_json(record)


@pytest.mark.parametrize("part", ["question", "label", "aggregates", "keys", "at"])
def test_a_file_that_lacks_a_part_is_refused(part: str) -> None:
    record = {name: value for name, value in by_city().to_json().items() if name != part}
    with pytest.raises(ParameterError, match=f"lacks '{part}'"):
        Release.from_json(record)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"schema": NaN}', "[]", "null"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ParameterError, match=r"not the file of a release|reads .discreet release 2"):
        Release.load(tmp_path / "a.json")


def test_loading_calls_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_city().save(tmp_path / "a.json")

    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a file was run")

    for name in ("eval", "exec"):
        monkeypatch.setattr(builtins, name, forbidden)
    monkeypatch.setattr(pickle, "loads", forbidden)
    assert Release.load(tmp_path / "a.json") == by_city()


# -- test bits --------------------------------------------------------------------------------------------------


def rehearsed() -> Release:
    with noise.deterministic(1):
        drawn = noise.discrete_laplace(10, size=1) + 0.0
    return release(answers=[Estimate("count(*)", drawn, drawn - 1, drawn + 1)])


WAYS_OUT: dict[str, Callable[[Release, Path], Any]] = {
    "save": lambda made, folder: made.save(folder / "a.json"),
    "to_arrow": lambda made, _: made.to_arrow(),
    "to_pandas": lambda made, _: made.to_pandas(),
    "to_polars": lambda made, _: made.to_polars(),
    "pickle": lambda made, _: pickle.dumps(made),
    "copy": lambda made, _: copy.deepcopy(made),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_what_was_made_from_test_bits_stays_inside(way: str, tmp_path: Path) -> None:
    with pytest.raises(NotForRelease, match="test bits"):
        WAYS_OUT[way](rehearsed(), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("way", WAYS_OUT)
def test_what_was_not_may_go_everywhere(way: str, tmp_path: Path) -> None:
    WAYS_OUT[way](by_city(), tmp_path)


def test_test_bits_can_be_looked_at_and_say_so() -> None:
    made = rehearsed()
    assert noise.is_test_noise(made.value)
    assert all(noise.is_test_noise(row["count"]) for row in made)
    assert "not for release" in str(made)
    assert "not for release" in made._repr_html_()
    assert "not for release" in json.dumps(made.plot().to_dict())


def test_an_answer_made_among_test_bits_is_marked_even_if_its_numbers_are_not() -> None:
    with noise.deterministic(1):
        made = release(answers=[answer("avg(x)", [3.0], 1.0)])
    assert made.test_bits
    assert not release(answers=[answer("avg(x)", [3.0], 1.0)]).test_bits


def test_the_mark_survives_the_record_and_what_is_done_to_a_release() -> None:
    made = rehearsed()
    assert Release.from_json(made.to_json()).test_bits
    assert made.again(receipt().whole).test_bits
    assert replace(made, aggregates=[replace(made.aggregates[0], name="n")], columns=()).test_bits


def test_a_release_that_is_read_among_test_bits_is_what_it_was() -> None:
    with noise.deterministic(1):
        assert Release.from_json(by_city().to_json()).test_bits  # made inside, so marked
        record = json.loads(json.dumps(by_city().to_json()).replace('"test_bits": true', '"test_bits": false'))
        assert not Release.from_json(record).test_bits


def test_arrays_are_taken_and_not_kept() -> None:
    values = np.array([1.0])
    made = answer("x", values.tolist(), 1)
    kept = Estimate("x", values, values, values)
    values[0] = 9.0
    assert kept.values == (1.0,) == made.values
