"""Where rows come from, and how they are read so that no row decides about another.

    "people.parquet"   "part-*.parquet"   ["2023.csv", "2024.csv"]      files, globs, lists of them
    Source("store.duckdb", table="people")                              a table of a DuckDB file
    Source("postgresql://host/shop", table="visits")                    a table or view of a PostgreSQL database
    spark.table("visits"), Source(spark, table="shop.visits")           a table of a Spark catalogue
    a pyarrow Table or RecordBatchReader, a pandas or polars frame      and whatever else speaks Arrow

The types of columns are those that the source declares, never inferred from rows: a CSV file is text throughout,
and so is a pandas column of objects. Of a CSV file the header alone decides the separator; rows that are too short
are filled up with missing values, what is too long is cut, and a row of more than 2 MB is left out. Two
neighbouring tables are two tables of rows as they were read, so a file in which the text of one row may have
swallowed others is refused (`discreet.sealing.sources.csv`). Every source is read once, from beginning to end; a
CSV file is gone through before.

To add a kind of source: return a `Reading` from one more branch of `opened`.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError, SealingFailed
from discreet.postgres import check_path, is_address
from discreet.schema import Family
from discreet.sealing.sources import csv

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".tsv", ".txt")
_DUCKDB, _ARROW = (".duckdb", ".db", ".ddb"), (".arrow", ".feather")
_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}


@dataclass(frozen=True, eq=False)
class Source:
    """A table to seal, where its name alone does not say enough.

    `table` names a table of a DuckDB file or of a database, `separator` what stands between the fields of a CSV
    file, and `rename` gives columns another name: {"plz": "postcode"}.

    >>> Source("people.csv", separator=";").words
    'people.csv'
    """

    data: Any = field(repr=False)
    table: str | None = None
    separator: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in _paths(self.data) or ():
            check_path(path)

    @classmethod
    def of(cls, data: Any) -> Source:
        """Return a source as it is, and anything else as the source it describes."""
        return data if isinstance(data, Source) else cls(data)

    @property
    def words(self) -> str:
        """What it is, for the description: file names, or the kind of frame, and nothing of what it holds."""
        if is_address(self.data):  # without the host, which is nobody's business
            return f"table {self.table} of a PostgreSQL database"
        paths = _paths(self.data)
        if paths is None and self.table:
            return f"table {self.table} of a Spark catalogue"
        if paths is None:
            return f"a {type(self.data).__module__.split('.')[0]} {type(self.data).__name__}"
        names = ", ".join(Path(path).name for path in paths[:3]) + (" and others" if len(paths) > 3 else "")
        return f"{names}, table {self.table}" if self.table else names

    @property
    def is_text(self) -> bool:
        """Whether it declares names only, and every value is text, as in a CSV file."""
        return all(_suffix(path) in _CSV for path in _paths(self.data) or [""])


@dataclass(frozen=True)
class Reading:
    """A source that is open: what FROM calls it, to be read once, and the declared type of every column.

    `names` has the source's own names of columns that were renamed, and `collations` what takes several texts of a
    column for one where the rows are, for the columns of which that is true.
    """

    rows: str = field(repr=False)
    types: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)
    collations: Mapping[str, str] = field(default_factory=dict)

    def written(self, column: str, dialect: str = "duckdb") -> str:
        """Return what a query calls a column."""
        from discreet.engines import sql_writer

        return sql_writer.identifier(self.names.get(column, column), dialect)

    def family(self, column: str) -> Family:
        """Return what kind of type a column has."""
        return family(self.types[column])

    def check(self, column: str, source: Source) -> None:
        """Refuse a column that the source does not have, naming those it has."""
        if column not in self.types:
            raise ParameterError(
                f"{source.words} has no column {column!r}. It has {', '.join(map(repr, self.types))}."
            )


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
        return "decimal"  # BIGNUM is another: to cast a large one stops DuckDB 2.0, even if it is only tried
    named: dict[str, Family] = {"VARCHAR": "text", "BOOLEAN": "boolean", "DATE": "date", '"NULL"': "null"}
    if kind == "TIMESTAMP WITH TIME ZONE":
        return "zoned"
    if kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return "timestamp"
    return named.get(kind, "other")


def opened(
    connection: DuckDBPyConnection,
    source: Source,
    wanted: Iterable[str] | None,
    name: str,
    *,
    rows: bool = True,
) -> Reading:
    """Open a source for reading once. `name` is what it may be called on this connection.

    Only the wanted columns are looked at, None for all; if one is missing, the types still list all there are.
    Unless nobody wants `rows`, the quotes of a CSV file are looked at as well.
    """
    paths = _paths(source.data)
    old = {new: column for column, new in source.rename.items()}
    kept = None if wanted is None else {old.get(column, column) for column in wanted}
    if is_address(source.data):
        from discreet.sealing.sources.postgres import streamed

        reading = streamed(connection, source, kept, name)
    elif paths is None:
        reading = _frame(connection, source, kept, name)
    else:
        reading = _file(connection, source, _found(paths, source.words), kept, name, rows)
    return renamed(reading, source)


def _paths(data: Any) -> list[str] | None:
    if isinstance(data, str | Path):
        return [str(data)]
    if isinstance(data, list | tuple) and data and all(isinstance(path, str | Path) for path in data):
        return [str(path) for path in data]
    return None


def _found(paths: list[str], words: str) -> list[str]:
    found: list[str] = []
    for path in paths:
        if Path(path).exists():
            found.append(path)
        else:
            found += sorted(glob.glob(path, recursive=True))
    if not found:
        raise ParameterError(f"there is no file {words}. Relative paths start at {Path.cwd()}.")
    return found


def _file(
    connection: DuckDBPyConnection,
    source: Source,
    paths: list[str],
    wanted: set[str] | None,
    name: str,
    rows: bool,
) -> Reading:
    suffixes = {_suffix(path) for path in paths}
    if suffixes <= set(_PARQUET):
        several = ", union_by_name = true" if len(paths) > 1 else ""
        return _described(connection, f"read_parquet({_list(paths)}{several})", source)
    if suffixes <= set(_CSV):
        return _csv(paths, source, wanted, rows)
    if suffixes <= set(_DUCKDB) and len(paths) == 1:
        return _attached(connection, paths[0], source, name)
    if suffixes <= set(_ARROW):
        return _frame(connection, Source(_ipc(paths)), wanted, name)
    raise ParameterError(
        f"{source.words} is no file that can be sealed. Take Parquet, CSV, Arrow or DuckDB files "
        f"({', '.join(_PARQUET + _CSV + _ARROW + _DUCKDB)}), all of one kind."
    )


def _suffix(path: str) -> str:
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() not in (".gz", ".zst")]
    return endings[-1] if endings else ""


def _csv(paths: list[str], source: Source, wanted: set[str] | None, rows: bool) -> Reading:
    header, separator = csv.header(paths[0], source.separator)
    for path in paths[1:]:
        if csv.header(path, separator)[0] != header:
            raise ParameterError(
                f"{Path(path).name} has another header than {Path(paths[0]).name}. Seal them alike."
            )
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise ParameterError(f"the header of {source.words} names {sorted(repeated)[0]!r} twice.")
    for path in paths if rows else ():
        csv.check(path, separator, len(header))
    ends = {csv.line_end(path) for path in paths}
    if len(ends) > 1:
        raise ParameterError(
            f"some of {source.words} have lines that end in \\r alone, others not. Seal them alike."
        )
    columns = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header)
    options = (
        f"columns = {{{columns}}}, auto_detect = false, header = true, delim = {_text(separator)}, quote = '\"', "
        f"escape = '\"', new_line = '{ends.pop()}', strict_mode = false, null_padding = true, "
        "ignore_errors = true, parallel = false"
    )
    read = ", ".join(_name(column) for column in header if wanted is None or column in wanted) or "NULL"
    # Stored as text before anything is made of it. Otherwise DuckDB has the reader itself take the first step, and
    # the reader leaves out a line whose number is none.
    text = f"(WITH text AS MATERIALIZED (SELECT {read} FROM read_csv({_list(paths)}, {options})) FROM text)"
    return Reading(text, dict.fromkeys(header, "VARCHAR"))


def _attached(connection: DuckDBPyConnection, path: str, source: Source, name: str) -> Reading:
    _asked(connection, f"ATTACH {_text(str(Path(path).absolute()))} AS {name} (READ_ONLY, TYPE duckdb)", source)
    found = connection.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY 1", [name]
    ).fetchall()
    tables = [table for (table,) in found]
    if source.table not in tables:
        raise ParameterError(
            f"{Path(path).name} has the tables {', '.join(map(repr, tables)) or '(none)'}. "
            f"Write Source({path!r}, table={tables[0] if tables else '…'!r})."
        )
    return _described(connection, f"{name}.{_name(str(source.table))}", source)


def _ipc(paths: list[str]) -> Any:
    import pyarrow
    import pyarrow.feather

    return pyarrow.concat_tables(
        [pyarrow.feather.read_table(path) for path in paths], promote_options="permissive"
    )


def _frame(connection: DuckDBPyConnection, source: Source, wanted: set[str] | None, name: str) -> Reading:
    import pyarrow

    stream = _arrow(source.data, wanted, source.table)
    schema: pyarrow.Schema = stream.schema
    unread = dict.fromkeys(schema.names, "other")
    if wanted is not None:
        kept = [column for column in schema.names if column in wanted]
        if not kept:
            return Reading("", unread)
        stream, schema = _selected(stream, kept), pyarrow.schema([schema.field(column) for column in kept])
    empty = pyarrow.Table.from_batches([], schema)  # schema.empty_table() would import pandas
    connection.register(f"{name}_empty", empty)
    connection.register(name, stream)
    described = _described(connection, f"{name}_empty", source).types
    if list(described) != schema.names:  # DuckDB's names ignore capitals, and it renames what it cannot tell apart
        raise ParameterError(
            f"{source.words} has columns whose names differ in capitals only, or not at all: "
            f"{', '.join(map(repr, schema.names))}. Rename them before sealing."
        )
    return Reading(name, {**unread, **described})


def _selected(stream: Any, columns: list[str]) -> Any:
    import pyarrow

    if isinstance(stream, pyarrow.Table):
        return stream.select(columns)
    schema = pyarrow.schema([stream.schema.field(column) for column in columns])
    return pyarrow.RecordBatchReader.from_batches(schema, (batch.select(columns) for batch in stream))


def _arrow(data: Any, wanted: set[str] | None, table: str | None = None) -> Any:
    import pyarrow

    library = type(data).__module__.split(".")[0]
    if library == "pyspark":
        from discreet.sealing.sources import spark

        return spark.stream(Source(data, table), wanted)
    if library == "pandas":
        return _from_pandas(data, wanted)
    if library == "polars" and hasattr(data, "collect"):
        data = data.collect()
    if library == "polars":
        import polars

        data = data.with_columns(polars.selectors.object().map_elements(str, return_dtype=polars.String))
    if isinstance(data, pyarrow.Table | pyarrow.RecordBatchReader):
        return data
    if isinstance(data, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(data)
    raise ParameterError(
        f"{type(data).__name__} is no table that can be sealed. Give a file, or a pyarrow, pandas or polars table."
    )


def _from_pandas(data: Any, wanted: set[str] | None) -> Any:
    """Turn columns of Python objects into text: what one row holds must not decide how the others are read.

    Columns that nobody wants keep their names only.
    """
    import pyarrow

    names = [str(name) for name in data.columns]
    columns = [
        _from_series(data.iloc[:, position]) if wanted is None or name in wanted else pyarrow.nulls(len(data))
        for position, name in enumerate(names)
    ]
    return pyarrow.Table.from_arrays(columns, names)


def _from_series(column: Any) -> Any:
    import pyarrow

    objects = getattr(column.dtype, "categories", column).dtype == object
    if not objects:
        with suppress(pyarrow.ArrowException):  # a type that Arrow does not know
            array = pyarrow.Array.from_pandas(column)
            if not isinstance(array, pyarrow.ExtensionArray):  # nor DuckDB
                return pyarrow.chunked_array([array])
    pairs = zip(column, column.isna(), strict=True)
    return pyarrow.chunked_array(
        [pyarrow.array([None if gone else str(v) for v, gone in pairs], pyarrow.string())]
    )


def _described(connection: DuckDBPyConnection, rows: str, source: Source) -> Reading:
    described = _asked(connection, f"DESCRIBE SELECT * FROM {rows}", source)
    return Reading(rows, {column: kind for column, kind, *_ in described})


def _asked(connection: DuckDBPyConnection, question: str, source: Source) -> list[tuple[Any, ...]]:
    """Ask what a source declares. No row is read, so what goes wrong may be said."""
    import duckdb

    try:
        return connection.execute(question).fetchall()
    except duckdb.Error as error:
        wrong = str(error).splitlines()[0]
    raise SealingFailed(f"{source.words} cannot be read: {wrong}")


def renamed(reading: Reading, source: Source) -> Reading:
    """Give columns the names that the curator wants."""
    for column in source.rename:
        reading.check(column, source)
    types = {source.rename.get(column, column): kind for column, kind in reading.types.items()}
    if len(types) < len(reading.types):
        raise ParameterError(f"after renaming, {source.words} has two columns of one name.")
    names = {new: column for column, new in source.rename.items()}
    collations = {source.rename.get(column, column): found for column, found in reading.collations.items()}
    return Reading(reading.rows, types, names, collations)


def _text(value: str) -> str:
    from discreet.engines import sql_writer

    return sql_writer.sql(sql_writer.text(value))


def _name(value: str) -> str:
    from discreet.engines import sql_writer

    return sql_writer.identifier(value)


def _list(paths: list[str]) -> str:
    return f"[{', '.join(_text(_literally(str(Path(path).absolute()))) for path in paths)}]"


def _literally(path: str) -> str:
    """Write a path so that the engine takes no character of it for a wildcard: we have looked already."""
    return glob.escape(path)
