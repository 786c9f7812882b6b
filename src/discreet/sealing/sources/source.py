"""Name a table to seal (`Source`), and hold what is known of it once it is open (`Reading`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from discreet.engines import sql_writer
from discreet.errors import DiscreetError, ParameterError
from discreet.postgres import check_path, is_address
from discreet.schema import Family
from discreet.sealing.sources.csv import Lines

CSV = (".csv", ".tsv", ".txt")
"""The endings of CSV files."""

_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}


@dataclass(frozen=True, eq=False)
class Source:
    """A table to seal, for data that need more than a name.

    Args:
        data: A file, a list of files, the address of a database, a frame, or a Spark session.
        table: The table of a DuckDB file, of a database or of a Spark catalogue.
        separator: The separator of a CSV file; by default the one that its header has most of.
        encoding: The encoding of a CSV file, such as "latin-1"; UTF-8 by default.
        multiline: Whether quoted cells of a CSV file may hold line breaks; by default one line is one row.
        rename: New names of columns, such as {"plz": "postcode"}; none by default.

    >>> Source("people.csv", separator=";").display_name
    'people.csv'
    """

    data: Any = field(repr=False)
    table: str | None = None
    separator: str | None = None
    encoding: str | None = None
    multiline: bool = False
    rename: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in self.paths or ():
            check_path(path)

    @classmethod
    def of(cls, data: Any) -> Source:
        """Return a source unchanged, and other data as the source that they describe."""
        return data if isinstance(data, Source) else cls(data)

    @property
    def paths(self) -> list[str] | None:
        """The paths, if it is a file or a list of files."""
        if isinstance(self.data, str | Path):
            return [str(self.data)]
        listed = isinstance(self.data, list | tuple) and bool(self.data)
        if listed and all(isinstance(path, str | Path) for path in self.data):
            return [str(path) for path in self.data]
        return None

    @property
    def display_name(self) -> str:
        """Its name for the metadata: file names, or the kind of frame, and nothing of what it holds."""
        if is_address(self.data):  # without the host: the metadata are public
            return f"table {self.table} of a PostgreSQL database"
        paths = self.paths
        if paths is None and self.table:
            return f"table {self.table} of a Spark catalogue"
        if paths is None:
            return f"a {type(self.data).__module__.split('.')[0]} {type(self.data).__name__}"
        names = ", ".join(Path(path).name for path in paths[:3]) + (" and others" if len(paths) > 3 else "")
        return f"{names}, table {self.table}" if self.table else names

    @property
    def is_text(self) -> bool:
        """Whether it declares names only, and every value is text, as in a CSV file."""
        return all(suffix(path) in CSV for path in self.paths or [""])


@dataclass(frozen=True)
class Reading:
    """An open source: its name after FROM, to be read once, and the declared type of every column.

    `names` has the names of columns in the query, where they differ. `collations` has, by column, the collation
    under which different texts are equal where the rows are. `number` is SQL for the number of a row, counted from
    1; empty if its rows have none. `lines` counts odd lines of a CSV file. `failures` has what stopped a stream of
    rows: the engine that reads the stream repeats it only as text.
    """

    rows: str = field(repr=False)
    types: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)
    collations: Mapping[str, str] = field(default_factory=dict)
    number: str = ""
    lines: Lines | None = None
    failures: list[DiscreetError] = field(default_factory=list)

    def written(self, column: str, dialect: str = "duckdb") -> str:
        """Return a column as a query writes it."""
        return sql_writer.identifier(self.names.get(column, column), dialect)

    def family(self, column: str) -> Family:
        """Return the family of a column's type."""
        return family(self.types[column])

    def check(self, column: str, source: Source) -> None:
        """Refuse a column that the source does not have, and list those that it has."""
        if column not in self.types:
            raise ParameterError(
                f"{source.display_name} has no column {column!r}.",
                fix=[*_near(column, self.types), f"It has {', '.join(map(repr, self.types))}."],
            )


def _near(column: str, names: Iterable[str]) -> list[str]:
    """Return a question that names the column that was probably meant; nothing if none is near."""
    known = {name.casefold(): name for name in names}
    return [f"Did you mean {known[near]!r}?" for near in get_close_matches(column.casefold(), known, n=1)]


def family(kind: str) -> Family:
    """Return the family of a DuckDB type.

    >>> family("DECIMAL(10,2)"), family("TIMESTAMP WITH TIME ZONE"), family("INTEGER[]")
    ('decimal', 'zoned', 'other')
    """
    if kind in _INTEGERS:
        return "integer"
    if kind in ("FLOAT", "DOUBLE"):
        return "float"
    if (kind.startswith("DECIMAL(") and kind.endswith(")")) or kind in ("UHUGEINT", "NUMERIC"):
        return "decimal"  # BIGNUM is not: DuckDB 2.0 stops when it casts a large one, even in TRY_CAST
    named: dict[str, Family] = {"VARCHAR": "text", "BOOLEAN": "boolean", "DATE": "date", '"NULL"': "null"}
    if kind == "TIMESTAMP WITH TIME ZONE":
        return "zoned"
    if kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return "timestamp"
    return named.get(kind, "other")


def renamed(reading: Reading, source: Source) -> Reading:
    """Give columns the names that the curator chose."""
    for column in source.rename:
        reading.check(column, source)
    types = {source.rename.get(column, column): kind for column, kind in reading.types.items()}
    if len(types) < len(reading.types):
        raise ParameterError(
            f"After renaming, {source.display_name} has two columns of the same name.",
            found=dict(source.rename),
            fix="Give every column another name.",
        )
    written = {column: reading.names.get(column, column) for column in reading.types}
    names = {source.rename.get(column, column): own for column, own in written.items()}
    collations = {source.rename.get(column, column): found for column, found in reading.collations.items()}
    return replace(reading, types=types, names=names, collations=collations)


def suffix(path: str) -> str:
    """Return the ending of a file name in small letters, without that of a compression.

    >>> suffix("people.CSV.gz")
    '.csv'
    """
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() not in (".gz", ".zst")]
    return endings[-1] if endings else ""
