"""Run the SQL of sealing: read the sources, keep what was read, and write the sealed rows.

    duckdb      the directory in which a vault is built, and a DuckDB that works inside it
    postgres    one transaction of a PostgreSQL database
    spark       statements in a Spark cluster
    tally       counts of rows by person in arrays, for DuckDB

Sealing is SQL, the same for every engine but for its dialect (`discreet.sealing.joins`, `discreet.sealing.seal`).
A backend runs it. `Embedded` is a DuckDB of our own. PostgreSQL and Spark have their own backends, so that their
rows never leave them (`discreet.vault.storage.postgres`, `discreet.vault.storage.spark`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from discreet.engines.statement import FULL, OTHERS
from discreet.errors import DiscreetError, SealingFailed
from discreet.schema.metadata import ROWS, UNIT
from discreet.sealing.backends.duckdb import Progress, run
from discreet.sealing.backends.tally import tallied
from discreet.sealing.sources import Reading, Source, opened

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TALLY = "tally"


@dataclass(frozen=True)
class SealedRows:
    """The queries for the sealed rows: for those that all have full weight, and for the others.

    Args:
        full: The query for rows of full weight. It needs neither `w`, which is UNIT, nor `spot`, which is true.
        others: The query for all other rows; empty if there are none. It has `w` after the person, and `spot` at
            the end where there is one.
        columns: The columns that both have: the person and the codes.
        spot: Whether the rows have the column `spot`.
        marks: The marks of the text columns, and whether each is true for the rows of `full`. For the others none
            is true.
        every: A query for all rows at once, if there is one that takes less time than both parts.
    """

    full: str
    others: str = ""
    columns: tuple[str, ...] = ()
    spot: bool = False
    marks: Mapping[str, bool] = field(default_factory=dict)
    every: str = ""

    @property
    def query(self) -> str:
        """The query for all rows, for an engine that stores them as one table."""
        others = f"({self.others}) AS {OTHERS}" if self.others else ""
        return self.every or self.together(f"({self.full}) AS {FULL}", others)

    def together(self, full: str, others: str) -> str:
        """Return the query for all rows, from what stands after FROM for either part; empty if there are none.

        >>> SealedRows("…", columns=("person", "c0")).together("a", "b")
        'SELECT person, CAST(4096 AS SMALLINT) AS w, c0 FROM a UNION ALL SELECT person, w, c0 FROM b'
        """
        weight = f"CAST({UNIT} AS SMALLINT) AS w"
        whole = self._listed(weight, "true AS spot", self.marks)
        parts = [f"SELECT {whole} FROM {full}"]
        if others:
            parts.append(f"SELECT {self._listed('w', 'spot', dict.fromkeys(self.marks, False))} FROM {others}")
        return " UNION ALL ".join(parts)

    def _listed(self, weight: str, spot: str, marks: Mapping[str, bool]) -> str:
        person, *codes = self.columns
        noted = (f"{'true' if value else 'false'} AS {mark}" for mark, value in marks.items())
        return ", ".join([person, weight, *codes, *noted, *([spot] if self.spot else [])])


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

    def write(self, rows: SealedRows, fingerprint: str, stage: str, progress: Progress | None) -> None:
        """Write the sealed rows, and drop everything that was stored.

        Args:
            rows: The queries for the sealed rows.
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

    @contextmanager
    def tally(
        self,
        query: str,
        size: int,
        words: Sequence[str],
        stage: str,
        progress: Progress | None,
    ) -> Iterator[str]:
        """Count rows by number, and name what is found after FROM: `person`, the number, `n`, and sums of words.

        Args:
            query: The query for the number of every row, from 0 to size − 1, and its words.
            size: The number of numbers.
            words: The names of the words.
            stage: The stage of sealing, for `progress`.
            progress: Called with the stage and the part of it that is done; None for no reports.
        """
        found = tallied(self._connection, query, size, words, stage, progress)
        self._connection.register(_TALLY, found)
        try:
            yield _TALLY
        finally:
            self._connection.unregister(_TALLY)

    def write(self, rows: SealedRows, fingerprint: str, stage: str, progress: Progress | None) -> None:
        """Write the rows of full weight and the others as two tables, and a view of both.

        Weights, spots and marks that are all the same need not be written, and a sum over rows of full weight,
        which is most of a question, need not read them either. A table without rows would slow questions down.
        """
        if rows.others:
            self._run(f"CREATE TABLE {OTHERS} AS {rows.others}", "setting rows apart", progress)
        self._run(f"CREATE TABLE {FULL} AS {rows.full}", stage, progress)
        drops = "".join(f"DROP TABLE {name}; " for name in self._stored)
        view = f"CREATE VIEW {ROWS} AS {rows.together(FULL, OTHERS if rows.others else '')}"
        finish = f"{drops}{view}; COMMENT ON TABLE {FULL} IS '{fingerprint}'; CHECKPOINT"
        self._run(finish, "writing rows", progress)

    def _run(self, query: str, stage: str, progress: Progress | None) -> None:
        try:
            run(self._connection, query, stage, progress)
        except SealingFailed:
            for failure in (one for each in self._failures for one in each):
                raise failure from None  # what stopped a source says more than that the engine stopped
            raise
