"""Open pyarrow, pandas and polars tables, and other data that speak Arrow, by the types that they declare."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError, SealingFailed
from discreet.sealing.sources.csv import integers
from discreet.sealing.sources.source import Reading, Source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def opened(connection: DuckDBPyConnection, source: Source, wanted: set[str] | None, name: str) -> Reading:
    """Open a frame.

    Args:
        connection: The DuckDB that will read it.
        source: The source.
        wanted: The columns to read, by the source's own names; None for all.
        name: The name that the source gets on this connection.
    """
    import pyarrow

    stream = _arrow(source, wanted)
    schema: pyarrow.Schema = stream.schema
    _check_names(schema.names, source)
    unread = dict.fromkeys(schema.names, "other")
    if wanted is not None:
        kept = [column for column in schema.names if column in wanted]
        if not kept:
            return Reading("", unread)
        stream, schema = _selected(stream, kept), pyarrow.schema([schema.field(column) for column in kept])
    _check_types(schema, source)
    empty = pyarrow.Table.from_batches([], schema)  # schema.empty_table() would import pandas
    connection.register(f"{name}_empty", empty)
    types = described(connection, f"{name}_empty", source).types
    number = "number"
    while number in map(str.casefold, schema.names):
        number += "_"
    connection.register(name, _numbered(stream, number))
    return Reading(name, {**unread, **types}, number=number)


def _check_names(names: list[str], source: Source) -> None:
    """Refuse names that DuckDB cannot separate: it ignores capitals."""
    seen: dict[str, str] = {}
    for name in names:
        if name.casefold() in seen:
            raise ParameterError(
                f"{source.display_name} has columns whose names differ in capitals only, or not at all.",
                found=f"{seen[name.casefold()]!r} and {name!r}",
                fix="Rename them before sealing.",
            )
        seen[name.casefold()] = name


def _check_types(schema: Any, source: Source) -> None:
    """Refuse decimals that no engine can hold, wherever they are in a type."""
    for field in schema:
        if "decimal256" in str(field.type):
            raise ParameterError(
                f"Column {field.name!r} of {source.display_name} has decimals of more than 38 digits.",
                found=field.type,
                fix="Cast it to decimal128(38, 2), to float64 or to string before sealing.",
            )


def _numbered(stream: Any, name: str) -> Any:
    """Return rows with their numbers, counted from 1, so that the curator can find one again."""
    import pyarrow

    if isinstance(stream, pyarrow.Table):
        return stream.append_column(name, integers(np.arange(1, stream.num_rows + 1)))
    schema = stream.schema.append(pyarrow.field(name, pyarrow.int64()))

    def batches() -> Iterator[Any]:
        first = 1
        for batch in stream:
            numbers = integers(np.arange(first, first + batch.num_rows))
            yield pyarrow.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)
            first += batch.num_rows

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def described(connection: DuckDBPyConnection, rows: str, source: Source) -> Reading:
    """Return the types that DuckDB sees in what FROM names, before any row is read."""
    found = asked(connection, f"DESCRIBE SELECT * FROM {rows}", source)
    return Reading(rows, {column: kind for column, kind, *_ in found})


def asked(connection: DuckDBPyConnection, question: str, source: Source) -> list[tuple[Any, ...]]:
    """Ask what a source declares. No row is read, so the message of DuckDB may be shown."""
    import duckdb

    try:
        return connection.execute(question).fetchall()
    except duckdb.Error as error:
        wrong = str(error).splitlines()[0]
    for path in map(Path, source.paths or ()):  # DuckDB quotes the whole path, which may be that of a server
        wrong = wrong.replace(str(path.absolute()), path.name)
    raise SealingFailed(f"{source.display_name} cannot be read: {wrong}")


def _selected(stream: Any, columns: list[str]) -> Any:
    import pyarrow

    if isinstance(stream, pyarrow.Table):
        return stream.select(columns)
    schema = pyarrow.schema([stream.schema.field(column) for column in columns])
    return pyarrow.RecordBatchReader.from_batches(schema, (batch.select(columns) for batch in stream))


def _arrow(source: Source, wanted: set[str] | None) -> Any:
    import pyarrow

    data = source.data
    library = type(data).__module__.split(".")[0]
    if library == "pyspark":
        from discreet.sealing.sources import spark  # imports sqlglot

        return spark.stream(source, wanted)
    if library == "pandas":
        return _from_pandas(data, wanted)
    if library == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if library == "polars":
        import polars

        data = data.with_columns(polars.selectors.object().map_elements(str, return_dtype=polars.String))
    if isinstance(data, pyarrow.Table | pyarrow.RecordBatchReader):
        return data
    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(data)
    raise ParameterError(
        "This is not a table that can be sealed.",
        found=type(data).__name__,
        fix="Give a file, or a pyarrow, pandas or polars table.",
    )


def _from_pandas(data: Any, wanted: set[str] | None) -> Any:
    """Turn columns of Python objects into text: the value of one row must not decide how others are read.

    Columns that are not wanted keep their names only.
    """
    import pyarrow

    names = [str(name) for name in data.columns]
    columns = [
        _from_series(data.iloc[:, position]) if wanted is None or name in wanted else pyarrow.nulls(len(data))
        for position, name in enumerate(names)
    ]
    return pyarrow.Table.from_arrays(columns, names)


def _from_series(column: Any) -> Any:
    import pyarrow

    objects = getattr(column.dtype, "categories", column).dtype == object
    if not objects:
        with suppress(pyarrow.ArrowException):  # a type that Arrow does not know
            array = pyarrow.Array.from_pandas(column)
            if not isinstance(array, pyarrow.ExtensionArray):  # DuckDB does not know extension types
                return pyarrow.chunked_array([array])
    pairs = zip(column, column.isna(), strict=True)
    return pyarrow.chunked_array(
        [pyarrow.array([None if gone else str(v) for v, gone in pairs], pyarrow.string())]
    )
