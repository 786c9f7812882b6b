"""Count reports from files of batches, Arrow, Parquet, DuckDB and Spark into an `Aggregator`.

Columns hold payloads (without frames), as fixed-size or variable binary. Their bytes are read in place, a record
batch at a time: nothing is copied if all payloads of a column have one length and none is missing. Spark counts
each partition on its worker and sends only states, which are merged on the driver.

>>> import pyarrow as pa
>>> survey = Collection.design(
...     "colours", domain=["red", "green"], protocol="grr", epsilon=1, window=("2026-01-01", "2026-12-31")
... )
>>> reports = survey.randomiser.encode(np.zeros(1000, np.int64))
>>> column = pa.array([report.tobytes() for report in reports], pa.binary(1))
>>> from_arrow(survey, pa.table({"payload": column}), "payload").n
1000
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ParameterError
from discreet.local.collection.collection import Collection, read
from discreet.local.device.wire import batches
from discreet.local.protocols.protocol import Payloads
from discreet.local.server.aggregator import Aggregator

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from pyspark.sql import DataFrame

_ROWS = 1 << 18  # rows of a record batch: many enough to make its overhead negligible, and still small


def from_files(
    collection: Collection,
    paths: Iterable[str | os.PathLike[str]],
    *,
    received: date | None = None,
    identified: bool = False,
    period: date | None = None,
) -> Aggregator:
    """Count files of batches, one batch after the other in each.

    Args:
        collection: The collection of the reports.
        paths: The files.
        received: The day of arrival, for frames that have none of their own.
        identified: Whether to refuse reports without an id; no by default.
        period: A day, to count the reports of its period alone; the whole window by default.
    """
    counted = Aggregator(collection, identified=identified, period=period)
    for path in paths:
        for data in batches(Path(path).read_bytes()):
            counted.update(data, received=received)
    return counted


def from_arrow(
    collection: Collection,
    column: Iterable[pa.RecordBatch] | pa.Table,
    name: str,
    *,
    period: date | None = None,
) -> Aggregator:
    """Count a column of payloads in record batches, or in a table.

    Args:
        collection: The collection of the reports.
        column: The record batches, or the table.
        name: The name of the column.
        period: A day, if all reports are of its period; the whole window by default.
    """
    import pyarrow as pa

    counted = Aggregator(collection, period=period)
    for records in column.to_batches(max_chunksize=_ROWS) if isinstance(column, pa.Table) else column:
        _count(counted, _column(records, name))
    return counted


def from_parquet(
    collection: Collection,
    path: str | os.PathLike[str],
    column: str = "payload",
    *,
    period: date | None = None,
) -> Aggregator:
    """Count a column of payloads in a Parquet file or a folder of them. Only this column is read.

    Args:
        collection: The collection of the reports.
        path: The file or the folder.
        column: The name of the column; "payload" by default.
        period: A day, if all reports are of its period; the whole window by default.
    """
    from pyarrow import dataset

    found = dataset.dataset(path, format="parquet")
    if column not in found.schema.names:
        raise _no_column(column, found.schema.names)
    return from_arrow(collection, found.to_batches(columns=[column], batch_size=_ROWS), column, period=period)


def from_duckdb(
    collection: Collection,
    connection: duckdb.DuckDBPyConnection,
    query: str,
    column: str = "payload",
    *,
    period: date | None = None,
) -> Aggregator:
    """Count a column of payloads that a query returns.

    Args:
        collection: The collection of the reports.
        connection: The connection to DuckDB.
        query: The SQL text.
        column: The name of the column; "payload" by default.
        period: A day, if all reports are of its period; the whole window by default.
    """
    return from_arrow(collection, connection.sql(query).to_arrow_reader(_ROWS), column, period=period)


def from_spark(
    collection: Collection, frame: DataFrame, column: str = "payload", *, period: date | None = None
) -> Aggregator:
    """Count a column of payloads of a Spark DataFrame: each partition on its worker, then merge the states.

    Args:
        collection: The collection of the reports.
        frame: The DataFrame.
        column: The name of the column; "payload" by default.
        period: A day, if all reports are of its period; the whole window by default.
    """
    text = collection.text

    def states(records: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        part = from_arrow(read(text), records, column, period=period)
        yield pa.RecordBatch.from_pydict({"state": pa.array([part.written()], pa.binary())})

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        parts = (
            frame.select(column).mapInArrow(states, "state binary").collect()
        )  # pandas is not used here, so its warning is noise
    counted = Aggregator(collection, period=period)
    for row in parts:
        counted.merge(Aggregator.read(bytes(row["state"]), collection))
    return counted


def _column(records: Any, name: str) -> Any:
    if name not in records.schema.names:
        raise _no_column(name, records.schema.names)
    return records.column(name)


def _no_column(name: str, names: Iterable[str]) -> ParameterError:
    return ParameterError(
        f"There is no column {name!r}.", found=", ".join(names), fix="Name the column that holds the payloads."
    )


def _count(counted: Aggregator, column: Any) -> None:
    """Count an Arrow array of binaries. Missing payloads, and those of another length, count as malformed."""
    width = counted.collection.randomiser.payload_bytes
    rows = _rows(column, width)
    counted.payloads(rows)
    if missing := len(column) - len(rows):
        counted.payloads(np.zeros((missing, 0), np.uint8))


def _rows(column: Any, width: int) -> Payloads:
    """Return the payloads of the right length, one in each row."""
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_fixed_size_binary(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise ParameterError("A column of payloads must be binary.", found=str(kind), fix="Name a binary column.")
    whole = column.drop_null() if column.null_count else column
    if pa.types.is_fixed_size_binary(kind):
        if kind.byte_width != width:
            return np.zeros((0, width), np.uint8)
        data = np.frombuffer(whole.buffers()[1] or b"", np.uint8)
        return data[whole.offset * width : (whole.offset + len(whole)) * width].reshape(-1, width)
    kept = _of_length(whole, width)
    if not len(kept):
        return np.zeros((0, width), np.uint8)
    _, offsets, data = kept.buffers()
    start = int(np.frombuffer(offsets, np.int64 if pa.types.is_large_binary(kind) else np.int32)[kept.offset])
    return np.frombuffer(data, np.uint8, len(kept) * width, start).reshape(-1, width)


def _of_length(column: Any, width: int) -> Any:
    import pyarrow.compute as pc

    right = pc.equal(pc.binary_length(column), width)
    return column if pc.all(right).as_py() in (True, None) else column.filter(right)
