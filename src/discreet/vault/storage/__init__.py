"""Where a vault is: what it is described by, who spent what, and who holds its rows.

    "people.vault"                            a directory: description.json, ledger.sqlite, and the rows in DuckDB,
                                              or in the table of a Spark catalogue that the description names
    "postgresql://host/database#people"       a schema of a PostgreSQL database, with all three as tables

Rows are used with the description that they were sealed with, and with no other: they carry its mark, and it is
compared before anything is asked of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import ParameterError
from discreet.ledger import Budget, Ledger
from discreet.ledger.ledger import first_entry
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.postgres import check_path, is_address
from discreet.schema import metadata as descriptions
from discreet.schema.metadata import TableMetadata
from discreet.vault.storage.ledger_binding import own

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.schema import Column
    from discreet.sealing.backends.duckdb import Progress

LEDGER = "ledger.sqlite"


class Place(Protocol):
    """Somewhere that a vault can be."""

    @property
    def words(self) -> str:
        """What to call it in messages: nothing in it is secret."""
        ...

    def metadata(self) -> TableMetadata:
        """Return what is public about the newest rows."""
        ...

    def ledger(self) -> Ledger:
        """Open its ledger: the one that it was sealed with."""
        ...

    def engine(self, metadata: TableMetadata) -> Engine:
        """Open the rows of this description."""
        ...

    def reseal(
        self,
        source: Any,
        *,
        columns: Mapping[str, Column] | None = None,
        rows_per_person: int | None = None,
        tables: Sequence[Any] = (),
        lookups: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Seal a new version of the rows, under the same ledger."""
        ...


class Directory:
    """A directory of files. `memory` is what DuckDB may use to answer, `spark` the session for rows in Spark."""

    def __init__(self, path: str | Path, *, memory: str | None = None, spark: Any = None):
        self.path, self._memory, self._spark = Path(path), memory, spark

    @property
    def words(self) -> str:
        """The path."""
        return str(self.path)

    def metadata(self) -> TableMetadata:
        """Read description.json."""
        return descriptions.read(self.path)

    def ledger(self) -> Ledger:
        """Open ledger.sqlite, and no other ledger of that name."""
        return own(lambda: Ledger.open(self.path / LEDGER), self.metadata(), self.words)

    def engine(self, metadata: TableMetadata) -> Engine:
        """Open the file of the rows, or their table."""
        if metadata.engine == "spark":
            from discreet.vault.storage import spark

            return spark.engine(metadata, self._spark)
        from discreet.engines.duckdb import DuckDB

        return DuckDB(self.path / metadata.rows_file, limits=metadata.limits, memory=self._memory)

    def reseal(self, source: Any, **changes: Any) -> None:
        """Seal a new version of the rows where the old one is."""
        if self.metadata().engine == "spark":
            from discreet.vault.storage import spark

            spark.reseal(source, to=self.path, session=self._spark, **changes)
        else:
            from discreet.sealing import seal as sealing

            sealing.reseal(source, to=self.path, **changes)


def at(where: str | Path, *, memory: str | None = None, spark: Any = None) -> Place:
    """Return the place that an address or a path means.

    >>> at("people.vault").words
    'people.vault'
    """
    if isinstance(where, str) and is_address(where):
        from discreet.vault.storage.postgres import Schema

        return Schema(where)
    check_path(where)
    return Directory(where, memory=memory, spark=spark)


def seal(
    source: Any,
    *,
    to: str | Path,
    budget: Budget,
    strict: bool,
    rows: str | None,
    memory: str | None,
    **declared: Any,
) -> None:
    """Seal a table into a new place, with its ledger."""
    opening = first_entry(budget, strict=strict)  # at once: it refuses what is no budget
    if not budget.epsilon:
        raise ParameterError(
            f"with a budget of {budget} nothing can ever be asked. Give the vault one that is spent over its "
            'whole life, such as Budget(epsilon=2, delta="1e-9").'
        )
    if isinstance(to, str) and is_address(to):
        from discreet.vault.storage import postgres

        _refuse({"rows": rows, "memory": memory}, "a vault in PostgreSQL keeps its rows there")
        postgres.seal(source, to=to, budget=budget, strict=strict, **declared)
        return
    check_path(to)

    def furnish(place: Path) -> None:
        store = SQLiteStore(place / LEDGER)
        store.create(opening)
        store.close()

    if rows is not None:
        from discreet.vault.storage import spark

        _refuse({"memory": memory}, "rows that stay in Spark use its memory")
        spark.seal(source, to=to, rows=rows, ledger=opening.hash, furnish=furnish, **declared)
    else:
        from discreet.sealing import seal as sealing

        sealing.seal(source, to=to, memory=memory, ledger=opening.hash, furnish=furnish, **declared)


def marked(place: Place, metadata: TableMetadata) -> Engine:
    """Open the rows, and see that they were sealed as the description says."""
    engine = place.engine(metadata)
    if engine.fingerprint() != metadata.fingerprint:
        engine.close()
        raise ParameterError(
            f"the description of {place.words} is not the one that its rows were sealed with, so no bound can be "
            "relied on. Restore the description from a copy, or seal again."
        )
    return engine


def _refuse(given: Mapping[str, Any], why: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{name}={value!r} has no meaning here: {why}. Leave it out.")
