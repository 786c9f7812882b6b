"""Seal inside Spark: statements run in the cluster, and what they read is stored in the catalogue.

Spark does not keep what it computed. It may compute it again, from rows that have changed meanwhile. So each pass
writes what it has read to a table before anything else reads it, and persons are counted in that table. These
tables stand beside the sealed table and have its name as a prefix, people_sealed__sealing_…; they are dropped at
the end, also after a failure. Tables that a killed process left are dropped by the next sealing to the same name
on the same host. Whether a process of another host is still running cannot be seen from here, so its tables are
left alone.

Every unfinished table carries a token of the sealing that made it. Nothing is written to a table with another
token, and no such table is dropped: two sealings at the same time fail rather than mix.

The sealed table gets its fingerprint last, when it is complete. Before that the bound is checked in the table
itself: no person weighs more than rows_per_person there, and none has more marked rows. If Spark or its file
system had committed rows twice, this check would find it.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from discreet.engines import sql_writer
from discreet.engines.spark import (
    FILES,
    MARK,
    NONE,
    asked,
    files,
    ours,
    properties,
    quietly,
    read,
    stoppable,
    told,
)
from discreet.errors import DatabaseUnavailable, Fix, ParameterError, SealingFailed
from discreet.schema.metadata import UNIT
from discreet.sealing.sources import Reading, Source, renamed, spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.schema.metadata import TableMetadata
    from discreet.sealing.backends import SealedRows
    from discreet.sealing.backends.duckdb import Progress

SEALING = "discreet.sealing"
"""The property of an unfinished table: the host, the process and the token of the sealing that writes it."""

_SUFFIX = "__sealing_"
_PART = r"(?:`(?:[^`]|``)+`|[^`.\s]+)"
_KEEPING = ("parquet", "orc", "delta", "iceberg", "hudi")  # formats that read a value as it was written
_NEARLY = 0.99  # reported while Spark commits what its tasks have written; 1.0 when the table is complete
_at_work: set[str] = set()  # the tables that this process seals now
_lock = threading.Lock()


class Catalogue:
    """A backend in Spark, which writes one table. `parts` are its full name: catalogue, namespaces, table."""

    dialect = "spark"

    def __init__(self, user: SparkSession, parts: tuple[str, ...], metadata: TableMetadata):
        self._session, self._user = ours(user), user
        if self._session.conf.get("spark.sql.sources.default") not in _KEEPING:
            self._session.conf.set("spark.sql.sources.default", "parquet")
        self._parts, self._token = parts, uuid4().hex[:12]
        self._worker = f"{socket.gethostname()} {os.getpid()} {self._token}"
        self._fingerprint: str | None = None
        self._most = metadata.rows_per_person
        self._text = metadata.has_text
        self._views: list[str] = []
        self._made: list[str] = []

    @property
    def _shared(self) -> str:
        """The database of the views that all sessions of an application see."""
        return sql_writer.identifier(
            self._user.conf.get("spark.sql.globalTempDatabase", None) or "global_temp", "spark"
        )

    @property
    def table(self) -> str:
        """The full name of the table, quoted."""
        return quoted(self._parts)

    def begin(self) -> None:
        """Check that the name is free, and drop the tables that dead processes left behind."""
        with _lock:
            if self.table in _at_work:
                raise _busy(self.table, "another thread of this process")
            _at_work.add(self.table)
        try:
            for name in self._left_behind():
                self._drop(name)
        except BaseException:
            _at_work.discard(self.table)
            raise

    def opened(self, source: Source, wanted: Iterable[str] | None, name: str) -> Reading:
        """Make a DataFrame of the user visible to our session."""
        if spark.session(source) is None:
            raise ParameterError(
                f"{source.display_name} is not in Spark, where the rows are to stay.",
                fix=[
                    Fix("rows", None, note="seals into files"),
                    "Or bring it to Spark first: spark.createDataFrame(table), or "
                    'spark.read.parquet("file.parquet").',
                ],
            )
        frame = spark.dataframe(source)
        types = spark.declared(frame, source.display_name)
        view = f"discreet_{self._token}_{name}"
        told(lambda: frame.createGlobalTempView(view), f"could not read {source.display_name}")
        self._views.append(view)
        old = {new: column for column, new in source.rename.items()}
        kept = [column for column in types if wanted is None or column in {old.get(one, one) for one in wanted}]
        chosen = [
            f"{spark.written(column, types[column])} AS {sql_writer.identifier(column, 'spark')}"
            for column in kept
        ]
        rows = f"(SELECT {', '.join(chosen) or 'NULL'} FROM {self._shared}.{view}) AS {name}"
        return renamed(Reading(rows, types, collations=spark.collations(frame)), source)

    def store(self, name: str, query: str, stage: str, progress: Progress | None) -> str:
        """Keep rows in a table beside the sealed one."""
        *space, table = self._parts
        stored = quoted((*space, f"{table}{_SUFFIX}{self._token}_{name}"))
        self._write(stored, query, stage, progress)
        return stored

    def answer(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query about public tables."""
        found = asked(self._session, query, "could not read a lookup")
        return [tuple(row.values()) for row in found.to_pylist()]

    def write(self, rows: SealedRows, fingerprint: str, stage: str, progress: Progress | None) -> None:
        """Write the sealed rows, check the bound, and set their fingerprint."""
        self._write(self.table, rows.query, stage, progress)
        made = {MARK: fingerprint, FILES: self._bounded() or NONE}
        self._check_ours(self.table)
        self._fingerprint = fingerprint
        self._run(f"ALTER TABLE {self.table} SET TBLPROPERTIES ({_listed(made)})")
        self._run(f"ALTER TABLE {self.table} UNSET TBLPROPERTIES IF EXISTS ('{SEALING}')")

    def end(self, *, keep: bool) -> None:
        """Drop the intermediate tables, and the sealed table too unless it is kept."""
        for name in [one for one in reversed(self._made) if not (keep and one == self.table)]:
            with suppress(SealingFailed, DatabaseUnavailable):
                if self._ours(name):
                    self._drop(name)
        for view in self._views:
            with suppress(Exception):
                self._user.catalog.dropGlobalTempView(view)
        _at_work.discard(self.table)

    def _write(self, table: str, query: str, stage: str, progress: Progress | None) -> None:
        tell = progress or (lambda stage, done: None)
        tell(stage, 0.0)
        plan = told(lambda: quietly(lambda: self._session.sql(query)), f"cannot carry out {stage}", SealingFailed)
        fields = told(lambda: quietly(lambda: plan.schema), f"cannot carry out {stage}", SealingFailed).fields
        kinds = {field.name: field.dataType.simpleString() for field in fields}
        columns = ", ".join(f"{sql_writer.identifier(column, 'spark')} {kind}" for column, kind in kinds.items())
        self._made.append(table)
        self._run(f"CREATE TABLE {table} ({columns}) TBLPROPERTIES ({_listed({SEALING: self._worker})})")
        self._check_texts(table, kinds)
        furthest = 0.0

        def look() -> None:
            nonlocal furthest
            furthest = max(furthest, min(self._part(), _NEARLY))
            tell(stage, furthest)

        self._check_ours(table)
        self._run(f"INSERT INTO {table} {query}", look if progress is not None else None)
        tell(stage, 1.0)

    def _check_texts(self, table: str, kinds: dict[str, str]) -> None:
        """Check that texts are compared by their characters: a namespace may have a collation for its tables."""
        made = told(lambda: read(self._session, table).schema, "could not look at a table of its own").fields
        if any(kinds[field.name] == "string" != field.dataType.simpleString() for field in made):
            raise ParameterError(
                f"{quoted(self._parts[:-1])} gives the texts of its tables a collation, under which different "
                "texts are equal.",
                fix=Fix("rows", "analytics.people_sealed", note="in a namespace without a collation"),
            )

    def _ours(self, name: str) -> bool:
        """Return whether this sealing made a table, complete or not."""
        found = properties(self._session, name)
        if SEALING in found:
            return found[SEALING] == self._worker
        return found.get(MARK, "") == self._fingerprint

    def _check_ours(self, name: str) -> None:
        if not self._ours(name):
            raise SealingFailed(
                f"{name} has been replaced by another table while it was sealed. Nothing was kept.",
                fix="Let one process at a time seal to a name.",
            )

    def _bounded(self) -> str:
        """Check in the table itself that no person exceeds the bound. Return the files that were checked."""
        spots = f" OR COUNT(CASE WHEN spot THEN 1 END) > {self._most}" if self._text else ""
        over = (
            f"SELECT person FROM {self.table} GROUP BY person HAVING SUM(w) > {UNIT * self._most}{spots} LIMIT 1"
        )
        failed = "could not check the bound"
        plan = told(lambda: self._session.sql(over), failed, SealingFailed)
        seen = files(plan)
        if told(lambda: stoppable(self._session, plan.toArrow), failed, SealingFailed).num_rows:
            raise SealingFailed(
                "Spark wrote some rows twice, so that a person weighs more than is allowed. Nothing was kept.",
                fix="Seal again. If it happens again, check how its file system commits what tasks have written.",
            )
        return seen

    def _part(self) -> float:
        """Return the part of the planned tasks that is done."""
        with suppress(Exception):  # a session of Spark Connect has no status tracker
            tracker = self._user.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = sum(stage.numTasks for stage in stages if stage)
            return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0
        return 0.0

    def _run(self, statement: str, meanwhile: Callable[[], None] | None = None) -> None:
        session = self._session
        told(
            lambda: stoppable(session, lambda: session.sql(statement), meanwhile),
            "could not seal the rows",
            SealingFailed,
        )

    def _drop(self, name: str) -> None:
        self._run(f"DROP TABLE IF EXISTS {name}")

    def _left_behind(self) -> list[str]:
        """Return the tables of dead processes. Refuse if a process may still run, or if the table is complete."""
        *space, table = self._parts
        pattern = "".join(char if char.isalnum() or char == "_" else "*" for char in table)
        shown = asked(
            self._session,
            f"SHOW TABLES IN {quoted(tuple(space))} "
            f"LIKE {sql_writer.sql(sql_writer.text(pattern + '*'), 'spark')}",
            f"could not look into {quoted(tuple(space))}",
        )
        prefix, left = (table + _SUFFIX).casefold(), []
        for row in shown.to_pylist():
            found, folded = row["tableName"], row["tableName"].casefold()
            if row["isTemporary"] or not (folded == table.casefold() or folded.startswith(prefix)):
                continue
            name = quoted((*space, found))
            worker = properties(self._session, name).get(SEALING)
            if worker is None:
                raise ParameterError(
                    f"The table {name} exists, and sealed rows are never overwritten.",
                    fix=[
                        Fix("rows", "analytics.people_sealed_2", note="another name"),
                        f"Or, if no vault has it, run: DROP TABLE {name}.",
                    ],
                )
            if _alive(worker):
                host, process = (*worker.split(" "), "?", "?")[:2]
                raise _busy(name, f"process {process} on {host}")
            left.append(name)
        return left


def full_name(session: SparkSession, name: str) -> tuple[str, ...]:
    """Return the parts of a table's name, with the current catalogue and namespace of the session.

    A name in backquotes may hold any character.
    """
    parts = named(name)
    catalogue, space = told(
        lambda: (session.catalog.currentCatalog(), session.catalog.currentDatabase()),
        "could not name its catalogue",
    )
    if len(parts) == 1:
        return (catalogue, *named(space), *parts)
    declared = told(lambda: session.conf.getAll, "could not list its settings")
    known = {key.split(".")[3] for key in declared if key.startswith("spark.sql.catalog.")}
    return parts if parts[0] in {"spark_catalog", catalogue, *known} else (catalogue, *parts)


def quoted(parts: tuple[str, ...]) -> str:
    """Return a name as SQL writes it.

    >>> quoted(("spark_catalog", "default", "odd`name"))
    '`spark_catalog`.`default`.`odd``name`'
    """
    return ".".join(sql_writer.identifier(part, "spark") for part in parts)


def named(name: str) -> tuple[str, ...]:
    """Return the parts of a name.

    >>> named("analytics.`odd``name`")
    ('analytics', 'odd`name')
    """
    if re.fullmatch(rf"{_PART}(\.{_PART})*", name.strip()) is None:
        raise ParameterError(
            "This is not the name of a table.", found=repr(name), fix=Fix("rows", "analytics.people_sealed")
        )
    found = re.findall(_PART, name.strip())
    return tuple(part[1:-1].replace("``", "`") if part.startswith("`") else part for part in found)


def _listed(properties: dict[str, str]) -> str:
    pairs = ((sql_writer.sql(sql_writer.text(text), "spark") for text in pair) for pair in properties.items())
    return ", ".join(" = ".join(pair) for pair in pairs)


def _alive(worker: str) -> bool:
    """Return whether a process may still write a table; True if it is on another host or cannot be read."""
    found = re.fullmatch(r"(\S+) (\d{1,9})( \S+)?", worker)
    if found is None or found[1] != socket.gethostname():
        return True
    process = int(found[2])
    if process == os.getpid():
        return False  # it is a remnant: the tables that this process seals are in _at_work
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _busy(table: str, who: str) -> ParameterError:
    return ParameterError(
        f"{table} is being sealed by {who}.",
        fix=f"Wait for it to end, or, if that process is gone, run: DROP TABLE {table}.",
    )
