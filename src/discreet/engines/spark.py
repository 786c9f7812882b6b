"""Rows that stay in a Spark catalogue.

Statements run in a session of our own, made from the user's: it shares the catalogue and the cluster, and has its
own settings, on which the meaning of a statement depends (`SETTINGS`). Arithmetic is ANSI: what overflowed would
fail, and not wrap or become NULL. Nothing that is written after a `$` is replaced in a statement.

A sum of BIGINTs could overflow, so that whatever may grow is added up in two halves, or as a DECIMAL of 38 digits.
Decimals arrive as such and are read as integers, never as floats.

The table of the rows is written once. It says of itself what it was sealed as, and which files it consists of, by
their names. An answer is of these files: if one was added or removed, nobody knows what one person weighs in the
rest. Spark never writes a name twice, so that one who replaces a file under its own name writes past Spark, and is
not noticed here. A table that does not list its files, though it did when it was sealed, is not asked: Spark
forgets them of a table that it has cached, in which there may be any rows.

An interrupt (Ctrl-C) cancels the jobs of the question. If Spark fails, its words are not repeated, since they may
quote a row. Sessions do not survive a fork.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from discreet.engines.engine import Groups, joined
from discreet.engines.interruptible import waited_for
from discreet.engines.statement import Rows, Statement
from discreet.errors import DatabaseUnavailable, DiscreetError, ParameterError

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # '${…}' in a text would be replaced by a setting
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.groupByAliases": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.legacy.createHiveTableByDefault": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
"""What the meaning of our statements, or whether a row can make them fail, depends on."""

MARK, FILES = "discreet.mark", "discreet.files"
"""The properties of a sealed table: what it was sealed as, and a digest of the names of its files."""

NONE = "none"
"""What stands for the files where there are none, or where the format does not tell them."""

_MAKE = (
    'Make one first: spark = SparkSession.builder.getOrCreate(), or give it: Vault("people.vault", spark=spark).'
)

Found = TypeVar("Found")


class Spark:
    """The sealed rows of one table.

    `table` is its full name, quoted where that is needed. `session` is the user's, the active one if not given.
    `limits` says how large the codes of columns can be.
    """

    def __init__(
        self, table: str, session: SparkSession | None = None, *, limits: Mapping[str, int] | None = None
    ):
        self._table, self._process = table, os.getpid()
        self._rows = Rows(table, "spark", limits or {})
        self._session = ours(session if session is not None else active())
        self._sealed = properties(self._session, table)

    def __repr__(self) -> str:
        return f"Spark({self._table!r})"

    @property
    def rows(self) -> Rows:
        """The rows, if they can be asked and are still those that were sealed: looked at before a charge."""
        self._check_process()
        self._look()
        return self._rows

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement."""
        self._check_process()
        table = told(
            lambda: stoppable(self._session, lambda: self._answered(statement.select())),
            f"could not answer a question about {self._table}",
        )
        keys = len(statement.keys)
        read, added = table.columns[:keys], table.columns[keys:]
        return joined([*map(_codes, read)], [*map(_integers, added)], table.num_rows)

    def mark(self) -> str:
        """Return what the rows were sealed as. What others did to the table until now is noticed."""
        asked(self._session, f"REFRESH TABLE {self._table}", f"could not look up the table {self._table}")
        self._look()
        return self._sealed.get(MARK, "")

    def close(self) -> None:
        """Let go of the rows. Spark itself stays as it is."""

    def _look(self) -> None:
        self._check_files(files(read(self._session, self._table)) or NONE)

    def _answered(self, text: str) -> pyarrow.Table:
        self._look()
        frame = self._session.sql(text)
        # Of these very files, and no others, the answer is. A question that needs no row needs no file.
        self._check_files(files(frame) or self._sealed.get(FILES, ""))
        answer = frame.toArrow()
        self._look()  # a plan may be carried out later than it was made
        return answer

    def _check_files(self, found: str) -> None:
        if self._sealed.get(FILES, found) != found:
            raise ParameterError(
                f"the table {self._table} has been changed since it was sealed: files came or went, and nobody "
                "knows what one person weighs in it. Give the vault new rows: vault.reseal(source). If it is only "
                f"cached, Spark does not tell its files: UNCACHE TABLE {self._table}."
            )

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise ParameterError(
                "a Spark session does not survive a fork. Open the vault, and a session, in this process."
            )


def active() -> SparkSession:
    """Return the session that is active, or the default one of this application."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError('rows in Spark need pyspark: pip install "discreet[spark]".') from None
    try:
        return SparkSession.active()
    except PySparkException:
        raise ParameterError(f"there is no Spark session in this process. {_MAKE}") from None


def ours(session: SparkSession) -> SparkSession:
    """Return a session beside another, with what that one was told and with the settings that we need."""

    def make() -> SparkSession:
        made = session.newSession()
        known = made.conf.getAll
        for name, value in session.conf.getAll.items():
            if known.get(name) != value and made.conf.isModifiable(name):
                made.conf.set(name, value)
        for name, value in SETTINGS.items():
            if made.conf.get(name) != value:  # to set some of them is warned of
                made.conf.set(name, value)
        return made

    return told(make, "could not make a session")


def asked(session: SparkSession, text: str, words: str) -> pyarrow.Table:
    """Return the rows of a query. `words` say what Spark could not do if it fails."""
    return told(lambda: stoppable(session, lambda: session.sql(text).toArrow()), words)


def stoppable(
    session: SparkSession, work: Callable[[], Found], meanwhile: Callable[[], None] | None = None
) -> Found:
    """Return what some work returns. An interrupt cancels its jobs.

    Another thread does the work if the caller's is the one that hears of interrupts.
    """
    tag, (add, remove, cancel) = f"discreet-{uuid4().hex}", _tags(session)

    def tagged() -> Found:
        add(tag)
        try:
            return quietly(work)
        finally:
            remove(tag)

    def stop() -> None:
        cancel(tag)

    if threading.current_thread() is not threading.main_thread():
        return tagged()
    return waited_for(tagged, stop=stop, meanwhile=meanwhile)


def _tags(session: SparkSession) -> tuple[Callable[[str], object], ...]:
    """How to mark the jobs of a thread, to stop marking them, and to cancel from elsewhere what is marked."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return session.addTag, session.removeTag, session.interruptTag
    context = session.sparkContext  # a session knows only the tags of the thread that asks it to cancel
    return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


def properties(session: SparkSession, table: str) -> dict[str, str]:
    """Return what a table says of itself. No row is read."""
    found = asked(session, f"SHOW TBLPROPERTIES {table}", f"could not look up the table {table}")
    return {row["key"]: row["value"] for row in found.to_pylist()}


def read(session: SparkSession, table: str) -> DataFrame:
    """Return a table as a plan to read it. No row is read."""
    return told(lambda: quietly(lambda: session.table(table)), f"could not look up the table {table}")


def files(frame: DataFrame) -> str:
    """Return a digest of the names of the files that a plan reads; empty if it reads none, or does not tell."""
    listed = told(lambda: quietly(frame.inputFiles), "could not list the files of the rows")
    names = sorted(path.rsplit("/", 1)[-1] for path in listed)
    return hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""


def told(work: Callable[[], Found], words: str, failure: type[DiscreetError] = DatabaseUnavailable) -> Found:
    """Return what some work returns, or say that Spark failed without quoting it."""
    from pyarrow import ArrowException
    from pyspark.errors import PySparkException

    try:
        return work()
    except (PySparkException, *_from_java(), ArrowException, OSError, UnicodeError) as error:
        reason = _reason(error)
    raise failure(f"Spark {words}{reason}")  # here, so that nothing hangs on it that quotes a row


def _from_java() -> tuple[type[Exception], ...]:
    """What Java throws. A client of Spark Connect has none of it."""
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    except ImportError:
        return ()
    return (Py4JError,)


def _reason(error: Exception) -> str:
    condition = _condition(error)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        return ": it is not there. Restore it from a backup, or seal again."
    if condition.startswith(("SCHEMA_NOT_FOUND", "NAMESPACE_NOT_FOUND", "CATALOG_NOT_FOUND")):
        return ": there is no such schema or catalogue. Make it first: CREATE SCHEMA …"
    return f" ({condition}). What it says of it may quote a row and is not repeated here; see its log."


def _condition(error: Exception) -> str:
    """The name of what went wrong, which quotes nothing."""
    for thrown in (error, getattr(error, "java_exception", None)):
        with suppress(Exception):  # not every failure has one
            if condition := thrown.getCondition():  # type: ignore[union-attr]
                return str(condition)
    return type(error).__name__


def _integers(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Totals, as int64 if all of them fit and as Python integers if one does not."""
    import pyarrow

    try:
        found: NDArray[np.int64] = column.cast(pyarrow.int64()).to_numpy()
    except pyarrow.ArrowInvalid:
        return np.array([int(total) for total in column.to_pylist()], object)
    return found


def _codes(column: pyarrow.ChunkedArray) -> list[Any]:
    """Keys as they are, whether text or integer; one beyond 64 bits came as a decimal."""
    import pyarrow

    values: list[Any] = column.to_pylist()
    if not pyarrow.types.is_decimal(column.type):
        return values
    return [None if value is None else int(value) for value in values]


_quiet = threading.local()


def quietly(work: Callable[[], Found]) -> Found:
    """Keep pyspark from logging what goes wrong in this thread meanwhile: that may quote a row."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        if _spoken not in logger.filters:
            logger.addFilter(_spoken)
    before, _quiet.here = getattr(_quiet, "here", False), True
    try:
        return work()
    finally:
        _quiet.here = before


def _spoken(record: logging.LogRecord) -> bool:
    return not getattr(_quiet, "here", False)
