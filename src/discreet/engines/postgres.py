"""Run statements in PostgreSQL, over rows that stay in its database.

Every statement has its own transaction, which only reads. The settings of a session or a role do not change it:
names are resolved in pg_catalog only, so that no other function or operator of the same name is called, and no
time limit ends it. A policy that would hide rows is an error.

The rows of a vault never change, so all statements of one question see the same ones. A trigger stops changes by
mistake (`guarded`), and rows without it are not queried, because the weight of one person in them is not known.
The owner of the table is trusted: an owner who removes the trigger, changes rows and restores it is not noticed.

The transaction that reads the rows locks the table and checks the fingerprint that it was sealed with, so that a
table of the same name that has replaced it is not mistaken for it.

PostgreSQL adds up BIGINTs in 128 bits and NUMERICs with as many digits as needed. It sends both as digits, which
are read as integers and never as floats.

An interrupt (Ctrl-C) cancels the statement in the server and closes the connection, because a late cancellation
must not hit the next transaction. If the server fails, its message is not repeated, since it may quote a row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.engines.engine import Groups, joined
from discreet.engines.examples import MemoryExamples, StoredExamples, gathered
from discreet.engines.interruptible import waited_for
from discreet.engines.statement import Rows, Selection, Statement
from discreet.errors import Code, DatabaseUnavailable, Fix, ParameterError
from discreet.postgres import Address, close, connected, guard, identifier, sqlstate

if TYPE_CHECKING:
    import pyarrow
    from adbc_driver_manager.dbapi import Connection
    from numpy.typing import NDArray

SAFELY = (
    "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL standard_conforming_strings = on; "
    "SET LOCAL row_security = off; "
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; "
)
"""The settings at the start of each of our transactions."""

_READING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; " + SAFELY
_GUARD = "never_changed"
# The query tells whether the trigger is enabled for every kind of change (62: before a statement, all four) to
# every column, and whether no table adds its rows by inheritance.
_FACTS = """
    SELECT pg_catalog.obj_description(r.oid, 'pg_class'), EXISTS (
        SELECT 1 FROM pg_catalog.pg_trigger WHERE tgrelid = r.oid AND tgname = '{guard}' AND tgenabled = 'A'
            AND tgtype = 62 AND tgqual IS NULL AND NOT EXISTS (
                SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = r.oid AND attnum > 0 AND NOT attisdropped
                    AND attnum <> ALL (CAST(tgattr AS pg_catalog.int2[]))
            )
    ) AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits WHERE inhparent = r.oid)
    FROM (SELECT pg_catalog.to_regclass('{table}')::oid AS oid) AS r
"""

_REASONS = {
    "08": "the connection to it broke",
    "53": "it has run out of memory, space or connections",
    "57": "it stopped the statement: it shuts down, an administrator cancelled it, or a time limit was reached",
    "58": "it has trouble with its files",
}
_FORBIDDEN, _ABSENT = "42501", ("42P01", "3F000")

Found = TypeVar("Found")


class Postgres:
    """The sealed rows of one table, in the schema that an address names.

    Args:
        address: The database and its schema.
        table: The name of the table.
        limits: The largest code of each column; by default, that of a BIGINT.
        fingerprint: That of the sealed rows. If it is given, rows with another fingerprint, and rows that are
            not protected against changes, are not queried.
    """

    def __init__(
        self,
        address: Address,
        table: str = "rows",
        *,
        limits: Mapping[str, int] | None = None,
        fingerprint: str | None = None,
    ):
        self._address, self._table, self._fingerprint = address, table, fingerprint
        self._rows = Rows(identifier(str(address.schema), table), "postgres", limits or {})

    def __repr__(self) -> str:
        return f"Postgres({self._address}, {self._table!r})"

    @property
    def rows(self) -> Rows:
        """The rows, if they are still those that were sealed. It is read before a charge."""
        if self._fingerprint is not None:
            self._reading(self._check)
        return self._rows

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement."""
        text = statement.select()

        def answered(connection: Connection) -> pyarrow.Table:
            if self._fingerprint is not None:
                self._check(connection)
            return _fetched(connection, text)

        table = self._reading(answered)
        keys = len(statement.keys)
        read, added = table.columns[:keys], table.columns[keys:]
        return joined([*map(_codes, read)], [*map(_integers, added)], table.num_rows)

    def examples(self, selection: Selection) -> StoredExamples:
        """Return the rows of a selection, read into the memory of this process when they are needed."""
        return StoredExamples(selection, self._gathered, self.run)

    def _gathered(self, selection: Selection) -> MemoryExamples:
        def read(connection: Connection) -> MemoryExamples:
            if self._fingerprint is not None:
                self._check(connection)
            with connection.cursor() as cursor:  # a COPY, in batches: many rows arrive faster than by SELECT
                cursor.execute(selection.query)
                return gathered(cursor.fetch_record_batch(), selection)

        return self._reading(read)

    def fingerprint(self) -> str:
        """Return the fingerprint of the sealed rows, if they are protected against changes."""
        return self._reading(self._found)

    def close(self) -> None:
        """Close idle connections. The next statement opens a new one."""
        close(self._address)

    def _found(self, connection: Connection) -> str:
        """Return the fingerprint of the table that this transaction has locked."""
        text = _FACTS.format(guard=_GUARD, table=self._rows.name.replace("'", "''"))
        (comment,), (guarded,) = (column.to_pylist() for column in _fetched(connection, text).columns)
        if not guarded:
            raise ParameterError(
                f"The rows of {self._address}, table {self._table}, are not guarded against changes, so the "
                "weight of one person in them is not known.",
                fix=[
                    Fix("source", Code("source"), call="vault.reseal"),
                    "If they come from a backup and are certainly those that were sealed, run "
                    f"ALTER TABLE {self._rows.name} ENABLE ALWAYS TRIGGER {_GUARD}.",
                ],
            )
        return comment or ""

    def _check(self, connection: Connection) -> None:
        if self._found(connection) != self._fingerprint:
            raise ParameterError(
                f"The rows of {self._address}, table {self._table}, were sealed again after the question was "
                "planned.",
                fix="Ask again.",
            )

    def _reading(self, work: Callable[[Connection], Found]) -> Found:
        """Return the result of some work in a transaction that locks the table."""
        from adbc_driver_manager import Error
        from pyarrow import ArrowException

        hold = f"LOCK TABLE {self._rows.name} IN ACCESS SHARE MODE"  # before the snapshot is taken
        try:
            with connected(self._address, _READING + hold) as connection:
                return stoppable(connection, lambda: work(connection))
        except (Error, ArrowException, OSError) as error:  # a stream fails as an OSError
            failure = _failure(error, f"{self._address}, table {self._table}")
        raise failure  # here, outside the except block, so that no context quotes a row


def guarded(schema: str, table: str, columns: Iterable[str]) -> str:
    """Return the statements that make INSERT, UPDATE, DELETE and TRUNCATE fail, also for the owner of the table.

    ALTER COLUMN … TYPE … USING rewrites a column and fires no trigger. But PostgreSQL refuses to alter, or to
    drop, a column that a trigger names, so this trigger names all `columns` of the table.
    """
    named = ", ".join(map(identifier, columns))
    return guard(
        identifier(schema, table),
        function=identifier(schema, f"{table}_{_GUARD}"),
        name=_GUARD,
        event=f"BEFORE INSERT OR DELETE OR TRUNCATE OR UPDATE OF {named} ON {{table}} FOR EACH STATEMENT",
        body="RAISE EXCEPTION 'sealed rows are never changed';",
    )


def stoppable(
    connection: Connection, work: Callable[[], Found], meanwhile: Callable[[], None] | None = None
) -> Found:
    """Return what work with a connection returns. An interrupt stops it in the server and closes the connection.

    Another thread does the work if the caller's is the main thread, which receives interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        with suppress(Exception):
            connection.adbc_cancel()

    try:
        # The wait has a timeout: polars, which the driver imports, handles interrupts and lets a wait continue.
        return waited_for(work, stop=stop, meanwhile=meanwhile or (lambda: None))
    finally:
        if stopped.is_set():
            connection.close()


def _fetched(connection: Connection, text: str) -> pyarrow.Table:
    with connection.cursor(adbc_stmt_kwargs={"adbc.postgresql.use_copy": "false"}) as cursor:
        cursor.execute(text)
        return cursor.fetch_arrow_table()


def _integers(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Return totals as int64 if all of them fit, and as Python integers if one does not."""
    import pyarrow

    try:
        whole = _digits(column).cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return np.array([int(total) for total in _digits(column).to_pylist()], object)
    found: NDArray[np.int64] = whole.to_numpy()
    return found


def _codes(column: pyarrow.ChunkedArray) -> list[Any]:
    """Return keys as strings or integers; a NUMERIC arrives as digits."""
    digits = _digits(column)
    values: list[Any] = digits.to_pylist()
    return values if digits is column else [None if value is None else int(value) for value in values]


def _digits(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    import pyarrow

    if not isinstance(column.type, pyarrow.BaseExtensionType):
        return column
    return pyarrow.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def _failure(error: Exception, table: str) -> DatabaseUnavailable:
    """Return a failure that repeats the server's error code but none of its message, which may quote a row."""
    state = sqlstate(error)
    if state == _FORBIDDEN:
        return DatabaseUnavailable(
            f"The role that runs this may not read the rows of {table}.", fix="Use a role that may SELECT from it."
        )
    if state in _ABSENT:
        return DatabaseUnavailable(
            f"The rows of {table} no longer exist.", fix="Restore them from a backup, or seal again."
        )
    failed = f"PostgreSQL could not answer a question about {table} (error {state or 'without a code'})"
    if state[:2] in _REASONS:
        return DatabaseUnavailable(f"{failed}: {_REASONS[state[:2]]}.", fix="See the server's log, and ask again.")
    return DatabaseUnavailable(
        f"{failed}.", fix="Its message may quote a row and is not repeated here; see the server's log."
    )
