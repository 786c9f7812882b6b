"""The curator's report: every cell is counted, unreadable ones are shown with their lines, nothing is stored."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import SealingFailed
from discreet.schema import Column, Learned
from discreet.sealing.notations import suggestion
from discreet.sealing.report import ColumnReport, SealingReport, Unreadable
from discreet.sealing.sources import Source
from discreet.vault.vault import Vault
from tests.servers.postgres import Server
from tests.vault.postgres_vaults import loaded as loaded_into_postgres
from tests.vault.sealed_tables import sealed
from tests.vault.spark_vaults import loaded as loaded_into_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS: dict[str, list[str | None]] = {
    "who": ["a", "a", "a", "b", "c", None],
    "day": ["26.12.2025", "1.1.2020", "31.12.2099", "soon", None, "24.12.2025"],
    "paid": ["71,86", "-5,00", "1.000,00", "free", "12.5", None],
    "city": ["Oslo", "Bergen", "Rome", "Oslo", None, "Oslo"],
    "ok": ["yes", "no", "perhaps", None, "1", "0"],
    "note": ["x", None, "y", "z", "z", "z"],
}
COLUMNS: dict[str, Column | Learned] = {
    "day": dp.Date("2025-01-01", "2025-12-31", format="%d.%m.%Y"),
    "paid": dp.Real(0, 100, "0.01", decimal=",", thousands="."),
    "city": dp.Category(["Oslo", "Bergen"], other="elsewhere"),
    "ok": dp.Boolean(),
    "note": dp.Text(),
}
COUNTS = {  # read, below, above, missing, unreadable, other
    "day": (2, 1, 1, 1, 1, 0),
    "paid": (1, 1, 1, 1, 2, 0),
    "city": (4, 0, 0, 1, 0, 1),
    "ok": (4, 0, 0, 1, 1, 0),
    "note": (5, 0, 0, 1, 0, 0),
}


def counts(column: ColumnReport) -> tuple[int, ...]:
    return (column.read, column.below, column.above, column.missing, column.unreadable, column.other)


def csv(folder: Path) -> Path:
    lines = [";".join(ROWS), *(";".join(cell or "" for cell in row) for row in zip(*ROWS.values(), strict=True))]
    (folder / "rows.csv").write_text("\n".join([*lines[:2], "", *lines[2:], ""]))
    return folder / "rows.csv"


def store(folder: Path) -> Source:
    with duckdb.connect(str(folder / "store.duckdb")) as connection:
        connection.register("given", pa.table(ROWS))
        connection.execute("CREATE TABLE rows AS FROM given")
    return Source(folder / "store.duckdb", table="rows")


def parquet(folder: Path) -> Path:
    pq.write_table(pa.table(ROWS), folder / "rows.parquet")
    return folder / "rows.parquet"


SOURCES: dict[str, Any] = {
    "csv": csv,
    "parquet": parquet,
    "duckdb": store,
    "arrow": lambda _: pa.table(ROWS),
    "reader": lambda _: pa.table(ROWS).to_reader(max_chunksize=2),
    "pandas": lambda _: pd.DataFrame(ROWS, dtype=object),
    "polars": lambda _: pl.DataFrame(ROWS),
}


def found_everywhere(report: SealingReport) -> None:
    assert report.rows == 6
    assert {name: counts(column) for name, column in report.columns.items()} == COUNTS
    assert (report.persons, report.over_bound, report.without_person) == (4, 1, 1)
    assert {example.text for example in report.columns["paid"].examples} == {"free", "12.5"}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_is_reported_alike_and_its_rows_can_be_found_again(tmp_path: Path, kind: str) -> None:
    report = Vault.check(SOURCES[kind](tmp_path), person="who", rows_per_person=2, columns=COLUMNS)
    found_everywhere(report)
    first = report.columns["paid"].examples[0]
    assert (first.number, first.text) == (6 if kind == "csv" else 4, "free")


def test_a_database_reports_the_same_from_inside(postgres: Server, postgres_address: str) -> None:
    source = loaded_into_postgres(postgres, pa.table(ROWS), ["text"] * len(ROWS))
    columns: dict[str, Column | Learned] = {**COLUMNS, "paid": dp.Real.learned(decimal=",", thousands=".", step=1)}
    with Vault.seal(
        source, to=postgres_address, person="who", rows_per_person=2, columns=COLUMNS, budget=dp.Budget(2)
    ) as vault:
        assert vault.sealing_report is not None
        found_everywhere(vault.sealing_report)
        vault.reseal(source, columns=columns)
        assert vault.ledger.balance().charges == 1
        assert "none were found" in str(vault.metadata)


def test_a_vault_in_a_database_learns_its_bounds_in_the_transaction_that_makes_it(
    postgres: Server, postgres_address: str
) -> None:
    table = pa.table({"who": [i // 2 for i in range(2000)], "v": [f"{30 + i % 30},5" for i in range(2000)]})
    source = loaded_into_postgres(postgres, table, ["bigint", "text"])
    columns: dict[str, Column | Learned] = {"v": dp.Real.learned(decimal=",", step="0.5", epsilon=2, tail="0.04")}
    with Vault.seal(
        source,
        to=postgres_address,
        person="who",
        rows_per_person=2,
        columns=columns,
        name="t",
        budget=dp.Budget(4),
    ) as vault:
        assert vault.metadata.columns["v"] == dp.Real(16, 64, "0.5", decimal=",", bounds_cost="ε = 2")
        assert [entry.kind for entry in vault.ledger.entries()] == ["opening", "charge", "release"]
        average = vault.ask("select avg(v) from t", epsilon=2).value
        assert average is not None
        assert abs(average - 45) < 5
        vault.ledger.verify()


@pytest.mark.xdist_group("spark")
def test_spark_reports_the_same_and_learns_bounds(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(ROWS)
    frame = loaded_into_spark(spark, table, tmp_path)
    columns: dict[str, Column | Learned] = {**COLUMNS, "more": dp.Real.learned(lo=0, step=1)}
    wide = frame.selectExpr("*", "12.5 AS more")
    with Vault.seal(
        wide,
        to=tmp_path / "v",
        rows="reported",
        person="who",
        rows_per_person=2,
        columns=columns,
        budget=dp.Budget(2),
    ) as vault:
        report = vault.sealing_report
        assert report is not None
        assert {name: counts(column) for name, column in report.columns.items() if name != "more"} == COUNTS
        assert "none were found" in str(vault.metadata)
        assert vault.ledger.balance().charges == 1


def test_lines_that_are_blank_too_short_or_too_long_are_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n\n3\n4,5,6\n\n7,8\n")
    report = Vault.check(tmp_path / "rows.csv", person=None, columns={"a": dp.Integer(0, 9)})
    text = str(report)
    assert report.rows == 4
    assert "Blank lines, which are not rows: 2." in text
    assert "1 line has fewer cells than the header, and the rest is missing: line 4." in text
    assert "1 line has more cells than the header, and the last ones are left out: line 5." in text


def test_sealing_stops_if_more_than_half_of_a_column_is_unreadable(tmp_path: Path) -> None:
    rows = pa.table({"v": ["71,86", "5,00", "7", None, None, None]})
    declared: dict[str, Any] = {"person": None, "columns": {"v": dp.Real(0, 100, "0.01")}, "budget": dp.Budget(1)}
    with pytest.raises(Unreadable, match=r"More than half of column 'v'.*anyway=True") as refused:
        Vault.seal(rows, to=tmp_path / "v", **declared)
    assert refused.value.report.columns["v"].unreadable == 2
    assert 'decimal = ","' in str(refused.value)
    assert "71,86" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    with Vault.seal(rows, to=tmp_path / "v", anyway=True, **declared) as vault:
        assert sorted(row["c0"] or 0 for row in sealed(tmp_path / "v")) == [0, 0, 0, 0, 0, 700]
        with pytest.raises(SealingFailed, match="More than half"):
            vault.reseal(rows)
        vault.reseal(rows, anyway=True)
        assert vault.metadata.version == 2


def test_dates_in_several_notations_are_not_answered_with_the_notation_of_the_few() -> None:
    """Following that advice would make the many unreadable."""
    rows = pa.table({"day": ["26.12.2025"] * 9 + ["12/24/2025", "2025-01-31"]})
    report = dp.Vault.check(
        rows, person=None, columns={"day": dp.Date("2025-01-01", "2025-12-31", format="%d.%m.%Y")}
    )
    assert "holds dates in several notations" in str(report)
    assert "Declare column" not in str(report)


def test_half_of_a_column_may_be_unreadable(tmp_path: Path) -> None:
    rows = pa.table({"v": ["x", "7"]})
    with Vault.seal(
        rows, to=tmp_path / "v", person=None, columns={"v": dp.Integer(0, 9)}, budget=dp.Budget(1)
    ) as vault:
        assert vault.sealing_report is not None


def test_the_report_is_stored_nowhere(tmp_path: Path) -> None:
    secret = "Ada Lovelace 77123"
    rows = pa.table({"who": ["a"] * 4321 + ["b"], "v": ["7"] * 4321 + [secret]})
    Vault.seal(rows, to=tmp_path / "v", person="who", columns={"v": dp.Integer(0, 9)}, budget=dp.Budget(1)).close()
    kept = b"".join(path.read_bytes() for path in (tmp_path / "v").iterdir())
    assert secret.encode() not in kept
    assert b"4321" not in (tmp_path / "v" / "description.json").read_bytes()
    assert b"4321" not in (tmp_path / "v" / "ledger.sqlite").read_bytes()
    with Vault(tmp_path / "v") as again:
        assert again.sealing_report is None


def test_the_report_draws_itself_and_cannot_be_pickled_or_shown_by_accident() -> None:
    rows = pa.table({"v": ["<b>x</b>", "7", "8"]})
    report = Vault.check(rows, person=None, columns={"v": dp.Integer(0, 9)})
    assert "'<b>x</b>' (row 1)" in str(report)
    assert "<b>x</b>" not in report._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in report._repr_html_()
    assert "x" not in repr(report.columns["v"]).replace("private", "")
    for private in (report, report.columns["v"]):
        with pytest.raises(TypeError, match="private"):
            pickle.dumps(private)


def test_a_joined_table_is_reported_too(tmp_path: Path) -> None:
    more = pa.table({"who": ["a", "b"], "age": ["30", "old"]})
    report = Vault.check(
        pa.table(ROWS), person="who", tables=[more], columns={"note": dp.Text(), "age": dp.Integer(0, 110)}
    )
    assert counts(report.columns["age"]) == (3, 0, 0, 2, 1, 0)
    assert [(e.number, e.text) for e in report.columns["age"].examples] == [(2, "old")]


@pytest.mark.parametrize(
    ("kind", "texts", "found"),
    [
        ("date", ["26.12.2025", "1.2.2025 "], 'format = "%d.%m.%Y"'),
        ("datetime", ["26.12.2025 13:45"], 'format = "%d.%m.%Y %H:%M"'),
        ("date", ["12/26/2025"], 'format = "%m/%d/%Y"'),
        ("date", ["13-12-2025"], 'format = "%d-%m-%Y"'),
        ("date", ["Dec 26, 2025"], 'format = "%b %d, %Y"'),
        ("number", ["71,86", "1,5"], 'decimal = ","'),
        ("number", ["1.234,50"], 'decimal = "," and thousands = "."'),
        ("number", ["1,234.50"], 'thousands = ","'),
        ("number", ["71,86", "n/a"], ""),
        ("number", ["71,86", "n/a", "1,5"], 'decimal = ","'),
        ("category", ["x"], ""),
        ("number", [], ""),
    ],
)
def test_a_notation_is_suggested_if_it_fits_most_examples(kind: str, texts: list[str], found: str) -> None:
    assert suggestion(kind, texts) == found
