"""Open Parquet, CSV, Arrow and DuckDB files by the types that they declare."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines import sql_writer
from discreet.errors import DiscreetError, Fix, ParameterError
from discreet.sealing.sources import csv, frames
from discreet.sealing.sources.frames import asked, described
from discreet.sealing.sources.source import CSV, Reading, Source, suffix

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PARQUET = (".parquet", ".pq")
_DUCKDB, _ARROW = (".duckdb", ".db", ".ddb"), (".arrow", ".feather")


def opened(
    connection: DuckDBPyConnection, source: Source, wanted: set[str] | None, name: str, *, rows: bool
) -> Reading:
    """Open the files of a source.

    Args:
        connection: The DuckDB that will read them.
        source: The source: one file or several of one kind.
        wanted: The columns to read, by the source's own names; None for all.
        name: The name that the source gets on this connection.
        rows: Whether its rows will be read; a CSV file is then opened to its end.
    """
    paths = _found(source)
    suffixes = {suffix(path) for path in paths}
    if suffixes <= set(_PARQUET):
        several = ", union_by_name = true" if len(paths) > 1 else ""
        return _parquet(connection, f"{_list(paths)}{several}", source)
    if suffixes <= set(CSV):
        return _csv(connection, paths, source, wanted, name if rows else "")
    if suffixes <= set(_DUCKDB) and len(paths) == 1:
        return _attached(connection, paths[0], source, name)
    if suffixes <= set(_ARROW):
        return frames.opened(connection, Source(_ipc(paths)), wanted, name)
    raise ParameterError(
        f"{source.display_name} must be Parquet, CSV, Arrow or DuckDB files, all of one kind.",
        found=", ".join(sorted(suffixes)) or "no ending",
        fix=f"Give files with one of these endings: {', '.join(_PARQUET + CSV + _ARROW + _DUCKDB)}.",
    )


def _found(source: Source) -> list[str]:
    found: list[str] = []
    for path in source.paths or ():
        there = os.path.lexists(path)
        matching = [path] if there else sorted(glob.glob(path, recursive=True))
        if not matching:
            raise ParameterError(
                f"There is no file {Path(path).name}.", fix=f"Relative paths start at {Path.cwd()}."
            )
        found += matching
    for path in found:
        if not Path(path).exists():
            raise ParameterError(
                f"{Path(path).name} is a link to a file that does not exist.",
                found=os.readlink(path),
                fix="Restore that file, or give the path of the file itself.",
            )
    return found


def _parquet(connection: DuckDBPyConnection, files: str, source: Source) -> Reading:
    reading = described(connection, f"read_parquet({files})", source)
    if "file_row_number" in map(str.lower, reading.types):
        return reading
    return replace(reading, rows=f"read_parquet({files}, file_row_number = true)", number="file_row_number + 1")


def _csv(
    connection: DuckDBPyConnection, paths: list[str], source: Source, wanted: set[str] | None, name: str
) -> Reading:
    """Open CSV files; without a name, only their header."""
    header, separator = csv.header(paths[0], source.separator, source.encoding)
    for path in paths[1:]:
        if csv.header(path, separator, source.encoding)[0] != header:
            raise ParameterError(
                f"{Path(path).name} has another header than {Path(paths[0]).name}.",
                fix="Give all files the same columns in the same order.",
            )
    repeated = {column for column, count in Counter(header).items() if count > 1}
    if repeated:
        raise ParameterError(
            f"The header of {source.display_name} names {sorted(repeated)[0]!r} twice.",
            fix="Give every column its own name.",
        )
    types, seen, failures = dict.fromkeys(header, "VARCHAR"), csv.Lines(), list[DiscreetError]()
    if not name:
        return Reading("", types)
    kept = [i for i, column in enumerate(header) if wanted is None or column in wanted]
    form = csv.Form(tuple(header), separator, source.encoding, source.multiline)
    connection.register(name, _stream(csv.batches(paths, form, kept, seen), kept or [0], failures))
    names = {header[i]: f"v{i}" for i in kept}
    return Reading(name, types, names, number="number", lines=seen, failures=failures)


def _stream(batches: Iterator[Any], kept: list[int], failures: list[DiscreetError]) -> Any:
    """Return batches as a stream. What stops it is kept, because an engine would repeat it only as text."""
    import pyarrow

    schema = pyarrow.schema([*((f"v{i}", pyarrow.string()) for i in kept), ("number", pyarrow.int64())])

    def guarded() -> Iterator[Any]:
        try:
            yield from batches
        except DiscreetError as failure:
            failures.append(failure)
            raise

    return pyarrow.RecordBatchReader.from_batches(schema, guarded())


def _attached(connection: DuckDBPyConnection, path: str, source: Source, name: str) -> Reading:
    asked(connection, f"ATTACH {_text(str(Path(path).absolute()))} AS {name} (READ_ONLY, TYPE duckdb)", source)
    found = connection.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY 1", [name]
    ).fetchall()
    tables = [table for (table,) in found]
    if source.table not in tables:
        file, there = Path(path).name, f"It has the tables {', '.join(map(repr, tables)) or '(none)'}."
        raise ParameterError(
            f"Name a table of {file}." if source.table is None else f"{file} has no table {source.table!r}.",
            fix=[*(Fix("table", table, call="Source") for table in tables[:1]), there],
        )
    reading = described(connection, f"{name}.{_name(str(source.table))}", source)
    table = (
        "SELECT count(*) FROM duckdb_tables() WHERE database_name = ? AND table_name = ?"  # a view has no rowid
    )
    ((tables,),) = connection.execute(table, [name, source.table]).fetchall()
    return replace(reading, number="rowid + 1" if tables else "")


def _ipc(paths: list[str]) -> Any:
    import pyarrow
    import pyarrow.feather

    return pyarrow.concat_tables(
        [pyarrow.feather.read_table(path) for path in paths], promote_options="permissive"
    )


def _text(value: str) -> str:
    return sql_writer.sql(sql_writer.text(value))


def _name(value: str) -> str:
    return sql_writer.identifier(value)


def _list(paths: list[str]) -> str:
    """Return paths as a list in SQL, escaped: DuckDB must not expand a pattern that we have expanded already."""
    return f"[{', '.join(_text(glob.escape(str(Path(path).absolute()))) for path in paths)}]"
