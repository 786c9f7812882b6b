"""A value has the same code in a frame as in a vault, and no value raises or changes the code of another."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.learn.encoding import encoded, names_of
from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Date, Datetime, Integer, Real
from discreet.vault.vault import Vault

NUMBERS = [0.0, -0.0, 1.5, 2.5, -3.0, 99.49, 1e300, -1e300, 1e-300, math.inf, -math.inf, math.nan, 110.0, 7.0]
WHOLE = [0, 1, -1, 7, 110, 111, 2**53 + 1, -(2**53), 2**62, -(2**62), 2**63 - 1, -(2**63), 31, 2]
TEXTS = ["7", " 7", "1e2", "nan", "", "Oslo", "oslo", "ÅS", "2024-02-30", "true", "🎈", "a\x00b", "inf", "'; --"]
DAYS = [date(2024, 1, 1), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), *[date(2024, 6, 1)] * 10]
TIMES = [datetime(2024, 1, 1), datetime(2024, 6, 1, 23, 59, 59), datetime(1, 1, 1), *[datetime(2024, 3, 1)] * 11]
TRUTHS = [True, False] * 7
COLUMNS: dict[str, Column] = {
    "number": Integer(0, 110),
    "number_2": Real(0, 100, step="0.5", outside="missing"),
    "whole": Integer(-5, 110),
    "whole_2": Real(-5, 110, step="0.25"),
    "whole_3": Category([0, 1, 7]),
    "text": Category(["Oslo", "Ås"], other="else"),
    "text_2": Integer(0, 200, missing=3),
    "text_3": Date("2024-01-01", "2024-12-31"),
    "day": Date("2024-01-01", "2024-12-31"),
    "day_2": Datetime("2024-01-01", "2025-01-01", step="1h"),
    "time": Datetime("2024-01-01", "2025-01-01", step="1h"),
    "truth": Boolean(),
    "truth_2": Category([0, 1]),
}
VALUES: dict[str, list[Any]] = {
    **dict.fromkeys(("number", "number_2"), NUMBERS),
    **dict.fromkeys(("whole", "whole_2", "whole_3"), WHOLE),
    **dict.fromkeys(("text", "text_2", "text_3"), TEXTS),
    **dict.fromkeys(("day", "day_2"), DAYS),
    "time": TIMES,
    "truth": TRUTHS,
    "truth_2": TRUTHS,
}


def arrow() -> pyarrow.Table:
    rows = {"i": list(range(15)), **{name: [*values, None] for name, values in VALUES.items()}}
    return pyarrow.table(rows)


FRAMES: dict[str, Any] = {
    "pyarrow": arrow,
    "polars": lambda: polars.from_arrow(arrow()),
    "pandas": lambda: arrow().to_pandas(),
    "pandas of objects": lambda: arrow().to_pandas(types_mapper=None).astype(object),
    "pandas with arrow types": lambda: arrow().to_pandas(types_mapper=pandas.ArrowDtype),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_has_the_codes_of_the_vault_that_is_sealed_from_it(kind: str, tmp_path: Path) -> None:
    frame = FRAMES[kind]()
    columns: dict[str, Column] = {"i": Integer(0, 100), **COLUMNS}
    declared: dict[str, Any] = {"person": None, "columns": columns, "budget": Budget(1)}
    with Vault.seal(frame, to=tmp_path / "v", name="t", anyway=True, **declared) as vault:
        table = vault.table()
        named = {name: table.metadata.sealed_name(name) for name in columns}
        engine = table.engine()
        [sums] = engine.examples(engine.rows.selection(named, several=False)).total(
            lambda batch: [_by_row(batch.codes, columns)]
        )
    found = encoded(frame, columns)
    assert {name: found[name].tolist() for name in columns} == {
        name: sums[:, k].tolist() for k, name in enumerate(columns)
    }


def _by_row(codes: Any, columns: Any) -> Any:
    """Return the codes of each row at its own place, so that they can be added up."""
    made = np.zeros((15, len(columns)), np.int64)
    for k, name in enumerate(columns):
        np.add.at(made[:, k], codes["i"], np.asarray(codes[name], np.int64))
    return made


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.dates(),
    st.datetimes(),
    st.binary(max_size=4),
    st.just({}),
    st.just([1]),
    st.complex_numbers(),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ANYTHING, min_size=1, max_size=12), st.sampled_from(sorted(COLUMNS)))
def test_no_value_raises_or_changes_the_code_of_another(values: list[Any], name: str) -> None:
    column = COLUMNS[name]
    together = encoded({"x": values}, {"x": column})["x"]
    alone = [int(encoded({"x": [value]}, {"x": column})["x"][0]) for value in values[:3]]
    assert together[:3].tolist() == alone
    least, last = -1 if column.filling is None else 0, (column.levels or 1) - 1
    assert ((together >= least) & (together <= last)).all()
    grid = np.empty((len(values), 1), object)
    grid[:, 0] = values
    assert encoded(grid, {"x": column})["x"].tolist() == together.tolist()


def test_arrays_lists_and_series_have_the_same_codes() -> None:
    columns: dict[str, Column] = {"a": Integer(0, 9), "b": Real(0, 1, step="0.25")}
    rows = [[1, 0.5], [12, 0.3], [-3, 1.0]]
    want = {"a": [1, 9, 0], "b": [2, 1, 4]}
    kinds: list[Any] = [
        rows,
        np.array(rows),
        np.array(rows, object),
        np.array(rows, np.float32),
        {"b": [0.5, 0.3, 1.0], "a": np.array([1, 12, -3], np.int8)},
        {"a": polars.Series([1, 12, -3]), "b": pandas.Series([0.5, 0.3, 1.0])},
        {"a": pyarrow.array([1, 12, -3]), "b": pyarrow.chunked_array([[0.5], [0.3, 1.0]])},
    ]
    for data in kinds:
        assert {name: codes.tolist() for name, codes in encoded(data, columns).items()} == want


def test_a_table_without_rows_has_no_codes() -> None:
    none: list[Any] = [np.zeros((0, 1)), {"a": []}, pyarrow.table({"a": pyarrow.array([], pyarrow.int64())})]
    for data in none:
        assert encoded(data, {"a": Integer(0, 9)})["a"].tolist() == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"b": [1]}, "no column 'a'"),
        (np.zeros((2, 3)), "one column for each of the 1"),
        (np.zeros(3), "Reshape your data"),
        (np.zeros((2, 1), complex), "Complex data"),
        ({"a": np.zeros((2, 2))}, "one dimension"),
        ([[1], [2, 3]], "as many values"),
    ],
)
def test_data_of_another_shape_are_refused(data: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        encoded(data, {"a": Integer(0, 9)})


def test_names_are_those_of_the_frame() -> None:
    assert names_of(arrow()) == names_of(FRAMES["polars"]()) == names_of(FRAMES["pandas"]())
    assert names_of([[1]]) is None


def test_threads_that_encode_at_the_same_time_see_their_own_rows_alone() -> None:
    """They share a database, in which each frame has the same name."""
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda i: encoded({"x": [i, None, i]}, {"x": Integer(0, 99)})["x"].tolist(), range(40))
    assert list(found) == [[i, -1, i] for i in range(40)]
