"""Give every row a weight, so that the rows of one person weigh at most rows_per_person together.

Claim. Let K be rows_per_person. In the sealed table every source row has exactly one row, whose codes depend on
that row alone (`discreet.schema`), and whose weight depends on the number n of its person's rows alone: UNIT
if n ≤ K, ⌊UNIT·K/n⌋ if n > K. So one person's weights sum to at most K·UNIT, before any filter, and adding or
removing a person changes no other person's rows. Rows without a person are one person together; without a person
column every row is a person.

If there is a text column, `spot` is true on min(n, K) rows of each person: on those that come first in the order
of a fixed hash of (person, codes), then of the codes. Equal rows tie and are interchangeable, so the marked rows
are, as a multiset, a function of that person's own rows. The hash includes the person, so that different persons
keep different keys. Only persons with more than K rows are sorted.

If a person may have several rows, an engine that can tell also marks, for each text column, the persons whose
texts in that column are all different (`once9` for `c9`). The proof is 64 bits for each person: every text sets
the bit that its hash chooses, and n rows that set n different bits have n different texts. The reverse does not
hold: an unmarked person may have different texts, and is counted the long way
(`discreet.engines.statement.Rows.persons`).

DuckDB adds up rows of full weight by themselves, and so stores them by themselves: without their weight, which is
UNIT, and without `spot`, which is true, as n ≤ K. A weight is UNIT or less, so every row is in one of two tables.

Bounds that are to be learned are learned between the two: persons are weighed, and the rows are not written yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from discreet.engines import nodes, sql_writer, statement
from discreet.engines.dialects import DIALECTS, Dialect
from discreet.schema import Integer, Learned, Real
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.sealing import counting, joins
from discreet.sealing.backends import Backend, SealedRows
from discreet.sealing.backends.duckdb import Progress
from discreet.sealing.learning import Learner
from discreet.sealing.report import SealingReport

Judge: TypeAlias = Callable[[SealingReport], None]
"""Called with the private report on the rows, and may refuse them."""

READING = "reading rows"
"""The first stage of a sealing."""


def fill(
    backend: Backend,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
    progress: Progress | None,
    judge: Judge | None = None,
    learner: Learner | None = None,
) -> TableMetadata:
    """Read the sources once, write the sealed rows, and return their metadata, with bounds that were learned.

    Args:
        backend: The engine that runs the statements.
        metadata: The metadata of the rows.
        source: The rows.
        tables: Further tables of the same persons.
        lookups: Public tables by the column that they are joined by.
        progress: Called with a stage and the part of it that is done; None for no reports.
        judge: Called with the private report before anything is charged or written, and may refuse; called again
            with what lies outside of bounds that were learned. None for no report.
        learner: Learns the bounds of columns; None if all are declared.
    """
    learned = {} if learner is None else learner.columns
    query, people = joins.coded(
        backend, metadata, source, tables, lookups, learned=learned, watch=judge is not None
    )
    if metadata.person is None and judge is None and not learned:
        backend.write(_alone(f"({query}) AS coded", metadata, backend), metadata.fingerprint, READING, progress)
        return metadata
    rows = backend.store("coded", query, READING, progress)
    persons = "" if metadata.person is None else weighed_persons(backend, metadata, rows, progress)
    report = None
    if judge is not None:
        report = counting.report(backend, metadata, people, rows, persons)
        judge(report)  # before the charge: a refusal is free
    if learner is not None:
        weighed = {name: _numbers(rows, persons, metadata.sealed_name(name)) for name in learned}
        metadata = learner.learn(backend, metadata, weighed)
    if judge is not None and report is not None and learned:
        judge(counting.with_learned(backend, report, metadata, rows, learned))
    rows = _placed(rows, metadata, learned, backend)
    final = _alone(f"{rows} AS placed", metadata, backend)
    if persons:
        dialect = DIALECTS[backend.dialect]
        marks = list(_marks(metadata, dialect))
        final = _parts(
            _weighed(rows, _narrow(backend, persons, marks), _codes(metadata), marks), metadata, dialect
        )
    backend.write(final, metadata.fingerprint, "weighing rows", progress)
    return metadata


def _codes(metadata: TableMetadata) -> list[str]:
    return [f"c{i}" for i in range(len(metadata.columns))]


def _alone(rows: str, metadata: TableMetadata, backend: Backend) -> SealedRows:
    """Return the query for rows that are a person each: all of full weight."""
    codes = _codes(metadata)
    numbered = f"SELECT {', '.join([f'{DIALECTS[backend.dialect].row_number} AS person', *codes])} FROM {rows}"
    return SealedRows(numbered, columns=("person", *codes), spot=metadata.has_text)


def weighed_persons(backend: Backend, metadata: TableMetadata, rows: str, progress: Progress | None) -> str:
    """Store every person with a number and a weight, and return the name of that table."""
    allowed, dialect = metadata.rows_per_person, DIALECTS[backend.dialect]
    weight = f"CASE WHEN n <= {allowed} THEN {UNIT} ELSE {dialect.division.format(UNIT * allowed, 'n')} END"
    marks = _marks(metadata, dialect)
    bits = [f"{dialect.bits.format(code)} AS {mark}" for mark, code in marks.items()]
    counted = f"SELECT {', '.join(['key', 'count(*) AS n', *bits])} FROM {rows} GROUP BY key"
    proven = [f"COALESCE(bit_count({mark}) = n, false) AS {mark}" for mark in marks]
    chosen = ["key", f"{dialect.row_number} AS person", f"CAST({weight} AS SMALLINT) AS w", "n", *proven]
    numbered = f"SELECT {', '.join(chosen)} FROM ({counted}) AS counted"
    return backend.store("persons", numbered, "weighing persons", progress)


def _marks(metadata: TableMetadata, dialect: Dialect) -> dict[str, str]:
    """Return the marks of persons whose texts are all different, with the text column of each."""
    if not dialect.bits or metadata.rows_per_person == 1:
        return {}
    places = (i for i, column in enumerate(metadata.columns.values()) if column.kind == "text")
    return {f"{statement.ONCE}{i}": f"c{i}" for i in places}


def _narrow(backend: Backend, persons: str, marks: Sequence[str]) -> str:
    """Return the persons with numbers of 32 bits if these suffice and the engine gathers by them in less time."""
    if not DIALECTS[backend.dialect].columnar or backend.answer(f"SELECT count(*) FROM {persons}")[0][0] >= 2**31:
        return persons
    return f"(SELECT {', '.join(['key', 'CAST(person AS INTEGER) AS person', 'w', *marks])} FROM {persons})"


def _numbers(rows: str, persons: str, code: str) -> str:
    """Return SQL for the numbers of a column that is to be learned, with the weights of their rows."""
    if not persons:
        return f"(SELECT {code} AS v, {UNIT} AS w FROM {rows}) AS numbers"
    return f"(SELECT {code} AS v, w FROM {_weighed(rows, persons, [code])}) AS numbers"


def _placed(rows: str, metadata: TableMetadata, learned: Mapping[str, Learned], backend: Backend) -> str:
    """Return the rows with codes for the columns whose bounds were learned."""
    if not learned:
        return rows
    texts = ["key"] if metadata.person is not None else []
    for i, (name, column) in enumerate(metadata.columns.items()):
        if name in learned and isinstance(column, Integer | Real):
            code = joins.stored(column, backend.dialect)(learned[name].place(nodes.Column(f"c{i}"), column))
            texts.append(f"{sql_writer.sql(code, backend.dialect, limits=None)} AS c{i}")
        else:
            texts.append(f"c{i}")
    return f"(SELECT {', '.join(texts)} FROM {rows})"


def _weighed(rows: str, persons: str, codes: Sequence[str], marks: Sequence[str] = ()) -> str:
    """Return the rows joined with their persons.

    A join by equality is three times as fast as one in which NULL equals NULL, so the rows without a person are
    added by a second query.
    """
    own = ["person", "w", *marks]
    chosen = ", ".join([*(f"p.{name}" for name in own), "r.key", *(f"r.{code}" for code in codes)])
    nameless = f"(SELECT {', '.join(own)} FROM {persons} WHERE key IS NULL)"
    return (
        f"(SELECT {chosen} FROM {rows} AS r JOIN {persons} AS p ON r.key = p.key UNION ALL "
        f"SELECT {chosen} FROM {rows} AS r CROSS JOIN {nameless} AS p WHERE r.key IS NULL) AS weighed"
    )


def _parts(weighed: str, metadata: TableMetadata, dialect: Dialect) -> SealedRows:
    """Return the queries for the rows of full weight, and for all others."""
    codes = _codes(metadata)
    columns = ("person", *codes, *_marks(metadata, dialect))
    scaled = ["person", "w", *columns[1:]]
    if metadata.has_text:
        hashed = ", ".join(f"CAST({name} AS {dialect.types['TEXT']})" for name in ("key", *codes))
        order = ", ".join([f"md5(concat_ws('|', {hashed}))", *(f"{code} NULLS LAST" for code in codes)])
        allowed = metadata.rows_per_person
        scaled.append(f"row_number() OVER (PARTITION BY person ORDER BY {order}) <= {allowed} AS spot")
    return SealedRows(
        f"SELECT {', '.join(columns)} FROM {weighed} WHERE w = {UNIT}",
        f"SELECT {', '.join(scaled)} FROM {weighed} WHERE w < {UNIT}",
        columns=columns,
        spot=metadata.has_text,
        # Without a spot, both parts are one query, and one table needs no second join.
        every="" if metadata.has_text else f"SELECT {', '.join(scaled)} FROM {weighed}",
    )
