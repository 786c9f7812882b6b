"""Run the SQL of sealing: read the sources, keep what was read, and write the sealed rows.

    duckdb      the directory in which a vault is built, and a DuckDB that works inside it
    postgres    one transaction of a PostgreSQL database
    spark       statements in a Spark cluster

Sealing is SQL, the same for every engine but for its dialect (`discreet.sealing.joins`, `discreet.sealing.seal`).
A backend runs it. `Embedded` is a DuckDB of our own. PostgreSQL and Spark have their own backends, so that their
rows never leave them (`discreet.vault.storage.postgres`, `discreet.vault.storage.spark`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import DiscreetError, SealingFailed
from discreet.schema.metadata import ROWS
from discreet.sealing.backends.duckdb import Progress, run
from discreet.sealing.sources import Reading, Source, opened

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Backend(Protocol):
    """An engine that can run the statements of sealing."""

    dialect: str

    def opened(self, source: Source, wanted: Iterable[str] | None, name: str) -> Reading:
        """Open a source under a name, to be read once. Only the declared types are read now, no row."""
        ...

    def store(self, name: str, query: str, stage: str, progress: Progress | None) -> str:
        """Keep what a query returns until the sealed rows are written, and return its name after FROM.

        Args:
            name: A name for it, unique in this sealing.
            query: The query.
            stage: The stage of sealing, for `progress`.
            progress: Called with the stage and the part of it that is done; None for no reports.
        """
        ...

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query about public tables."""
        ...

    def write(self, query: str, fingerprint: str, stage: str, progress: Progress | None) -> None:
        """Write the sealed rows, and drop everything that was stored.

        Args:
            query: The query for the sealed rows.
            fingerprint: The fingerprint of their metadata, which the rows carry.
            stage: The stage of sealing, for `progress`.
            progress: Called with the stage and the part of it that is done; None for no reports.
        """
        ...


class Embedded:
    """A DuckDB file that becomes the sealed rows."""

    dialect = "duckdb"

    def __init__(self, connection: DuckDBPyConnection):
        self._connection, self._stored = connection, list[str]()
        self._failures: list[list[DiscreetError]] = []

    def opened(self, source: Source, wanted: Iterable[str] | None, name: str) -> Reading:
        """Open a file or a frame."""
        reading = opened(self._connection, source, wanted, name)
        self._failures.append(reading.failures)
        return reading

    def store(self, name: str, query: str, stage: str, progress: Progress | None) -> str:
        """Keep rows in a temporary table, which spills to disk."""
        self._run(f"CREATE TEMP TABLE {name} AS {query}", stage, progress)
        self._stored.append(name)
        return name

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._connection.execute(query).fetchall()

    def write(self, query: str, fingerprint: str, stage: str, progress: Progress | None) -> None:
        """Write the table of the file."""
        self._run(f"CREATE TABLE {ROWS} AS {query}", stage, progress)
        drops = "".join(f"DROP TABLE {name}; " for name in self._stored)
        finish = f"{drops}COMMENT ON TABLE {ROWS} IS '{fingerprint}'; CHECKPOINT"
        self._run(finish, "writing rows", progress)

    def _run(self, query: str, stage: str, progress: Progress | None) -> None:
        try:
            run(self._connection, query, stage, progress)
        except SealingFailed:
            for failure in (one for each in self._failures for one in each):
                raise failure from None  # what stopped a source says more than that the engine stopped
            raise
