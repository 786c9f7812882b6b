"""Real processes for the tests: forked, watched, and sometimes killed."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.ledger.store import Rows
from discreet.ledger.store.postgres import PostgresStore
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.ledger.store.sqlite_connections import Connection
from discreet.postgres import execute

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Ended:
    """What a child told before it ended, and how it ended: 0, an exit status, or minus a signal."""

    told: list[str]
    status: int


def forked(tasks: Sequence[Callable[[Tell], None]], heard: Tell | None = None) -> list[Ended]:
    """Run every task in a child of its own, all at once: none begins before all are there.

    `heard` is called in the parent with each line that a child tells.
    """
    start_read, start_write = os.pipe()
    children = []
    for task in tasks:
        told_read, told_write = os.pipe()
        child = os.fork()
        if child == 0:
            _run(task, start_read, start_write, told_read, told_write)
        os.close(told_write)
        children.append((child, told_read))
    os.close(start_read)
    os.close(start_write)  # the starting shot
    return [_awaited(child, told, heard) for child, told in children]


def alone(task: Callable[[Tell], None]) -> Ended:
    """Run one task in a child."""
    return forked([task])[0]


def _run(task: Callable[[Tell], None], start_read: int, start_write: int, told_read: int, told_write: int) -> None:
    status, pipe = 1, os.fdopen(told_write, "w")
    try:
        os.close(start_write)
        os.close(told_read)
        os.read(start_read, 1)
        task(lambda line: print(line, file=pipe, flush=True))
        status = 0
    except BaseException:
        traceback.print_exc(file=pipe)
        pipe.flush()
    finally:
        os._exit(status)


def _awaited(child: int, told: int, heard: Tell | None) -> Ended:
    text = []
    with os.fdopen(told) as lines:
        for line in lines:
            text.append(line.rstrip("\n"))
            if heard:
                heard(text[-1])
    return Ended(text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


class TracedStore(SQLiteStore):
    """A store that calls `at` before each statement that SQLite runs."""

    def __init__(self, path: Path, at: Callable[[str], None]):
        super().__init__(path)
        self._at = at

    def _set_up(self, connection: Connection) -> None:
        super()._set_up(connection)
        connection.set_trace_callback(self._at)


class TracedPostgresStore(PostgresStore):
    """A store that calls `at` before and after each step of a transaction."""

    def __init__(self, address: str, at: Callable[[str], None]):
        super().__init__(address)
        self._at = at

    def _rows(self, connection: Any) -> Rows:
        def traced(text: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
            self._at(text)
            return execute(connection, text, parameters)

        return Rows(traced)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Any]:
        self._at(begin)
        with super()._transaction(begin) as connection:
            self._at("begun")
            yield connection
            self._at("commit")
        self._at("committed")
