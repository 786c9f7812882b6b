"""A vault whose rows stay in Spark: a directory with the description and the ledger, and a table of the catalogue.

    people.vault/description.json     public; names the table
    people.vault/ledger.sqlite        who spent what
    analytics.people_sealed           the sealed rows, private; people_sealed_2 … for later versions

Rows never leave the cluster: sealing is SQL that runs in it (`discreet.sealing.backends.spark`). The directory
appears last, by one rename, so there is a whole vault or none; if sealing fails, the table goes too. A new version
is a new table, and then a new description in place of the old one. Who may read the tables is for the catalogue to
say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.engines.spark import Spark, active
from discreet.errors import ParameterError
from discreet.schema import metadata as descriptions
from discreet.schema.metadata import TableMetadata
from discreet.sealing import joins
from discreet.sealing.backends.duckdb import alone, workplace
from discreet.sealing.backends.spark import Catalogue, full_name, named, quoted
from discreet.sealing.seal import check_free, fill, now, renewed, settle
from discreet.sealing.sources import Source, spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from discreet.schema import Column
    from discreet.sealing.backends.duckdb import Progress


def engine(metadata: TableMetadata, session: SparkSession | None = None) -> Spark:
    """Open the rows of a description, in the given session or the active one."""
    return Spark(quoted(_table(metadata)), session, limits=metadata.limits)


def seal(
    source: Any,
    *,
    to: str | Path,
    rows: str,
    name: str | None = None,
    person: str | None,
    columns: Mapping[str, Column],
    rows_per_person: int = 1,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    ledger: str = "",
    furnish: Callable[[Path], None] | None = None,
) -> TableMetadata:
    """Seal Spark tables into a new table of the catalogue, called `rows`, and a new directory.

    `furnish` is called with the directory before it takes its place, to put the ledger there whose first entry has
    the hash `ledger`.
    """
    target, session = Path(to).absolute(), _session(source)
    metadata = TableMetadata(
        name=name if name is not None else target.stem,
        columns=columns,
        person=person,
        rows_per_person=rows_per_person,
        engine="spark",
        table=quoted(full_name(session, rows)),
        sealed_at=now(),
        sources=(Source.of(source).words,),
        joins=joins.words(tables, lookups, person),
        ledger=ledger,
    )
    check_free(target)
    with (
        workplace(target.parent, target.name) as place,
        _catalogue(session, metadata, target) as catalogue,
    ):
        fill(catalogue, metadata, source, tables, lookups, progress)
        settle(place, target, metadata, furnish)
    return metadata


def reseal(
    source: Any,
    *,
    to: str | Path,
    session: SparkSession | None = None,
    columns: Mapping[str, Column] | None = None,
    rows_per_person: int | None = None,
    tables: Sequence[Any] = (),
    lookups: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> TableMetadata:
    """Give a vault a new version of its rows, in a new table. That of the old version stays."""
    vault = Path(to).absolute()
    with alone(vault):
        old = descriptions.read(vault)
        metadata = renewed(old, source, columns, rows_per_person, tables, lookups)
        with _catalogue(_session(source, session), metadata, vault) as catalogue:
            fill(catalogue, metadata, source, tables, lookups, progress)
            descriptions.write(metadata, vault)
    return metadata


@contextmanager
def _catalogue(session: SparkSession, metadata: TableMetadata, vault: Path) -> Iterator[Catalogue]:
    """A workshop for the rows of a description, which are kept if the vault has that description in the end."""
    catalogue = Catalogue(session, _table(metadata), metadata)
    catalogue.begin()
    try:
        yield catalogue
    finally:
        catalogue.end(keep=_has(vault, metadata))


def _has(vault: Path, metadata: TableMetadata) -> bool:
    try:
        return descriptions.read(vault).as_json() == metadata.as_json()
    except ParameterError:
        return False


def _session(source: Any, given: SparkSession | None = None) -> SparkSession:
    found = spark.session(Source.of(source))
    return found if found is not None else given if given is not None else active()


def _table(metadata: TableMetadata) -> tuple[str, ...]:
    """The parts of the name of a version's table."""
    *space, table = named(metadata.table)
    return (*space, table if metadata.version == 1 else f"{table}_{metadata.version}")
