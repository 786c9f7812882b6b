"""Bound what reading a curator's table takes: a file of a few kB can unpack to terabytes.

    a footer that declares 8 billion rows, all of the same few bytes   refused by its count, before a row is read
    one text of 1 MB that a dictionary repeats 100,000 times           refused by the sum of the lengths
    20,000 columns, or a header without an end                         refused by their number
    what takes too long all the same                                   the server ends the worker (`workers`)

DuckDB keeps to a limit on memory, and writes the rest to the disk. So the unpacked size is bounded first: DuckDB's
own limit on the disk does not count large blocks (measured: 9 GB of texts with a limit of 256 MB). What DuckDB
does not count in memory, and what else the process allocates, is bounded by the system (`RLIMIT_DATA`).
"""

from __future__ import annotations

import glob
import resource
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.engines import sql_writer
from discreet.errors import ParameterError, SealingFailed

MOST_COLUMNS = 1000
"""The most columns of a table: more do not fit into the form that declares them."""

_VALUE = 8  # bytes of one value of a sealed column
_LENGTH = {"VARCHAR": "strlen", "BLOB": "octet_length"}  # functions of DuckDB that return bytes


@contextmanager
def bounded(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Expect a table within its limits, and yield the limit of DuckDB while it is read.

    Args:
        arguments: `source`; `columns` and `person` once they are declared; and `limits`: the settings `unpacked`
            (0 for files of the operator) and `memory`.
    """
    memory, unpacked = int(arguments["limits"]["memory"]), int(arguments["limits"]["unpacked"])
    read = {*arguments.get("columns", ()), *filter(None, [arguments.get("person")])}
    try:
        with _limited(resource.RLIMIT_DATA, _data() + memory):
            # Half is for DuckDB, which spills when it is used up; half for what DuckDB does not count.
            half = f"{memory // 2**21}MiB"
            _expect_small(Path(arguments["source"]), unpacked, read, half)
            yield {"memory": half}
    except MemoryError:
        raise SealingFailed(
            "Reading this table takes more memory than it may. Nothing was sealed.",
            found=f"more than {memory // 2**20:,} MB",
            fix="Leave out columns with long texts, or ask the operator to raise upload_memory.",
        ) from None


def expect_columns(count: int) -> None:
    """Refuse a table with more columns than a form can declare."""
    if count > MOST_COLUMNS:
        raise ParameterError(
            "This table has too many columns.",
            found=f"{count:,}, with those inside of others",
            fix=f"Keep at most {MOST_COLUMNS:,}: write the columns that are needed to a file of their own.",
        )


def _expect_small(source: Path, most: int, columns: Collection[str], memory: str) -> None:
    """Refuse a Parquet file that unpacks to more than it may.

    DuckDB reads no row that the footer does not declare. The footer is read by DuckDB, as the rows are later:
    another reader could understand it in another way.
    """
    if not most or source.suffix.lower() != ".parquet":
        return  # a text is not packed, and its header is bounded where it is read
    import duckdb

    place = [glob.escape(str(source.absolute()))]
    try:
        with duckdb.connect(config={"memory_limit": memory}) as connection:

            def asked(query: str) -> list[tuple[Any, ...]]:
                return connection.execute(query, place).fetchall()

            expect_columns(int(asked("SELECT count(*) - 1 FROM parquet_schema(?)")[0][0]))
            counts = "SELECT sum(abs(row_group_num_rows::HUGEINT)) FROM parquet_metadata(?) WHERE column_id = 0"
            rows = int(asked(counts)[0][0] or 0)
            size = _VALUE * rows * max(len(columns), 1)
            _expect_unpacked(rows, size, most)
            types = {name: kind for name, kind, *_ in asked("DESCRIBE SELECT * FROM read_parquet(?)")}
            for name, kind in types.items():
                if name in columns:
                    _expect_plain(name, kind)
                if name in columns and kind in _LENGTH:
                    length = f"{_LENGTH[kind]}({sql_writer.identifier(name)})"  # no text is copied for it
                    size += int(asked(f"SELECT sum({length}::HUGEINT) FROM read_parquet(?)")[0][0] or 0)
                    _expect_unpacked(rows, size, most)
    except duckdb.Error:  # whose words may quote a row
        raise SealingFailed(
            "This Parquet file cannot be read.", fix="Check it with its own tools, and write it again."
        ) from None


def _expect_plain(name: str, kind: str) -> None:
    """Refuse a column whose values hold values: how many there are of them is not declared."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        raise ParameterError(
            "A column that holds lists or records cannot be sealed.",
            found=name[:64],
            fix="Leave it out, or write what it holds to columns of their own.",
        )


def _expect_unpacked(rows: int, size: int, most: int) -> None:
    if size > most:
        raise ParameterError(
            "This table is too large once it is unpacked.",
            found=f"{rows:,} rows, {size // 10**6:,} MB",
            fix=[
                f"Upload at most {most // 10**6:,} MB, or leave columns out.",
                "Or ask the operator to put the file into the folder “tables”.",
            ],
        )


@contextmanager
def _limited(what: int, most: int) -> Iterator[None]:
    """Lower a limit of this process, and restore it."""
    before, hard = resource.getrlimit(what)
    lower = [one for one in (before, hard, most) if one != resource.RLIM_INFINITY]
    resource.setrlimit(what, (min(lower), hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (before, hard))


def _data() -> int:
    """Return the bytes of data that the process has mapped already; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:")), 0)
