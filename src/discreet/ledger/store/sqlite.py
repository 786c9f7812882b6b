"""Store the ledger in one SQLite file.

* Durable: WAL with synchronous=FULL, so a commit has reached the disk when it returns.
* One writer: every write begins with BEGIN IMMEDIATE, and others wait for it, up to `timeout` seconds.
* Private: the file is made with mode 0600, and SQLite gives its -wal and -shm files the same.
* Fork: no connection crosses a fork, see `sqlite_connections`.
* Moved: charges to a file that was replaced while it is open would be lost, so every transaction first checks that
  the path still leads to the file that was opened.

WAL needs shared memory: keep the file on a local disk, not on a network share.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerMissing, LedgerTampered, LedgerUnavailable, ParameterError
from discreet.ledger.entry import RESTORE, Entry
from discreet.ledger.store import MISSING_LEDGER, SCHEMA, Rows, newer_layout, removed_trigger
from discreet.ledger.store.sqlite_connections import Connection, Connections

_APPLICATION = 0x64704C67  # "dpLg" in the header of the file, where `file` and we look for it

_TABLE = [
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        time TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        hash TEXT NOT NULL,
        analyst TEXT,
        purpose TEXT,
        question TEXT,
        charge INTEGER UNIQUE
    )""",
    "CREATE INDEX by_analyst ON entries (analyst, number) WHERE analyst IS NOT NULL",
    "CREATE INDEX by_purpose ON entries (purpose, number) WHERE purpose IS NOT NULL",
    "CREATE INDEX by_question ON entries (question, number) WHERE question IS NOT NULL",
]
_TRIGGERS = {
    "never_changed": "BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is never changed'); END",
    "never_shortened": "BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is never shortened'); END",
    # INSERT OR REPLACE deletes without asking a trigger, unless it is stopped here.
    "only_continued": "BEFORE INSERT ON entries "
    "WHEN NEW.number <> (SELECT COALESCE(MAX(number), 0) + 1 FROM entries) "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only continued'); END",
}


class SQLiteStore:
    """One file, many processes and threads."""

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30):
        self._path = Path(path).absolute()
        self._timeout = timeout
        self._connections = Connections(self._path, self._set_up)

    @property
    def name(self) -> str:
        """The path."""
        return str(self._path)

    def create(self, opening: Entry) -> None:
        """Make the file, its table and its first entry in one transaction. A crash leaves nothing or all of it."""
        self._touch()
        with self._transaction("BEGIN") as connection:
            self._refuse_occupied(connection)
            os.chmod(self._path, 0o600)  # an empty file that another process has made
        with self._transaction("PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE") as connection:
            self._refuse_occupied(connection)  # by another process that was faster
            guards = (f"CREATE TRIGGER {name} {action}" for name, action in _TRIGGERS.items())
            marks = (f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {SCHEMA}")
            for statement in (*_TABLE, *guards, *marks):
                connection.rows(statement)
            Rows(connection.rows).append(opening)
        _make_durable(self._path.parent)

    @contextmanager
    def write(self) -> Iterator[Rows]:
        """Open the only writing transaction."""
        with self._ledger("BEGIN IMMEDIATE") as connection:
            yield Rows(connection.rows)

    @contextmanager
    def read(self) -> Iterator[Rows]:
        """Open a reading transaction."""
        with self._ledger("BEGIN") as connection:
            yield Rows(connection.rows)

    def check(self) -> None:
        """Let SQLite compare its pages and indices, and look for the triggers."""
        with self._ledger("BEGIN") as connection:
            found = [row[0] for row in connection.rows("PRAGMA integrity_check")]
            triggers = {row[0] for row in connection.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
        if found != ["ok"]:
            raise LedgerTampered(f"The file {self.name} is damaged.", found=found[0], fix=RESTORE)
        if missing := sorted(_TRIGGERS.keys() - triggers):
            raise removed_trigger(self.name, missing[0])

    def guarded(self) -> bool:
        """Return True: the permissions of the file decide."""
        return True

    def expect_right_to_record(self) -> None:
        """Do nothing: a process that can charge a file can write every entry."""

    def trust(self, role: str, *, budgets: bool = False) -> None:
        """Refuse: a file has no roles."""
        raise ParameterError(
            f"The ledger {self.name} is a file, which has no roles.", found=role, fix="Change its permissions."
        )

    def close(self) -> None:
        """Close idle connections. The ledger opens new ones when it is used again."""
        self._connections.close()

    def _touch(self) -> None:
        """Make an empty file that only its owner may read."""
        try:
            # Never a file that exists: closing a second descriptor would drop the locks SQLite holds on it.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            pass  # perhaps what a crash left behind: see whether it is empty
        except OSError as error:
            raise LedgerUnavailable(
                f"A ledger cannot be made at {self.name}: {error.strerror}.", fix="Choose another path."
            ) from error

    def _set_up(self, connection: Connection) -> None:
        """Configure a new connection."""
        # Texts that are not UTF-8 must reach the check of the hash, which names the entry.
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        for setting in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
            connection.rows(f"PRAGMA {setting}")

    @contextmanager
    def _ledger(self, begin: str) -> Iterator[Connection]:
        """A transaction on what is a ledger, not one from the future, and still at its path."""
        with self._transaction(begin) as connection:
            application, version = (_pragma(connection, name) for name in ("application_id", "user_version"))
            if application != _APPLICATION:
                raise LedgerMissing(f"The file {self.name} is not a ledger.", fix=MISSING_LEDGER)
            if version > SCHEMA:
                raise newer_layout(self.name, version)
            if not self._connections.same_file():
                raise LedgerUnavailable(
                    f"The file {self.name} was moved or replaced while it was open.", fix="Open the ledger again."
                )
            yield connection

    @contextmanager
    def _transaction(self, *begin: str) -> Iterator[Connection]:
        """A transaction that is committed if its block ends, and leaves nothing if it raises."""
        broken = False
        try:
            connection = self._begun(*begin)
            try:
                yield connection
                connection.rows("COMMIT")
            except sqlite3.Error:
                broken = True
                raise
            finally:
                _roll_back(connection)
                self._connections.give_back(connection, broken=broken)
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _begun(self, *statements: str) -> Connection:
        """Begin, and wait outside the gate. SQLite's own timeout would wait inside, and not in all cases."""
        deadline, pause = time.monotonic() + self._timeout, 0.0005
        while True:
            try:
                connection = self._connections.take()
                try:
                    for statement in (
                        *statements,
                        "SELECT COUNT(*) FROM sqlite_master",
                    ):  # reading takes the snapshot
                        connection.rows(statement)
                    return connection
                except BaseException as error:
                    _roll_back(connection)
                    self._connections.give_back(connection, broken=not _busy(error))
                    raise
            except sqlite3.OperationalError as error:
                if not _busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 0.005)

    def _refuse_occupied(self, connection: Connection) -> None:
        tables = connection.rows("SELECT COUNT(*) FROM sqlite_master")[0][0]
        if tables or _pragma(connection, "application_id") or _pragma(connection, "user_version"):
            raise LedgerUnavailable(
                f"There is something at {self.name} already.", fix="Open it, or choose another path."
            )

    def _explained(self, error: sqlite3.Error) -> LedgerUnavailable | LedgerTampered:
        match _primary(error):
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                problem = f"was locked by another process for {self._timeout:g} seconds"
                fix = "Try again, or end that process."
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                problem = "cannot be written: the file or its directory is read-only"
                fix = (
                    "Change the permissions, or copy the file to read it: even to read it, SQLite writes -wal and "
                    "-shm files beside it."
                )
            case sqlite3.SQLITE_FULL:
                problem = "could not grow: the disk is full. Nothing was written"
                fix = "Make room and ask again."
            case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_AUTH:
                if not self._path.exists():
                    return LedgerMissing(f"There is no ledger at {self.name}.", fix=MISSING_LEDGER)
                problem, fix = "cannot be opened", "Change its permissions, or ask its owner."
            case sqlite3.SQLITE_NOTADB:
                return LedgerMissing(
                    f"The file {self.name} is not a ledger but another kind of file.", fix="Choose another path."
                )
            case sqlite3.SQLITE_CORRUPT:
                return LedgerTampered(f"The ledger {self.name} is damaged.", found=error, fix=RESTORE)
            case _:
                problem = f"could not be read or written ({error})"
                fix = "Nothing may be released until it can be."
        return LedgerUnavailable(f"The ledger {self.name} {problem}.", fix=fix)


def _roll_back(connection: Connection) -> None:
    if connection.in_transaction:
        with suppress(sqlite3.Error):  # the first error is the one to tell
            connection.rows("ROLLBACK")


def _pragma(connection: Connection, name: str) -> int:
    value: int = connection.rows(f"PRAGMA {name}")[0][0]
    return value


def _busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.OperationalError) and _primary(error) == sqlite3.SQLITE_BUSY


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bytes say where it happened


def _make_durable(directory: Path) -> None:
    """A new name survives a power cut once its directory has reached the disk."""
    with suppress(OSError):  # not every system lets directories be opened
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
