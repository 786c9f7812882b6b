"""Turn frames and arrays into the codes of their declared columns, as sealing would.

Frames are opened by the code that seals them, and the expressions are those that seal a table (`Column.encode`),
evaluated by an embedded DuckDB: a value has the same code in a vault and in a frame. Lists and arrays of Python
objects become text, value by value. So the map looks at one value at a time, and no value makes it raise or
decides how another one is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import sql_writer
from discreet.engines.nodes import Column as Name
from discreet.errors import Code, Fix, ParameterError
from discreet.schema import Column
from discreet.sealing.sources import frames
from discreet.sealing.sources.source import Source

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Codes = dict[str, NDArray[np.int64]]
"""Codes of columns, by name; −1 where a value is missing."""


def encoded(frame: Any, columns: Mapping[str, Column]) -> Codes:
    """Return the codes of the declared columns of a frame, an array or a mapping of columns, row by row.

    >>> from discreet.schema import Category, Integer
    >>> encoded({"age": [31, 200, None, "old"]}, {"age": Integer(0, 110)})["age"].tolist()
    [31, 110, -1, -1]
    """
    names = names_of(frame)
    absent = [name for name in columns if names is not None and name not in names]
    if absent:
        raise ParameterError(
            f"The data have no column {absent[0]!r}, which the schema declares.",
            found=", ".join(map(repr, names or [])),
            fix=Fix("columns", Code("{…}"), note="declare the columns that the data have"),
        )
    with closing(_database(os.getpid()).cursor()) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if isinstance(frame, Mapping):
            return {
                name: _encoded(connection, _series(frame[name], name), {name: column})[name]
                for name, column in columns.items()
            }
        return _encoded(connection, frame if names is not None else _tabled(frame, list(columns)), columns)


@cache
def _database(process: int) -> DuckDBPyConnection:
    """Return an empty database in the memory of this process, also after a fork.

    To make one takes 20 ms, more than to encode a small frame, and a connection to it nearly nothing. What is
    registered on a connection is seen by that connection alone, and goes with it.
    """
    import duckdb

    return duckdb.connect(":memory:", config={"threads": "1"})


def _encoded(connection: DuckDBPyConnection, frame: Any, columns: Mapping[str, Column]) -> Codes:
    """Return the codes of the columns of a frame that can be sealed."""
    reading = frames.opened(connection, Source(frame), set(columns), "source")
    written = [
        sql_writer.sql(column.encode(Name(name), reading.family(name)), "duckdb", limits=None)
        for name, column in columns.items()
    ]
    listed = ", ".join(f"CAST(COALESCE({text}, -1) AS BIGINT) AS r{i}" for i, text in enumerate(written))
    found = connection.execute(f"SELECT {listed} FROM source").fetchnumpy()
    return {name: np.asarray(found[f"r{i}"], np.int64) for i, name in enumerate(columns)}


def _series(values: Any, name: str) -> Any:
    """Return one column of a mapping as a frame."""
    import pyarrow

    if isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return pyarrow.table({name: values})
    if hasattr(values, "to_frame"):
        return values.to_frame(name)
    array = _flat(values) if isinstance(values, list | tuple) else rows_of(values)
    if array.ndim != 1:
        raise ParameterError(f"The column {name!r} must have one dimension.", found=f"shape {array.shape}")
    return pyarrow.table({name: _typed(array)})


def _tabled(frame: Any, names: Sequence[str]) -> Any:
    """Return an array as an Arrow table; its columns have no names of their own."""
    import pyarrow

    array = rows_of(frame)
    width_of(array)
    if array.shape[1] != len(names):
        raise ParameterError(
            f"The data must have one column for each of the {len(names)} that are declared.",
            found=f"an array of shape {array.shape}",
            fix=Fix("columns", Code("{name: column, …}"), note="one for each column of the array, in its order"),
        )
    return pyarrow.table({name: _typed(array[:, i]) for i, name in enumerate(names)})


def rows_of(data: Any) -> NDArray[Any]:
    """Return data without names as an array. A list is one of objects: no value decides the type of others.

    >>> rows_of([[1, "a"], [2.5, None]]).dtype, rows_of(np.zeros((2, 2))).dtype
    (dtype('O'), dtype('float64'))
    """
    array = _objects(data) if isinstance(data, list | tuple) else np.asarray(data)
    if array.dtype.kind == "c":
        raise ParameterError("Complex data not supported: a column has real numbers.", found=str(array.dtype))
    return array


def width_of(array: NDArray[Any]) -> int:
    """Return the number of columns of an array, and refuse one that has no columns."""
    if array.ndim == 2:
        return int(array.shape[1])
    raise ParameterError(
        "The data must have rows and columns.",
        found=f"an array of shape {array.shape}",
        fix="Reshape your data: X.reshape(1, -1) is one row, X.reshape(-1, 1) is one column.",
    )


def _objects(data: Sequence[Any]) -> NDArray[Any]:
    """Return a list of values, or of rows of equal length, as an array of objects."""
    if data and all(isinstance(row, list | tuple | np.ndarray) for row in data):
        rows = [list(row) for row in data]
        array = np.empty((len(rows), len(rows[0])), object)
        if any(len(row) != len(rows[0]) for row in rows):
            raise ParameterError("The rows must have as many values each.")
        for i, row in enumerate(rows):
            array[i] = row
        return array
    return _flat(data)


def _flat(data: Sequence[Any]) -> NDArray[Any]:
    """Return values as an array of objects with one dimension, whatever they are."""
    made = np.empty(len(data), object)
    for i, value in enumerate(data):
        made[i] = value
    return made


def _typed(column: NDArray[Any]) -> Any:
    """Return one column of an array as an Arrow array, by its type alone."""
    import pyarrow

    if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8:
        wide = column.astype(np.float32) if column.dtype == np.float16 else column
        return pyarrow.array(np.ascontiguousarray(wide))
    if column.dtype.kind == "M":
        return pyarrow.array(column.astype("datetime64[us]"))
    return pyarrow.array([_text(value) for value in column.tolist()], pyarrow.string())


def _text(value: Any) -> str | None:
    """Return a Python object as text that a declared column reads; None for what is no value.

    >>> [_text(value) for value in (1, 1.0, 2.5, True, "a", None, float("nan"))]
    ['1', '1', '2.5', 'true', 'a', None, None]
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating):
        return None if value != value else str(int(value)) if float(value).is_integer() else str(float(value))
    if isinstance(value, datetime):
        return value.isoformat(" ")
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # an object that cannot be written
        return None


def names_of(frame: Any) -> list[str] | None:
    """Return the names of the columns of a frame; None if it has none.

    >>> import numpy as np
    >>> names_of({"age": [1]}), names_of(np.zeros((2, 2)))
    (['age'], None)
    """
    if hasattr(frame, "tocsr"):
        raise ParameterError("Sparse data are not supported.", fix="Use X.toarray().")
    if isinstance(frame, Mapping):
        return list(frame)
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    columns = getattr(frame, "columns", None)
    return None if columns is None else [str(name) for name in columns]
