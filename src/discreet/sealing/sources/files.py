"""Open Parquet, CSV, Arrow and DuckDB files by the types that they declare."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines import sql_writer
from discreet.errors import Fix, ParameterError
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
        rows: Whether its rows will be read. If so, a CSV file is checked first.
    """
    paths = _found(source)
    suffixes = {suffix(path) for path in paths}
    if suffixes <= set(_PARQUET):
        several = ", union_by_name = true" if len(paths) > 1 else ""
        return described(connection, f"read_parquet({_list(paths)}{several})", source)
    if suffixes <= set(CSV):
        return _csv(paths, source, wanted, rows)
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
        if Path(path).exists():
            found.append(path)
        else:
            found += sorted(glob.glob(path, recursive=True))
    if not found:
        raise ParameterError(
            f"There is no file {source.display_name}.", fix=f"Relative paths start at {Path.cwd()}."
        )
    return found


def _csv(paths: list[str], source: Source, wanted: set[str] | None, rows: bool) -> Reading:
    header, separator = csv.header(paths[0], source.separator)
    for path in paths[1:]:
        if csv.header(path, separator)[0] != header:
            raise ParameterError(
                f"{Path(path).name} has another header than {Path(paths[0]).name}.",
                fix="Give all files the same columns in the same order.",
            )
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise ParameterError(
            f"The header of {source.display_name} names {sorted(repeated)[0]!r} twice.",
            fix="Give every column its own name.",
        )
    for path in paths if rows else ():
        csv.check(path, separator, len(header))
    ends = {csv.line_end(path) for path in paths}
    if len(ends) > 1:
        raise ParameterError(
            f"Some files of {source.display_name} have lines that end in \\r alone, others do not.",
            fix="Write all files with the same line ends.",
        )
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
    options = (
        f"columns = {{{columns}}}, auto_detect = false, header = true, delim = {_text(separator)}, quote = '\"', "
        f"escape = '\"', new_line = '{ends.pop()}', strict_mode = false, null_padding = true, "
        "ignore_errors = true, parallel = false"
    )
    read = ", ".join(_name(column) for column in header if wanted is None or column in wanted) or "NULL"
    # The text is stored before it is cast. Otherwise DuckDB lets the CSV reader cast it, and the reader leaves out
    # a line whose number cannot be read.
    text = f"(WITH text AS MATERIALIZED (SELECT {read} FROM read_csv({_list(paths)}, {options})) FROM text)"
    return Reading(text, dict.fromkeys(header, "VARCHAR"))


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
    return described(connection, f"{name}.{_name(str(source.table))}", source)


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
