"""Tables and vaults in Spark, looked into: what tests of them share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.schema.metadata import TableMetadata

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

numbers = itertools.count(1)
"""To give every table a name of its own."""


def loaded(session: SparkSession, table: pa.Table, folder: Path) -> DataFrame:
    """The rows of a table as a Parquet file that Spark reads, in two parts."""
    place = folder / f"source_{next(numbers)}"
    place.mkdir()
    half = table.num_rows // 2
    pq.write_table(table.slice(0, half), place / "1.parquet")
    pq.write_table(table.slice(half), place / "2.parquet")
    return session.read.parquet(f"file://{place}")


def rows_of(session: SparkSession, metadata: TableMetadata) -> list[dict[str, Any]]:
    """Every sealed row of a vault in Spark. Nothing in the package reads rows like this."""
    table = metadata.table
    if metadata.version > 1:
        table = f"{table[:-1]}_{metadata.version}`"
    rows: list[dict[str, Any]] = session.table(table).toArrow().to_pylist()  # as an engine reads texts: strictly
    return rows


def tables_in(session: SparkSession) -> set[str]:
    return {row["tableName"] for row in session.sql("SHOW TABLES IN default").collect() if not row["isTemporary"]}


def views_in(session: SparkSession) -> set[str]:
    found = session.sql("SHOW VIEWS IN global_temp").collect()
    return {row["viewName"] for row in found if row["namespace"] == "global_temp"}


@contextmanager
def nothing_left(session: SparkSession) -> Iterator[None]:
    """See that what happens leaves no table and no view."""
    before = tables_in(session), views_in(session)
    yield
    assert (tables_in(session), views_in(session)) == before
