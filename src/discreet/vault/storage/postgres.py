"""A vault in a PostgreSQL database: a schema with the sealed rows, their description, and the ledger.

    people.rows            the sealed rows, private; rows_2, rows_3 … for later versions
    people.description     the description of every version, as JSON; the newest counts
    people.entries         the ledger

Claims. Rows never leave the database: sealing is SQL that runs in it (`discreet.sealing.backends.postgres`). It is
one transaction with the making of the description and the ledger, so that there is a whole vault or nothing,
whatever fails. All sources are read in the state of one moment (REPEATABLE READ). A new version becomes visible,
whole, when its transaction commits; only one is made at a time, and whoever asks meanwhile has the old one. Who
may read the rows of one version may read those of the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from discreet.engines.postgres import Postgres
from discreet.errors import DatabaseUnavailable, ParameterError
from discreet.ledger import Budget, Ledger
from discreet.ledger.ledger import first_entry
from discreet.ledger.store.postgres import PostgresStore
from discreet.postgres import Address, connected, execute, from_driver, identifier, run, sqlstate
from discreet.schema.metadata import TableMetadata
from discreet.sealing import joins
from discreet.sealing.backends.postgres import LOOKING, Database, make_private, pass_on
from discreet.sealing.seal import fill, now, renewed
from discreet.sealing.sources import Source, postgres
from discreet.vault.storage.ledger_binding import own

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection

    from discreet.schema import Column
    from discreet.sealing.backends.duckdb import Progress

_SEALING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; " + postgres.SETTINGS
_OLDEST = 140_000  # the version whose EXTRACT is exact

_DESCRIPTION = 'CREATE TABLE {table} (version BIGINT PRIMARY KEY, body TEXT COLLATE "C" NOT NULL)'
_SERVER = """
    SELECT pg_catalog.current_setting('server_version_num')::integer,
        pg_catalog.current_setting('server_encoding'),
        pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(?, 0))
"""


class Schema:
    """A vault in the schema that an address names."""

    def __init__(self, where: str):
        self._address = Address.of(where)
        self._where = where
        self._description = identifier(self._address.schema, "description")

    @property
    def words(self) -> str:
        """The address, without a password."""
        return self._address.words

    def metadata(self) -> TableMetadata:
        """Return the newest description."""
        with _in_words(self._address), connected(self._address, LOOKING) as connection:
            return _newest(connection, self._address)

    def ledger(self) -> Ledger:
        """Open the ledger of the schema, and no other one that is there."""
        return own(lambda: Ledger.open(self._where), self.metadata(), self.words)

    def engine(self, metadata: TableMetadata) -> Postgres:
        """Open the rows of this description."""
        return Postgres(self._address, _table(metadata), limits=metadata.limits, fingerprint=metadata.fingerprint)

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
        """Seal a new version of the rows, under the same ledger. The tables of older versions stay."""
        lock = f"LOCK TABLE {self._description} IN SHARE ROW EXCLUSIVE MODE NOWAIT"  # before the snapshot is taken
        with _in_words(self._address), connected(self._address, _SEALING + lock) as connection:
            old = _newest(connection, self._address)
            metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
            _sealed(connection, self._address, metadata, source, tables, lookups, progress)
            pass_on(connection, *(identifier(self._address.schema, _table(one)) for one in (old, metadata)))


def seal(
    source: Any,
    *,
    to: str,
    budget: Budget,
    strict: bool = False,
    name: str | None = None,
    person: str | None,
    columns: Mapping[str, Column],
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> TableMetadata:
    """Seal tables of a database into a schema of the same database, with a ledger."""
    address, opening = Address.of(to), first_entry(budget, strict=strict)
    metadata = TableMetadata(
        name=name if name is not None else address.schema,
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        engine="postgres",
        sealed_at=now(),
        sources=(Source.of(source).words,),
        joins=joins.words(tables, lookups, person),
        ledger=opening.hash,
    )
    with _in_words(address), connected(address, _SEALING) as connection:
        _check_free(connection, address)
        schema = identifier(address.schema)
        if execute(connection, "SELECT pg_catalog.to_regnamespace(?) IS NULL", [schema])[0][0]:
            run(connection, f"CREATE SCHEMA {schema}")
        table = identifier(address.schema, "description")
        run(connection, _DESCRIPTION.format(table=table))
        make_private(connection, table)
        _sealed(connection, address, metadata, source, tables, lookups, progress)
        PostgresStore(address, within=connection).create(opening)
    return metadata


def _sealed(
    connection: Connection,
    address: Address,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
    progress: Progress | None,
) -> None:
    """Write the rows of a description, and the description."""
    table = identifier(address.schema, _table(metadata))
    if execute(connection, "SELECT pg_catalog.to_regclass(?) IS NOT NULL", [table])[0][0]:
        raise ParameterError(f"there is a table {table} already, and no vault has it. Drop or rename it.")
    fill(Database(connection, address, _table(metadata)), metadata, source, tables, lookups, progress)
    body = json.dumps(metadata.as_json(), ensure_ascii=False)
    text = f"INSERT INTO {identifier(address.schema, 'description')} VALUES (?, ?)"
    execute(connection, text, [metadata.version, body])


def _table(metadata: TableMetadata) -> str:
    return "rows" if metadata.version == 1 else f"rows_{metadata.version}"


def _newest(connection: Connection, address: Address) -> TableMetadata:
    table = identifier(address.schema, "description")
    found = execute(connection, f"SELECT body FROM {table} ORDER BY version DESC LIMIT 1")
    if not found:
        raise ParameterError(f"the vault at {address} has lost its description. Restore it from a backup.")
    try:
        return TableMetadata.from_json(json.loads(found[0][0]))
    except ParameterError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise ParameterError(
            f"the description of {address} is damaged ({type(wrong).__name__}). Restore it from a backup."
        ) from None


def _check_free(connection: Connection, address: Address) -> None:
    ((version, encoding, alone),) = execute(connection, _SERVER, [f"discreet vault {address.schema}"])
    if version < _OLDEST:
        raise ParameterError(f"{address} is PostgreSQL {version // 10_000}, and a vault needs 14 or later.")
    if encoding != "UTF8":
        raise ParameterError(
            f"the database of {address} keeps texts in {encoding}, and a vault needs UTF8, which has every sign "
            "there is. Make another with CREATE DATABASE … ENCODING 'UTF8', or seal into a directory."
        )
    if not alone:
        raise ParameterError(f"{address} is being sealed by another process. Wait for it to end.")
    for table in ("description", "rows", "entries"):
        name = identifier(address.schema, table)
        if execute(connection, "SELECT pg_catalog.to_regclass(?) IS NOT NULL", [name])[0][0]:
            raise ParameterError(
                f"{address} has a table {table} already, and a vault is never overwritten: its ledger knows what "
                "has been spent. Seal to another schema, or give this vault new rows with vault.reseal(source)."
            )


@contextmanager
def _in_words(address: Address) -> Iterator[None]:
    """Say in our words what the server said in its own."""
    try:
        yield
        return
    except Exception as error:
        if not from_driver(error):
            raise
        failure = _failure(address, error)
    raise failure  # here, so that nothing hangs on it that quotes a row


def _failure(address: Address, error: Exception) -> Exception:
    match sqlstate(error):
        case "55P03":
            return ParameterError(f"{address} is being sealed by another process. Wait for it to end.")
        case "42P01" | "3F000":
            return ParameterError(f"there is no vault at {address}. Make one with Vault.seal(…, to=address).")
        case "42501":
            schema, rows = identifier(address.schema), identifier(address.schema, "rows")
            return ParameterError(
                f"{address} is closed to this role. To open it, its owner can run: GRANT USAGE ON SCHEMA {schema} "
                f"TO …; GRANT SELECT ON {schema}.description, {rows} TO …. To make one, a role needs CREATE and "
                "TEMPORARY on the database, and SELECT on what is sealed."
            )
    return DatabaseUnavailable(f"{address} cannot be used: {postgres.told(error)}")
