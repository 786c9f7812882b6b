"""Run statements in DuckDB, the embedded engine, over a sealed file that is read only.

The file is attached to an in-memory instance of our own, which no other code in the process shares. Once the file
is attached, the instance opens no other. Each thread has its own connection. A forked process gets its own
instance, since the parent's has lost its threads. The main thread hands its statements to another thread and
waits, so that an interrupt (Ctrl-C) stops them at once.

Whether memory and disk suffice depends on the rows, and DuckDB's own error message would show how far it came. So
every failure raises the same message.

A sum of BIGINTs is a HUGEINT, which DuckDB hands to numpy as a float. So every sum is cast to BIGINT, with NULL if
it does not fit; only if there is such a sum, the statement is run again for Python integers. In both cases the
integers are exact.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.engines import sql_writer
from discreet.engines.engine import Groups, combined, joined, wide
from discreet.engines.examples import MemoryExamples, StoredExamples, gathered
from discreet.engines.interruptible import waited_for
from discreet.engines.statement import FULL, OTHERS, Rows, Selection, Statement
from discreet.errors import Code, DatabaseUnavailable, Fix, ParameterError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from duckdb import DuckDBPyConnection

Found = TypeVar("Found")

_MEMORY = Fix("memory", "4GB", call="Vault")
_RESEAL = Fix("source", Code("source"), call="vault.reseal")

_LEAST_MEMORY, _THREAD_MEMORY = 2**30, 2**28
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_ROW_GROUP = 122_880  # the rows that DuckDB stores together and scans in one piece


class DuckDB:
    """The sealed rows of one file: its view `rows` of two tables, or a table `rows` in files of earlier versions.

    Args:
        path: The file.
        limits: The largest code of each column; by default, that of a BIGINT.
        memory: The memory that DuckDB may use, such as "2GB"; by default, that of `memory_limit`.
        threads: The threads that it may run; by default, one for few rows and else DuckDB's own choice.
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
                f"There are no sealed rows at {self._path}.",
                fix=[_RESEAL, "Or restore the file from a copy."],
            )
        self.rows = Rows('sealed."rows"', "duckdb", limits or {}, codes=True)
        self._within: dict[tuple[str, int], bool] = {}
        self._marks: frozenset[str] | None = None
        self._instance: DuckDBPyConnection | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._process, self._local, self._lock = os.getpid(), threading.local(), threading.Lock()

    def __repr__(self) -> str:
        return f"DuckDB({str(self._path)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self._path), dict(self.rows.limits), self._memory, self._threads)

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement."""
        lean = statement.lean
        if lean is not None and self._are_marked(statement.marks) and self._are_within(statement.within):
            found = self._run(lean)
            return combined(found, lean.combined) if lean.combined else found
        return self._run(statement)

    def _run(self, statement: Statement) -> Groups:
        columns = self._columns(statement.select("TRY_CAST({} AS BIGINT)"))
        keys = len(statement.keys)
        read, added = columns[:keys], columns[keys:]
        if any(np.ma.is_masked(column) for column in added):  # more than 64 bits
            return wide(self._asked(statement.select(), lambda found: found.fetchall()), keys)
        size = len(columns[0]) if columns else 0
        return joined([column.tolist() for column in read], added, size)

    def _are_within(self, limits: Sequence[tuple[str, int]]) -> bool:
        """Return whether no code of these columns is below 0 or above its limit. Each column is read once."""
        if unknown := [limit for limit in limits if limit not in self._within]:
            names = [sql_writer.identifier(name) for name, _ in unknown]
            ends = ", ".join(f"MIN({name}), MAX({name})" for name in names)
            (found,) = self._asked(f"SELECT {ends} FROM {self.rows.name}", lambda found: found.fetchall())
            for limit, least, most in zip(unknown, found[::2], found[1::2], strict=True):
                self._within[limit] = least is None or (least >= 0 and most <= limit[1])
        return all(self._within[limit] for limit in limits)

    def _are_marked(self, marks: Sequence[str]) -> bool:
        """Return whether the rows have these columns; earlier versions sealed rows without them."""
        if marks and self._marks is None:
            found = self._asked(
                "SELECT column_name FROM duckdb_columns() WHERE database_name = 'sealed'",
                lambda found: found.fetchall(),
            )
            self._marks = frozenset(name for (name,) in found)
        return not marks or (self._marks is not None and self._marks.issuperset(marks))

    def examples(self, selection: Selection) -> StoredExamples:
        """Return the rows of a selection, read into the memory of this process when they are needed."""
        return StoredExamples(selection, self._gathered, self.run)

    def _gathered(self, selection: Selection) -> MemoryExamples:
        from pyarrow import ArrowException

        def read(cursor: DuckDBPyConnection) -> MemoryExamples:
            # A relation streams; the result of execute would be a second copy of all rows.
            return gathered(cursor.sql(selection.query).to_arrow_reader(_ROW_GROUP), selection)

        return self._tried(read, ArrowException, OSError)

    def fingerprint(self) -> str:
        """Return the fingerprint that the rows were given when they were sealed."""
        found = self._asked(
            "SELECT comment FROM duckdb_tables() WHERE database_name = 'sealed' AND comment IS NOT NULL",
            lambda found: found.fetchall(),
        )
        return "".join(comment for (comment,) in found)

    def close(self) -> None:
        """Close the file. The next statement opens it again."""
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
        return self._tried(lambda cursor: fetch(cursor.execute(query)))

    def _tried(self, work: Callable[[DuckDBPyConnection], Found], *failures: type[Exception]) -> Found:
        import duckdb

        with suppress(duckdb.Error, MemoryError, *failures):
            return self._answered(work)
        raise DatabaseUnavailable(  # here, outside the except block, so that no context quotes rows
            f"DuckDB could not answer a question about {self._path}: memory or disk space ran out, or the file is "
            "damaged.",
            fix=[
                _MEMORY,
                "Or restore the file from a copy. The cause depends on rows, so it is not shown. "
                "What was charged stays charged.",
            ],
        )

    def _answered(self, work: Callable[[DuckDBPyConnection], Found]) -> Found:
        cursor = self._cursor()
        if threading.current_thread() is not threading.main_thread():  # only the main thread receives interrupts
            return work(cursor)
        if self._worker is None:
            from concurrent.futures import ThreadPoolExecutor

            # Kept, because the first query of a new thread takes twice as long.
            self._worker = ThreadPoolExecutor(1)
        return waited_for(lambda: work(cursor), stop=cursor.interrupt, begin=self._worker.submit)

    def _cursor(self) -> DuckDBPyConnection:
        if self._process != os.getpid():
            if self._instance is not None:
                # A fork copied it without its threads, and destroying it would wait for them.
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

        self._within, self._marks = {}, None  # what was seen holds for the file that was open
        settings: dict[str, str | bool | int | float | list[str]] = {}
        if self._memory is not None:
            settings["memory_limit"] = self._memory
        if self._threads is not None:
            settings["threads"] = self._threads
        try:
            instance = duckdb.connect(":memory:", config=settings)
        except duckdb.Error:
            raise ParameterError(
                "DuckDB does not accept this memory or number of threads.",
                found=f"memory={self._memory!r}, threads={self._threads!r}",
                fix=[Fix("memory", "2GB"), Fix("threads", 4)],
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
            "is damaged, or memory is too small.",
            fix=[_MEMORY, _RESEAL, "Or wait for the other process, or restore the file from a copy."],
        )

    def _attach(self, instance: DuckDBPyConnection) -> None:
        path = sql_writer.sql(sql_writer.text(str(self._path)))
        instance.execute(f"SET temp_directory = {sql_writer.sql(sql_writer.text(f'{self._path}.tmp'))}")
        instance.execute(f"ATTACH {path} AS sealed (READ_ONLY)")
        self._name_parts(instance)
        if self._threads is None and _fits_one_thread(instance):
            instance.execute("SET threads = 1")  # waking more threads takes longer than the work
        if self._memory is None:
            settings = "SELECT current_setting('threads'), current_setting('memory_limit')"
            threads, available = instance.execute(settings).fetchall()[0]
            limit = memory_limit(self._path.stat().st_size, int(threads), _bytes(available))
            if limit is not None:
                instance.execute(f"SET memory_limit = '{limit >> 20}MiB'")
        instance.execute("SET enable_external_access = false")
        instance.execute("SET lock_configuration = true")

    def _name_parts(self, instance: DuckDBPyConnection) -> None:
        """Name rows of full weight and the others, which are two tables, or one in an earlier version."""
        if (unit := self.rows.limits.get("w")) is None:
            return
        tables = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'sealed'"
        found = {name for (name,) in instance.execute(tables).fetchall()}
        full = f"sealed.{FULL}" if FULL in found else f"{self.rows.name} WHERE w = {unit}"
        others = f"sealed.{OTHERS} WHERE w <= {unit}" if OTHERS in found else f"{self.rows.name} WHERE w < {unit}"
        instance.execute(f"CREATE VIEW {FULL} AS SELECT * FROM {full}")
        instance.execute(f"CREATE VIEW {OTHERS} AS SELECT * FROM {others}")


def memory_limit(size: int, threads: int, available: int) -> int | None:
    """Return how many bytes of memory DuckDB may use by default; None for its own limit, which is less.

    The cache of a file that is read as a whole needs its size, and groups by person need about as much again.
    Groups that need more go to the disk, for which every thread keeps buffers. So the limit grows with the file
    and with the threads. It is far from what questions need, because one that fails stays charged.

    Args:
        size: The size of the file.
        threads: The number of threads.
        available: DuckDB's own limit, a part of the memory of the machine.

    >>> memory_limit(size=340 * 2**20, threads=2, available=16 * 2**30) == 2**30
    True
    """
    wanted = max(_LEAST_MEMORY, _THREAD_MEMORY * threads, 2 * size)
    return wanted if wanted < available else None


def _bytes(shown: str) -> int:
    """Return the number of bytes in a setting of DuckDB, such as 18.8 GiB."""
    number, unit = shown.split()
    return int(float(number) * 1024 ** _UNITS.index(unit))


def _fits_one_thread(instance: DuckDBPyConnection) -> bool:
    """Return whether the sealed rows are at most one row group, which DuckDB does not divide among threads."""
    rows = "SELECT coalesce(sum(estimated_size), 0) FROM duckdb_tables() WHERE database_name = 'sealed'"
    return bool(instance.execute(rows).fetchall()[0][0] <= _ROW_GROUP)


def _reopened(path: str, limits: Mapping[str, int], memory: str | None, threads: int | None) -> DuckDB:
    return DuckDB(path, limits=limits, memory=memory, threads=threads)
