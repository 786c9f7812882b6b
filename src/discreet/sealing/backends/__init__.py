"""Where sealing runs: a database that reads the sources, keeps what it read, and writes the sealed rows.

Sealing is SQL, the same for every engine but for its dialect (`discreet.sealing.joins`, `discreet.sealing.seal`).
A workshop runs it. `Embedded` is a DuckDB of our own; PostgreSQL and Spark have theirs, so that rows which live
there never leave (`discreet.vault.storage.postgres`, `discreet.vault.storage.spark`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from discreet.schema.metadata import ROWS
from discreet.sealing.backends.duckdb import Progress, run
from discreet.sealing.sources import Reading, Source, opened

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Workshop(Protocol):
    """Whoever can run the statements of sealing."""

    dialect: str

    def opened(self, source: Source, wanted: Iterable[str] | None, name: str) -> Reading:
        """Open a source for reading once, under a name. No row is read, only what the source declares."""
        ...

    def store(self, name: str, query: str, stage: str, progress: Progress | None) -> str:
        """Keep what a query returns until the sealed rows are written, and return what FROM calls it."""
        ...

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query about public tables."""
        ...

    def write(self, query: str, mark: str, stage: str, progress: Progress | None) -> None:
        """Write the sealed rows with their mark, and drop everything that was stored."""
        ...


class Embedded:
    """A DuckDB file that becomes the sealed rows."""

    dialect = "duckdb"

    def __init__(self, connection: DuckDBPyConnection):
        self._connection, self._stored = connection, list[str]()

    def opened(self, source: Source, wanted: Iterable[str] | None, name: str) -> Reading:
        """Open a file or a frame."""
        return opened(self._connection, source, wanted, name)

    def store(self, name: str, query: str, stage: str, progress: Progress | None) -> str:
        """Keep rows in a temporary table, which spills to disk."""
        run(self._connection, f"CREATE TEMP TABLE {name} AS {query}", stage, progress)
        self._stored.append(name)
        return name

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._connection.execute(query).fetchall()

    def write(self, query: str, mark: str, stage: str, progress: Progress | None) -> None:
        """Write the table of the file."""
        run(self._connection, f"CREATE TABLE {ROWS} AS {query}", stage, progress)
        drops = "".join(f"DROP TABLE {name}; " for name in self._stored)
        finish = f"{drops}COMMENT ON TABLE {ROWS} IS '{mark}'; CHECKPOINT"
        run(self._connection, finish, "writing rows", progress)
