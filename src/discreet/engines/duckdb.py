"""The embedded engine: DuckDB over a sealed file, read only.

The file is attached, read only, to an in-memory instance of our own: nothing else in the process shares it, and
once the file is attached the instance opens no other. Threads have a connection each. A process that was forked
gets an instance of its own, since that of the parent has lost its threads. Codes are stored in the narrowest
integer type; that type bounds them, and so decides in which type arithmetic is safe (`discreet.engines.emit`).
The main thread has its questions asked by another and waits, so that an interrupt (Ctrl-C) stops them at once.

A sum of BIGINTs is a HUGEINT, which DuckDB hands to numpy as a float. So every sum is cast down, with NULL for
what does not fit; only if there is such a sum is the question run again for Python integers. Either way the
integers are exact. Tested in tests/engines/test_duckdb.py.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.engines.contract import GroupKey, Groups
from discreet.engines.waiting import waited_for
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from duckdb import DuckDBPyConnection
    from sqlglot.expressions import Expression

Found = TypeVar("Found")

_LIMITS = {"TINYINT": 2**7 - 1, "SMALLINT": 2**15 - 1, "INTEGER": 2**31 - 1, "BIGINT": 2**62}


class DuckDB:
    """The sealed rows of one file.

    `memory` is what DuckDB may use, such as "2GB", and `threads` how many it may run; both are DuckDB's own choice
    if not given.
    """

    def __init__(self, path: str | Path, *, memory: str | None = None, threads: int | None = None):
        self._path, self._memory, self._threads = Path(path).absolute(), memory, threads
        if not self._path.is_file():
            raise ParameterError(f"there are no sealed rows at {self._path}.")
        self._limits: dict[str, dict[str, int]] = {}
        self._instance: DuckDBPyConnection | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._process, self._local, self._lock = os.getpid(), threading.local(), threading.Lock()

    def __repr__(self) -> str:
        return f"DuckDB({str(self._path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self._path), self._memory, self._threads)

    def sums(
        self,
        rows: str,
        *,
        where: Expression | None,
        keys: Sequence[Expression],
        sums: Sequence[Expression],
        spot: bool = False,
    ) -> Groups:
        """Add up each expression over the rows on which `where` is true, by group; `spot` takes spot rows only."""
        from discreet.engines import emit

        limits = self._limits_of(rows)
        source = f"sealed.{emit.identifier(rows)}{_where(where, limits, spot)}"
        return self._groups(source, [emit.sql(key, limits=limits) for key in keys], _totals(sums, limits))

    def persons(self, rows: str, *, where: Expression | None, keys: Sequence[Expression], cap: int) -> Groups:
        """Add up over persons, by group, what each weighs there, `cap` at most."""
        from discreet.engines import emit

        limits = self._limits_of(rows)
        named = [f"k{i}" for i in range(len(keys))]
        written = [f"{emit.sql(key, limits=limits)} AS k{i}" for i, key in enumerate(keys)]
        each = (
            f"(SELECT {', '.join([*written, f'LEAST({int(cap)}, SUM(w)) AS p'])} "
            f"FROM sealed.{emit.identifier(rows)}{_where(where, limits)} GROUP BY {', '.join(['person', *named])})"
        )
        return self._groups(each, named, ["COALESCE(SUM(p), 0)"])

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

    def _groups(self, source: str, keys: Sequence[str], totals: Sequence[str]) -> Groups:
        narrow = [f"TRY_CAST({total} AS BIGINT)" for total in totals]
        columns = self._columns(_select(source, keys, narrow))
        read, added = columns[: len(keys)], columns[len(keys) :]
        if any(np.ma.is_masked(column) for column in added):  # more than 64 bits
            return _wide(self._asked(_select(source, keys, totals), lambda found: found.fetchall()), len(keys))
        size = len(columns[0]) if columns else 0
        sums = np.empty((size, len(totals)), np.int64)
        for j, column in enumerate(added):
            sums[:, j] = column
        found: list[GroupKey] = (
            list(zip(*(column.tolist() for column in read), strict=True)) if read else [() for _ in range(size)]
        )
        return Groups(found, sums)

    def _columns(self, query: str) -> list[NDArray[Any]]:
        return list(self._asked(query, lambda found: found.fetchnumpy()).values())

    def _asked(self, query: str, fetch: Callable[[DuckDBPyConnection], Found]) -> Found:
        cursor = self._cursor()
        if threading.current_thread() is not threading.main_thread():  # interrupts go to the main thread only
            return fetch(cursor.execute(query))
        if self._worker is None:
            from concurrent.futures import ThreadPoolExecutor

            self._worker = ThreadPoolExecutor(1)  # kept: the first query of a new thread takes twice as long
        return waited_for(lambda: fetch(cursor.execute(query)), stop=cursor.interrupt, begin=self._worker.submit)

    def _limits_of(self, rows: str) -> dict[str, int]:
        """How large the codes of each column can be: its type says it, and no weight exceeds one unit."""
        if rows not in self._limits:
            described = self._cursor().execute(
                "SELECT column_name, data_type FROM duckdb_columns() "
                "WHERE database_name = 'sealed' AND table_name = ?",
                [rows],
            )
            self._limits[rows] = {name: _LIMITS[kind] for name, kind in described.fetchall() if kind in _LIMITS}
        return self._limits[rows]

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

        from discreet.engines import emit

        settings: dict[str, str | bool | int | float | list[str]] = {}
        if self._memory is not None:
            settings["memory_limit"] = self._memory
        if self._threads is not None:
            settings["threads"] = self._threads
        instance = duckdb.connect(":memory:", config=settings)
        path = emit.sql(emit.text(str(self._path)))
        instance.execute(f"SET temp_directory = {emit.sql(emit.text(f'{self._path}.tmp'))}")
        instance.execute(f"ATTACH {path} AS sealed (READ_ONLY)")
        instance.execute("SET enable_external_access = false")
        instance.execute("SET lock_configuration = true")
        return instance


def _reopened(path: str, memory: str | None, threads: int | None) -> DuckDB:
    return DuckDB(path, memory=memory, threads=threads)


def _totals(sums: Sequence[Expression], limits: dict[str, int]) -> list[str]:
    from discreet.engines import emit

    return [emit.total(tree, limits=limits) for tree in sums]


def _where(where: Expression | None, limits: dict[str, int], spot: bool = False) -> str:
    from discreet.engines import emit

    conditions = [*([emit.sql(where, limits=limits)] if where is not None else []), *(["spot"] if spot else [])]
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _select(source: str, keys: Sequence[str], totals: Sequence[str]) -> str:
    named = [f"{text} AS r{i}" for i, text in enumerate([*keys, *totals])]
    grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    return f"SELECT {', '.join(named)} FROM {source}{grouped}"


def _wide(rows: list[tuple[Any, ...]], keys: int) -> Groups:
    sums = np.empty((len(rows), len(rows[0]) - keys), object)
    for i, row in enumerate(rows):
        sums[i] = row[keys:]
    return Groups([tuple(row[:keys]) for row in rows], sums)
