"""Numbers and dates in another notation: read exactly as declared, by every engine alike, and never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.schema import Column, Date, Datetime, Integer, Real, from_json
from discreet.sealing.seal import seal
from tests.vault.sealed_tables import SOURCES, sealed

DAYS: dict[str, dict[str, str | None]] = {
    "%d.%m.%Y": {"26.12.2025": "2025-12-26", " 1.2.2025 ": "2025-02-01", "31.02.2025": None, "2025-12-26": None},
    "%m/%d/%Y": {"12/26/2025": "2025-12-26", "26/12/2025": None},
    "%d.%m.%y": {"26.12.25": "2025-12-26", "01.01.69": "1969-01-01", "01.01.68": "2068-01-01", "1.1.2025": None},
    "%d %b %Y": {"26 Dec 2025": "2025-12-26", "1 may 2025": "2025-05-01", "3 SEPTEMBER 2025": "2025-09-03"},
    "%Y%m%d": {"20251226": "2025-12-26", "2025126": None},
    "%d.%m.%Y %H:%M": {"26.12.2025 23:59": "2025-12-26", "26.12.2025": None},
}
NUMBERS: dict[tuple[str | None, str | None], dict[str, float | None]] = {
    (",", None): {
        "71,86": 71.86,
        "-5": -5.0,
        ",5": 0.5,
        "71.86": None,
        "1.234,5": None,
        "1,2,3": None,
        "n/a": None,
    },
    (",", "."): {"1.234,56": 1234.56, "1234,5": 1234.5, "1.23,4": None, "12.345.678": 12345678.0, "1e3": 1000.0},
    (None, ","): {"1,234.56": 1234.56, "71.86": 71.86, "1,23": None},
    (",", " "): {"1 234,5": 1234.5, "1\u00a0234,5": 1234.5, "1\u202f234": 1234.0},
    (None, "'"): {"1'234.5": 1234.5},
    (None, "."): {"1.234": 1234.0, "1.234,5": 1234.5},
}


def read(folder: Path, texts: list[str], column: Column, kind: str = "arrow") -> list[Any]:
    """Return the values that texts are read as, in their order."""
    table = pa.table({"who": list(range(len(texts))), "v": texts})
    columns: dict[str, Column] = {"who": Integer(0, 999), "v": column}
    (folder / kind).mkdir()
    seal(SOURCES[kind](table, folder / kind), to=folder / kind / "v", person=None, columns=columns)
    codes = {row["c0"]: row["c1"] for row in sealed(folder / kind / "v")}
    return [None if codes[i] is None else column.values([codes[i]])[0] for i in range(len(texts))]


@pytest.mark.parametrize("written", DAYS)
def test_dates_are_read_in_their_format_alone(tmp_path: Path, written: str) -> None:
    days = read(tmp_path, list(DAYS[written]), Date("1960-01-01", "2070-12-31", format=written))
    assert [None if day is None else day.isoformat() for day in days] == list(DAYS[written].values())


@pytest.mark.parametrize("marks", NUMBERS)
def test_numbers_are_read_with_their_marks_alone(tmp_path: Path, marks: tuple[str | None, str | None]) -> None:
    decimal, thousands = marks
    column = Real(-(10**6), 10**8, "0.01", decimal=decimal, thousands=thousands)
    found = read(tmp_path, list(NUMBERS[marks]), column)
    assert found == [value if value is None else pytest.approx(value) for value in NUMBERS[marks].values()]


@pytest.mark.parametrize(
    "kind", ["csv", "parquet", "feather", "duckdb", "pandas", "pandas objects", "polars", "reader"]
)
def test_every_source_of_texts_is_read_alike(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path, ["71,86", "1.000", "x"], Real(0, 2000, "0.01", decimal=",", thousands="."), kind) == [
        pytest.approx(71.86),
        1000.0,
        None,
    ]


def test_times_have_hours_minutes_and_seconds(tmp_path: Path) -> None:
    column = Datetime("2025-01-01", "2025-12-31", "1min", format="%d.%m.%Y %H:%M:%S")
    (found,) = read(tmp_path, ["26.12.2025 13:45:59"], column)
    assert found.isoformat() == "2025-12-26T13:45:00"


def test_integers_may_be_days_and_have_thousands(tmp_path: Path) -> None:
    table = pa.table({"day": [20251226, 20250230], "n": ["1.234", "5"]})
    columns: dict[str, Column] = {
        "day": Date("2025-01-01", "2025-12-31", format="%Y%m%d"),
        "n": Integer(0, 5000, thousands="."),
    }
    seal(table, to=tmp_path / "v", person=None, columns=columns)
    assert sorted((row["c0"], row["c1"]) for row in sealed(tmp_path / "v") if row["c0"] is not None) == [
        (359, 1234)
    ]
    assert {row["c1"] for row in sealed(tmp_path / "v")} == {1234, 5}


def test_numbers_and_dates_that_are_declared_as_such_are_read_as_they_are(tmp_path: Path) -> None:
    table = pa.table({"v": [71.86]})
    seal(table, to=tmp_path / "v", person=None, columns={"v": Real(0, 100, "0.01", decimal=",")})
    assert [row["c0"] for row in sealed(tmp_path / "v")] == [7186]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Date("2025-01-01", "2025-12-31", format="%d.%m"), "day, the month and the year, each once"),
        (lambda: Date("2025-01-01", "2025-12-31", format="%d.%m.%Y %Q"), r"knows %d.*found: %Q"),
        (lambda: Date("2025-01-01", "2025-12-31", format="%d.%m.%Y %d"), "each once"),
        (lambda: Real(0, 1, "0.1", decimal="x"), "decimal mark .* one character"),
        (lambda: Real(0, 1, "0.1", thousands="--"), "thousands mark .* one character"),
        (lambda: Integer(0, 1, decimal=",", thousands=","), "must differ"),
    ],
)
def test_a_notation_that_has_no_meaning_is_refused(make: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        make()


@pytest.mark.parametrize(
    "column",
    [
        Real(0, 1, "0.1", decimal=",", thousands="."),
        Integer(0, 1, thousands=" "),
        Date("2025-01-01", "2025-12-31", format="%d.%m.%Y"),
        Datetime("2025-01-01", "2025-12-31", "1h", format="%d.%m.%Y %H:%M"),
    ],
)
def test_a_notation_is_part_of_the_metadata_and_no_part_where_there_is_none(column: Column) -> None:
    assert from_json(column.as_json()) == column
    plain = {k: v for k, v in column.as_json().items() if k not in ("decimal", "thousands", "format")}
    assert from_json(plain).as_json() == plain
