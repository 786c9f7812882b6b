"""Store a vault whose rows stay in Spark: a directory with metadata and ledger, and a table of the catalogue.

    people.vault/description.json     public metadata; they name the table
    people.vault/ledger.sqlite        the ledger
    analytics.people_sealed           the sealed rows, private; people_sealed_2 … for later versions

Rows never leave the cluster: sealing is SQL that runs in it (`discreet.sealing.backends.spark`). The directory
appears last, by one rename, so there is a whole vault or none; if sealing fails, the table is dropped too. A new
version is a new table, and then new metadata in place of the old ones. The catalogue decides who may read the
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines.spark import Spark, active
from discreet.errors import ParameterError
from discreet.kernel import Payer
from discreet.schema import metadata as metadata_file
from discreet.schema.metadata import TableMetadata
from discreet.sealing import joins
from discreet.sealing.backends.duckdb import alone, workplace
from discreet.sealing.backends.spark import Catalogue, full_name, named, quoted
from discreet.sealing.learning import Declared, provisional
from discreet.sealing.seal import check_free, learner_of, now, renewed, settle
from discreet.sealing.sources import Source, spark
from discreet.sealing.weights import Judge, fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.sealing.backends.duckdb import Progress


def engine(metadata: TableMetadata, session: SparkSession | None = None) -> Spark:
    """Open the rows of these metadata, in the given session or the active one."""
    return Spark(quoted(_table(metadata)), session, limits=metadata.limits)


def seal(
    source: Any,
    *,
    to: str | Path,
    rows: str,
    name: str | None = None,
    person: str | None,
    columns: Declared,
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    ledger: str = "",
    furnish: Callable[[Path], None] | None = None,
    judge: Judge | None = None,
    payer: Callable[[Path], Payer] | None = None,
) -> TableMetadata:
    """Seal Spark tables into a new table of the catalogue, and a new directory.

    Args:
        source: The rows: a table of Spark.
        to: The directory to make.
        rows: The name of the table to make.
        name: The name of the table in SQL; the name of the directory by default.
        person: The column that identifies a person; None if every row is a person.
        columns: The columns to keep, with their types and bounds.
        rows_per_person: How many rows of one person count in full; 1 by default.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        progress: Called with a stage and the part of it that is done.
        ledger: The hash of the first entry of the ledger; empty if there is none.
        furnish: Called with the directory before the rows are read, to put the ledger there.
        judge: Called with the private report before the rows are written, and may refuse them.
        payer: Returns the ledger in the directory, which is charged for bounds that are learned.
    """
    target, session = Path(to).absolute(), _session(source)
    metadata = TableMetadata(
        name=name if name is not None else target.stem,
        columns=provisional(columns),
        person=person,
        rows_per_person=rows_per_person,
        engine="spark",
        table=quoted(full_name(session, rows)),
        sealed_at=now(),
        sources=(Source.of(source).display_name,),
        joins=joins.describe(tables, lookups, person),
        ledger=ledger,
    )
    check_free(target)
    with (
        workplace(target.parent, target.name) as folder,
        _catalogue(session, metadata, target) as catalogue,
    ):
        if furnish is not None:
            furnish(folder)
        learner = learner_of(columns, None if payer is None else partial(payer, folder))
        metadata = fill(catalogue, metadata, source, tables, lookups, progress, judge, learner)
        settle(folder, target, metadata)
    return metadata


def reseal(
    source: Any,
    *,
    to: str | Path,
    session: SparkSession | None = None,
    columns: Declared | None = None,
    rows_per_person: int | None = None,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    judge: Judge | None = None,
    payer: Callable[[], Payer] | None = None,
) -> TableMetadata:
    """Give a vault a new version of its rows, in a new table. The table of the old version stays.

    Args:
        source: The new rows: a table of Spark.
        to: The directory of the vault.
        session: The Spark session; that of the source by default, or else the active one.
        columns: The new columns; those of the vault by default.
        rows_per_person: The new bound; that of the vault by default.
        tables: Further tables of the same persons; none by default.
        lookups: Public tables by the column that they are joined by; none by default.
        progress: Called with a stage and the part of it that is done.
        judge: Called with the private report before the rows are written, and may refuse them.
        payer: Returns the ledger, which is charged for bounds that are learned.
    """
    vault = Path(to).absolute()
    with alone(vault):
        old = metadata_file.read(vault)
        metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
        with _catalogue(_session(source, session), metadata, vault) as catalogue:
            learner = learner_of(columns, payer)
            metadata = fill(catalogue, metadata, source, tables, lookups, progress, judge, learner)
            metadata_file.write(metadata, vault)
    return metadata


@contextmanager
def _catalogue(session: SparkSession, metadata: TableMetadata, vault: Path) -> Iterator[Catalogue]:
    """Give a backend for the rows of these metadata. They are kept if the vault has the metadata in the end."""
    catalogue = Catalogue(session, _table(metadata), metadata)
    catalogue.begin()
    try:
        yield catalogue
    finally:
        catalogue.end(keep=_has(vault, metadata))


def _has(vault: Path, metadata: TableMetadata) -> bool:
    """Return whether a vault has these metadata. Bounds may have been learned since: its time of sealing tells."""
    try:
        return metadata_file.read(vault).sealed_at == metadata.sealed_at
    except ParameterError:
        return False


def _session(source: Any, given: SparkSession | None = None) -> SparkSession:
    found = spark.session(Source.of(source))
    return found if found is not None else given if given is not None else active()


def _table(metadata: TableMetadata) -> tuple[str, ...]:
    """Return the parts of the name of a version's table."""
    *space, table = named(metadata.table)
    return (*space, table if metadata.version == 1 else f"{table}_{metadata.version}")
