"""Sealed files looked into: what tests of sealing share. Nothing in the package reads rows like this."""

from __future__ import annotations

import csv
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from discreet.engines.statement import ONCE
from discreet.schema.metadata import TableMetadata
from discreet.sealing.sources import Source

Bag = frozenset[tuple[Any, int]]
"""The rows of one person, with how often each occurs."""


def sealed(vault: Path, file: str = "rows.duckdb", table: str = "rows") -> list[dict[str, Any]]:
    """Every sealed row, or those of one table of the file."""
    with duckdb.connect(str(vault / file), read_only=True) as connection:
        result = connection.execute(f"FROM {table}")
        names = [column[0] for column in result.description or []]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def tables(vault: Path) -> set[str]:
    """The tables of the sealed file."""
    with duckdb.connect(str(vault / "rows.duckdb"), read_only=True) as connection:
        return {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory that is soon gone, in memory if there is such a place: laws are tried on many small vaults."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield Path(directory)


def types(vault: Path) -> dict[str, str]:
    with duckdb.connect(str(vault / "rows.duckdb"), read_only=True) as connection:
        return {name: kind for name, kind, *_ in connection.execute("DESCRIBE rows").fetchall()}


def by_person(rows: list[dict[str, Any]]) -> Counter[Bag]:
    """The multiset of persons, each the multiset of their rows: what is left without the codes of persons.

    Marks are left out too: they shorten the work of one engine, and tests of their own say what they are.
    """
    persons: dict[int, Counter[tuple[Any, ...]]] = {}
    for row in rows:
        rest = tuple(
            value for name, value in sorted(row.items()) if name != "person" and not name.startswith(ONCE)
        )
        persons.setdefault(row["person"], Counter())[rest] += 1
    return Counter(frozenset(bag.items()) for bag in persons.values())


def column(vault: Path, metadata: TableMetadata, name: str) -> list[Any]:
    """The codes of a column, in any order."""
    return sorted((row[metadata.sealed_name(name)] for row in sealed(vault)), key=lambda c: (c is None, c))


def _csv(table: pa.Table, path: Path) -> Source:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows(["" if value is None else value for value in row.values()] for row in table.to_pylist())
    return Source(path, multiline=True)


def _parquet(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path)
    return path


def _several(table: pa.Table, path: Path) -> list[Path]:
    half = table.num_rows // 2
    return [_parquet(table.slice(0, half), path.with_suffix(".1.parquet")), _parquet(table.slice(half), path)]


def _store(table: pa.Table, path: Path) -> Source:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute('CREATE TABLE "the rows" AS FROM given')
    return Source(path, table="the rows")


def _feather(table: pa.Table, path: Path) -> Path:
    pa.feather.write_feather(table, path)
    return path


SOURCES: Mapping[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda table, _: table,
    "reader": lambda table, _: table.to_reader(max_chunksize=3),
    "parquet": lambda table, place: _parquet(table, place / "rows.parquet"),
    "several": lambda table, place: _several(table, place / "part.parquet"),
    "glob": lambda table, place: (_several(table, place / "some.parquet"), str(place / "some*.parquet"))[1],
    "csv": lambda table, place: _csv(table, place / "rows.csv"),
    "duckdb": lambda table, place: _store(table, place / "store.duckdb"),
    "feather": lambda table, place: _feather(table, place / "rows.feather"),
    "pandas": lambda table, _: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    "pandas objects": lambda table, _: pd.DataFrame(table.to_pylist(), columns=table.column_names, dtype=object),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.DataFrame(pl.from_arrow(table)).lazy(),
}
"""The same table, as everything that can be sealed."""
