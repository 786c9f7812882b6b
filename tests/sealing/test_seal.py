"""Sealing: bounded persons, total codes, the same from every source, and nothing left behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.statement import FULL, OTHERS
from discreet.errors import ParameterError, SealingFailed
from discreet.schema import Boolean, Category, Column, Date, Datetime, Integer, Real, Text
from discreet.schema import metadata as descriptions
from discreet.schema.metadata import UNIT
from discreet.sealing.seal import reseal, seal
from discreet.sealing.sources import Source
from tests.ledger.processes import Tell, alone
from tests.vault.sealed_tables import SOURCES, Bag, by_person, column, scratch, sealed, tables, types

COLUMNS: dict[str, Column] = {
    "n": Integer(-3, 2**60),
    "x": Real(-1, 1, "0.25", outside="missing"),
    "colour": Category(["red", "it's", "Ö"], other="another"),
    "ok": Boolean(missing=False),
    "day": Date("2020-01-01", "2020-12-31"),
    "at": Datetime("2020-01-01", "2021-01-01", "6h"),
    "free": Text(),
}
TYPES = pa.schema(
    [
        ("who", pa.string()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("colour", pa.string()),
        ("ok", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("free", pa.string()),
    ]
)

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=6)
ROWS = st.fixed_dictionaries(
    {
        "who": st.none() | st.sampled_from(["a", "b", "b ", "ß", "NULL"]),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**53 + 1, 2**60 - 1, 0, -3]),
        "x": st.none() | st.floats(),
        "colour": st.none() | st.sampled_from(["red", "it's", "Ö", "O\u0308", "red ", "blue"]),
        "ok": st.none() | st.booleans(),
        "day": st.none() | st.dates(),
        "at": st.none() | st.datetimes(timezones=st.just(UTC)),
        "free": st.none() | WORDS,
    }
)
TABLES = st.lists(ROWS, max_size=14)


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, TYPES)


def bags(rows: list[dict[str, Any]], place: Path, allowed: int = 2) -> Counter[Bag]:
    seal(table(rows), to=place, person="who", rows_per_person=allowed, columns=COLUMNS, threads=1)
    return by_person(sealed(place))


# The laws


@settings(deadline=None, max_examples=15)
@given(TABLES, st.integers(1, 4))
def test_no_row_is_lost_and_no_person_weighs_more_than_allowed(rows: list[dict[str, Any]], allowed: int) -> None:
    with scratch() as place:
        seal(table(rows), to=place / "v", person="who", rows_per_person=allowed, columns=COLUMNS, threads=1)
        result = sealed(place / "v")
    assert len(result) == len(rows)
    weights, spots, sizes = Counter[int](), Counter[int](), Counter[int]()
    for row in result:
        weights[row["person"]] += row["w"]
        spots[row["person"]] += row["spot"]
        sizes[row["person"]] += 1
    assert Counter(sizes.values()) == Counter(Counter(row["who"] for row in rows).values())
    assert set(sizes) == set(range(len(sizes)))
    for person, n in sizes.items():
        each = UNIT if n <= allowed else UNIT * allowed // n
        assert weights[person] == n * each <= allowed * UNIT
        assert spots[person] == min(n, allowed)
    for row in result:
        for i, declared in enumerate(COLUMNS.values()):
            if declared.levels is not None:
                assert row[f"c{i}"] is None or 0 <= row[f"c{i}"] < declared.levels


@settings(deadline=None, max_examples=15)
@given(TABLES, st.lists(ROWS, min_size=1, max_size=5), st.integers(0, 14))
def test_another_person_changes_nobody_elses_rows_weights_or_spots(
    rows: list[dict[str, Any]], extra: list[dict[str, Any]], at: int
) -> None:
    newcomer = [{**row, "who": "somebody new"} for row in extra]
    with scratch() as place:
        before = bags(rows, place / "before")
        after = bags([*rows[:at], *newcomer, *rows[at:]], place / "after")
    assert before <= after
    assert (after - before).total() == 1


@settings(deadline=None, max_examples=5)
@given(TABLES)
def test_every_source_gives_the_same_rows(rows: list[dict[str, Any]]) -> None:
    found = {}
    with scratch() as place:
        for name, made in SOURCES.items():
            source = made(table(rows), place)
            seal(source, to=place / name, person="who", rows_per_person=2, columns=COLUMNS, threads=1)
            found[name] = by_person(sealed(place / name))
    assert found == dict.fromkeys(SOURCES, found["arrow"])


@settings(deadline=None, max_examples=10)
@given(TABLES)
def test_without_a_person_column_every_row_is_a_person(rows: list[dict[str, Any]]) -> None:
    with scratch() as place:
        seal(table(rows), to=place / "v", person=None, columns=COLUMNS, threads=1)
        result = sealed(place / "v")
    assert sorted(row["person"] for row in result) == list(range(len(rows)))
    assert all(row["w"] == UNIT and row["spot"] for row in result)


def test_spots_do_not_depend_on_who_else_there_is(tmp_path: Path) -> None:
    keys = [f"k{i}" for i in range(20)]

    def kept(name: str, persons: list[int]) -> set[tuple[int, str]]:
        rows = pa.table({"who": [p for p in persons for _ in keys], "s": keys * len(persons)})
        rows = rows.append_column("n", rows["who"])
        columns: dict[str, Column] = {"n": Integer(0, 99), "s": Text()}
        seal(rows, to=tmp_path / name, person="who", rows_per_person=3, columns=columns)
        return {(row["c0"], row["c1"]) for row in sealed(tmp_path / name) if row["spot"]}

    before, after = kept("before", [73, 75, 78]), kept("after", [*range(50), 78, 75, 73])
    assert len(before) == 9
    assert before == {(person, key) for person, key in after if person > 50}


# Particular tables


def test_weights_are_rounded_down(tmp_path: Path) -> None:
    rows = pa.table(
        {"who": [n for n in range(1, 13) for _ in range(n)], "n": [n for n in range(1, 13) for _ in range(n)]}
    )
    seal(rows, to=tmp_path / "v", person="who", rows_per_person=5, columns={"n": Integer(0, 12)})
    found = {row["c0"]: row["w"] for row in sealed(tmp_path / "v")}
    heavy = {6: 3413, 7: 2925, 8: 2560, 9: 2275, 10: 2048, 11: 1861, 12: 1706}
    assert found == {**dict.fromkeys(range(1, 6), 4096), **heavy}


def test_codes_lie_in_types_that_are_added_up_fastest(tmp_path: Path) -> None:
    columns: dict[str, Column] = {
        "who": Integer(0, 2**20),
        "n": Integer(0, 127),
        "x": Integer(0, 128),
        "free": Text(),
        "day": COLUMNS["n"],
    }
    seal(table([]), to=tmp_path / "v", person=None, columns=columns)
    codes = {"c0": "INTEGER", "c1": "INTEGER", "c2": "INTEGER", "c3": "VARCHAR", "c4": "BIGINT"}
    assert types(tmp_path / "v") == {"person": "BIGINT", "w": "SMALLINT", **codes, "spot": "BOOLEAN"}


@settings(deadline=None, max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "", "a", "b", "c"])), max_size=12))
def test_a_person_is_marked_only_if_no_text_is_there_twice(rows: list[tuple[int, str | None]]) -> None:
    """A mark that is wrong would let one person count twice for one text."""
    source = pa.table({"who": [who for who, _ in rows], "free": pa.array([text for _, text in rows], pa.string())})
    with scratch() as place:
        seal(source, to=place / "v", person="who", rows_per_person=2, columns={"free": Text()}, threads=1)
        result = sealed(place / "v")
    persons: dict[int, list[dict[str, Any]]] = {}
    for row in result:
        persons.setdefault(row["person"], []).append(row)
    for own in persons.values():
        texts = [row["c0"] for row in own]
        assert len({row["once0"] for row in own}) == 1
        assert not own[0]["once0"] or len({*texts}) == len(texts)
        assert own[0]["once0"] or len(texts) > 1, "one text is no text twice"


def test_most_persons_with_different_texts_are_marked(tmp_path: Path) -> None:
    """A pair of texts shares one of 64 bits with probability 1/64: of 3,000 persons some 47 are not marked."""
    source = pa.table({"who": [i // 2 for i in range(6000)], "free": [f"text {i}" for i in range(6000)]})
    seal(source, to=tmp_path / "v", person="who", rows_per_person=2, columns={"free": Text()})
    assert sum(row["once0"] for row in sealed(tmp_path / "v")) > 5600


@pytest.mark.parametrize("allowed", [3, 4])
@pytest.mark.parametrize("column", [Integer(0, 9), Text()])
def test_rows_of_full_weight_are_stored_apart_from_the_others(
    tmp_path: Path, column: Integer | Text, allowed: int
) -> None:
    """Of 2,720 persons 20 have fifty rows, and the others three or four."""
    persons = [i % 3000 if i % 10 else 3000 + i % 200 for i in range(10_000)]
    source = pa.table({"who": persons, "n": [str(i % 10) for i in range(10_000)]})
    seal(source, to=tmp_path / "v", person="who", rows_per_person=allowed, columns={"n": column})
    rows = sealed(tmp_path / "v")
    full, others = (sealed(tmp_path / "v", table=name) for name in (FULL, OTHERS))
    assert len(full) + len(others) == len(rows) == 10_000
    assert {"w", "spot"}.isdisjoint(full[0]), "what is the same for every row is not stored"
    assert len(full) == sum(row["w"] == UNIT for row in rows)
    assert {row["w"] for row in others} == {row["w"] for row in rows} - {UNIT}
    if column == Text():
        spots = Counter(row["person"] for row in rows if row["spot"])
        assert {*spots.values()} == {min(n, allowed) for n in Counter(row["person"] for row in rows).values()}


def test_a_table_for_rows_over_the_bound_is_made_only_if_there_are_any(tmp_path: Path) -> None:
    source = pa.table({"who": [1, 1, 2], "n": [1, 2, 3]})
    seal(source, to=tmp_path / "v", person="who", rows_per_person=2, columns={"n": Integer(0, 9)})
    assert tables(tmp_path / "v") == {FULL}
    assert sorted((row["w"], row["c0"]) for row in sealed(tmp_path / "v")) == [(UNIT, 1), (UNIT, 2), (UNIT, 3)]


def test_there_are_no_spots_without_texts(tmp_path: Path) -> None:
    seal(table([]), to=tmp_path / "v", person="who", columns={"n": Integer(0, 9)})
    assert list(types(tmp_path / "v")) == ["person", "w", "c0"]
    assert sealed(tmp_path / "v") == []


def test_one_row_is_sealed(tmp_path: Path) -> None:
    described = seal(pa.table({"n": [7]}), to=tmp_path / "one.vault", person=None, columns={"n": Integer(5, 9)})
    assert sealed(tmp_path / "one.vault") == [{"person": 0, "w": UNIT, "c0": 2}]
    assert described.name == "one"


def test_a_person_with_5000_rows_weighs_what_is_allowed_and_keeps_all_rows(tmp_path: Path) -> None:
    rows = pa.table({"who": ["heavy"] * 5000 + ["light"] * 3, "n": [*range(5000), 1, 2, 3], "s": ["k"] * 5003})
    columns: dict[str, Column] = {"n": Integer(0, 4999), "s": Text()}
    seal(rows, to=tmp_path / "v", person="who", rows_per_person=3, columns=columns)
    result = sealed(tmp_path / "v")
    assert Counter(row["w"] for row in result) == {UNIT * 3 // 5000: 5000, UNIT: 3}
    assert sum(row["spot"] for row in result if row["w"] < UNIT) == 3
    assert sorted(row["c0"] for row in result if row["w"] < UNIT) == list(range(5000))


def test_a_weight_may_round_down_to_nothing(tmp_path: Path) -> None:
    seal(
        pa.table({"who": [1] * 5000, "n": [1] * 5000}),
        to=tmp_path / "v",
        person="who",
        columns={"n": Integer(0, 1)},
    )
    assert Counter(row["w"] for row in sealed(tmp_path / "v")) == {0: 5000}


def test_persons_keep_different_spots_of_the_same_rows(tmp_path: Path) -> None:
    keys = [f"k{i}" for i in range(20)]
    rows = pa.table({"who": [p for p in range(50) for _ in keys], "s": keys * 50})
    seal(rows, to=tmp_path / "v", person="who", rows_per_person=1, columns={"s": Text()})
    kept = Counter(row["c0"] for row in sealed(tmp_path / "v") if row["spot"])
    assert kept.total() == 50
    assert len(kept) > 5, "a spot that depends on the key alone would be the same for every person"


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([None, None, 1], pa.int64()),
        pa.array([float("nan"), None, 1.0]),
        pa.array([float("nan"), float("nan"), -0.0]),
        pa.array([None, None, "x"]),
    ],
)
def test_rows_of_nobody_are_one_person(tmp_path: Path, ids: pa.Array) -> None:
    seal(pa.table({"who": ids, "n": [1, 2, 3]}), to=tmp_path / "v", person="who", columns={"n": Integer(0, 9)})
    assert Counter(row["w"] for row in sealed(tmp_path / "v")) == {UNIT // 2: 2, UNIT: 1}


def test_integers_beyond_2_to_the_53_stay_exact_from_every_source(tmp_path: Path) -> None:
    values = [2**53 + 1, 2**53 + 3, 2**60 - 1, None]
    rows = pa.table({"n": pa.array(values, pa.int64())})
    for name, made in SOURCES.items():
        if name == "pandas":  # a float64 before we see it
            continue
        described = seal(made(rows, tmp_path), to=tmp_path / name, person=None, columns={"n": Integer(0, 2**61)})
        assert column(tmp_path / name, described, "n") == values


def test_names_may_be_keywords_quotes_and_unicode(tmp_path: Path) -> None:
    names = ["select", "Straße", 'a"b', "c0", "w", "person", "key", "spot", "a b", "日本", "x;--"]
    rows = pa.table({"from": [1, 1], **{name: [i, i] for i, name in enumerate(names)}})
    for kind in ("arrow", "parquet", "csv", "duckdb", "pandas", "polars"):
        described = seal(
            SOURCES[kind](rows, tmp_path),
            to=tmp_path / kind,
            person="from",
            columns={name: Integer(0, 100) for name in names},
        )
        assert [column(tmp_path / kind, described, name) for name in names] == [[i, i] for i in range(len(names))]


def test_a_pandas_column_of_mixed_objects_is_read_value_by_value(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"n": [1, "2", 3.0, None, float("nan"), "x", pd.NA, 2**70, b"4", date(2020, 1, 1)]}, dtype=object
    )
    described = seal(frame, to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})
    assert column(tmp_path / "v", described, "n") == [1, 2, 3, 9, *[None] * 6]


def test_pandas_and_polars_categories_times_and_odd_types_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["a", "b", None]),
            "t": pd.to_datetime(["2020-01-02", None, "2020-01-03"]),
            "i": pd.array([1, None, 3], dtype="Int64"),
            "m": pd.Categorical([1, "b", None]),
            "p": pd.period_range("2020-01-01", periods=3),
        }
    )
    columns: dict[str, Column] = {
        "c": Category(["a", "b"]),
        "t": Date("2020-01-01", "2020-12-31"),
        "i": Integer(0, 9),
        "m": Category(["1", "b"]),
        "p": Date("2020-01-01", "2020-12-31"),
    }
    described = seal(frame, to=tmp_path / "pandas", person=None, columns=columns)
    found = [column(tmp_path / "pandas", described, name) for name in columns]
    assert found == [[0, 1, None], [1, 2, None], [1, 3, None], [0, 1, None], [0, 1, 2]]
    lazy = pl.LazyFrame(
        {
            "c": pl.Series(["a", "b", None], dtype=pl.Enum(["b", "a"])),
            "t": [datetime(2020, 1, 2), None, datetime(2020, 1, 3)],
            "i": pl.Series([1, None, 3], dtype=pl.UInt8),
            "m": pl.Series(["1", "b", None], dtype=pl.Categorical),
            "p": pl.Series([date(2020, 1, 1), "2020-01-02", None], dtype=pl.Object),
        }
    )
    described = seal(lazy, to=tmp_path / "polars", person=None, columns=columns)
    found = [column(tmp_path / "polars", described, name) for name in columns]
    assert found == [[0, 1, None], [1, 2, None], [1, 3, None], [0, 1, None], [0, 1, None]]


def test_only_what_is_declared_is_renamed(tmp_path: Path) -> None:
    given = Source(pa.table({"a": [1], "b": [2]}), rename={"a": "n", "b": "m"})
    described = seal(given, to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})
    assert column(tmp_path / "v", described, "n") == [1]


def test_columns_that_nobody_declared_are_not_even_looked_at(tmp_path: Path) -> None:
    odd = pa.array([None], pa.list_(pa.decimal256(60, 1)))
    seal(pa.table({"n": [1], "odd": odd}), to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})
    assert len(sealed(tmp_path / "v")) == 1


# What is refused


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"columns": {"years": Integer(0, 9)}}, "no column 'years'. It has 'who', 'n'"),
        ({"person": "whom"}, "no column 'whom'. Did you mean 'who'[?] It has 'who', 'n'"),
        (
            {"columns": {"n": Date("2020-01-01", "2021-01-01")}},
            r"declared as Date, .* \(found: BIGINT\)",
        ),
        ({"rows_per_person": 0}, "whole number, 1 or more"),
        ({"person": None, "rows_per_person": 3}, "every row is a person"),
        ({"source": "nowhere.parquet"}, "no file nowhere.parquet"),
        ({"source": [1, 2]}, r"not a table that can be sealed \(found: list\)"),
        ({"source": Source("tests/conftest.py")}, r"\.parquet, \.pq, \.csv"),
        ({"to": "/nowhere/at/all/v"}, r"directory for the vault does not exist \(found: /nowhere/at/all\)"),
    ],
)
def test_what_cannot_be_sealed_is_refused_in_words_and_leaves_nothing(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    arguments: dict[str, Any] = {
        "source": table([]).select(["who", "n"]),
        "to": tmp_path / "v",
        "person": "who",
        "columns": {"n": Integer(0, 9)},
        **change,
    }
    with pytest.raises(ParameterError, match=says):
        seal(arguments.pop("source"), **arguments)
    assert os.listdir(tmp_path) == []


def test_a_table_of_a_duckdb_file_is_named(tmp_path: Path) -> None:
    SOURCES["duckdb"](table([]), tmp_path)
    with pytest.raises(ParameterError, match=r"Source\(table=.the rows.\)\. It has the tables 'the rows'"):
        seal(tmp_path / "store.duckdb", to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})


def test_a_file_that_is_no_database_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(SealingFailed, match=r"other\.db, table t cannot be read"):
        seal(
            Source(tmp_path / "other.db", table="t"), to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)}
        )
    assert os.listdir(tmp_path) == ["other.db"]


def test_csv_headers_must_agree_and_be_unique(tmp_path: Path) -> None:
    for name, text in (("a.csv", "x,y\n"), ("b.csv", "y,x\n"), ("c.csv", "x,x\n"), ("d.csv", "")):
        (tmp_path / name).write_text(text)
    columns: dict[str, Column] = {"x": Integer(0, 9)}
    with pytest.raises(ParameterError, match=r"b\.csv has another header than a.csv"):
        seal([tmp_path / "a.csv", tmp_path / "b.csv"], to=tmp_path / "v", person=None, columns=columns)
    with pytest.raises(ParameterError, match="names 'x' twice"):
        seal(tmp_path / "c.csv", to=tmp_path / "v", person=None, columns=columns)
    with pytest.raises(ParameterError, match="no header line"):
        seal(tmp_path / "d.csv", to=tmp_path / "v", person=None, columns=columns)


def test_a_broken_file_is_an_error_that_quotes_no_row(tmp_path: Path) -> None:
    secret = b"Ada Lovelace \xff\xfe"
    batch = pa.RecordBatch.from_arrays([pa.array([secret]).view(pa.binary())], ["name"])
    broken = pa.Array.from_buffers(pa.string(), 1, batch.column(0).buffers())
    pq.write_table(pa.Table.from_arrays([broken], ["name"]), tmp_path / "broken.parquet")
    with pytest.raises(SealingFailed) as failed:
        seal(tmp_path / "broken.parquet", to=tmp_path / "v", person=None, columns={"name": Text()})
    error: BaseException | None = failed.value
    while error is not None:
        assert "Lovelace" not in str(error)
        error = error.__context__
    assert os.listdir(tmp_path) == ["broken.parquet"]


def test_a_file_that_is_not_what_it_is_called_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "people.parquet").write_text("Ada Lovelace")
    with pytest.raises(SealingFailed, match=r"people\.parquet cannot be read"):
        seal(tmp_path / "people.parquet", to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})
    assert os.listdir(tmp_path) == ["people.parquet"]


def test_an_existing_place_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    with pytest.raises(ParameterError, match="never overwritten"):
        seal(table([]), to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})


@pytest.mark.parametrize(("rights", "says"), [(0o555, "the right to write to"), (0o444, "the right to enter")])
def test_a_directory_that_may_not_be_used_is_named(rights: int, says: str) -> None:
    def as_a_user(tell: Tell) -> None:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        with pytest.raises(ParameterError) as refused:
            seal(pa.table({"n": [1]}), to=folder / "v", person=None, columns={"n": Integer(0, 9)})
        tell(str(refused.value))

    # Not pytest's own folder, which only root may enter.
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(rights)
        ended = alone(as_a_user)
        folder.chmod(0o755)
    assert ended.status == 0, ended
    assert f"the directory {folder}" in ended.told[0]
    assert says in ended.told[0]
    assert "sealing-" not in ended.told[0]


# On disk


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_vault_is_the_owners_and_only_its_description_is_public(tmp_path: Path) -> None:
    def furnish(directory: Path) -> None:
        (directory / "ledger.sqlite").touch(0o666)

    described = seal(table([]), to=tmp_path / "v", person="who", columns=COLUMNS, furnish=furnish)
    assert {path.name: mode(path) for path in (tmp_path / "v").iterdir()} == {
        "description.json": 0o644,
        "rows.duckdb": 0o600,
        "ledger.sqlite": 0o600,
    }
    assert mode(tmp_path / "v") == 0o700
    assert os.listdir(tmp_path) == ["v"]
    assert descriptions.read(tmp_path / "v") == described


def test_nothing_of_the_data_is_in_the_description(tmp_path: Path) -> None:
    rows = [{**dict.fromkeys(TYPES.names), "who": "Ada", "n": 77_123, "free": "Lovelace"}] * 4321
    seal(table(rows), to=tmp_path / "v", person="who", columns=COLUMNS)
    text = (tmp_path / "v" / "description.json").read_text()
    assert not any(word in text for word in ("Ada", "77123", "77120", "Lovelace", "4321"))


class Stopped(Exception):
    pass


@pytest.mark.parametrize("stop", [Stopped, KeyboardInterrupt])
def test_whatever_stops_it_leaves_nothing_behind(tmp_path: Path, stop: type[BaseException]) -> None:
    for stage in ("reading rows", "weighing rows", "writing rows"):

        def progress(current: str, done: float, stage: str = stage) -> None:
            if current == stage:
                raise stop

        with pytest.raises(stop):
            seal(table([]), to=tmp_path / "v", person="who", columns=COLUMNS, progress=progress)
        assert os.listdir(tmp_path) == []

    def furnish(directory: Path) -> None:
        raise stop

    with pytest.raises(stop):
        seal(table([]), to=tmp_path / "v", person="who", columns=COLUMNS, furnish=furnish)
    assert os.listdir(tmp_path) == []


def endless(begun: threading.Event) -> pa.RecordBatchReader:
    def batches() -> Any:
        while True:
            begun.set()
            yield pa.record_batch({"n": list(range(1000))})

    return pa.RecordBatchReader.from_batches(pa.schema([("n", pa.int64())]), batches())


@pytest.mark.parametrize("watched", [False, True])
def test_an_interrupt_stops_a_running_query(tmp_path: Path, watched: bool) -> None:
    seen: list[float] = []
    begun, over = threading.Event(), threading.Event()

    def interrupt() -> None:
        """Press Ctrl-C when the engine reads rows, as a person would, and again if nothing happens for long."""
        begun.wait(600)
        pause = 0.5
        while not over.wait(pause):
            os.kill(os.getpid(), signal.SIGINT)
            pause = 30

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever another test left behind
    person = threading.Thread(target=interrupt)
    person.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            seal(
                endless(begun),
                to=tmp_path / "v",
                person=None,
                columns={"n": Integer(0, 9)},
                progress=(lambda stage, done: seen.append(done)) if watched else None,
            )
    finally:
        over.set()
        person.join()
        signal.signal(signal.SIGINT, before)
    assert os.listdir(tmp_path) == []
    assert bool(seen) == watched


KILLED = """
import os, signal, sys, pyarrow
from discreet.schema import Integer
from discreet.sealing.seal import seal
def furnish(directory):
    os.kill(os.getpid(), signal.SIGKILL)
seal(pyarrow.table({"n": [1]}), to=sys.argv[1], person=None, columns={"n": Integer(0, 9)}, furnish=furnish)
"""


def test_a_killed_sealing_leaves_a_directory_that_the_next_one_removes(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "v")], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".v.sealing-")
    assert mode(tmp_path / left) == 0o700
    seal(table([]), to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})
    assert os.listdir(tmp_path) == ["v"]


def test_two_sealings_to_one_place_do_not_harm_each_other(tmp_path: Path) -> None:
    columns: dict[str, Column] = {"n": Integer(0, 9)}

    def furnish(directory: Path) -> None:
        seal(pa.table({"n": [1, 2]}), to=tmp_path / "v", person=None, columns=columns)
        assert directory.exists(), "a living directory is not cleared away"

    with pytest.raises(ParameterError, match="never overwritten"):
        seal(pa.table({"n": [3]}), to=tmp_path / "v", person=None, columns=columns, furnish=furnish)
    assert sorted(row["c0"] for row in sealed(tmp_path / "v")) == [1, 2]
    assert os.listdir(tmp_path) == ["v"]


def test_progress_goes_from_nothing_to_all_of_each_stage(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    seal(table([]), to=tmp_path / "v", person="who", columns=COLUMNS, progress=lambda *now: told.append(now))
    assert list(dict.fromkeys(stage for stage, _ in told)) == [
        *("reading rows", "weighing persons", "weighing rows", "writing rows")
    ]
    assert all(0 <= done <= 1 for _, done in told)
    assert told[0] == ("reading rows", 0.0)
    assert told[-1] == ("writing rows", 1.0)


def test_sealing_spills_into_its_own_place_when_memory_is_small(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        target = tmp_path / "many.parquet"
        many = "SELECT range // 3 AS who, md5(range::VARCHAR) AS s FROM range(400000)"
        connection.execute(f"COPY ({many}) TO '{target}' (FORMAT parquet)")
    columns: dict[str, Column] = {"s": Text()}
    seal(target, to=tmp_path / "v", person="who", rows_per_person=2, columns=columns, memory="40MB", threads=1)
    with duckdb.connect(str(tmp_path / "v" / "rows.duckdb"), read_only=True) as connection:
        counted = connection.execute("SELECT count(*), sum(spot::INT), max(w) FROM rows").fetchall()
    assert counted == [(400_000, 2 * 133_333 + 1, UNIT)]
    assert sorted(os.listdir(tmp_path / "v")) == ["description.json", "rows.duckdb"]


# A second version


def test_a_new_version_stands_beside_the_old_one_and_the_description_names_it(tmp_path: Path) -> None:
    columns: dict[str, Column] = {"n": Integer(0, 9)}
    first = seal(pa.table({"who": [1], "n": [1]}), to=tmp_path / "v", person="who", columns=columns, name="visits")
    second = reseal(pa.table({"who": [1, 1], "n": [2, 3]}), to=tmp_path / "v", rows_per_person=2)
    assert (first.version, second.version, second.rows_file) == (1, 2, "rows-2.duckdb")
    assert (second.name, second.person, second.columns) == ("visits", "who", columns)
    assert descriptions.read(tmp_path / "v") == second
    assert [row["c0"] for row in sealed(tmp_path / "v")] == [1]
    assert sorted(row["c0"] for row in sealed(tmp_path / "v", "rows-2.duckdb")) == [2, 3]
    assert mode(tmp_path / "v" / "rows-2.duckdb") == 0o600
    third = reseal(pa.table({"who": [1], "m": [5]}), to=tmp_path / "v", columns={"m": Integer(0, 5)})
    assert third.version == 3
    assert sorted(os.listdir(tmp_path / "v")) == [
        "description.json",
        "rows-2.duckdb",
        "rows-3.duckdb",
        "rows.duckdb",
    ]


def test_a_new_version_that_fails_leaves_the_vault_as_it_was(tmp_path: Path) -> None:
    columns: dict[str, Column] = {"n": Integer(0, 9)}
    first = seal(pa.table({"n": [1]}), to=tmp_path / "v", person=None, columns=columns)

    def progress(stage: str, done: float) -> None:
        if stage == "writing rows":
            raise Stopped

    with pytest.raises(Stopped):
        reseal(pa.table({"n": [2]}), to=tmp_path / "v", progress=progress)
    with pytest.raises(ParameterError, match="no column 'n'"):
        reseal(pa.table({"m": [2]}), to=tmp_path / "v")
    assert descriptions.read(tmp_path / "v") == first
    assert sorted(os.listdir(tmp_path / "v")) == ["description.json", "rows.duckdb"]


def test_one_vault_is_resealed_by_one_at_a_time(tmp_path: Path) -> None:
    seal(pa.table({"n": [1]}), to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)})

    def progress(stage: str, done: float) -> None:
        with pytest.raises(ParameterError, match="being sealed by another"):
            reseal(pa.table({"n": [3]}), to=tmp_path / "v")

    assert reseal(pa.table({"n": [2]}), to=tmp_path / "v", progress=progress).version == 2


def test_there_is_nothing_to_reseal_where_no_vault_is(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no vault at"):
        reseal(table([]), to=tmp_path / "v")


WITHOUT_PANDAS = """
import sys, pyarrow
from discreet.schema import Integer
from discreet.sealing.seal import seal
people = pyarrow.ipc.open_stream(sys.argv[1]).read_all()  # pyarrow itself imports pandas to read a list
seal(people, to=sys.argv[2], name="people", person=None, columns={"age": Integer(0, 110)})
print("pandas" in sys.modules)
"""


def test_a_table_is_sealed_without_pandas(tmp_path: Path) -> None:
    people = pa.table({"age": [20, 30, None], "colour": ["red", "blue", None]})
    with pa.ipc.new_stream(tmp_path / "people.arrows", people.schema) as stream:
        stream.write_table(people)
    command = [
        sys.executable,
        "-c",
        WITHOUT_PANDAS,
        str(tmp_path / "people.arrows"),
        str(tmp_path / "people.vault"),
    ]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert sorted(row["c0"] or 0 for row in sealed(tmp_path / "people.vault")) == [0, 20, 30]
