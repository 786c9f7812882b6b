"""Open the store of accounts: a file of SQLite, or a schema of a PostgreSQL database, behind one interface.

A transaction runs statements with `?` for parameters. `write()` is exclusive, as SQLite's BEGIN IMMEDIATE is: in
PostgreSQL an advisory lock of the schema does the same. So what is read in it is still true when it commits.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from discreet.errors import DatabaseUnavailable
from discreet.ledger.store.sqlite_connections import Connection, Connections
from discreet.postgres import Address, check_path, connected, execute, identifier, is_address
from discreet.serve.accounts.tables import TABLES, VERSION

Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Run a statement with its parameters in the open transaction, and return its rows."""


class Database(Protocol):
    """A store of accounts."""

    def write(self) -> AbstractContextManager[Run]:
        """Open the only writing transaction."""
        ...

    def read(self) -> AbstractContextManager[Run]:
        """Open a reading transaction."""
        ...

    def close(self) -> None:
        """Close idle connections."""
        ...


def database_at(place: str) -> Database:
    """Open the store at a path or an address, and make its tables if they are not there."""
    check_path(place)
    store: Database = _Postgres(place) if is_address(place) else _SQLite(Path(place))
    with store.write() as run:
        for table in TABLES:
            run(table)
        found = run("SELECT value FROM about WHERE name = ?", "version")
        if not found:
            run("INSERT INTO about (name, value) VALUES (?, ?)", "version", str(VERSION))
        elif int(found[0][0]) > VERSION:
            raise DatabaseUnavailable(
                "A newer Discreet made this store of accounts.", found=found[0][0], fix="Install that version."
            )
    return store


class _SQLite:
    """A file. It is made for its owner alone."""

    def __init__(self, path: Path):
        self._path = path.absolute()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise DatabaseUnavailable(
                f"The accounts cannot be kept at {path}: {error.strerror}.", fix="Choose another path."
            ) from None
        self._connections = Connections(self._path, _set_up)

    @contextmanager
    def write(self) -> Iterator[Run]:
        with self._transaction("BEGIN IMMEDIATE") as run:
            yield run

    @contextmanager
    def read(self) -> Iterator[Run]:
        with self._transaction("BEGIN") as run:
            yield run

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Run]:
        try:
            connection = self._connections.take()
        except sqlite3.Error as error:
            raise _unavailable(error) from None
        broken = True
        try:
            connection.rows(begin)
            yield lambda statement, *parameters: connection.rows(statement, parameters)
            connection.rows("COMMIT")
            broken = False
        except sqlite3.OperationalError as error:
            raise _unavailable(error) from None
        finally:
            if broken and connection.in_transaction:
                connection.rows("ROLLBACK")
            self._connections.give_back(connection, broken=broken)


def _set_up(connection: Connection) -> None:
    for setting in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL", "trusted_schema = OFF"):
        connection.rows(f"PRAGMA {setting}")


def _unavailable(error: sqlite3.Error) -> DatabaseUnavailable:
    # SQLite's own words name files and tables, and never quote a row.
    return DatabaseUnavailable(
        f"The accounts cannot be read or written now: {error}.", fix="Try again in a moment."
    )


class _Postgres:
    """A schema of a PostgreSQL database."""

    def __init__(self, address: str):
        self._address = Address.of(address)
        schema = identifier(self._address.schema)
        self._path = f"SET LOCAL search_path = {schema}"
        lock = int.from_bytes(hashlib.sha256(f"discreet accounts {schema}".encode()).digest()[:8], signed=True)
        self._lock = f"SELECT pg_advisory_xact_lock({lock})"
        with connected(self._address, self._lock) as connection:
            execute(connection, f"CREATE SCHEMA IF NOT EXISTS {schema}")

    @contextmanager
    def write(self) -> Iterator[Run]:
        with self._transaction(f"{self._path}; {self._lock}") as run:
            yield run

    @contextmanager
    def read(self) -> Iterator[Run]:
        with self._transaction(self._path) as run:
            yield run

    def close(self) -> None:
        from discreet.postgres import close

        close(self._address)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Run]:
        with connected(self._address, begin) as connection:

            def run(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
                values: Sequence[Any] = parameters
                return execute(connection, statement, values)

            yield run
