"""Seal a source into a directory: read it once, build the vault beside its target, and rename it as a whole.

The bound on what one person adds is a claim of `discreet.sealing.weights`.

How it runs. One pass reads the source into codes. Persons are counted in what that pass stored, so a file that
changes meanwhile cannot give a person more weight than their rows allow. All of it is SQL, run where the rows are
(`discreet.sealing.backends`): in a DuckDB that spills into the directory where the vault is built, or in the
database that holds them. Nothing about the rows is returned or printed.

Files on disk. A vault is built in a temporary directory beside its target and renamed as a whole
(`discreet.sealing.backends.duckdb`). `reseal` adds `rows-2.duckdb` and then replaces the metadata, by rename.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import Code, Fix, ParameterError
from discreet.kernel import Payer
from discreet.schema import metadata as metadata_file
from discreet.schema.metadata import TableMetadata
from discreet.sealing import counting, joins
from discreet.sealing.backends import Embedded
from discreet.sealing.backends.duckdb import Progress, alone, database, make_private, workplace
from discreet.sealing.learning import Declared, Learner, provisional, to_learn
from discreet.sealing.persons import weighed
from discreet.sealing.report import SealingReport
from discreet.sealing.sources import Source
from discreet.sealing.weights import READING, Judge, fill

_OTHER = Fix("to", "people-2.vault", note="another directory")


def seal(
    source: Any,
    *,
    to: str | Path,
    name: str | None = None,
    person: str | None,
    columns: Declared,
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    ledger: str = "",
    furnish: Callable[[Path], None] | None = None,
    judge: Judge | None = None,
    payer: Callable[[Path], Payer] | None = None,
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
        furnish: Called with the directory before the rows are read, to put the ledger there.
        judge: Called with the private report before the rows are written, and may refuse them.
        payer: Returns the ledger in the directory, which is charged for bounds that are learned.

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
        columns=provisional(columns),
        person=person,
        rows_per_person=rows_per_person,
        sealed_at=now(),
        sources=(Source.of(source).display_name,),
        joins=joins.describe(tables, lookups, person),
        ledger=ledger,
    )
    check_free(target)
    with workplace(target.parent, target.name) as folder:
        if furnish is not None:
            furnish(folder)
        learner = learner_of(columns, None if payer is None else partial(payer, folder))
        with database(folder / metadata.rows_file, memory=memory, threads=threads) as connection:
            metadata = fill(Embedded(connection), metadata, source, tables, lookups, progress, judge, learner)
        settle(folder, target, metadata)
    return metadata


def check(
    source: Any,
    *,
    person: str | None,
    columns: Declared,
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> SealingReport:
    """Read a source as sealing would, and return the private report. Nothing is kept, and nothing is charged.

    Args:
        source: The rows: a file, a frame, or a `Source`.
        person: The column that identifies a person; None if every row is a person.
        columns: The columns to keep, with their types and bounds.
        rows_per_person: How many rows of one person count in full; 1 by default.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        memory: The memory that DuckDB may use, such as "2GB"; its own limit by default.
        progress: Called with a stage and the part of it that is done.
    """
    metadata = TableMetadata("checked", provisional(columns), person=person, rows_per_person=rows_per_person)
    learned = to_learn(columns)
    with (
        workplace(Path(tempfile.gettempdir()), "check") as folder,
        database(folder / metadata.rows_file, memory=memory, threads=None) as connection,
    ):
        backend = Embedded(connection)
        query, people = joins.coded(backend, metadata, source, tables, lookups, learned=learned, watch=True)
        rows = backend.store("coded", query, READING, progress)
        persons = weighed(backend, metadata, rows, progress)
        return counting.report(backend, metadata, people, rows, persons.table)


def reseal(
    source: Any,
    *,
    to: str | Path,
    columns: Declared | None = None,
    rows_per_person: int | None = None,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    judge: Judge | None = None,
    payer: Callable[[], Payer] | None = None,
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
        judge: Called with the private report before the rows are written, and may refuse them.
        payer: Returns the ledger, which is charged for bounds that are learned.
    """
    vault = Path(to).absolute()
    old = metadata_file.read(vault)
    with alone(vault):
        old = metadata_file.read(vault)
        metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
        with workplace(vault, "rows") as folder:
            with database(folder / metadata.rows_file, memory=memory, threads=threads) as connection:
                metadata = fill(
                    Embedded(connection),
                    metadata,
                    source,
                    tables,
                    lookups,
                    progress,
                    judge,
                    learner_of(columns, payer),
                )
            make_private(folder)
            os.replace(folder / metadata.rows_file, vault / metadata.rows_file)
            metadata_file.persist(vault)
            metadata_file.write(metadata, vault)
    return metadata


def learner_of(columns: Declared | None, payer: Callable[[], Payer] | None) -> Learner | None:
    """Return what learns the bounds of columns; None if all bounds are declared."""
    learned = to_learn(columns)
    if not learned:
        return None
    if payer is None:
        raise ParameterError(
            "Bounds can be learned only for a vault with a ledger, which is charged for them.",
            found=", ".join(map(repr, learned)),
            fix="Declare the bounds, or seal with Vault.seal.",
        )
    return Learner(learned, payer)


def settle(folder: Path, target: Path, metadata: TableMetadata) -> None:
    """Add metadata to a directory that has rows and ledger, and rename it to the target.

    Args:
        folder: The directory with the rows.
        target: The directory of the vault.
        metadata: The metadata of the vault.
    """
    make_private(folder)
    metadata_file.write(metadata, folder)
    check_free(target)
    os.rename(folder, target)
    metadata_file.persist(target.parent)


def renewed(
    old: TableMetadata,
    source: Any,
    columns: Declared | None,
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
        columns=provisional(columns) if columns is not None else old.columns,
        rows_per_person=rows_per_person if rows_per_person is not None else old.rows_per_person,
        version=old.version + 1,
        sealed_at=now(),
        sources=(Source.of(source).display_name,),
        joins=joins.describe(tables, lookups, old.person),
    )


def check_free(target: Path) -> None:
    """Refuse a directory that exists, or that cannot be made."""
    try:
        there, taken = target.parent.is_dir(), target.exists() or target.is_symlink()
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
    if taken and not target.exists():
        raise ParameterError(
            f"{target.name} is a link to a directory that does not exist.",
            found=os.readlink(target),
            fix=["Remove the link, or give the path of a directory that can be made.", _OTHER],
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
