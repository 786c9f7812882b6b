"""Lend connections to PostgreSQL to one thread for one transaction.

The transaction is committed when the block ends, and rolled back when it raises. To COMMIT a transaction that has
failed PostgreSQL answers with a quiet ROLLBACK, so the state of the transaction is looked at first: a block that
swallowed an error ends in one. A connection that broke is closed and never lent again, and one that had broken
while it was idle is replaced before the block begins.

No connection crosses a fork. Idle ones are closed before it. One in use stays with the parent: closing it in the
child would end the session of the parent, and using it there would mix up two conversations, so the child does
neither.
"""

from __future__ import annotations

import atexit
import itertools
import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.errors import DatabaseUnavailable
from discreet.postgres.address import Address

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection as Connection

_IDLE = 4  # connections kept for the next transaction, per database and user
_CANCELLED = "57014"  # an interrupt may ask for it twice, and the second must not meet the next transaction
_PARAMETER = re.compile(r"'[^']*'|\"[^\"]*\"|\?")
_FIXES = {
    "password": "Check user and password; a password may also stand in ~/.pgpass or in PGPASSWORD.",
    "authentication": "Check the user, and what the server's pg_hba.conf requires of it.",
    "pg_hba.conf": "Check the user, and what the server's pg_hba.conf states about it.",
    "role": "Check the user.",
    "database": "Check the database.",
    "too many": "Close other connections, or raise the server's max_connections.",
    "starting up": "Try again in a moment.",
    "timeout": "Try again, or raise that timeout.",
}


@contextmanager
def connected(address: Address, begin: str = "SELECT 1") -> Iterator[Connection]:
    """Lend a connection for one transaction, which is committed when the block ends and rolled back if it raises.

    `begin` is what the transaction begins with: statements without parameters, all sent at once. If they fail
    because an idle connection had broken, they are sent again through a new one.

    What is set for a connection stays with it when it is lent again: use SET LOCAL, and temporary tables that are
    dropped ON COMMIT.
    """
    connection = _begun(address, begin)
    try:
        yield connection
        connection.commit()
    except BaseException as error:
        _give_back(address, connection, sound=_rolled_back(connection, error))
        raise
    _give_back(address, connection, sound=True)


def opened(address: Address) -> Connection:
    """Open a connection that the caller keeps and closes, such as one whose session holds a lock."""
    return _understood(_opened(address), address)


def run(connection: Connection, script: str) -> None:
    """Run statements without parameters and without results, all sent at once."""
    with connection.cursor() as cursor:
        cursor.executemany(script, None)


def execute(connection: Connection, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a statement with `?` for parameters, and return its rows."""
    numbers = itertools.count(1)
    numbered = _PARAMETER.sub(lambda found: f"${next(numbers)}" if found[0] == "?" else found[0], text)
    # COPY, the driver's way for many rows, asks the server three times where one is enough, and knows no SHOW.
    with connection.cursor(adbc_stmt_kwargs={"adbc.postgresql.use_copy": "false"}) as cursor:
        cursor.execute(numbered, list(parameters) or None)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def sqlstate(error: BaseException) -> str:
    """Return the five characters by which PostgreSQL names an error, or "" for one that is not the server's."""
    return getattr(error, "sqlstate", None) or ""


def detail(error: BaseException, name: str) -> str:
    """Return one field of the server's error report, such as MESSAGE_PRIMARY, or "" if it is missing.

    The primary message names tables and columns. Others, such as MESSAGE_DETAIL, may quote a row.
    """
    details = {bytes(key): value for key, value in getattr(error, "details", None) or ()}
    return str(details.get(f"PG_DIAG_{name}".encode(), b""), "utf-8", "replace")


def from_driver(error: BaseException) -> bool:
    """Return whether an error was raised by the driver: by the server, or on the way to it."""
    try:
        from adbc_driver_manager import Error
    except ImportError:
        return False
    return isinstance(error, Error)


def is_lost(error: BaseException) -> bool:
    """Return whether an error means that the server or the connection is gone, and with it the outcome."""
    state = sqlstate(error)
    return from_driver(error) and (not state or state.startswith(("08", "57P")))


def close(address: Address) -> None:
    """Close the connections of this process to this database that are idle, whatever schema they were used for."""
    for connection in _take_all(address):
        connection.close()


def _begun(address: Address, begin: str) -> Connection:
    while True:
        idle = _take(address)
        connection = idle or opened(address)
        try:
            run(connection, begin)
            return connection
        except BaseException as error:
            _give_back(address, connection, sound=_rolled_back(connection, error))
            if idle is None or not is_lost(error):
                raise  # otherwise the next idle one, and a new one when there is none left


def _rolled_back(connection: Connection, error: BaseException) -> bool:
    """Leave the transaction. Return whether the connection can be lent again."""
    with suppress(Exception):
        # The driver may report "idle" for a lost connection: only a server that answers ROLLBACK is there.
        began = _state(connection) in ("intrans", "inerror")
        connection.rollback()
        return began and _state(connection) == "idle" and sqlstate(error) != _CANCELLED
    return False


def _state(connection: Connection) -> str:
    """Return the driver's state of the transaction: idle, active, intrans, inerror or unknown."""
    return connection.adbc_connection.get_option("adbc.postgresql.transaction_status")


def _opened(address: Address) -> Connection:
    try:
        from adbc_driver_manager import AdbcConnection, Error
        from adbc_driver_postgresql import connect
    except ImportError as error:
        raise DatabaseUnavailable(
            f"The driver that {address} needs is not installed.",
            fix="Install it: pip install 'discreet[postgres]'",
        ) from error
    try:
        database = connect(address.uri)
        try:
            return _session()(database, AdbcConnection(database))
        except BaseException:
            with suppress(Exception):
                database.close()
            raise
    except Error as error:
        # Not `from error`: the driver's message may quote the address.
        raise _unreachable(address, error) from None


def _understood(connection: Connection, address: Address) -> Connection:
    """Return a new connection, if numbers that come through it are numbers."""
    try:
        if execute(connection, "SELECT 1") == [(1,)]:
            connection.rollback()
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    raise DatabaseUnavailable(
        f"The server of {address} quotes every name (quote_all_identifiers = on): the driver cannot read types.",
        fix=[
            "Run ALTER ROLE … SET quote_all_identifiers = off.",
            "Or add to the address: ?options=-c%20quote_all_identifiers%3Doff",
        ],
    )


def _unreachable(address: Address, error: BaseException) -> DatabaseUnavailable:
    message = detail(error, "MESSAGE_PRIMARY") or str(error).partition("Failed to connect: ")[2] or str(error)
    reason = " ".join(address.hide(message).split()).rstrip(".")
    fix = next((fix for word, fix in _FIXES.items() if word in reason), "Check host and port, and that it runs.")
    return DatabaseUnavailable(f"The server of {address} cannot be reached: {reason}.", fix=fix)


@cache
def _session() -> type[Connection]:
    """The class of our connections, made when the driver is first needed."""
    from adbc_driver_manager.dbapi import Connection, Cursor

    class Session(Connection):
        """A connection of one process. In a child of that process it does nothing, and is never closed."""

        def __init__(self, *arguments: Any) -> None:
            self._process = os.getpid()
            super().__init__(*arguments)

        def cursor(self, **options: Any) -> Cursor:
            self._expect_own()
            return super().cursor(**options)

        def commit(self) -> None:
            self._expect_own()
            if _state(self) != "intrans":  # the driver itself would return as if all were well
                raise DatabaseUnavailable(
                    "A statement of this transaction has failed, so nothing of it can be kept.",
                    fix="Run it again.",
                )
            super().commit()

        def rollback(self) -> None:
            self._expect_own()
            super().rollback()

        def close(self) -> None:
            if self._process == os.getpid():
                super().close()

        def __del__(self) -> None:
            with suppress(Exception):
                self.close()

        def _expect_own(self) -> None:
            if self._process != os.getpid():
                raise DatabaseUnavailable(
                    "This process was forked inside a transaction, and the connection belongs to its parent.",
                    fix="Fork before or after the transaction, or start the process with spawn.",
                )

    return Session


# -- idle connections -------------------------------------------------------------------------------------------


class _Idle:
    """The idle connections of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.RLock()  # a finaliser may come here again wherever Python collects garbage
        self.connections: dict[str, list[Connection]] = {}


_idle = _Idle()


def _mine() -> _Idle:
    global _idle
    if _idle.process != os.getpid():
        _idle = _Idle()  # what was inherited is let go of, and does nothing then
    return _idle


def _take(address: Address) -> Connection | None:
    idle = _mine()
    with idle.lock:
        kept = idle.connections.get(address.uri)
        return kept.pop() if kept else None


def _take_all(address: Address | None = None) -> list[Connection]:
    idle = _mine()
    with idle.lock:
        keys = [*idle.connections] if address is None else [address.uri]
        return [connection for key in keys for connection in idle.connections.pop(key, [])]


def _give_back(address: Address, connection: Connection, *, sound: bool) -> None:
    idle = _mine()
    if sound:
        with idle.lock:
            kept = idle.connections.setdefault(address.uri, [])
            if len(kept) < _IDLE:
                kept.append(connection)
                return
    with suppress(Exception):
        connection.close()


def _close_all() -> None:
    for connection in _take_all():
        with suppress(Exception):
            connection.close()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_all)
