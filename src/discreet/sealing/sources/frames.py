"""Open pyarrow, pandas and polars tables, and other data that speak Arrow, by the types that they declare."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, SealingFailed
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
    unread = dict.fromkeys(schema.names, "other")
    if wanted is not None:
        kept = [column for column in schema.names if column in wanted]
        if not kept:
            return Reading("", unread)
        stream, schema = _selected(stream, kept), pyarrow.schema([schema.field(column) for column in kept])
    empty = pyarrow.Table.from_batches([], schema)  # schema.empty_table() would import pandas
    connection.register(f"{name}_empty", empty)
    connection.register(name, stream)
    types = described(connection, f"{name}_empty", source).types
    if list(types) != schema.names:  # DuckDB ignores capitals, and renames columns that it cannot separate
        raise ParameterError(
            f"{source.display_name} has columns whose names differ in capitals only, or not at all.",
            found=", ".join(map(repr, schema.names)),
            fix="Rename them before sealing.",
        )
    return Reading(name, {**unread, **types})


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
