"""The embedded engine: DuckDB over a sealed file, read only.

The file is attached, read only, to an in-memory instance of our own: nothing else in the process shares it, and
once the file is attached the instance opens no other. Threads have a connection each. A process that was forked
gets an instance of its own, since that of the parent has lost its threads. The main thread has
its questions asked by another and waits, so that an interrupt (Ctrl-C) stops them at once.

Whether memory and disk suffice depends on the rows, and what DuckDB says when they do not tells how far it came.
So a question that fails is told in one sentence, which is the same whatever went wrong.

A sum of BIGINTs is a HUGEINT, which DuckDB hands to numpy as a float. So every sum is cast down, with NULL for
what does not fit; only if there is such a sum is the question run again for Python integers. Either way the
integers are exact.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import Groups, joined, wide
from discreet.engines.interruptible import waited_for
from discreet.engines.statement import Rows, Statement
from discreet.errors import DatabaseUnavailable, ParameterError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from duckdb import DuckDBPyConnection

Found = TypeVar("Found")

_ROW_GROUP = 122_880  # rows that DuckDB stores together, and scans in one piece


class DuckDB:
    """The sealed rows of one file: its table `rows`.

    `limits` says how large the codes of columns can be. `memory` is what DuckDB may use, such as "2GB", and
    `threads` how many it may run; both are DuckDB's own choice if not given, but for one thread on few rows.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        limits: Mapping[str, int] | None = None,
        memory: str | None = None,
        threads: int | None = None,
    ):
        self._path, self._memory, self._threads = Path(path).absolute(), memory, threads
        if not self._path.is_file():
            raise ParameterError(
                f"there are no sealed rows at {self._path}. Restore the file from a copy, or seal the rows again: "
                "vault.reseal(source)."
            )
        self.rows = Rows('sealed."rows"', "duckdb", limits or {})
        self._instance: DuckDBPyConnection | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._process, self._local, self._lock = os.getpid(), threading.local(), threading.Lock()

    def __repr__(self) -> str:
        return f"DuckDB({str(self._path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self._path), dict(self.rows.limits), self._memory, self._threads)

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement."""
        columns = self._columns(statement.select("TRY_CAST({} AS BIGINT)"))
        keys = len(statement.keys)
        read, added = columns[:keys], columns[keys:]
        if any(np.ma.is_masked(column) for column in added):  # more than 64 bits
            return wide(self._asked(statement.select(), lambda found: found.fetchall()), keys)
        size = len(columns[0]) if columns else 0
        return joined([column.tolist() for column in read], added, size)

    def mark(self) -> str:
        """Return the comment that the rows were given when they were sealed."""
        found = self._asked(
            "SELECT comment FROM duckdb_tables() WHERE database_name = 'sealed' AND comment IS NOT NULL",
            lambda found: found.fetchall(),
        )
        return "".join(comment for (comment,) in found)

    def close(self) -> None:
        """Let go of the file. The next question opens it again."""
        with self._lock:
            instance, self._instance = self._instance, None
            worker, self._worker = self._worker, None
            self._local = threading.local()
        if worker is not None:
            worker.shutdown(wait=False)
        if instance is not None and self._process == os.getpid():
            instance.close()

    def _columns(self, query: str) -> list[NDArray[Any]]:
        return list(self._asked(query, lambda found: found.fetchnumpy()).values())

    def _asked(self, query: str, fetch: Callable[[DuckDBPyConnection], Found]) -> Found:
        import duckdb

        with suppress(duckdb.Error, MemoryError):
            return self._answered(query, fetch)
        raise DatabaseUnavailable(  # here, so that nothing hangs on it that tells of rows
            f"DuckDB could not answer a question about {self._path}: memory or disk space ran out, or the file is "
            "damaged. Which of them depends on rows and is not told. What was charged stays charged. Give it more "
            'memory: Vault("people.vault", memory="4GB"), or restore the file from a copy.'
        )

    def _answered(self, query: str, fetch: Callable[[DuckDBPyConnection], Found]) -> Found:
        cursor = self._cursor()
        if threading.current_thread() is not threading.main_thread():  # interrupts go to the main thread only
            return fetch(cursor.execute(query))
        if self._worker is None:
            from concurrent.futures import ThreadPoolExecutor

            self._worker = ThreadPoolExecutor(1)  # kept: the first query of a new thread takes twice as long
        return waited_for(lambda: fetch(cursor.execute(query)), stop=cursor.interrupt, begin=self._worker.submit)

    def _cursor(self) -> DuckDBPyConnection:
        if self._process != os.getpid():
            if self._instance is not None:
                # Taken over by a fork: its threads are gone, and to destroy it would wait for them.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._instance))
            self._instance = self._worker = None
            self._process, self._local, self._lock = os.getpid(), threading.local(), threading.Lock()
        cursor: DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            with self._lock:
                if self._instance is None:
                    self._instance = self._opened()
                cursor = self._local.cursor = self._instance.cursor()
        return cursor

    def _opened(self) -> DuckDBPyConnection:
        import duckdb

        settings: dict[str, str | bool | int | float | list[str]] = {}
        if self._memory is not None:
            settings["memory_limit"] = self._memory
        if self._threads is not None:
            settings["threads"] = self._threads
        try:
            instance = duckdb.connect(":memory:", config=settings)
        except duckdb.Error:
            raise ParameterError(
                f"DuckDB does not take memory={self._memory!r}, threads={self._threads!r}. "
                'Write them as memory="2GB", threads=4, or leave them out.'
            ) from None
        try:
            self._attach(instance)
        except duckdb.Error as error:
            kind = type(error).__name__
        else:
            return instance
        instance.close()
        raise DatabaseUnavailable(
            f"DuckDB cannot open the sealed rows at {self._path} ({kind}): another process writes them, the file "
            "is damaged, or memory is too small. Wait for it, restore the file from a copy, give more memory, or "
            "seal the rows again: vault.reseal(source)."
        )

    def _attach(self, instance: DuckDBPyConnection) -> None:
        from discreet.engines import sql_writer

        path = sql_writer.sql(sql_writer.text(str(self._path)))
        instance.execute(f"SET temp_directory = {sql_writer.sql(sql_writer.text(f'{self._path}.tmp'))}")
        instance.execute(f"ATTACH {path} AS sealed (READ_ONLY)")
        if self._threads is None and _fits_one_thread(instance):
            instance.execute("SET threads = 1")  # to wake others takes longer than to do it
        instance.execute("SET enable_external_access = false")
        instance.execute("SET lock_configuration = true")


def _fits_one_thread(instance: DuckDBPyConnection) -> bool:
    """Whether the sealed rows are one row group at most, which DuckDB does not divide among threads."""
    rows = "SELECT coalesce(max(estimated_size), 0) FROM duckdb_tables() WHERE database_name = 'sealed'"
    return bool(instance.execute(rows).fetchall()[0][0] <= _ROW_GROUP)


def _reopened(path: str, limits: Mapping[str, int], memory: str | None, threads: int | None) -> DuckDB:
    return DuckDB(path, limits=limits, memory=memory, threads=threads)
