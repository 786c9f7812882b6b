"""Rows that stay in a PostgreSQL database.

Every statement has a transaction of its own, which only reads. What a session or a role prefers does not matter in
it: names are found in pg_catalog only, so that nobody's function or operator of the same name is called, and no
time limit ends it. A policy that would hide rows is an error.

The rows of a vault never change, so the statements of one question see the same ones. A trigger stops mistakes
(`guarded`), and rows without it are not asked: who could say what one person weighs in them? The owner of the
table is trusted: who takes the trigger away, changes rows and puts it back is not noticed.

In the transaction that reads the rows the table is held, and the mark that it was sealed with looked at: a table
of the same name that took its place is not mistaken for it.

PostgreSQL adds up BIGINTs in 128 bits and NUMERICs in as many digits as there are, and hands over both as digits,
which are read as integers and never as floats.

An interrupt (Ctrl-C) cancels the statement in the server. The connection is closed then: a cancellation that
arrives late must not meet the next transaction. If the server fails, its words are not repeated, since they may
quote a row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from discreet.engines.engine import Groups, joined
from discreet.engines.interruptible import waited_for
from discreet.engines.statement import Rows, Statement
from discreet.errors import DatabaseUnavailable, ParameterError
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
"""What every transaction of ours begins with."""

_READING = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; " + SAFELY
_GUARD = "never_changed"
# Whether the trigger is awake for every kind of change (62: before a statement, of all four) to every column, and
# whether no table adds its rows by inheritance.
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

_TOLD = {
    "08": "the connection to it broke",
    "53": "it has run out of memory, space or connections",
    "57": "it stopped the question: it shuts down, an administrator wished it, or a time limit was reached",
    "58": "it has trouble with its files",
}
_FORBIDDEN, _ABSENT = "42501", ("42P01", "3F000")

Found = TypeVar("Found")


class Postgres:
    """The sealed rows of one table, in the schema that an address names.

    `limits` says how large the codes of columns can be. `mark` is what the rows were sealed as: if it is given,
    rows with another mark, and those that somebody could have changed, are not asked.
    """

    def __init__(
        self,
        address: Address,
        table: str = "rows",
        *,
        limits: Mapping[str, int] | None = None,
        mark: str | None = None,
    ):
        self._address, self._table, self._mark = address, table, mark
        self._rows = Rows(identifier(str(address.schema), table), "postgres", limits or {})

    def __repr__(self) -> str:
        return f"Postgres({self._address}, {self._table!r})"

    @property
    def rows(self) -> Rows:
        """The rows, if they are still those that were sealed: looked at before a charge."""
        if self._mark is not None:
            self._reading(self._check)
        return self._rows

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement."""
        text = statement.select()

        def answered(connection: Connection) -> pyarrow.Table:
            if self._mark is not None:
                self._check(connection)
            return _fetched(connection, text)

        table = self._reading(answered)
        keys = len(statement.keys)
        read, added = table.columns[:keys], table.columns[keys:]
        return joined([*map(_codes, read)], [*map(_integers, added)], table.num_rows)

    def mark(self) -> str:
        """Return the comment that the rows were given when they were sealed, if nobody can have changed them."""
        return self._reading(self._found)

    def close(self) -> None:
        """Close idle connections. The next question opens one again."""
        close(self._address)

    def _found(self, connection: Connection) -> str:
        """The mark of the table that this transaction holds."""
        text = _FACTS.format(guard=_GUARD, table=self._rows.name.replace("'", "''"))
        (comment,), (guarded,) = (column.to_pylist() for column in _fetched(connection, text).columns)
        if not guarded:
            raise ParameterError(
                f"the rows of {self._address}, table {self._table}, are not guarded against changes, so nobody "
                "knows what one person weighs in them. Give the vault new rows: vault.reseal(source). If they "
                "come from a backup and are certainly those that were sealed: "
                f"ALTER TABLE {self._rows.name} ENABLE ALWAYS TRIGGER {_GUARD}."
            )
        return comment or ""

    def _check(self, connection: Connection) -> None:
        if self._found(connection) != self._mark:
            raise ParameterError(
                f"the rows of {self._address}, table {self._table}, are not those that this question was planned "
                "for: they have been sealed anew meanwhile. Ask again."
            )

    def _reading(self, work: Callable[[Connection], Found]) -> Found:
        """Return what some work finds in a transaction that holds the table."""
        from adbc_driver_manager import Error

        hold = f"LOCK TABLE {self._rows.name} IN ACCESS SHARE MODE"  # before the snapshot is taken
        try:
            with connected(self._address, _READING + hold) as connection:
                return stoppable(connection, lambda: work(connection))
        except Error as error:
            failure = _told(error, f"{self._address}, table {self._table},")
        raise DatabaseUnavailable(failure)  # here, so that nothing hangs on it that quotes a row


def guarded(schema: str, table: str, columns: Iterable[str]) -> str:
    """Return the statements after which INSERT, UPDATE, DELETE and TRUNCATE fail, also for the owner of a table.

    ALTER COLUMN … TYPE … USING writes a column anew and fires no trigger. But PostgreSQL refuses to alter, and to
    drop, a column that a trigger names, so this one names all `columns` of the table.
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
    """Return what work with a connection returns. An interrupt stops it in the server and ends the connection.

    Another thread does the work if the caller's is the one that hears of interrupts.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        with suppress(Exception):
            connection.adbc_cancel()

    try:
        # Never for ever: polars, which the driver imports, has a handler of interrupts that lets a wait go on.
        return waited_for(work, stop=stop, meanwhile=meanwhile or (lambda: None))
    finally:
        if stopped.is_set():
            connection.close()


def _fetched(connection: Connection, text: str) -> pyarrow.Table:
    with connection.cursor(adbc_stmt_kwargs={"adbc.postgresql.use_copy": "false"}) as cursor:
        cursor.execute(text)
        return cursor.fetch_arrow_table()


def _integers(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Totals, as int64 if all of them fit and as Python integers if one does not."""
    import pyarrow

    try:
        whole = _digits(column).cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return np.array([int(total) for total in _digits(column).to_pylist()], object)
    found: NDArray[np.int64] = whole.to_numpy()
    return found


def _codes(column: pyarrow.ChunkedArray) -> list[Any]:
    """Keys as they are, whether text or integer; a NUMERIC among them came as digits."""
    digits = _digits(column)
    values: list[Any] = digits.to_pylist()
    return values if digits is column else [None if value is None else int(value) for value in values]


def _digits(column: pyarrow.ChunkedArray) -> pyarrow.ChunkedArray:
    import pyarrow

    if not isinstance(column.type, pyarrow.BaseExtensionType):
        return column
    return pyarrow.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def _told(error: Exception, place: str) -> str:
    """What may be said of a failure. Only errors that name things, and no values, are repeated."""
    state = sqlstate(error)
    if state == _FORBIDDEN:
        return f"the rows of {place} may not be read by whoever runs this. Ask as a role that may SELECT from it."
    if state in _ABSENT:
        return f"the rows of {place} are not there any more. Restore them from a backup, or seal again."
    reason = _TOLD.get(state[:2], "what it says may quote a row and is not repeated here; see the server's log")
    return f"PostgreSQL could not answer a question about {place} (error {state or 'without a code'}): {reason}."
