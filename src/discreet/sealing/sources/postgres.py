"""Read tables and views of a PostgreSQL database, as its catalogue declares them.

    Source("postgresql://host/shop", table="visits")
    Source("postgresql://host/shop", table='staging."Odd name"')

Tables, partitioned and foreign tables, views and materialised views are read in the same way. The catalogue
declares the type of a column; no row is read for it. Every column is read in a form that no later step can fail
on, the same whether the rows are sealed in the database or streamed into a directory: the base type of a domain;
the text of a value that is not a number, date or truth value; texts without the padding of CHAR(n), citext in
small letters, as it is compared; NUMERIC without NaN, and without trailing zeros where no scale is declared;
infinite dates as very late ones.

Rows that a policy hides must not be left out: where row-level security applies, reading fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.engines.postgres import SAFELY
from discreet.errors import DatabaseUnavailable, Fix, ParameterError, SealingFailed
from discreet.postgres import Address, connected, execute, from_driver, identifier, run, sqlstate
from discreet.sealing.sources.source import Reading, Source

if TYPE_CHECKING:
    import pyarrow
    from adbc_driver_manager.dbapi import Connection
    from duckdb import DuckDBPyConnection

SETTINGS = SAFELY + (
    "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; "
    "SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; "
)
"""The first statements of a transaction that reads rows: no setting of a role or a server may change a value."""

_NAMED = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "char", "citext"), "VARCHAR"),
}
_CITEXT = "citext"
_LATE, _EARLY = "290000-01-01", "4000-01-01 BC"  # outside all declarable bounds, inside the range of Arrow
_BOUNDED = {"DATE": "DATE", "TIMESTAMP": "TIMESTAMP", "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ"}
_PART = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))')

_REASONS = {
    "08": "the connection to the server broke.",
    "42501": "the role may not read all of it, or row-level security would hide some of its rows.",
    "42": "it cannot be read where names are looked up in pg_catalog only. If it is a view that calls functions, "
    "qualify the names inside them.",
    "53": "the server has run out of memory, space or connections.",
    "57": "the server stopped it, because it shuts down or an administrator cancelled it.",
}

_PATH = "SELECT pg_catalog.array_to_json(pg_catalog.current_schemas(false))::pg_catalog.text"
_RELATIONS = """
    SELECT c.oid, n.nspname::text, c.relname::text, pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname::text IN (
        SELECT pg_catalog.json_array_elements_text(CAST(? AS pg_catalog.json)))
    ORDER BY 2, 3
"""
_COLUMNS = """
    WITH RECURSIVE declared(attnum, attname, type, modifier, alike) AS (
        SELECT a.attnum, a.attname::text, a.atttypid, a.atttypmod,
            CASE WHEN l.collisdeterministic THEN '' ELSE coalesce(pg_catalog.quote_ident(l.collname), '') END
        FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
        WHERE a.attrelid = ? AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT d.attnum, d.attname, t.typbasetype, t.typtypmod, d.alike
        FROM declared d JOIN pg_catalog.pg_type t ON t.oid = d.type WHERE t.typtype = 'd'
    )
    SELECT d.attname, t.typname::text, d.modifier, pg_catalog.format_type(d.type, d.modifier), d.alike
    FROM declared d JOIN pg_catalog.pg_type t ON t.oid = d.type WHERE t.typtype <> 'd' ORDER BY d.attnum
"""


@dataclass(frozen=True)
class Declared:
    """A column: its type by DuckDB's name, SQL for its value, and the collation under which texts are equal."""

    kind: str
    value: str
    alike: str = ""

    @property
    def loose(self) -> bool:
        """Whether a collation makes different texts equal, which the value itself does not show."""
        return self.alike not in ("", _CITEXT)


@dataclass(frozen=True)
class Relation:
    """A table or a view: its name after FROM, and its columns."""

    name: str
    columns: Mapping[str, Declared]

    @property
    def types(self) -> dict[str, str]:
        """The type of every column, by DuckDB's names."""
        return {name: column.kind for name, column in self.columns.items()}

    @property
    def collations(self) -> dict[str, str]:
        """The collations under which different texts are equal, by column."""
        return {name: column.alike for name, column in self.columns.items() if column.alike}

    def taken(self, wanted: Collection[str] | None) -> dict[str, Declared]:
        """Return the wanted columns; None for all."""
        return {name: column for name, column in self.columns.items() if wanted is None or name in wanted}


def relation(connection: Connection, source: Source, schema: str | None) -> Relation:
    """Find the table of a source in the database of a connection, or list the tables that exist.

    A name without a schema is looked up in `schema`, or on the search path of the role.
    """
    named = _parts(source)
    folded = [(name if quoted else name.lower(), quoted) for name, quoted in named]  # as SQL folds names
    for *qualifier, (name, _) in (named, folded):
        path = [where for where, _ in qualifier] or ([schema] if schema is not None else _path(connection))
        found = execute(connection, _RELATIONS, [json.dumps(path, ensure_ascii=False)])
        chosen = next((row for where in path for row in found if row[1:3] == (where, name)), None)
        if chosen is not None:
            break
    else:
        raise _absent(source, path, [row[1:3] for row in found if row[3]])
    written = identifier(*chosen[1:3])
    if not chosen[3]:
        raise ParameterError(
            f"This role does not have the right to read {written}.",
            fix=f"Its owner can run: GRANT SELECT ON {written} TO …",
        )
    columns = {column: declared(column, *rest) for column, *rest in execute(connection, _COLUMNS, [chosen[0]])}
    return Relation(written, columns)


def read(relation: Relation, wanted: Collection[str] | None, name: str) -> str:
    """Return a relation as FROM names it, with its columns in the form that later steps expect."""
    texts = [f"{column.value} AS {identifier(own)}" for own, column in relation.taken(wanted).items()]
    return f"(SELECT {', '.join(texts) or 'NULL'} FROM {relation.name}) AS {name}"


def streamed(engine: DuckDBPyConnection, source: Source, wanted: Collection[str] | None, name: str) -> Reading:
    """Open a source for DuckDB. Its rows are streamed through Arrow when they are read, never held all at once.

    Args:
        engine: The DuckDB that will read it.
        source: The source.
        wanted: The columns to read, by the source's own names; None for all.
        name: The name that the source gets in DuckDB.
    """
    address = Address.of(str(source.data))
    try:
        with connected(address, f"SET TRANSACTION READ ONLY; {SETTINGS}") as connection:
            found = relation(connection, source, address.fragment)
    except Exception as error:
        if not from_driver(error):
            raise
        raise DatabaseUnavailable(f"{source.display_name} cannot be looked up: {reason(error)}") from None
    kept = found.taken(wanted)
    if not kept:
        return Reading("", found.types)
    check_streamable(kept, source)
    engine.register(name, _reader(address, found, kept, source))
    exact = [f"TRY_CAST({identifier(own)} AS {kept[own].kind}) AS {identifier(own)}" for own in _scaled(kept)]
    rows = f"(SELECT * REPLACE ({', '.join(exact)}) FROM {name})" if exact else name
    return Reading(rows, found.types, collations=found.collations)


def reason(error: BaseException) -> str:
    """Describe a failure without the message of the server, which may quote a row."""
    state = sqlstate(error)
    known = next((text for start, text in _REASONS.items() if state.startswith(start)), None)
    return (
        known or f"PostgreSQL reports error {state or 'without a code'}. Its message may quote a row; see its log."
    )


def _parts(source: Source) -> list[tuple[str, bool]]:
    """Return the schema, if it is given, and the name; each with whether it is quoted."""
    if source.table is None:
        raise ParameterError("Name a table of the database.", fix=Fix("table", "visits", call="Source"))
    if not re.fullmatch(rf"{_PART.pattern}(\.{_PART.pattern})?", source.table):
        raise ParameterError(
            "This is not the name of a table.",
            found=repr(source.table),
            fix=[
                Fix("table", "shop.visits", call="Source"),
                'Names with capitals, dots or blanks are quoted: shop."The Visits".',
            ],
        )
    found = _PART.findall(source.table)
    return [(quoted.replace('""', '"') or plain, bool(quoted)) for quoted, plain in found]


def _path(connection: Connection) -> list[str]:
    """Return the search path of the role of a connection."""
    run(connection, "SET LOCAL search_path TO DEFAULT")
    ((schemas,),) = execute(connection, _PATH)
    run(connection, SETTINGS)
    path: list[str] = json.loads(schemas)
    return path


def _absent(source: Source, path: list[str], readable: list[tuple[str, str]]) -> ParameterError:
    where = " or ".join(map(identifier, path)) or "any schema"
    names = [name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else identifier(name) for _, name in readable]
    there = f"It has {', '.join(names[:20])}{' …' if len(names) > 20 else ''}." if names else "It has none."
    return ParameterError(f"There is no table or view {source.table} in {where}.", fix=there)


def declared(column: str, typname: str, modifier: int, written: str, alike: str = "") -> Declared:
    """Return how a column is read, from the name of its type, its modifier, and both as SQL writes them.

    Texts are compared by their characters, whatever their collation, unless it makes different texts equal.

    Args:
        column: The name of the column.
        typname: The name of its type in the catalogue.
        modifier: The modifier of its type, such as precision and scale.
        written: Type and modifier as SQL writes them.
        alike: The collation under which different texts are equal; empty if there is none.

    >>> declared("who", "citext", -1, "citext")
    Declared(kind='VARCHAR', value='LOWER(CAST("who" AS TEXT)) COLLATE "C"', alike='citext')
    """
    name = identifier(column)
    kind = _NAMED.get(typname, written)
    if typname in ("numeric", "money"):
        kind = _decimal(modifier if typname == "numeric" else -1)
        plain = f"NULLIF(CAST({name} AS NUMERIC), 'NaN')"
        return Declared(kind, f"TRIM_SCALE({plain})" if kind == "NUMERIC" else plain)
    if kind in _BOUNDED:
        late, early = (f"{_BOUNDED[kind]} '{end}'" for end in (_LATE, _EARLY))
        return Declared(
            kind, f"CASE WHEN {name} > {late} THEN {late} WHEN {name} < {early} THEN {early} ELSE {name} END"
        )
    if typname == _CITEXT:
        return Declared(kind, f'LOWER(CAST({name} AS TEXT)) COLLATE "C"', _CITEXT)
    if kind == "VARCHAR" or typname not in _NAMED:
        return Declared(kind, f"CAST({name} AS TEXT)" + ("" if alike else ' COLLATE "C"'), alike)
    return Declared(kind, name)


def _decimal(modifier: int) -> str:
    """Return the type of a NUMERIC: the declared precision and scale, if DuckDB can hold them."""
    precision, scale = (modifier - 4) >> 16, ((modifier - 4) & 0x7FF ^ 0x400) - 0x400
    return f"DECIMAL({precision},{scale})" if modifier >= 4 and 0 <= scale <= precision <= 38 else "NUMERIC"


def _scaled(columns: Mapping[str, Declared]) -> list[str]:
    return [name for name, column in columns.items() if column.kind.startswith("DECIMAL(")]


def check_streamable(columns: Mapping[str, Declared], source: Source) -> None:
    """Refuse columns that would have another meaning outside of their database."""
    names = [name.casefold() for name in columns]
    if len(set(names)) < len(names):  # DuckDB ignores capitals in names
        raise ParameterError(
            f"{source.display_name} has columns whose names differ in capitals only.",
            found=", ".join(map(repr, columns)),
            fix="Give them other names in a view.",
        )
    for name, column in columns.items():
        if column.loose:
            raise ParameterError(
                f"Column {name!r} of {source.display_name} has a collation under which different texts are equal, "
                "in the database only.",
                found=column.alike,
                fix=[
                    Fix("to", "postgresql://host/database#people", note="seals into that database"),
                    f'Or read a view in which the column is {identifier(name)} COLLATE "C".',
                ],
            )


def _reader(address: Address, relation: Relation, columns: Mapping[str, Declared], source: Source) -> Any:
    import pyarrow

    kinds = {
        "SMALLINT": pyarrow.int16(),
        "INTEGER": pyarrow.int32(),
        "BIGINT": pyarrow.int64(),
        "FLOAT": pyarrow.float32(),
        "DOUBLE": pyarrow.float64(),
        "BOOLEAN": pyarrow.bool_(),
        "DATE": pyarrow.date32(),
        "TIMESTAMP": pyarrow.timestamp("us"),
        "TIMESTAMP WITH TIME ZONE": pyarrow.timestamp("us", "UTC"),
    }
    schema = pyarrow.schema([(name, kinds.get(column.kind, pyarrow.string())) for name, column in columns.items()])
    texts = [  # decimals are sent as digits
        f"{column.value if column.kind in kinds else f'CAST({column.value} AS TEXT)'} AS {identifier(name)}"
        for name, column in columns.items()
    ]
    query = f"SELECT {', '.join(texts)} FROM {relation.name}"
    return pyarrow.RecordBatchReader.from_batches(schema, _batches(address, query, schema, source))


def _batches(
    address: Address, query: str, schema: pyarrow.Schema, source: Source
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows, in one transaction that begins with the first batch."""
    import pyarrow

    failure = ""
    try:
        with (
            connected(address, f"SET TRANSACTION READ ONLY; {SETTINGS}") as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(query)
            for batch in cursor.fetch_record_batch():
                yield pyarrow.RecordBatch.from_arrays(batch.columns, schema=schema)
    except Exception as error:
        if not from_driver(error):
            raise
        failure = reason(error)
    if failure:  # raised here, so that its context has no error that quotes a row
        raise SealingFailed(f"{source.display_name} cannot be read to its end: {failure}")
