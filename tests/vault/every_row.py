"""A small world for tests of questions: a table with every combination of values, as it is and as it is sealed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow

from discreet.engines import sql_writer
from discreet.engines.nodes import Expression
from discreet.schema import Boolean, Category, Column, Date, Datetime, Integer, Real, Text
from discreet.schema.metadata import TableMetadata

COLUMNS: dict[str, Column] = {
    "a": Integer(-3, 4),
    "b": Integer(0, 5, missing=0),
    "x": Real(-1, 2, step="0.5"),
    "city": Category(["Bergen", "Oslo", "Ås"]),
    "town": Category(["Oslo", "Odda", "Bergen"]),
    "flag": Boolean(),
    "day": Date("2023-12-30", "2024-03-02"),
    "seen": Datetime("2023-12-31 22:00", "2024-01-02 03:00", step="1h"),
    "note": Text(),
}
WORLD = TableMetadata("world", COLUMNS, person="who", rows_per_person=3)
_LIMITS = {f"c{i}": 2**7 - 1 for i in range(8)}  # what an engine knows of a code in a TINYINT


@lru_cache(1)
def connection() -> duckdb.DuckDBPyConnection:
    """Two tables with the same rows in the same order: `world` holds values, `sealed` holds codes."""
    rows = [(i, *row) for i, row in enumerate(_rows([list(_codes(column)) for column in COLUMNS.values()]))]
    by_column = list(zip(*rows, strict=True))
    sealed = {"i": by_column[0], **{f"c{k}": codes for k, codes in enumerate(by_column[1:])}}
    values = {
        name: [_value(column, code) for code in codes]
        for (name, column), codes in zip(COLUMNS.items(), by_column[1:], strict=True)
    }
    found = duckdb.connect()
    for table, columns in (("sealed", sealed), ("world", {"i": by_column[0], **values})):
        found.register(
            "source", pyarrow.table({name: pyarrow.array(list(data)) for name, data in columns.items()})
        )
        found.execute(f"create table {table} as select * from source")
        found.unregister("source")
    return found


def _rows(codes: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Every combination of a, b, x, city and flag, and the other columns beside them in turn."""
    a, b, x, city, town, flag, day, seen, note = codes
    for i, (one, two, three, four, six) in enumerate(itertools.product(a, b, x, city, flag)):
        turn = i + i // 97
        others = day[turn * 11 % len(day)], seen[turn * 7 % len(seen)], note[turn % len(note)]
        yield one, two, three, four, town[turn * 3 % len(town)], six, *others


def _codes(column: Any) -> Sequence[Any]:
    if column.kind == "text":
        return ["", "oslo", "Oslo", "l'été", "a_b%", "back\\slash", None]
    missing = [] if column.missing is not None else [None]
    return [*range(column.levels), *missing]


def _value(column: Any, code: Any) -> Any:
    return code if code is None or column.kind == "text" else column.values([code])[0]


def on_sealed(*trees: Expression, rows: str = "true") -> list[tuple[Any, ...]]:
    """What trees of ours come to on every sealed row, or on some."""
    texts = ", ".join(sql_writer.sql(tree, limits=_LIMITS) for tree in trees)
    return connection().execute(f"select {texts} from sealed where {rows} order by i").fetchall()


def on_values(*texts: str, rows: str = "true") -> list[tuple[Any, ...]]:
    """What SQL comes to on every row as it is, or on some, in DuckDB."""
    return connection().execute(f"select {', '.join(texts)} from world where {rows} order by i").fetchall()
