"""Sealing inside a PostgreSQL database: the same integers as outside, whatever the type and the value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import nodes, sql_writer
from discreet.postgres import Address, connected, execute
from discreet.schema import Column
from discreet.sealing import seal
from discreet.sealing.sources import Source
from discreet.sealing.sources import postgres as relations
from discreet.vault.storage import postgres as in_postgres
from tests.servers.postgres import Server
from tests.vault.postgres_vaults import loaded, numbers, rows_of
from tests.vault.sealed_tables import Bag, by_person, sealed

pytestmark = pytest.mark.xdist_group("postgres")

NUMBERS: list[Column] = [
    dp.Integer(0, 100),
    dp.Integer(-5, 5, outside="missing", missing=0),
    dp.Integer(-(2**61), 2**61 - 1),
    dp.Integer(-(2**61), 2**61 - 1, outside="missing"),
    dp.Real(-10, 1000, step="0.1"),
    dp.Real("-0.5", "1e6", step=100, outside="missing"),
]
LABELS: list[Column] = [
    dp.Category([0, 1, 7, 100, -3], other=-1),
    dp.Category(["0", "1", "true", "a", "A", "it's", "ß", "2024-02-29", "0.1", "inf", '"', "\\"], other="else"),
    dp.Boolean(),
    dp.Boolean(missing=True),
]
TIMES: list[Column] = [
    dp.Date("1990-01-01", "2024-12-31"),
    dp.Date("2000-01-01", "2024-02-29", outside="missing", missing="2000-01-01"),
    dp.Datetime("2000-01-01", "2024-12-31", step="1h"),
    dp.Datetime("1970-01-01", "2024-02-29 12:00", step="7min", outside="missing"),
]
TEXT: list[Column] = [dp.Text()]

TEXTS: list[Any] = [
    *(
        "0",
        "1",
        "7",
        "100",
        "-3",
        "0x1F",
        "1e3",
        " 12 ",
        "\t12\n",
        "\u00a012",
        "١٢",
        "1_000",
        "infinity",
        "inf",
        "-inf",
    ),
    *(
        "nan",
        "NaN",
        "+5",
        "-0",
        "5.",
        ".5",
        ".",
        "1e400",
        "-1e400",
        "1e-400",
        "-1e-400",
        "1e309",
        "0.1",
        "1.5",
        "2.5",
    ),
    *(
        "9007199254740993",
        "2305843009213693951",
        "2305843009213693950.5",
        "2305843009213693951.4",
        "-2305843009213693952",
        "1e30",
        "99999999999999",
    ),
    *(
        "1,000",
        "1 000",
        "12abc",
        "½",
        "0b11",
        "0o7",
        "true",
        "false",
        "t",
        "F",
        "yes",
        "N",
        "on",
        "off",
        " true ",
        "tr",
    ),
    *(
        "",
        " ",
        "a",
        "A",
        "a ",
        "it's",
        "ß",
        "\\",
        '"',
        "👍",
        "e\u0301",
        "é",
        "null",
        "NULL",
        "2024-02-29",
        "2024-2-9",
    ),
    *(
        "2024-02-30",
        "24-01-05",
        "4-1-5",
        "024-01-05",
        "2024/01/05",
        "2024 01 05",
        "20240105",
        "2024-01-05T10:00:00Z",
    ),
    *("2024-01-05 10:00:00+02", "2024-01-05 10:00:00-05:30", "2024-01-05 10:00:00+0530", "2024-01-05 24:00:00"),
    *("2024-01-05 23:59:60", "2024-01-05 23:59:59.9999999", "2024-01-05 10:00:00.12345650001", "2024-01-05 1:2:3"),
    *(
        "2024-01-05  10:00",
        "2024-01-05 10",
        "2024-01-05T",
        "now",
        "today",
        "tomorrow",
        "yesterday",
        "epoch",
        "-infinity",
    ),
    *(
        "January 5, 2024",
        "5 Jan 2024",
        "01/05/2024",
        "05.01.2024",
        "2024-005",
        "J2451187",
        "99999-01-01",
        "300000-01-01",
    ),
    *(
        "2024-01-05 10:00:00 Europe/Berlin",
        "2024-01-05 10:00:00 UTC",
        "2024-01-05 ",
        " 2024-01-05",
    ),
    *(
        "2024-01-05 25:00:00",
        "2024-13-01",
        "2024-01-05 10:00 ",
        "2024-01-05 10:00:00.",
        "INFINITY",
        "Epoch",
        "0001-01-01",
    ),
]
FLOATS: list[Any] = [
    *(
        0.0,
        -0.0,
        1.0,
        7.0,
        100.0,
        -3.0,
        0.1,
        0.05,
        0.15,
        2.5,
        3.5,
        -0.5,
        -1.5,
        1e16,
        2.0**53,
        2.0**53 + 2,
        2.0**61,
    ),
    *(
        2.0**62,
        -(2.0**62),
        2.0**63,
        1e19,
        1e300,
        -1e300,
        1.7976931348623157e308,
        5e-324,
        float("inf"),
        float("-inf"),
    ),
    *(float("nan"), 99.95, 100.04999, 1e-5, 123456789.123, 0.1 + 0.2, 999.95, 1e6, 1e6 + 50, -0.4999),
]
WHOLES: list[Any] = [
    0,
    1,
    7,
    100,
    101,
    -3,
    -1,
    2**15,
    -(2**31),
    2**53 + 1,
    2**61 - 1,
    -(2**61),
    2**63 - 1,
    -(2**63),
]
DAYS: list[Any] = [
    *(
        date(1, 1, 1),
        date(1969, 12, 31),
        date(1970, 1, 1),
        date(1999, 12, 31),
        date(2000, 1, 1),
        date(2024, 2, 29),
    ),
    *(date(2024, 12, 31), date(2025, 1, 1), date(9999, 12, 31)),
]
INSTANTS: list[Any] = [
    *(datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(2000, 1, 1)),
    *(datetime(2024, 2, 29, 11, 59, 59, 999999), datetime(2024, 2, 29, 12), datetime(2024, 2, 29, 12, 0, 0, 1)),
    *(datetime(2024, 12, 31), datetime(2024, 12, 31, 0, 0, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),
]
FAMILIES: dict[str, tuple[str, pa.DataType, list[Any], list[Column]]] = {
    "text": ("text", pa.string(), TEXTS, NUMBERS + LABELS + TIMES + TEXT),
    "bigint": ("bigint", pa.int64(), WHOLES, NUMBERS + LABELS + TEXT),
    "integer": ("integer", pa.int32(), [v for v in WHOLES if abs(v) <= 2**31 - 1], NUMBERS + LABELS + TEXT),
    "double": ("double precision", pa.float64(), FLOATS, NUMBERS + LABELS + TEXT),
    "real": ("real", pa.float32(), [v for v in FLOATS if abs(v) < 1e38 or v != v], NUMBERS + LABELS + TEXT),
    "boolean": ("boolean", pa.bool_(), [True, False], NUMBERS + LABELS + TEXT),
    "date": ("date", pa.date32(), DAYS, NUMBERS + LABELS + TIMES + TEXT),
    "timestamp": ("timestamp", pa.timestamp("us"), INSTANTS, NUMBERS + LABELS + TIMES + TEXT),
    "timestamptz": (
        "timestamptz",
        pa.timestamp("us", "UTC"),
        [v.replace(tzinfo=UTC) for v in INSTANTS],
        NUMBERS + LABELS + TIMES + TEXT,
    ),
    "decimal": (
        "numeric(22, 3)",
        pa.decimal128(22, 3),
        [
            Decimal(v)
            for v in (
                "0",
                "1",
                "-3",
                "7.0",
                "0.1",
                "0.05",
                "0.5",
                "-0.5",
                "2.5",
                "99999999999999999.999",
                "2305843009213693951.4",
            )
        ],
        NUMBERS + LABELS + TEXT,
    ),
    "wide decimal": (
        "numeric(38, 0)",
        pa.decimal128(38, 0),
        [Decimal(v) for v in (0, 1, -3, 2**53 + 1, 2**61 - 1, -(2**61), 10**37, -(10**37))],
        NUMBERS + LABELS + TEXT,
    ),
}


def everywhere(
    server: Server, address: str, folder: Path, table: pa.Table, kinds: Sequence[str], **declared: Any
) -> dict[str, Counter[Bag]]:
    """What sealing gives, of each way to seal the same rows."""
    pq.write_table(table, folder / "rows.parquet")
    source = loaded(server, table, kinds)
    there = in_postgres.seal(source, to=address, budget=dp.Budget(1), **declared)
    found = {"in the database": by_person(rows_of(address, there))}
    for name, given in (("streamed", source), ("parquet", folder / "rows.parquet")):
        seal.seal(given, to=folder / name, **declared)
        found[name] = by_person(sealed(folder / name))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_sealing_gives_the_same_integers_in_the_database_and_outside(
    family: str, postgres: Server, postgres_address: str, tmp_path: Path
) -> None:
    kind, arrow, values, columns = FAMILIES[family]
    given = [*values, None]
    table = pa.table(
        {"who": pa.array([i // 3 for i in range(len(given))])}
        | {f"v{i}": pa.array(given, arrow) for i in range(len(columns))}
    )
    declared = {f"v{i}": column for i, column in enumerate(columns)}
    found = everywhere(
        postgres,
        postgres_address,
        tmp_path,
        table,
        ["bigint"] + [kind] * len(columns),
        person="who",
        columns=declared,
        rows_per_person=2,
    )
    assert found["in the database"] == found["parquet"]
    assert found["streamed"] == found["parquet"]


ODD = {
    "char": ("char(5)", ["'ab'", "'7'", "'a'", "'   '"]),
    "domain": ("whole", ["3", "101", "-7"]),
    "domain of texts": ("word", ["'7'", "'a'"]),
    "enum": ("mood", ["'a'", "'it''s'"]),
    "uuid": ("uuid", ["'00000000-0000-0000-0000-000000000007'"]),
    "json": ("jsonb", ["'7'", "'{\"a\": 1}'", "'null'", "'\"a\"'"]),
    "array": ("integer[]", ["'{7}'", "'{}'"]),
    "bytes": ("bytea", ["'\\x07'", "'\\x00ff'"]),
    "interval": ("interval", ["'7 days'", "'1 year 2 mons'"]),
    "time": ("time", ["'10:00'", "'24:00'"]),
    "money": ("money", ["'7.00'", "'-3.5'", "'92233720368547758.07'"]),
    "oid": ("oid", ["7", "4294967295"]),
    "row": ("pair", ["'(7,a)'"]),
    "range": ("int4range", ["'[1,7)'", "'empty'"]),
    "address": ("inet", ["'10.0.0.7'"]),
    "any numeric": (
        "numeric",
        [
            *(
                "7",
                "7.0",
                "7.00",
                "0.5",
                "-0.5",
                "'NaN'",
                "'Infinity'",
                "'-Infinity'",
                "1e400",
                "-1e400",
                "1e-400",
            ),
            *("2305843009213693951.4", "9007199254740993", "1e131071", "-1e-16000"),
        ],
    ),
    "rough numeric": ("numeric(5, -2)", ["700", "0", "'NaN'"]),
    "fine numeric": ("numeric(3, 5)", ["0.00123", "0"]),
    "date": ("date", ["'infinity'", "'-infinity'", "'5874897-12-31'", "'4714-11-24 BC'", "'300000-01-01'"]),
    "timestamp": (
        "timestamp",
        ["'infinity'", "'-infinity'", "'294276-12-31 23:59:59.999999'", "'4714-11-24 00:00:00 BC'"],
    ),
    "timestamptz": (
        "timestamptz",
        ["'infinity'", "'-infinity'", "'294276-12-31 23:59:59.999999+00'", "'2024-02-29 23:30:00-05'"],
    ),
}


@pytest.fixture(scope="module")
def odd_types(postgres: Server) -> None:
    postgres.run(
        "CREATE DOMAIN public.whole AS integer",
        'CREATE DOMAIN public.word AS varchar(10) COLLATE "C"',
        "CREATE TYPE public.mood AS ENUM ('a', 'it''s')",
        "CREATE TYPE public.pair AS (n integer, t text)",
    )


@pytest.mark.usefixtures("odd_types")
@pytest.mark.parametrize("family", ODD)
def test_types_that_only_postgres_has_are_read_alike_inside_and_outside(
    family: str, postgres: Server, postgres_address: str, tmp_path: Path
) -> None:
    kind, values = ODD[family]
    dated = family in ("date", "timestamp", "timestamptz")
    numeric = "numeric" in family or family in ("domain", "money")
    columns = NUMBERS + LABELS + ([] if numeric else TIMES) + ([] if dated else TEXT)
    name, kind = (
        f"odd_{next(numbers)}",
        kind if " " in kind or "(" in kind or kind in BUILT_IN else f"public.{kind}",
    )
    rows = ", ".join(f"({i // 2}, {', '.join([v] * len(columns))})" for i, v in enumerate([*values, "NULL"]))
    postgres.run(
        f"CREATE TABLE public.{name} (who bigint, {', '.join(f'v{i} {kind}' for i in range(len(columns)))})",
        f"INSERT INTO public.{name} VALUES {rows}",
    )
    declared: dict[str, Any] = {"person": "who", "columns": {f"v{i}": c for i, c in enumerate(columns)}}
    source = Source(postgres.address(), table=f"public.{name}")
    there = in_postgres.seal(source, to=postgres_address, budget=dp.Budget(1), **declared)
    seal.seal(source, to=tmp_path / "streamed", **declared)
    assert by_person(rows_of(postgres_address, there)) == by_person(sealed(tmp_path / "streamed"))


BUILT_IN = {"uuid", "jsonb", "integer[]", "bytea", "interval", "time", "money", "oid", "int4range", "inet"}
BUILT_IN |= {"numeric", "date", "timestamp", "timestamptz"}


def codes(server: Server, address: str, kind: str, values: Sequence[str], column: Column) -> list[Any]:
    """The codes of some values of a type, in their order."""
    name = f"codes_{next(numbers)}"
    rows = ", ".join(f"({i}, {value})" for i, value in enumerate(values))
    server.run(f"CREATE TABLE public.{name} (i integer, v {kind})", f"INSERT INTO public.{name} VALUES {rows}")
    declared = {"i": dp.Integer(0, 1000), "v": column}
    source = Source(server.address(), table=name)
    there = in_postgres.seal(source, to=address, budget=dp.Budget(1), person=None, columns=declared)
    return [row["c1"] for row in sorted(rows_of(address, there), key=lambda row: row["c0"])]


def test_numbers_without_an_end_are_outside_and_nan_is_missing(postgres: Server, postgres_address: str) -> None:
    values = ["'Infinity'", "'-Infinity'", "'NaN'", "1e400", "1e-400", "50.5", "NULL"]
    assert codes(postgres, postgres_address, "numeric", values, dp.Integer(0, 100)) == [
        100,
        0,
        None,
        100,
        0,
        51,
        None,
    ]


def test_days_without_an_end_are_outside(postgres: Server, postgres_address: str) -> None:
    values = ["'infinity'", "'-infinity'", "'294276-01-01'", "'2024-01-02'", "NULL"]
    column = dp.Date("2024-01-01", "2024-01-31")
    assert codes(postgres, postgres_address, "timestamptz", values, column) == [30, 0, 30, 1, None]


def test_padding_is_no_part_of_a_text(postgres: Server, postgres_address: str) -> None:
    values = ["'ab'", "'ab   '", "' ab'"]
    assert codes(postgres, postgres_address, "char(5)", values, dp.Category(["ab", " ab"])) == [0, 0, 1]
    assert codes(postgres, f"{postgres_address}%202", "char(5)", values, dp.Text()) == ["ab", "ab", " ab"]


CASTS = {
    "text": ("text", ["DOUBLE", "WIDE", "BOOLEAN", "ZONED", "DATE", "TEXT"]),
    "double": ("float", ["DOUBLE", "BIGINT", "TEXT"]),
    "real": ("float", ["DOUBLE", "BIGINT", "TEXT"]),
    "bigint": ("integer", ["DOUBLE", "TEXT"]),
    "boolean": ("boolean", ["DOUBLE", "WIDE", "TEXT"]),
    "decimal": ("decimal", ["DOUBLE", "WIDE", "TEXT"]),
    "date": ("date", ["TIMESTAMP", "DATE", "TEXT"]),
    "timestamp": ("timestamp", ["TIMESTAMP", "DATE", "TEXT"]),
    "timestamptz": ("zoned", ["TIMESTAMP", "DATE", "TEXT"]),
}


@pytest.mark.parametrize("family", CASTS)
def test_no_value_makes_a_gentle_cast_raise(family: str, postgres: Server) -> None:
    """Taken by itself, without what stands around it in a column's way to its code."""
    kind, arrow, values, _ = FAMILIES[family]
    of, targets = CASTS[family]
    source = loaded(postgres, pa.table({"v": pa.array([*values, None], arrow)}), [kind])
    _, extremes = ODD.get("any numeric" if family == "decimal" else family, ("", []))
    for target in targets:
        text = sql_writer.sql(
            sql_writer.cast(nodes.Column("v"), target, gently=True, of=of), "postgres", limits=None
        )
        rows = f"SELECT v FROM {source.table} " + " ".join(
            f"UNION ALL SELECT CAST({value} AS {'numeric' if family == 'decimal' else kind})" for value in extremes
        )
        with connected(Address.of(postgres.address()), relations.SETTINGS) as connection:
            found = execute(connection, f"SELECT CAST({text} AS text) FROM ({rows} OFFSET 0) AS given")
        assert len(found) == len(values) + 1 + len(extremes)
        assert found[len(values)] == (None,)
