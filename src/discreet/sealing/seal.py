"""Seal rows about people into rows of integers in which the total weight of one person is bounded.

Claim. Let K be rows_per_person. In the sealed table every source row has exactly one row, whose codes depend on
that row alone (`discreet.schema`), and whose weight depends on the number n of its person's rows alone: UNIT
if n ≤ K, ⌊UNIT·K/n⌋ if n > K. So one person's weights sum to at most K·UNIT, before any filter, and adding or
removing a person changes no other person's rows. Rows without a person are one person together; without a person
column every row is a person.

If there is a text column, `spot` is true on min(n, K) rows of each person: on those that come first in the order
of a fixed hash of (person, codes), then of the codes. Equal rows tie and are interchangeable, so the marked rows
are, as a multiset, a function of that person's own rows. The hash includes the person, so that different persons
keep different keys. Only persons with more than K rows are sorted.

How it runs. One pass reads the source into codes. Persons are counted in what that pass stored, so a file that
changes meanwhile cannot give a person more weight than their rows allow. All of it is SQL, run where the rows are
(`discreet.sealing.backends`): in a DuckDB that spills into the directory where the vault is built, or in the
database that holds them. Nothing about the rows is returned or printed.

Files on disk. A vault is built in a temporary directory beside its target and renamed as a whole
(`discreet.sealing.backends.duckdb`). `reseal` adds `rows-2.duckdb` and then replaces the metadata, by rename.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.engines.dialects import DIALECTS, Dialect
from discreet.errors import Code, Fix, ParameterError
from discreet.schema import Column
from discreet.schema import metadata as metadata_file
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.sealing import joins
from discreet.sealing.backends import Backend, Embedded
from discreet.sealing.backends.duckdb import Progress, alone, database, make_private, workplace
from discreet.sealing.sources import Source

_OTHER = Fix("to", "people-2.vault", note="another directory")


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
    """Seal a table into a new directory, and return its public metadata.

    Args:
        source: The rows: a file, a frame, or a `Source`.
        to: The directory to make.
        name: The name of the table in SQL; the name of the directory by default.
        person: The column that identifies a person; None if every row is a person.
        columns: The columns to keep, with their types and bounds.
        rows_per_person: How many rows of one person count in full; 1 by default.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        memory: The memory that DuckDB may use, such as "2GB"; its own limit by default.
        threads: The threads that DuckDB may use; all cores by default.
        progress: Called with a stage and the part of it that is done.
        ledger: The hash of the first entry of the ledger; empty if there is none.
        furnish: Called with the directory before it is renamed, to put the ledger there.

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
        sources=(Source.of(source).display_name,),
        joins=joins.describe(tables, lookups, person),
        ledger=ledger,
    )
    check_free(target)
    with workplace(target.parent, target.name) as folder:
        with database(folder / metadata.rows_file, memory=memory, threads=threads) as connection:
            fill(Embedded(connection), metadata, source, tables, lookups, progress)
        settle(folder, target, metadata, furnish)
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

    A question that is asked meanwhile reads the old version or the new one, each as a whole. The file of the old
    version stays, for questions that are running and oracles that are open: they were planned for it. Later
    questions never read it, and recorded answers do not need it, so it may be deleted when those have ended.

    Args:
        source: The new rows: a file, a frame, or a `Source`.
        to: The directory of the vault.
        columns: The new columns; those of the vault by default.
        rows_per_person: The new bound; that of the vault by default.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        memory: The memory that DuckDB may use, such as "2GB"; its own limit by default.
        threads: The threads that DuckDB may use; all cores by default.
        progress: Called with a stage and the part of it that is done.
    """
    vault = Path(to).absolute()
    old = metadata_file.read(vault)
    with alone(vault):
        old = metadata_file.read(vault)
        metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
        with workplace(vault, "rows") as folder:
            with database(folder / metadata.rows_file, memory=memory, threads=threads) as connection:
                fill(Embedded(connection), metadata, source, tables, lookups, progress)
            make_private(folder)
            os.replace(folder / metadata.rows_file, vault / metadata.rows_file)
            metadata_file.persist(vault)
            metadata_file.write(metadata, vault)
    return metadata


def settle(folder: Path, target: Path, metadata: TableMetadata, furnish: Callable[[Path], None] | None) -> None:
    """Add metadata and ledger to a directory that has its rows, and rename it to the target.

    Args:
        folder: The directory with the rows.
        target: The directory of the vault.
        metadata: The metadata of the vault.
        furnish: Called with the folder, to put the ledger there; None for no ledger.
    """
    if furnish is not None:
        furnish(folder)
    make_private(folder)
    metadata_file.write(metadata, folder)
    check_free(target)
    os.rename(folder, target)
    metadata_file.persist(target.parent)


def renewed(
    old: TableMetadata,
    source: Any,
    columns: Mapping[str, Column] | None,
    rows_per_person: int | None,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
) -> TableMetadata:
    """Return the metadata of the next version of a vault.

    Args:
        old: The metadata of the present version.
        source: The new rows.
        columns: The new columns; None for those of the present version.
        rows_per_person: The new bound; None for that of the present version.
        tables: Further tables of the same persons.
        lookups: Public tables by the column that they are joined by.
    """
    return replace(
        old,
        columns=columns if columns is not None else old.columns,
        rows_per_person=rows_per_person if rows_per_person is not None else old.rows_per_person,
        version=old.version + 1,
        sealed_at=now(),
        sources=(Source.of(source).display_name,),
        joins=joins.describe(tables, lookups, old.person),
    )


def fill(
    backend: Backend,
    metadata: TableMetadata,
    source: Any,
    tables: Sequence[Any],
    lookups: Mapping[str, Any] | None,
    progress: Progress | None,
) -> None:
    """Read the sources once, and write the sealed rows.

    Args:
        backend: The engine that runs the statements.
        metadata: The metadata of the rows.
        source: The rows.
        tables: Further tables of the same persons.
        lookups: Public tables by the column that they are joined by.
        progress: Called with a stage and the part of it that is done; None for no reports.
    """
    dialect = DIALECTS[backend.dialect]
    codes = [f"c{i}" for i in range(len(metadata.columns))]
    coded = joins.coded(backend, metadata, source, tables, lookups)
    if metadata.person is None:
        spot = ["true AS spot"] if metadata.has_text else []
        weight = f"CAST({UNIT} AS SMALLINT) AS w"
        chosen = ", ".join([f"{dialect.row_number} AS person", weight, *codes, *spot])
        query = f"SELECT {chosen} FROM ({coded}) AS coded"
        backend.write(query, metadata.fingerprint, "reading rows", progress)
        return
    rows = backend.store("coded", coded, "reading rows", progress)
    allowed = metadata.rows_per_person
    weight = f"CASE WHEN n <= {allowed} THEN {UNIT} ELSE {dialect.division.format(UNIT * allowed, 'n')} END"
    counted = f"SELECT key, count(*) AS n FROM {rows} GROUP BY key"
    numbered = (
        f"SELECT key, {dialect.row_number} AS person, CAST({weight} AS SMALLINT) AS w FROM ({counted}) AS counted"
    )
    persons = backend.store("persons", numbered, "weighing persons", progress)
    weighed = _weighed(rows, persons, codes)
    query = _spotted(weighed, codes, allowed, dialect) if metadata.has_text else _plain(weighed, codes)
    backend.write(query, metadata.fingerprint, "weighing rows", progress)


def _weighed(rows: str, persons: str, codes: Sequence[str]) -> str:
    """Return the rows joined with their persons.

    A join by equality is three times as fast as one in which NULL equals NULL, so the rows without a person are
    added by a second query.
    """
    chosen = ", ".join(["p.person", "p.w", "r.key", *(f"r.{code}" for code in codes)])
    return (
        f"(SELECT {chosen} FROM {rows} AS r JOIN {persons} AS p ON r.key = p.key UNION ALL "
        f"SELECT {chosen} FROM {rows} AS r CROSS JOIN (SELECT person, w FROM {persons} WHERE key IS NULL) AS p "
        "WHERE r.key IS NULL) AS weighed"
    )


def _plain(weighed: str, codes: Sequence[str]) -> str:
    return f"SELECT {', '.join(['person', 'w', *codes])} FROM {weighed}"


def _spotted(weighed: str, codes: Sequence[str], allowed: int, dialect: Dialect) -> str:
    chosen = ", ".join(["person", "w", *codes])
    hashed = ", ".join(f"CAST({name} AS {dialect.types['TEXT']})" for name in ("key", *codes))
    order = ", ".join([f"md5(concat_ws('|', {hashed}))", *(f"{code} NULLS LAST" for code in codes)])
    first = f"row_number() OVER (PARTITION BY person ORDER BY {order}) <= {allowed}"
    return (
        f"SELECT {chosen}, true AS spot FROM {weighed} WHERE w = {UNIT} UNION ALL "
        f"SELECT {chosen}, {first} AS spot FROM {weighed} WHERE w < {UNIT}"
    )


def check_free(target: Path) -> None:
    """Refuse a directory that exists, or that cannot be made."""
    try:
        there, taken = target.parent.is_dir(), target.exists()
    except PermissionError:
        raise ParameterError(
            f"You do not have the right to enter the directory {target.parent}.",
            fix=[_OTHER, f"Or ask its owner for the right: chmod u+rwx {target.parent}."],
        ) from None
    if not there:
        raise ParameterError(
            "The directory for the vault does not exist.",
            found=target.parent,
            fix=[_OTHER, "Or make the directory first."],
        )
    if taken:
        raise ParameterError(
            "The directory exists, and a vault is never overwritten: its ledger knows what has been spent.",
            found=target,
            fix=[_OTHER, Fix("source", Code("…"), call="vault.reseal", note="gives this vault new rows")],
        )


def now() -> str:
    """Return the present time for the metadata, to the microsecond, so that no two sealings have the same."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
