"""Lend connections to SQLite to one thread at a time, and close them before a fork.

What SQLite knows about a file, its locks above all, belongs to a process. A child that inherits an open connection
inherits the belief in locks that it does not have, and so does every connection that it opens to the same file
itself: when the parent closes its own, the log is cleared away under the child, and what the child then commits is
lost (seen with SQLite 3.40; see also sqlite.org/howtocorrupt.html, section 2.6). It also inherits SQLite's mutexes
as they are, locked for ever if another thread held them.

So all transactions pass a gate. A fork waits there until the transactions of other threads have ended, closes the
idle connections, and only then happens; parent and child open new ones when they need them. A child for which this
could not be done (a fork inside a transaction, or by a program that does not tell Python) is refused.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import LedgerUnavailable

_IDLE = 8  # connections kept for the next transaction


class _Gate:
    """Lets any number of threads in, and a fork only when the others are out. A thread inside may enter again.

    A finaliser that closes connections enters wherever Python happens to collect garbage, in the middle of a line
    below too, and leaves again before that line goes on. So the lock may be taken twice by its thread, and each
    line is right although the thread's own count came and went in between.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._inside: dict[int, int] = {}
        self._forking: list[int] = []

    def enter(self) -> None:
        me = threading.get_ident()
        with self._changed:
            # A finaliser in the thread that forks does not wait: it would wait for itself.
            while self._forking and me not in self._forking and not self._inside.get(me):
                self._changed.wait()
            self._inside[me] = self._inside.get(me, 0) + 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] = self._inside.get(me, 0) - 1
            if self._inside.get(me) == 0:
                self._inside.pop(me, None)
            self._changed.notify_all()

    def shut(self) -> None:
        self._changed.acquire()
        me = threading.get_ident()
        self._forking.append(me)
        while any(count for thread, count in list(self._inside.items()) if thread != me):
            self._changed.wait()

    def open(self) -> None:
        self._forking.remove(threading.get_ident())
        self._changed.notify_all()
        self._changed.release()


class _Process:
    """The state of this process: its gate, and whether it may open a connection."""

    def __init__(self, *, sound: bool = True) -> None:
        self.number = os.getpid()
        self.gate = _Gate()
        self.sound = sound


_process = _Process()


def _expect_sound() -> None:
    if _process.number != os.getpid():
        _in_child()  # after a fork by code other than Python
    if not _process.sound:
        raise LedgerUnavailable(
            "This process was forked inside a transaction, or by code other than Python, while a ledger was open.",
            fix="Close the ledger before the fork, or start the process with spawn.",
        )


class Connection(sqlite3.Connection):
    """A connection that runs a statement at a time."""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return all of its rows."""
        _expect_sound()
        return self.execute(statement, parameters).fetchall()


class Connections:
    """Opens, lends and keeps connections to one file."""

    def __init__(self, path: Path, set_up: Callable[[Connection], None]):
        self._path = path
        self._set_up = set_up
        self._file: tuple[int, int] | None = None
        self._open: set[Connection] = set()
        self._idle: list[Connection] = []
        _OPEN[id(self._open)] = self._open
        weakref.finalize(self, _close_all, self._open)
        _ALL.add(self)

    def take(self) -> Connection:
        """Lend a connection, and enter the gate until it is given back."""
        _expect_sound()
        _process.gate.enter()
        try:
            return self._any_idle() or self._opened()
        except BaseException:
            _process.gate.leave()
            raise

    def give_back(self, connection: Connection, *, broken: bool) -> None:
        """Keep the connection for the next transaction, unless something went wrong with it."""
        try:
            if broken or connection.in_transaction or len(self._idle) >= _IDLE:
                self._discard(connection)
            else:
                self._idle.append(connection)
        finally:
            _process.gate.leave()

    def same_file(self) -> bool:
        """Return whether the path leads to the file that was there at first."""
        return _identity(self._path) == self._file

    def close(self) -> None:
        """Close what is idle."""
        _process.gate.enter()
        try:
            self.close_inside()
        finally:
            _process.gate.leave()

    def close_inside(self) -> None:
        """Close what is idle, standing inside the gate or before it while it is shut."""
        while connection := self._any_idle():
            self._discard(connection)

    def _opened(self) -> Connection:
        if self._file is None:
            self._file = _identity(self._path)  # before it is opened: what is replaced in between is seen as moved
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",  # rw, so that SQLite never makes a file itself
            uri=True,
            timeout=0,  # waiting happens outside the gate
            isolation_level=None,
            check_same_thread=False,
            factory=Connection,
        )
        self._open.add(connection)
        try:
            self._set_up(connection)
        except BaseException:
            self._discard(connection)
            raise
        return connection

    def _any_idle(self) -> Connection | None:
        try:
            return self._idle.pop()  # one step, which no other thread divides
        except IndexError:
            return None

    def _discard(self, connection: Connection) -> None:
        self._open.discard(connection)
        connection.close()


_ALL: weakref.WeakSet[Connections] = weakref.WeakSet()

# What is open, also of owners that are gone: their finalisers may still wait at the gate when a fork happens.
_OPEN: dict[int, set[Connection]] = {}


def _close_all(connections: set[Connection]) -> None:
    if _process.sound and _process.number == os.getpid():
        _process.gate.enter()
        try:
            for connection in list(connections):
                connection.close()
            connections.clear()
            _OPEN.pop(id(connections), None)
        finally:
            _process.gate.leave()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _before_fork() -> None:
    _process.gate.shut()
    owned = set[int]()
    for connections in list(_ALL):
        connections.close_inside()
        owned.add(id(connections._open))
    for number in list(_OPEN):
        if number not in owned and (left := _OPEN.get(number)):
            for connection in list(left):
                connection.close()
            left.clear()


def _in_child() -> None:
    global _process
    _process = _Process(sound=_process.sound and not any(_OPEN.values()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=lambda: _process.gate.open(), after_in_child=_in_child
    )
