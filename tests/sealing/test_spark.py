"""Sealing inside Spark: the same integers as outside, whatever the type and the value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.schema import Column
from discreet.sealing import seal
from discreet.vault.storage import spark as in_spark
from tests.sealing.test_postgres import FAMILIES, LABELS, NUMBERS, TIMES
from tests.vault.sealed_tables import by_person, sealed
from tests.vault.spark_vaults import loaded, numbers, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.xdist_group("spark")

DIFFERENT = {"2024-01-05 24:00:00"}
"""Texts that Spark takes for missing, and DuckDB for a time: see docs/tutorials/spark.md."""

FRACTIONS = (dp.Text(), LABELS[1])
"""As text a number with a fraction has other digits in Spark."""


def in_both(
    session: SparkSession, frame: DataFrame, folder: Path, table: pa.Table, **declared: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The sealed rows of the same rows, in Spark and in a directory."""
    number = next(numbers)
    pq.write_table(table, folder / f"{number}.parquet")
    there = in_spark.seal(frame, to=folder / f"{number}.spark", rows=f"sealed_{number}", **declared)
    seal.seal(folder / f"{number}.parquet", to=folder / f"{number}.vault", **declared)
    return rows_of(session, there), sealed(folder / f"{number}.vault")


@pytest.mark.parametrize("some", [(0, 5, 9, -1), pytest.param((2, 3, 6, 7, 11), marks=pytest.mark.slow)])
def test_every_type_and_value_is_read_as_it_is_outside(
    some: tuple[int, ...], spark: SparkSession, tmp_path: Path
) -> None:
    """All families at once, a row for every value: statements take Spark long, and rows do not."""
    most = max(len(values) for _, _, values, _ in FAMILIES.values()) + 1
    arrays, columns = {}, dict[str, Column]()
    for name, (_, kind, values, declared) in FAMILIES.items():
        given = [None, *(value for value in values if value not in DIFFERENT)]
        array = pa.array([given[i % len(given)] for i in range(most)], kind)
        chosen = declared if name == "text" else [declared[i] for i in some if i < len(declared)]
        for i, column in enumerate(chosen):
            if name not in ("double", "real") or column not in FRACTIONS:
                arrays[f"{name} {i}"], columns[f"{name} {i}"] = array, column
    table = pa.table({"row": pa.array(range(most)), **arrays})
    there, here = in_both(
        spark,
        loaded(spark, table, tmp_path),
        tmp_path,
        table,
        person=None,
        columns={"row": dp.Integer(0, most), **columns},
    )
    wanted, found = ({row["c0"]: row for row in rows} for rows in (here, there))
    assert len(there) == most
    for i, name in enumerate(columns, start=1):
        differing = [
            (array[row].as_py(), wanted[row][f"c{i}"], found[row][f"c{i}"])
            for array in [arrays[name]]
            for row in range(most)
            if wanted[row][f"c{i}"] != found[row][f"c{i}"]
        ]
        assert differing == [], f"{name}: value, code outside, code in Spark"


EXTREMES = {
    "days": pa.array([0, -719163, 2932897, 106751991, 106751992, -106751992, 2**31 - 2, -(2**31) + 2], pa.int32()),
    "times": pa.array([0, -1, 2**63 - 2, -9223372022400000000, 253402300800000000, -62135596800000001, 1, 2]),
}


def test_days_and_times_at_the_end_of_all_calendars_are_outside(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {"row": pa.array(range(8))}
        | {f"day {i}": EXTREMES["days"].cast(pa.date32()) for i in range(len(TIMES))}
        | {f"ntz {i}": EXTREMES["times"].cast(pa.timestamp("us")) for i in range(len(TIMES))}
        | {f"ltz {i}": EXTREMES["times"].cast(pa.timestamp("us", "UTC")) for i in range(len(TIMES))}
    )
    columns = {f"{kind} {i}": column for kind in ("day", "ntz", "ltz") for i, column in enumerate(TIMES)}
    there, here = in_both(
        spark,
        loaded(spark, table, tmp_path),
        tmp_path,
        table,
        person=None,
        columns={"row": dp.Integer(0, 8), **columns},
    )
    assert sorted(({**row, "person": 0} for row in there), key=lambda row: row["c0"]) == sorted(
        ({**row, "person": 0} for row in here), key=lambda row: row["c0"]
    )


@pytest.mark.slow
def test_texts_that_are_read_differently_are_missing_and_never_fail(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["2024-01-05 24:00:00", "2024-01-05 10:00 PST", "44-03-15 (BC)", "-0044-03-15", "0x1F", "12d", "12:30"]
    table = pa.table({name: pa.array(texts) for name in ("day", "time", "number", "far")})
    columns = {"day": TIMES[0], "time": TIMES[2], "number": NUMBERS[0], "far": NUMBERS[2]}
    there = in_spark.seal(
        loaded(spark, table, tmp_path), to=tmp_path / "v", rows="read_differently", person=None, columns=columns
    )
    assert [[row[f"c{i}"] for i in range(4)] for row in rows_of(spark, there)] == [[None] * 4] * 7


# Types that only Spark has

ODD = {
    "bytes": ("BINARY", "X'61'", "a"),
    "more bytes": ("BINARY", "X'61FF'", "\\x61FF"),
    "bytes that look like others": ("BINARY", "CAST('\\\\x61FF' AS BINARY)", "\\x5C7836314646"),
    "array": ("ARRAY<INT>", "array(1, NULL)", "[1, null]"),
    "map": ("MAP<STRING, INT>", "map('a', 1)", "{a -> 1}"),
    "struct": ("STRUCT<a: INT>", "named_struct('a', 7)", "{7}"),
    "interval": ("INTERVAL DAY TO SECOND", "INTERVAL '1' DAY", "INTERVAL '1 00:00:00' DAY TO SECOND"),
    "nothing": ("VOID", "NULL", None),
    "any case": ("STRING COLLATE UTF8_LCASE", "'Ab'", "Ab"),
    "any language": ("STRING COLLATE UNICODE_CI", "'Éa'", "Éa"),
    "no text": ("STRING", "CAST(X'61FF62' AS STRING)", "a\ufffdb"),
}


@pytest.mark.slow
def test_types_that_only_spark_has_are_read_as_text(spark: SparkSession, tmp_path: Path) -> None:
    shown = ", ".join(f"CAST({value} AS {kind}) AS `{name}`" for name, (kind, value, _) in ODD.items())
    frame = spark.sql(f"SELECT {shown}, 1 AS who")
    columns: dict[str, Column] = {name: dp.Text() for name in ODD}
    numeric = {f"{name} number": dp.Integer(0, 9) for name in columns}
    dated = {f"{name} day": dp.Date("2000-01-01", "2001-01-01") for name in columns}
    wide = frame.selectExpr(
        "*", *(f"`{name}` AS `{name} {kind}`" for name in columns for kind in ("number", "day"))
    )
    there = in_spark.seal(
        wide, to=tmp_path / "v", rows="only_in_spark", person="who", columns={**columns, **numeric, **dated}
    )
    (row,) = rows_of(spark, there)
    assert {name: row[f"c{i}"] for i, name in enumerate(columns)} == {name: ODD[name][2] for name in columns}
    assert {row[f"c{i}"] for i in range(len(columns), 3 * len(columns))} == {None}


PERSONS = {
    "text": (["a", "A", "a ", None, "", "a"], 5),
    "double": ([1.5, 1.5, math.nan, None, -0.0, 0.0], 3),
    "bytes": ([b"\xff", b"\xfe", b"\\xFF", b"a", None, b"\xff"], 5),
    "list": ([[1], [1, 2], None, [1], [], [2]], 5),
    "whole": ([2**63 - 1, -(2**63), None, 2**63 - 1, 0, None], 4),
}


@pytest.mark.parametrize(
    "kind",
    ["text", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("double", "bytes", "list", "whole"))],
)
def test_persons_are_told_apart_by_every_type(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    values, persons = PERSONS[kind]
    frame = loaded(spark, pa.table({"who": pa.array(values), "x": pa.array(range(6))}), tmp_path)
    there = in_spark.seal(
        frame, to=tmp_path / "v", rows=f"told_apart_by_{kind}", person="who", columns={"x": dp.Integer(0, 9)}
    )
    assert len({row["person"] for row in rows_of(spark, there)}) == persons
    assert sorted(row["c0"] for row in rows_of(spark, there)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("collation", "persons"), [("UTF8_LCASE", 2), pytest.param("UNICODE_CI_AI", 1, marks=pytest.mark.slow)]
)
def test_persons_that_a_collation_takes_for_one_are_one(
    collation: str, persons: int, spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql(f"SELECT who COLLATE {collation} AS who, 1 AS x FROM VALUES ('e'), ('E'), ('é') AS t(who)")
    columns = {"x": dp.Integer(0, 9)}
    there = in_spark.seal(frame, to=tmp_path / "v", rows=f"one_{collation}", person="who", columns=columns)
    assert len({row["person"] for row in rows_of(spark, there)}) == persons


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI_AI", "UTF8_BINARY_RTRIM"])
def test_what_a_collation_takes_for_one_does_not_leave_spark(
    collation: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Ana, ana and ANA would be one person there, and three in a directory."""
    frame = spark.sql(f"SELECT who COLLATE {collation} AS who, 1 AS x FROM VALUES ('a'), ('A'), ('a ') AS t(who)")
    columns = {"x": dp.Integer(0, 9)}
    words = rf"Column 'who' .* has the collation {collation}.*rows=.*Or seal a frame"
    for number, source in enumerate((frame, dp.Source(frame, rename={"who": "person"}))):
        person = "who" if number == 0 else "person"
        with pytest.raises(ParameterError, match=words):
            seal.seal(source, to=tmp_path / "v", person=person, columns=columns)
    assert list(tmp_path.iterdir()) == []
    alike = frame.selectExpr("trim(lower(who)) COLLATE UTF8_BINARY AS who", "x")
    seal.seal(alike, to=tmp_path / "v", person="who", columns=columns)
    assert [row["w"] for row in sealed(tmp_path / "v")] == [1365] * 3


@pytest.mark.parametrize(("first", "second"), [("UTF8_BINARY", "UTF8_LCASE"), ("UTF8_LCASE", "UNICODE_CI")])
def test_tables_that_do_not_agree_on_who_is_one_person_are_refused(
    first: str, second: str, spark: SparkSession, tmp_path: Path
) -> None:
    values = "FROM VALUES ('Ana', 3), ('ana', 4) AS t(who, x)"
    frames = [
        spark.sql(f"SELECT who COLLATE {collation} AS who, x AS {name} {values}")
        for collation, name in ((first, "x"), (second, "y"))
    ]
    columns = {"x": dp.Integer(0, 9), "y": dp.Integer(0, 9)}
    for source, further in (frames, frames[::-1]):
        with pytest.raises(ParameterError, match=r"compare 'who' .* may not agree on who is one person"):
            in_spark.seal(
                source, to=tmp_path / "v", rows="disagreeing", person="who", tables=[further], columns=columns
            )


def test_weights_and_spots_are_those_of_a_directory(spark: SparkSession, tmp_path: Path) -> None:
    """Also of persons with more rows than allowed, of whom the same rows are marked."""
    n = 400
    table = pa.table(
        {
            "who": pa.array([None if i % 41 == 0 else (i * i) % 57 for i in range(n)]),
            "age": pa.array([20 + i % 70 for i in range(n)]),
            "note": pa.array([None if i % 13 == 0 else f"it's {i % 6}\\" for i in range(n)]),
        }
    )
    persons = pa.table({"who": [1, 1, 2, None, 99], "height": [180, 150, None, 170, 160], "town": list("abbcd")})
    towns = pa.table({"town": ["a", "b"], "north": [False, True]})
    columns = {
        "age": dp.Integer(0, 110),
        "note": dp.Text(),
        "height": dp.Integer(100, 250, missing=200),
        "north": dp.Boolean(),
    }
    declared: dict[str, Any] = {"person": "who", "rows_per_person": 3, "columns": columns}
    there = in_spark.seal(
        loaded(spark, table, tmp_path),
        to=tmp_path / "there",
        rows="weights_and_spots",
        tables=[loaded(spark, persons, tmp_path)],
        lookups={"town": loaded(spark, towns, tmp_path)},
        **declared,
    )
    seal.seal(table, to=tmp_path / "here", tables=[persons], lookups={"town": towns}, **declared)
    assert by_person(rows_of(spark, there)) == by_person(sealed(tmp_path / "here"))
    assert "a public table, by town" in there.joins[1]
    kinds = {field.name: field.dataType.simpleString() for field in spark.table(there.table).schema.fields}
    narrow = {
        "person": "bigint",
        "w": "smallint",
        "c0": "tinyint",
        "c1": "string",
        "c3": "tinyint",
        "spot": "boolean",
    }
    assert kinds.items() >= narrow.items()


def test_without_a_person_every_row_is_one_also_across_files(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"age": pa.array([i % 7 for i in range(50)])})
    frame = loaded(spark, table, tmp_path).repartition(5)
    there = in_spark.seal(
        frame, to=tmp_path / "v", rows="all_alone", person=None, columns={"age": dp.Integer(0, 110)}
    )
    rows = rows_of(spark, there)
    assert len({row["person"] for row in rows}) == 50
    assert {row["w"] for row in rows} == {4096}
