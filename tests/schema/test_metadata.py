"""The public metadata: declared facts only, in one file, replaced whole."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text, metadata
from discreet.schema.metadata import TableMetadata

PEOPLE = TableMetadata(
    "people",
    {
        "age": Integer(0, 110),
        "select": Real(0, 1, "0.01"),
        "Straße": Category(["Ö", "'"], other="?"),
        "ok": Boolean(),
        "day": Date("2020-01-01", "2021-01-01"),
        "hour": Datetime("2020-01-01", "2021-01-01", "1h"),
        "name": Text(),
    },
    person="user_id",
    rows_per_person=8,
    version=3,
    sealed_at="2026-11-16T00:00:00+00:00",
    sources=("people.parquet",),
    joins=("cities.csv, a public table, by city",),
)


def test_metadata_come_back_from_its_file(tmp_path: Path) -> None:
    metadata.write(PEOPLE, tmp_path)
    assert metadata.read(tmp_path) == PEOPLE
    assert list(metadata.read(tmp_path).columns) == list(PEOPLE.columns)
    assert stat.S_IMODE((tmp_path / "description.json").stat().st_mode) == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["description.json"]


def test_a_change_of_metadata_is_noticed_even_if_size_and_time_of_the_file_stay(tmp_path: Path) -> None:
    metadata.write(PEOPLE, tmp_path)
    file = tmp_path / "description.json"
    before = file.stat()
    assert metadata.read(tmp_path).columns["age"] == Integer(0, 110)
    text = file.read_text(encoding="utf-8")
    with open(file, "r+", encoding="utf-8") as same:  # the inode, the length, and below the time stay
        same.write(text.replace("110", "120"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
    assert metadata.read(tmp_path).columns["age"] == Integer(0, 120)


def test_a_reader_changes_only_its_own_copy(tmp_path: Path) -> None:
    metadata.write(PEOPLE, tmp_path)
    mine = metadata.read(tmp_path)
    mine.columns["age"] = Integer(0, 5)  # type: ignore[index]
    assert metadata.read(tmp_path) == PEOPLE


@pytest.mark.parametrize("left", ["rows.duckdb", "rows-2.duckdb", "ledger.sqlite"])
def test_a_vault_that_lost_its_metadata_is_told_from_no_vault(tmp_path: Path, left: str) -> None:
    with pytest.raises(ParameterError, match=r"There is no vault at .*Vault\.seal\(to="):
        metadata.read(tmp_path)
    (tmp_path / left).touch()
    with pytest.raises(
        ParameterError, match=rf"description\.json is missing in .*\(found: {left}\)\. Restore it from a backup"
    ):
        metadata.read(tmp_path)


def test_columns_are_numbered_in_the_order_of_the_schema() -> None:
    assert [PEOPLE.sealed_name(name) for name in ("age", "Straße", "name")] == ["c0", "c2", "c6"]
    assert PEOPLE.has_text
    assert PEOPLE.rows_file == "rows-3.duckdb"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"columns": {}}, "at least one column"),
        ({"columns": ["age", "city"]}, r"\['age', 'city'\].*columns=\{\"age\": dp\.Integer\(0, 110\)\}"),
        ({"columns": {"age": "Integer"}}, "Declare it as Integer, Real"),
        ({"columns": {"": Integer(0, 1)}}, "needs a name"),
        ({"columns": {"Age": Integer(0, 1), "age": Integer(0, 1)}}, "differ in capitals only"),
        ({"columns": {"user_id": Integer(0, 1)}}, "may not be asked about"),
        ({"person": None}, 'Try: person="user_id", or rows_per_person=1'),
        ({"rows_per_person": 0}, "whole number, 1 or more"),
        ({"rows_per_person": 2**25}, "at most 16777216"),
        ({"name": ""}, "needs a name"),
    ],
)
def test_metadata_without_meaning_are_refused(change: dict[str, Any], says: str) -> None:
    fields: dict[str, Any] = {
        "name": "t",
        "columns": {"age": Integer(0, 1)},
        "person": "user_id",
        "rows_per_person": 8,
    }
    with pytest.raises(ParameterError, match=says):
        TableMetadata(**{**fields, **change})


def test_a_place_without_a_vault_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no vault at"):
        metadata.read(tmp_path)
    for damaged in (b"{", b"[1]", b"7", b"\xff", b'{"format": 1, "columns": [], "sources": [], "joins": []}'):
        (tmp_path / "description.json").write_bytes(damaged)
        with pytest.raises(ParameterError, match="damaged"):
            metadata.read(tmp_path)
    (tmp_path / "description.json").write_text(json.dumps({**PEOPLE.as_json(), "format": 9}))
    with pytest.raises(ParameterError, match=r"reads metadata of format 1 \(found: 9\)"):
        metadata.read(tmp_path)
    (tmp_path / "description.json").write_text(json.dumps({"format": 1}))
    with pytest.raises(ParameterError, match="damaged"):
        metadata.read(tmp_path)


def test_a_file_in_the_place_of_a_vault_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").touch()
    with pytest.raises(ParameterError, match=r"people\.parquet is a file, and a vault is a directory"):
        metadata.read(tmp_path / "people.parquet")
    (tmp_path / "description.json").mkdir()
    with pytest.raises(ParameterError, match=r"description\.json cannot be read"):
        metadata.read(tmp_path)


def test_a_vault_of_another_user_is_refused_in_words(tmp_path: Path) -> None:
    metadata.write(PEOPLE, tmp_path)
    tmp_path.chmod(0)
    own = os.geteuid()
    try:
        if own == 0:  # root may read everything
            os.seteuid(65534)
        with pytest.raises(ParameterError, match="This process may not read"):
            metadata.read(tmp_path)
    finally:
        os.seteuid(own)
        tmp_path.chmod(0o700)
