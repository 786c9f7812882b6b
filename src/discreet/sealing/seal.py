"""Sealing: rows about people become rows of integers in which one person weighs a bounded amount.

Claim. Let K be rows_per_person. In the sealed table every source row has exactly one row, whose codes depend on
that row alone (`discreet.schema`), and whose weight depends on the number n of its person's rows alone: UNIT
if n ≤ K, ⌊UNIT·K/n⌋ if n > K. So one person's weights sum to at most K·UNIT, before any filter, and adding or
removing a person changes no other person's rows. Rows without a person are one person together; without a person
column every row is one.

If there is a text column, `spot` is true on min(n, K) rows of each person: on those that come first in the order
of a fixed hash of (person, codes), then of the codes. Equal rows tie and are interchangeable, so the marked rows
are, as a multiset, a function of that person's own rows. The hash takes in the person so that not everybody keeps
the same keys. Only persons with more than K rows are put in order.

How it runs. One pass reads the source into codes; persons are counted in what that pass stored, so that a file
that changes meanwhile cannot give a person more weight than their rows allow. All of it is SQL, run where the rows
are (`discreet.sealing.backends`): in a DuckDB that spills into the directory where the vault is built, or in the
database that has them. Nothing about the rows is returned or printed.

What is on disk. A vault is built beside its place and renamed into it whole (`discreet.sealing.backends.duckdb`).
`reseal` adds `rows-2.duckdb` and then replaces the description, by rename.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.engines.dialects import DIALECTS, Dialect
from discreet.errors import ParameterError
from discreet.schema import Column
from discreet.schema import metadata as descriptions
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.sealing import joins
from discreet.sealing.backends import Embedded, Workshop
from discreet.sealing.backends.duckdb import Progress, alone, database, make_private, workplace
from discreet.sealing.sources import Source


def seal(
    source: Any,
    *,
    to: str | Path,
    name: str | None = None,
    person: str | None,
    columns: Mapping[str, Column],
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    ledger: str = "",
    furnish: Callable[[Path], None] | None = None,
) -> TableMetadata:
    """Seal a table into a new directory, and return its public description.

    `source` has the rows; `tables` hold more about the same persons, and `lookups` are public tables by the column
    they go by. `furnish` is called with the directory before it takes its place, to put the ledger there whose
    first entry has the hash `ledger`.

    >>> import tempfile, pyarrow
    >>> from discreet.schema import Integer
    >>> visits = pyarrow.table({"who": ["a", "a", "b"], "age": [31, 31, 64]})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     sealed = seal(visits, to=directory + "/visits.vault", person="who", columns={"age": Integer(0, 110)})
    >>> sealed.name, sealed.columns
    ('visits', {'age': Integer(lo=0, hi=110, outside='clamp', missing=None)})
    """
    target = Path(to).absolute()
    metadata = TableMetadata(
        name=name if name is not None else target.stem,
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        sealed_at=now(),
        sources=(Source.of(source).words,),
        joins=joins.words(tables, lookups, person),
        ledger=ledger,
    )
    check_free(target)
    with workplace(target.parent, target.name) as place:
        with database(place / metadata.rows_file, memory=memory, threads=threads) as connection:
            fill(Embedded(connection), metadata, source, tables, lookups, progress)
        settle(place, target, metadata, furnish)
    return metadata


def reseal(
    source: Any,
    *,
    to: str | Path,
    columns: Mapping[str, Column] | None = None,
    rows_per_person: int | None = None,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> TableMetadata:
    """Give an existing vault a new version of its rows, under the same ledger.

    Columns and rows_per_person stay as they are unless given. Whoever asks meanwhile sees the old version or the
    new one, whole. The file of the old version stays, for questions that are on their way and oracles that are
    open: they were planned for it. Later ones never read it, and recorded answers do not need it, so it may be
    deleted when those are done.
    """
    vault = Path(to).absolute()
    old = descriptions.read(vault)
    with alone(vault):
        old = descriptions.read(vault)
        metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
        with workplace(vault, "rows") as place:
            with database(place / metadata.rows_file, memory=memory, threads=threads) as connection:
                fill(Embedded(connection), metadata, source, tables, lookups, progress)
            make_private(place)
            os.replace(place / metadata.rows_file, vault / metadata.rows_file)
            descriptions.persist(vault)
            descriptions.write(metadata, vault)
    return metadata


def settle(place: Path, target: Path, metadata: TableMetadata, furnish: Callable[[Path], None] | None) -> None:
    """Move a directory that has its rows to where the vault is to be, with its description and ledger."""
    if furnish is not None:
        furnish(place)
    make_private(place)
    descriptions.write(metadata, place)
    check_free(target)
    os.rename(place, target)
    descriptions.persist(target.parent)


def renewed(
    old: TableMetadata,
    source: Any,
    columns: Mapping[str, Column] | None,
    rows_per_person: int | None,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
) -> TableMetadata:
    """Return the description of the next version of a vault."""
    return replace(
        old,
        columns=columns if columns is not None else old.columns,
        rows_per_person=rows_per_person if rows_per_person is not None else old.rows_per_person,
        version=old.version + 1,
        sealed_at=now(),
        sources=(Source.of(source).words,),
        joins=joins.words(tables, lookups, old.person),
    )


def fill(
    workshop: Workshop,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
    progress: Progress | None,
) -> None:
    """Read the sources once, and write the sealed rows."""
    words = DIALECTS[workshop.dialect]
    codes = [f"c{i}" for i in range(len(metadata.columns))]
    coded = joins.coded(workshop, metadata, source, tables, lookups)
    if metadata.person is None:
        spot = ["true AS spot"] if metadata.has_text else []
        weight = f"CAST({UNIT} AS SMALLINT) AS w"
        chosen = ", ".join([f"{words.row_number} AS person", weight, *codes, *spot])
        query = f"SELECT {chosen} FROM ({coded}) AS coded"
        workshop.write(query, metadata.fingerprint, "reading rows", progress)
        return
    rows = workshop.store("coded", coded, "reading rows", progress)
    allowed = metadata.rows_per_person
    weight = f"CASE WHEN n <= {allowed} THEN {UNIT} ELSE {words.division.format(UNIT * allowed, 'n')} END"
    counted = f"SELECT key, count(*) AS n FROM {rows} GROUP BY key"
    numbered = (
        f"SELECT key, {words.row_number} AS person, CAST({weight} AS SMALLINT) AS w FROM ({counted}) AS counted"
    )
    persons = workshop.store("persons", numbered, "weighing persons", progress)
    weighed = _weighed(rows, persons, codes)
    query = _spotted(weighed, codes, allowed, words) if metadata.has_text else _plain(weighed, codes)
    workshop.write(query, metadata.fingerprint, "weighing rows", progress)


def _weighed(rows: str, persons: str, codes: Sequence[str]) -> str:
    """Rows with their persons.

    A join by equality is three times as fast as one that lets NULL equal NULL, so the rows of nobody in particular
    are added by themselves.
    """
    chosen = ", ".join(["p.person", "p.w", "r.key", *(f"r.{code}" for code in codes)])
    return (
        f"(SELECT {chosen} FROM {rows} AS r JOIN {persons} AS p ON r.key = p.key UNION ALL "
        f"SELECT {chosen} FROM {rows} AS r CROSS JOIN (SELECT person, w FROM {persons} WHERE key IS NULL) AS p "
        "WHERE r.key IS NULL) AS weighed"
    )


def _plain(weighed: str, codes: Sequence[str]) -> str:
    return f"SELECT {', '.join(['person', 'w', *codes])} FROM {weighed}"


def _spotted(weighed: str, codes: Sequence[str], allowed: int, words: Dialect) -> str:
    chosen = ", ".join(["person", "w", *codes])
    told = ", ".join(f"CAST({name} AS {words.types['TEXT']})" for name in ("key", *codes))
    order = ", ".join([f"md5(concat_ws('|', {told}))", *(f"{code} NULLS LAST" for code in codes)])
    first = f"row_number() OVER (PARTITION BY person ORDER BY {order}) <= {allowed}"
    return (
        f"SELECT {chosen}, true AS spot FROM {weighed} WHERE w = {UNIT} UNION ALL "
        f"SELECT {chosen}, {first} AS spot FROM {weighed} WHERE w < {UNIT}"
    )


def check_free(target: Path) -> None:
    """Refuse a place that is taken, or that cannot be."""
    try:
        there, taken = target.parent.is_dir(), target.exists()
    except PermissionError:
        raise ParameterError(
            f"the directory {target.parent} may not be entered by whoever runs this. Its owner can give the right "
            "to. Or seal to a directory of your own."
        ) from None
    if not there:
        raise ParameterError(f"there is no directory {target.parent}. Make it first, or seal to another place.")
    if taken:
        raise ParameterError(
            f"{target} exists, and a vault is never overwritten: its ledger knows what has been spent. "
            "Seal to another place, or give this vault new rows with reseal(source, to=…)."
        )


def now() -> str:
    """Return this moment, for descriptions: so exactly that no two sealings have the same."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
