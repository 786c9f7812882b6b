"""Count how the cells of stored rows were read, for the curator's report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.engines import nodes, sql_writer
from discreet.schema import Integer, Real
from discreet.schema.metadata import TableMetadata
from discreet.sealing import readability
from discreet.sealing.readability import ABOVE, BELOW, OTHER, READ, UNREADABLE
from discreet.sealing.report import ColumnReport, Example, SealingReport

if TYPE_CHECKING:
    from discreet.sealing.backends import Backend
    from discreet.sealing.joins import Part

_MOST = 100  # columns that are counted by one query
_EXAMPLES = 3
_COUNTED = (READ, BELOW, ABOVE, UNREADABLE, OTHER)


def report(
    backend: Backend,
    metadata: TableMetadata,
    people: Sequence[Part],
    rows: str,
    persons: str,
) -> SealingReport:
    """Return the report on rows that are stored.

    Args:
        backend: The engine that holds them.
        metadata: Their metadata.
        people: The tables that they come from, with the columns that were watched.
        rows: Their name after FROM.
        persons: The name of the table of persons; empty if every row is a person.
    """
    keys = "COUNT(*) - COUNT(key)" if persons else "0"
    ((count, alone),) = backend.answer(f"SELECT COUNT(*), {keys} FROM {rows}")
    known = over = None
    if persons:
        more = f"SUM(CASE WHEN n > {metadata.rows_per_person} THEN 1 ELSE 0 END)"
        ((known, over),) = backend.answer(f"SELECT COUNT(*), {more} FROM {persons}")
    found: dict[str, ColumnReport] = {}
    for k, part in enumerate(people):
        found |= _columns(backend, part, k, rows, int(count))
    return SealingReport(
        rows=int(count),
        columns={name: found[name] for name in metadata.columns if name in found},
        persons=None if known is None else int(known),
        over_bound=int(over or 0),
        without_person=int(alone or 0),
        rows_per_person=metadata.rows_per_person,
        lines=people[0].reading.lines,
    )


def with_learned(
    backend: Backend, report: SealingReport, metadata: TableMetadata, rows: str, learned: Iterable[str]
) -> SealingReport:
    """Return the report with what lies outside of bounds that were learned since.

    Args:
        backend: The engine that holds the rows.
        report: The report before the bounds were known.
        metadata: The metadata with the bounds.
        rows: The name of the rows after FROM.
        learned: The columns whose bounds were learned.
    """
    columns = dict(report.columns)
    for name in learned:
        if name in columns:
            columns[name] = _clamped(backend, columns[name], metadata, name, rows)
    return replace(report, columns=columns)


def _columns(backend: Backend, part: Part, k: int, rows: str, count: int) -> dict[str, ColumnReport]:
    names, found = list(part.watched), dict[str, ColumnReport]()
    # Most rows were read in every cell and have no text, and few of the others differ. So equal texts are counted
    # before their characters are looked at.
    states = f"SUBSTR(states{k}, 1, {len(names)})"
    several = f"FROM {rows} WHERE states{k} <> '' GROUP BY {states}"
    alike = f"(SELECT {states} AS states{k}, COUNT(*) AS n {several}) AS alike"
    ((held, others),) = backend.answer(
        f"SELECT COUNT(states{k}) AS held, COUNT(CASE WHEN states{k} <> '' THEN 1 END) AS others FROM {rows}"
    )
    whole = int(held) - int(others)
    for first in range(0, len(names), _MOST):
        some = range(first, min(first + _MOST, len(names)))
        sums = [
            f"SUM(CASE WHEN {readability.at(i, f'states{k}')} = '{state}' THEN n ELSE 0 END)"
            for i in some
            for state in _COUNTED
        ]
        (row,) = backend.answer(f"SELECT {', '.join(sums)} FROM {alike}")
        totals = [int(total or 0) for total in row]
        for place, i in enumerate(some):
            read, below, above, unread, other = totals[place * len(_COUNTED) : (place + 1) * len(_COUNTED)]
            read += whole
            column = part.watched[names[i]][2]
            found[names[i]] = ColumnReport(
                read=read,
                below=below,
                above=above,
                missing=count - read - below - above - unread - other,
                unreadable=unread,
                other=other,
                outside=getattr(column, "outside", "clamp"),
                examples=_examples(backend, i, len(names), k, rows) if unread else (),
                kind=column.kind,
            )
    return found


def _examples(backend: Backend, position: int, columns: int, k: int, rows: str) -> tuple[Example, ...]:
    here = f"{readability.at(position, f'states{k}')} = '{UNREADABLE}'"
    behind = f"SUBSTR(states{k}, {columns + 1})"  # the number comes first, and the texts of a row after it
    found = backend.answer(f"SELECT states{k} FROM {rows} WHERE {here} ORDER BY {behind} LIMIT {_EXAMPLES}")
    return tuple(Example(*readability.unreadable(noted, position)) for (noted,) in found)


def _clamped(backend: Backend, found: ColumnReport, metadata: TableMetadata, name: str, rows: str) -> ColumnReport:
    """Count what lies outside of bounds that were learned."""
    column, code = metadata.columns[name], metadata.sealed_name(name)
    if not isinstance(column, Integer | Real):
        return found
    lo, hi = (sql_writer.sql(bound, backend.dialect, limits=None) for bound in column.limits())
    value = sql_writer.sql(nodes.Column(code), backend.dialect, limits=None)
    sides = (f"SUM(CASE WHEN {value} {side} THEN 1 ELSE 0 END)" for side in (f"< {lo}", f"> {hi}"))
    ((below, above),) = backend.answer(f"SELECT {', '.join(sides)} FROM {rows}")
    below, above = int(below or 0), int(above or 0)
    return replace(found, read=found.read - below - above, below=below, above=above)
