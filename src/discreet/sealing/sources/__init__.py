"""Open sources so that no row decides how another is read.

    source      `Source`, the name of a table to seal, and `Reading`, a source that is open
    files       Parquet, CSV, Arrow and DuckDB files
    csv         CSV files: one line is one row
    text_files  the bytes of text files, compressed or in another encoding
    frames      pyarrow, pandas and polars tables
    postgres    tables and views of a PostgreSQL database
    spark       tables of a Spark catalogue

    "people.parquet"   "part-*.parquet"   ["2023.csv", "2024.csv"]      files, patterns, lists of them
    Source("store.duckdb", table="people")                              a table of a DuckDB file
    Source("postgresql://host/shop", table="visits")                    a table or view of a PostgreSQL database
    spark.table("visits"), Source(spark, table="shop.visits")           a table of a Spark catalogue
    a pyarrow Table or RecordBatchReader, a pandas or polars frame      and other data that speak Arrow

The types of columns are those that the source declares. They are never inferred from rows: all columns of a CSV
file are text, and so is a pandas column of objects. The header alone decides the separator of a CSV file. Two
neighbouring tables are two tables of rows as they were read. In a CSV file one line is one row, so that the text
of one row cannot change how another is read; a line that cannot be read so is refused with its number
(`discreet.sealing.sources.csv`). Every source is read once, from beginning to end.

To add a kind of source: return a `Reading` from one more branch of `opened`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.postgres import is_address
from discreet.sealing.sources import files, frames, postgres
from discreet.sealing.sources.source import Reading, Source, family, renamed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Reading", "Source", "family", "opened", "renamed"]


def opened(
    connection: DuckDBPyConnection,
    source: Source,
    wanted: Iterable[str] | None,
    name: str,
    *,
    rows: bool = True,
) -> Reading:
    """Open a source in DuckDB, to be read once.

    Args:
        connection: The DuckDB that will read it.
        source: The source.
        wanted: The columns to read; None for all. If one is missing, the types still list all columns.
        name: The name that the source gets on this connection.
        rows: Whether its rows will be read; if not, only the header of a CSV file is opened.
    """
    old = {new: column for column, new in source.rename.items()}
    kept = None if wanted is None else {old.get(column, column) for column in wanted}
    if is_address(source.data):
        reading = postgres.streamed(connection, source, kept, name)
    elif source.paths is None:
        reading = frames.opened(connection, source, kept, name)
    else:
        reading = files.opened(connection, source, kept, name, rows=rows)
    return renamed(reading, source)
