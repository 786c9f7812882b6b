"""Store a vault: its metadata, its ledger, and the engine that holds its rows.

    ledger_binding    the check that a vault is opened with its own ledger
    postgres          a vault in a schema of a PostgreSQL database
    spark             a vault whose rows stay in a Spark catalogue

    "people.vault"                            a directory: description.json, ledger.sqlite, and the rows in DuckDB,
                                              or in the table of a Spark catalogue that the metadata name
    "postgresql://host/database#people"       a schema of a PostgreSQL database, with all three as tables

Rows are used only with the metadata that they were sealed with. They carry the fingerprint of these metadata, and
it is compared before a query runs on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from discreet.engines.duckdb import DuckDB
from discreet.errors import Code, Fix, LedgerUnavailable, ParameterError
from discreet.kernel import Payer
from discreet.ledger import Budget, Ledger
from discreet.ledger.bodies import first_entry
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.postgres import check_path, is_address
from discreet.schema import metadata as metadata_file
from discreet.schema.metadata import TableMetadata
from discreet.sealing import seal as sealing
from discreet.sealing.backends.duckdb import full_disk, sweep
from discreet.sealing.learning import refuse_strict, to_learn
from discreet.vault.storage import postgres
from discreet.vault.storage.ledger_binding import own_ledger

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.sealing.backends.duckdb import Progress
    from discreet.sealing.learning import Declared
    from discreet.sealing.weights import Judge

LEDGER = "ledger.sqlite"
"""The file of the ledger in the directory of a vault."""


class Storage(Protocol):
    """The storage of a vault."""

    @property
    def display_name(self) -> str:
        """Its name for messages, without a password."""
        ...

    def metadata(self) -> TableMetadata:
        """Return what is public about the newest rows."""
        ...

    def ledger(self) -> Ledger:
        """Open the ledger that the vault was sealed with."""
        ...

    def engine(self, metadata: TableMetadata) -> Engine:
        """Open the rows of these metadata."""
        ...

    def reseal(
        self,
        source: Any,
        *,
        columns: Declared | None = None,
        rows_per_person: int | None = None,
        tables: Sequence[Any] = (),
        lookups: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        judge: Judge | None = None,
    ) -> None:
        """Seal a new version of the rows, under the same ledger."""
        ...


class Directory:
    """A directory of files.

    Args:
        path: The directory.
        memory: The memory that DuckDB may use to answer, such as "2GB"; by size of the rows by default.
        spark: The session for rows in Spark; the active one by default.
    """

    def __init__(self, path: str | Path, *, memory: str | None = None, spark: Any = None):
        self.path, self._memory, self._spark = Path(path), memory, spark
        sweep(self.path)
        sweep(self.path.absolute().parent)

    @property
    def display_name(self) -> str:
        """The path."""
        return str(self.path)

    def metadata(self) -> TableMetadata:
        """Read description.json."""
        return metadata_file.read(self.path)

    def ledger(self) -> Ledger:
        """Open ledger.sqlite, and refuse the ledger of another vault."""
        return own_ledger(lambda: Ledger.open(self.path / LEDGER), self.metadata(), self.display_name)

    def engine(self, metadata: TableMetadata) -> Engine:
        """Open the file of the rows, or their table in Spark."""
        if metadata.engine == "spark":
            from discreet.vault.storage import spark  # imports sqlglot

            return spark.engine(metadata, self._spark)
        return DuckDB(self.path / metadata.rows_file, limits=metadata.limits, memory=self._memory)

    def reseal(self, source: Any, **changes: Any) -> None:
        """Seal a new version of the rows beside the old one."""
        if to_learn(changes.get("columns")):
            changes["payer"] = lambda: Payer(self.ledger())
        if self.metadata().engine == "spark":
            from discreet.vault.storage import spark  # imports sqlglot

            spark.reseal(source, to=self.path, session=self._spark, **changes)
        else:
            sealing.reseal(source, to=self.path, **changes)


def storage_at(where: str | Path, *, memory: str | None = None, spark: Any = None) -> Storage:
    """Return the storage at an address or a path.

    Args:
        where: A directory, or "postgresql://host/database#schema".
        memory: The memory that DuckDB may use to answer, such as "2GB"; by size of the rows by default.
        spark: The session for rows in Spark; the active one by default.

    >>> storage_at("people.vault").display_name
    'people.vault'
    """
    if isinstance(where, str) and is_address(where):
        return postgres.Schema(where)
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
    """Seal a table into new storage, with its ledger.

    Args:
        source: The rows.
        to: A new directory, or the address of a schema.
        budget: The budget of the vault.
        strict: Whether only analysts and purposes with an account may ask.
        rows: The new table of a Spark catalogue for rows that stay in Spark; None otherwise.
        memory: The memory that DuckDB may use, such as "2GB"; None for its own limit.
        declared: Columns, persons, bounds and joined tables, as of `sealing.seal`.
    """
    opening = first_entry(budget, strict=strict)  # made first, because it refuses a value that is not a budget
    refuse_strict(declared.get("columns"), strict)
    if not budget.epsilon:
        raise ParameterError(
            "No question can ever be asked with this budget.",
            found=budget,
            fix=Fix(
                "budget", Code('Budget(epsilon=2, delta="1e-9")'), note="spent over the whole life of the vault"
            ),
        )
    if isinstance(to, str) and is_address(to):
        _refuse({"rows": rows, "memory": memory}, "A vault in PostgreSQL keeps its rows there")
        postgres.seal(source, to=to, budget=budget, strict=strict, **declared)
        return
    check_path(to)

    def furnish(folder: Path) -> None:
        store = SQLiteStore(folder / LEDGER)
        try:
            store.create(opening)
        except LedgerUnavailable as error:
            raise full_disk(folder.parent, "the ledger cannot be written") from error
        store.close()

    def payer(folder: Path) -> Payer:
        return Payer(Ledger.open(folder / LEDGER))

    declared |= {"ledger": opening.hash, "furnish": furnish, "payer": payer}
    if rows is not None:
        from discreet.vault.storage import spark  # imports sqlglot

        _refuse({"memory": memory}, "Rows that stay in Spark use the memory of Spark")
        spark.seal(source, to=to, rows=rows, **declared)
    else:
        sealing.seal(source, to=to, memory=memory, **declared)


def engine_with_fingerprint(storage: Storage, metadata: TableMetadata) -> Engine:
    """Open the rows, and check that they were sealed with these metadata."""
    engine = storage.engine(metadata)
    if engine.fingerprint() != metadata.fingerprint:
        engine.close()
        raise ParameterError(
            f"The metadata of {storage.display_name} are not those that its rows were sealed with.",
            fix="No bound can be relied on. Restore the metadata from a backup, or seal again.",
        )
    return engine


def _refuse(given: Mapping[str, Any], why: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ParameterError(f"{why}: {name} has no meaning here.", found=value, fix=Fix(name, None))
