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

DuckDB adds up rows of full weight by themselves, and so stores them by themselves: without their weight, which is
UNIT, and without `spot`, which is true, as n ≤ K. If a person may have several rows, those rows are of persons who
also have no text twice in most text columns (`discreet.sealing.repeats`), which their mark says: `once9` for `c9`
is true for all of them. All other persons, with their weights and spots, are in another table, where no mark is
true. Every person is in one of the two: who has at most K rows and no such text twice, and who has not.

Bounds that are to be learned are learned between the two: persons are weighed, and the rows are not written yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from discreet.engines import nodes, sql_writer
from discreet.engines.dialects import DIALECTS
from discreet.engines.statement import ONCE
from discreet.schema import Integer, Learned, Real
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.sealing import counting, joins
from discreet.sealing.backends import Backend, SealedRows
from discreet.sealing.backends.duckdb import Progress
from discreet.sealing.learning import Learner
from discreet.sealing.persons import Persons, joined, weighed
from discreet.sealing.repeats import Repeats
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
    repeats = Repeats.of(metadata, backend.dialect)
    rows = backend.store("coded", repeats.noted(query), READING, progress)
    persons = weighed(backend, metadata, rows, progress, repeats)
    report = None
    if judge is not None:
        report = counting.report(backend, metadata, people, rows, persons.table)
        judge(report)  # before the charge: a refusal is free
    if learner is not None:
        numbers = {name: _numbers(rows, persons.table, metadata.sealed_name(name)) for name in learned}
        metadata = learner.learn(backend, metadata, numbers)
    if judge is not None and report is not None and learned:
        judge(counting.with_learned(backend, report, metadata, rows, learned))
    rows = _placed(rows, metadata, learned, backend)
    if not persons.table:
        final = _alone(f"{rows} AS placed", metadata, backend)
    elif DIALECTS[backend.dialect].columnar:
        final = _apart(backend, metadata, rows, persons, repeats)
    else:
        final = _together(backend, metadata, rows, persons)
    backend.write(final, metadata.fingerprint, "weighing rows", progress)
    return metadata


def _codes(metadata: TableMetadata) -> list[str]:
    return [f"c{i}" for i in range(len(metadata.columns))]


def _alone(rows: str, metadata: TableMetadata, backend: Backend) -> SealedRows:
    """Return the query for rows that are a person each: all of full weight."""
    codes = _codes(metadata)
    numbered = f"SELECT {', '.join([f'{DIALECTS[backend.dialect].row_number} AS person', *codes])} FROM {rows}"
    return SealedRows(numbered, columns=("person", *codes), spot=metadata.has_text)


def _numbers(rows: str, persons: str, code: str) -> str:
    """Return SQL for the numbers of a column that is to be learned, with the weights of their rows."""
    if not persons:
        return f"(SELECT {code} AS v, {UNIT} AS w FROM {rows}) AS numbers"
    return f"(SELECT {code} AS v, w FROM {joined(rows, persons, [code])}) AS numbers"


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


def _together(backend: Backend, metadata: TableMetadata, rows: str, persons: Persons) -> SealedRows:
    """Return the queries for one table of all rows, of which only those of persons over the bound are sorted."""
    codes = _codes(metadata)
    every = joined(rows, persons.table, codes)
    chosen = f"SELECT {', '.join(['person', 'w', *codes])} FROM {every}"
    if not metadata.has_text:
        return SealedRows(chosen, columns=("person", *codes), every=chosen)
    return SealedRows(
        f"{chosen} WHERE w = {UNIT}",
        f"SELECT {', '.join(_scaled(backend, metadata))} FROM {every} WHERE w < {UNIT}",
        columns=("person", *codes),
        spot=True,
    )


def _apart(backend: Backend, metadata: TableMetadata, rows: str, persons: Persons, repeats: Repeats) -> SealedRows:
    """Return the queries for two tables: persons of full weight who have no text twice, and all others."""
    codes, allowed, table = _codes(metadata), metadata.rows_per_person, persons.table
    chosen = repeats.chosen(backend, table)
    plain = " AND ".join([f"n <= {allowed}", *map(repeats.differ, chosen)])
    repeating, over = f"n <= {allowed} AND NOT ({plain})", f"n > {allowed}"

    def among(condition: str) -> str:
        return joined(rows, f"(SELECT key, person, w FROM {table} WHERE {condition})", codes)

    ((most,),) = backend.answer(f"SELECT COALESCE(MAX(n), 0) FROM {table}")
    others = {}
    if any(chosen.values()):
        others[repeating] = ["person", "w", *codes, "true AS spot"]
    if most > allowed:
        others[over] = _scaled(backend, metadata)
    full = f"SELECT {', '.join(['person', *codes])} FROM {among(plain)}"
    if persons.number:
        # Most persons are in no other set, and it takes less time to leave out those few than to look up all.
        known = f"SELECT 1 FROM {table} AS p WHERE NOT ({plain}) AND p.key = r.key"
        nameless = f"(SELECT person FROM {table} WHERE key IS NULL AND {plain}) AS p"
        full = (
            f"SELECT {', '.join([f'{persons.number} AS person', *codes])} FROM {rows} AS r WHERE key IS NOT NULL "
            f"{f'AND NOT EXISTS ({known})' if others else ''} UNION ALL "
            f"SELECT {', '.join(['person', *codes])} FROM {rows} AS r CROSS JOIN {nameless} WHERE r.key IS NULL"
        )
    return SealedRows(
        full,
        " UNION ALL ".join(f"SELECT {', '.join(columns)} FROM {among(who)}" for who, columns in others.items()),
        columns=("person", *codes),
        spot=metadata.has_text,
        marks={f"{ONCE}{code[1:]}": code in chosen for code in repeats.texts},
    )


def _scaled(backend: Backend, metadata: TableMetadata) -> list[str]:
    """Return the columns of the rows of persons over the bound: `spot` is true for as many as the bound allows."""
    codes, dialect, allowed = _codes(metadata), DIALECTS[backend.dialect], metadata.rows_per_person
    columns = ["person", "w", *codes]
    if metadata.has_text:
        hashed = ", ".join(f"CAST({name} AS {dialect.types['TEXT']})" for name in ("key", *codes))
        order = ", ".join([f"md5(concat_ws('|', {hashed}))", *(f"{code} NULLS LAST" for code in codes)])
        columns.append(f"row_number() OVER (PARTITION BY person ORDER BY {order}) <= {allowed} AS spot")
    return columns
