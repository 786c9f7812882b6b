"""Run statements in Spark, over rows that stay in its catalogue.

Statements run in a session of our own, made from the user's. It shares the catalogue and the cluster, and has its
own settings, because the meaning of a statement depends on them (`SETTINGS`). Arithmetic is ANSI: an overflow
fails, and does not wrap or become NULL. Variables after a `$` are not substituted in a statement.

A sum of BIGINTs could overflow, so large values are added up in two halves, or as a DECIMAL of 38 digits. Decimals
arrive as decimals and are read as integers, never as floats.

The table of the rows is written once. Its properties hold its fingerprint and a digest of the names of its files.
A statement reads exactly these files: if one was added or removed, the weight of one person in the rest is not
known. Spark never writes a file name twice. A file that is replaced under its own name, outside of Spark, is not
noticed here. A table that listed its files when it was sealed and does not list them now is not queried: Spark
does not list the files of a cached table, which may hold any rows.

An interrupt (Ctrl-C) cancels the jobs of the statement. If Spark fails, its message is not repeated, since it may
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
from discreet.engines.examples import StoredExamples
from discreet.engines.interruptible import waited_for
from discreet.engines.spark_examples import SparkExamples
from discreet.engines.statement import Rows, Selection, Statement
from discreet.errors import Code, DatabaseUnavailable, DiscreetError, Fix, ParameterError

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # '${…}' in a string would be replaced by a setting
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
"""The settings that change the meaning of our statements, or whether a row can make them fail."""

MARK, FILES = "discreet.mark", "discreet.files"
"""The properties of a sealed table: its fingerprint, and a digest of the names of its files."""

NONE = "none"
"""The digest of a table without files, or of a format that does not list them."""

Found = TypeVar("Found")


class Spark:
    """The sealed rows of one table.

    `table` is its full name, quoted where that is needed. `session` is the user's; by default, the active one.
    `limits` gives the largest code of each column.
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
        """The rows, if they can be queried and are still those that were sealed. It is read before a charge."""
        self._check_process()
        self._look()
        return self._rows

    def run(self, statement: Statement) -> Groups:
        """Return the exact totals of a statement."""
        self._check_process()
        table = told(
            lambda: stoppable(self._session, lambda: self._answered(statement.select())),
            self._words,
        )
        keys = len(statement.keys)
        read, added = table.columns[:keys], table.columns[keys:]
        return joined([*map(_codes, read)], [*map(_integers, added)], table.num_rows)

    def examples(self, selection: Selection) -> StoredExamples:
        """Return the rows of a selection. They stay in Spark, and executors add up what a learner computes."""
        return StoredExamples(selection, self._distributed, self.run)

    def _distributed(self, selection: Selection) -> SparkExamples:
        self._check_process()
        frame = told(lambda: quietly(lambda: self._session.sql(selection.query)), self._words)
        # The rows must come from exactly these files, as those of a statement. Once they are kept by the executors
        # a plan does not list them any more.
        self._check_files(files(frame) or self._sealed.get(FILES, ""))
        return SparkExamples(frame, selection, self._added_up)

    def fingerprint(self) -> str:
        """Return the fingerprint of the rows, after a refresh: changes by other sessions are noticed."""
        asked(self._session, f"REFRESH TABLE {self._table}", f"could not look up the table {self._table}")
        self._look()
        return self._sealed.get(MARK, "")

    def close(self) -> None:
        """Do nothing: the session belongs to the user."""

    def _look(self) -> None:
        self._check_files(files(read(self._session, self._table)) or NONE)

    @property
    def _words(self) -> str:
        return f"could not answer a question about {self._table}"

    def _added_up(self, work: Callable[[], pyarrow.Table]) -> pyarrow.Table:
        """Return what some work with these rows returns, if the table is the same before and after."""

        def checked() -> pyarrow.Table:
            self._look()
            answer = work()
            self._look()
            return answer

        self._check_process()
        return told(lambda: stoppable(self._session, checked), self._words)

    def _answered(self, text: str) -> pyarrow.Table:
        self._look()
        frame = self._session.sql(text)
        # The answer must come from exactly these files. A statement that reads no row reads no file.
        self._check_files(files(frame) or self._sealed.get(FILES, ""))
        answer = frame.toArrow()
        self._look()  # files may change between the plan and its execution
        return answer

    def _check_files(self, found: str) -> None:
        if self._sealed.get(FILES, found) != found:
            raise ParameterError(
                f"The table {self._table} has been changed since it was sealed: files were added or removed, so "
                "the weight of one person is not known.",
                fix=[
                    Fix("source", Code("source"), call="vault.reseal"),
                    f"If it is only cached, Spark does not list its files; run UNCACHE TABLE {self._table}.",
                ],
            )

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise ParameterError(
                "A Spark session does not survive a fork.", fix="Open the vault, and a session, in this process."
            )


def active() -> SparkSession:
    """Return the session that is active, or the default one of this application."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError("Rows in Spark need pyspark.", fix='Run pip install "discreet[spark]".') from None
    try:
        return SparkSession.active()
    except PySparkException:
        raise ParameterError(
            "There is no Spark session in this process.",
            fix=Fix("spark", Code("SparkSession.builder.getOrCreate()"), call="Vault"),
        ) from None


def ours(session: SparkSession) -> SparkSession:
    """Return a new session with the settings of the given one, and with those that we need."""

    def make() -> SparkSession:
        made = session.newSession()
        known = made.conf.getAll
        for name, value in session.conf.getAll.items():
            if known.get(name) != value and made.conf.isModifiable(name):
                made.conf.set(name, value)
        for name, value in SETTINGS.items():
            if made.conf.get(name) != value:  # Spark warns when some of them are set
                made.conf.set(name, value)
        return made

    return told(make, "could not make a session")


def asked(session: SparkSession, text: str, words: str) -> pyarrow.Table:
    """Return the rows of a query. `words` tell what Spark could not do, for the message of a failure."""
    return told(lambda: stoppable(session, lambda: session.sql(text).toArrow()), words)


def stoppable(
    session: SparkSession, work: Callable[[], Found], meanwhile: Callable[[], None] | None = None
) -> Found:
    """Return what some work returns. An interrupt cancels its jobs.

    Another thread does the work if the caller's is the main thread, which receives interrupts.
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
    """Return functions that tag the jobs of a thread, stop tagging them, and cancel jobs by their tag."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return session.addTag, session.removeTag, session.interruptTag
    context = session.sparkContext  # a session cancels only the tags of the calling thread
    return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


def properties(session: SparkSession, table: str) -> dict[str, str]:
    """Return the properties of a table. No row is read."""
    found = asked(session, f"SHOW TBLPROPERTIES {table}", f"could not look up the table {table}")
    return {row["key"]: row["value"] for row in found.to_pylist()}


def read(session: SparkSession, table: str) -> DataFrame:
    """Return a table as a plan to read it. No row is read."""
    return told(lambda: quietly(lambda: session.table(table)), f"could not look up the table {table}")


def files(frame: DataFrame) -> str:
    """Return a digest of the names of the files that a plan reads; empty if it reads or lists none."""
    listed = told(lambda: quietly(frame.inputFiles), "could not list the files of the rows")
    names = sorted(path.rsplit("/", 1)[-1] for path in listed)
    return hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""


def told(work: Callable[[], Found], words: str, failure: type[DiscreetError] = DatabaseUnavailable) -> Found:
    """Return what some work returns, or raise a failure that does not quote Spark's message."""
    from pyarrow import ArrowException
    from pyspark.errors import PySparkException

    try:
        return work()
    except (PySparkException, *_from_java(), ArrowException, OSError, UnicodeError) as error:
        reason, fix = _reason(error)
    raise failure(f"Spark {words}{reason}.", fix=fix)  # outside the except block, so no context quotes a row


def _from_java() -> tuple[type[Exception], ...]:
    """Return the errors of Java. A client of Spark Connect has none."""
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    except ImportError:
        return ()
    return (Py4JError,)


def _reason(error: Exception) -> tuple[str, str]:
    """Return the end of the problem's sentence, and the fix."""
    condition = _condition(error)
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
        return ": it is not there", "Restore it from a backup, or seal again."
    if condition.startswith(("SCHEMA_NOT_FOUND", "NAMESPACE_NOT_FOUND", "CATALOG_NOT_FOUND")):
        return ": there is no such schema or catalogue", "Create it first, with CREATE SCHEMA."
    if condition.startswith("PYTHON_EXCEPTION"):
        return ": the Python of the executors failed", (
            "See Spark's log; what it says may quote a row. The executors' Python (PYSPARK_PYTHON) needs "
            "discreet, numpy and pyarrow."
        )
    return f" ({condition})", "Its message may quote a row and is not repeated here; see Spark's log."


def _condition(error: Exception) -> str:
    """Return the name of the error, which quotes no value."""
    for thrown in (error, getattr(error, "java_exception", None)):
        with suppress(Exception):  # not every error has one
            if condition := thrown.getCondition():  # type: ignore[union-attr]
                return str(condition)
    return type(error).__name__


def _integers(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """Return totals as int64 if all of them fit, and as Python integers if one does not."""
    import pyarrow

    try:
        found: NDArray[np.int64] = column.cast(pyarrow.int64()).to_numpy()
    except pyarrow.ArrowInvalid:
        return np.array([int(total) for total in column.to_pylist()], object)
    return found


def _codes(column: pyarrow.ChunkedArray) -> list[Any]:
    """Return keys as strings or integers; an integer beyond 64 bits arrives as a decimal."""
    import pyarrow

    values: list[Any] = column.to_pylist()
    if not pyarrow.types.is_decimal(column.type):
        return values
    return [None if value is None else int(value) for value in values]


_quiet = threading.local()


def quietly(work: Callable[[], Found]) -> Found:
    """Keep pyspark from logging errors in this thread while the work runs: they may quote a row."""
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
