"""Store a vault in a PostgreSQL database: a schema with the sealed rows, their metadata, and the ledger.

    people.rows            the sealed rows, private; rows_2, rows_3 … for later versions
    people.description     the metadata of every version, as JSON; the newest counts
    people.entries         the ledger

Claims. Rows never leave the database: sealing is SQL that runs in it (`discreet.sealing.backends.postgres`). It is
one transaction with the making of the metadata and the ledger, so that there is a whole vault or nothing, whatever
fails. All sources are read in the state of one moment (REPEATABLE READ). A new version becomes visible as a whole
when its transaction commits. Only one is made at a time, and a question that is asked meanwhile reads the old one.
A role that may read the rows of one version may read those of the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.engines.postgres import Postgres
from discreet.errors import Code, DatabaseUnavailable, Fix, ParameterError
from discreet.kernel import Payer
from discreet.ledger import Budget, Ledger
from discreet.ledger.bodies import first_entry
from discreet.ledger.store.postgres import PostgresStore
from discreet.postgres import Address, connected, execute, from_driver, identifier, run, sqlstate
from discreet.schema.metadata import TableMetadata
from discreet.sealing import joins
from discreet.sealing.backends.postgres import LOOKING, Database, make_private, pass_on
from discreet.sealing.learning import Declared, Learner, provisional
from discreet.sealing.seal import learner_of, now, renewed
from discreet.sealing.sources import Source, postgres
from discreet.sealing.weights import Judge, fill
from discreet.vault.storage.ledger_binding import own_ledger

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

    from discreet.sealing.backends.duckdb import Progress

_SEALING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; " + postgres.SETTINGS
_OLDEST = 140_000  # the first version with an exact EXTRACT

_METADATA = 'CREATE TABLE {table} (version BIGINT PRIMARY KEY, body TEXT COLLATE "C" NOT NULL)'
_SERVER = """
    SELECT pg_catalog.current_setting('server_version_num')::integer,
        pg_catalog.current_setting('server_encoding'),
        pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(?, 0))
"""
_RESTORE = "Restore them from a backup."
_DIRECTORY = Fix("to", "people.vault", note="seals into a directory")


class Schema:
    """A vault in the schema that an address names."""

    def __init__(self, where: str):
        self._address = Address.of(where)
        self._where = where
        self._metadata = identifier(self._address.schema, "description")

    @property
    def display_name(self) -> str:
        """The address, without a password."""
        return self._address.words

    def metadata(self) -> TableMetadata:
        """Return the newest metadata."""
        with _translated(self._address), connected(self._address, LOOKING) as connection:
            return _newest(connection, self._address)

    def ledger(self) -> Ledger:
        """Open the ledger of the schema, and refuse the ledger of another vault."""
        return own_ledger(lambda: Ledger.open(self._where), self.metadata(), self.display_name)

    def engine(self, metadata: TableMetadata) -> Postgres:
        """Open the rows of these metadata."""
        return Postgres(self._address, _table(metadata), limits=metadata.limits, fingerprint=metadata.fingerprint)

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
        """Seal a new version of the rows, under the same ledger. The tables of older versions stay."""
        lock = f"LOCK TABLE {self._metadata} IN SHARE ROW EXCLUSIVE MODE NOWAIT"  # before the snapshot is taken
        with _translated(self._address), connected(self._address, _SEALING + lock) as connection:
            old = _newest(connection, self._address)
            metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
            learner = learner_of(columns, lambda: Payer(self.ledger()))
            metadata = _sealed(
                connection, self._address, metadata, source, tables, lookups, progress, judge, learner
            )
            pass_on(connection, *(identifier(self._address.schema, _table(one)) for one in (old, metadata)))


def seal(
    source: Any,
    *,
    to: str,
    budget: Budget,
    strict: bool = False,
    name: str | None = None,
    person: str | None,
    columns: Declared,
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    judge: Judge | None = None,
) -> TableMetadata:
    """Seal tables of a database into a schema of the same database, with a ledger.

    Args:
        source: The rows: a table or view of that database.
        to: The address of the schema to make.
        budget: The budget of the vault.
        strict: Whether only analysts and purposes with an account may ask; no by default.
        name: The name of the table in SQL; the name of the schema by default.
        person: The column that identifies a person; None if every row is a person.
        columns: The columns to keep, with their types and bounds.
        rows_per_person: How many rows of one person count in full; 1 by default.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        progress: Called with a stage and the part of it that is done.
        judge: Called with the private report before the rows are written, and may refuse them.
    """
    address, opening = Address.of(to), first_entry(budget, strict=strict)
    metadata = TableMetadata(
        name=name if name is not None else address.schema,
        columns=provisional(columns),
        person=person,
        rows_per_person=rows_per_person,
        engine="postgres",
        sealed_at=now(),
        sources=(Source.of(source).display_name,),
        joins=joins.describe(tables, lookups, person),
        ledger=opening.hash,
    )
    with _translated(address), connected(address, _SEALING) as connection:
        _check_free(connection, address)
        schema = identifier(address.schema)
        if execute(connection, "SELECT pg_catalog.to_regnamespace(?) IS NULL", [schema])[0][0]:
            run(connection, f"CREATE SCHEMA {schema}")
        table = identifier(address.schema, "description")
        run(connection, _METADATA.format(table=table))
        make_private(connection, table)
        store = PostgresStore(address, within=connection)
        store.create(opening)

        def payer() -> Payer:
            """Return the ledger in this transaction: it appears together with the rows, or not at all."""
            run(connection, f"SET LOCAL search_path = pg_catalog, {schema}, pg_temp")
            return Payer(Ledger(store))

        learner = learner_of(columns, payer)
        run(connection, postgres.SETTINGS)
        return _sealed(connection, address, metadata, source, tables, lookups, progress, judge, learner)


def _sealed(
    connection: Connection,
    address: Address,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
    progress: Progress | None,
    judge: Judge | None,
    learner: Learner | None,
) -> TableMetadata:
    """Write the rows of these metadata, and the metadata, with bounds that were learned."""
    table = identifier(address.schema, _table(metadata))
    if execute(connection, "SELECT pg_catalog.to_regclass(?) IS NOT NULL", [table])[0][0]:
        raise ParameterError(
            f"The table {table} exists already, and does not belong to a vault.", fix="Drop or rename it."
        )
    database = Database(connection, address, _table(metadata))
    metadata = fill(database, metadata, source, tables, lookups, progress, judge, learner)
    body = json.dumps(metadata.as_json(), ensure_ascii=False)
    text = f"INSERT INTO {identifier(address.schema, 'description')} VALUES (?, ?)"
    execute(connection, text, [metadata.version, body])
    return metadata


def _table(metadata: TableMetadata) -> str:
    return "rows" if metadata.version == 1 else f"rows_{metadata.version}"


def _newest(connection: Connection, address: Address) -> TableMetadata:
    table = identifier(address.schema, "description")
    found = execute(connection, f"SELECT body FROM {table} ORDER BY version DESC LIMIT 1")
    if not found:
        raise ParameterError(f"The metadata of the vault at {address} are gone.", fix=_RESTORE)
    try:
        return TableMetadata.from_json(json.loads(found[0][0]))
    except ParameterError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise ParameterError(
            f"The metadata of the vault at {address} are damaged ({type(wrong).__name__}).", fix=_RESTORE
        ) from None


def _check_free(connection: Connection, address: Address) -> None:
    ((version, encoding, alone),) = execute(connection, _SERVER, [f"discreet vault {address.schema}"])
    if version < _OLDEST:
        raise ParameterError(
            f"The server of {address} is too old: a vault needs PostgreSQL 14 or later.",
            found=f"PostgreSQL {version // 10_000}",
            fix=_DIRECTORY,
        )
    if encoding != "UTF8":
        raise ParameterError(
            f"The database of {address} must store texts in UTF8, which has every character.",
            found=encoding,
            fix=[_DIRECTORY, "Or make another database with CREATE DATABASE … ENCODING 'UTF8'."],
        )
    if not alone:
        raise _busy(address)
    for table in ("description", "rows", "entries"):
        name = identifier(address.schema, table)
        if execute(connection, "SELECT pg_catalog.to_regclass(?) IS NOT NULL", [name])[0][0]:
            raise ParameterError(
                f"{address} has a table {table} already, and a vault is never overwritten: its ledger knows what "
                "has been spent.",
                fix=[
                    Fix("to", "postgresql://host/database#people_2", note="another schema"),
                    Fix("source", Code("…"), call="vault.reseal", note="gives this vault new rows"),
                ],
            )


@contextmanager
def _translated(address: Address) -> Iterator[None]:
    """Turn the errors of the server into ours."""
    try:
        yield
        return
    except Exception as error:
        if not from_driver(error):
            raise
        failure = _failure(address, error)
    raise failure  # raised here, so that its context has no error that quotes a row


def _failure(address: Address, error: Exception) -> Exception:
    match sqlstate(error):
        case "55P03":
            return _busy(address)
        case "42P01" | "3F000":
            return ParameterError(
                "There is no vault at this address.", found=address, fix=Fix("to", str(address), call="Vault.seal")
            )
        case "42501":
            schema, rows = identifier(address.schema), identifier(address.schema, "rows")
            return ParameterError(
                f"This role does not have the right to use {address}.",
                fix=[
                    f"To open the vault: its owner can run GRANT USAGE ON SCHEMA {schema} TO …; "
                    f"GRANT SELECT ON {schema}.description, {rows} TO ….",
                    "To make a vault: the role needs CREATE and TEMPORARY on the database, and SELECT on what is "
                    "sealed.",
                ],
            )
    return DatabaseUnavailable(f"{address} cannot be used: {postgres.reason(error)}")


def _busy(address: Address) -> ParameterError:
    return ParameterError(f"{address} is being sealed by another process.", fix="Wait for it to end.")
