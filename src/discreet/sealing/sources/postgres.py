"""Tables and views of a PostgreSQL database, as their catalogue declares them.

    Source("postgresql://host/shop", table="visits")
    Source("postgresql://host/shop", table='staging."Odd name"')

Tables, partitioned and foreign ones, views and materialised views are read alike. What a column is, the catalogue
says; no row is looked at. Every column is read in a form that no later step can stumble over, the same whether the
rows are sealed where they are or streamed into a directory: the base type of a domain; the text of whatever is no
number, date or truth value; texts without the padding of CHAR(n), citext in small letters, as it is compared;
NUMERIC without NaN, and without trailing zeros where no scale is declared; infinite dates as very late ones.

Rows that a policy would hide are no rows to seal without: where row-level security applies, reading fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.engines.postgres import SAFELY
from discreet.errors import DatabaseUnavailable, ParameterError, SealingFailed
from discreet.postgres import Address, connected, execute, from_driver, identifier, run, sqlstate
from discreet.sealing.sources import Reading, Source

if TYPE_CHECKING:
    import pyarrow
    from adbc_driver_manager.dbapi import Connection
    from duckdb import DuckDBPyConnection

SETTINGS = SAFELY + (
    "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres'; "
    "SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; "
)
"""What a transaction begins with that reads rows to seal: no preference of a role or a server changes a value."""

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
_LATE, _EARLY = "290000-01-01", "4000-01-01 BC"  # beyond all that can be declared, within what Arrow can hold
_BOUNDED = {"DATE": "DATE", "TIMESTAMP": "TIMESTAMP", "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ"}
_PART = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))')

_TOLD = {
    "08": "the connection to the server broke.",
    "42501": "the role may not read all of it, or row-level security would hide some of its rows.",
    "42": "it cannot be read where names are looked up in pg_catalog only. If it is a view that calls functions, "
    "qualify the names inside of them.",
    "53": "the server has run out of memory, space or connections.",
    "57": "the server stopped it, because it shuts down or an administrator wished it.",
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
    """A column: its type in DuckDB's words, SQL for its value, and what takes several of its texts for one."""

    kind: str
    value: str
    alike: str = ""

    @property
    def loose(self) -> bool:
        """Whether that is a collation, which the value itself does not show."""
        return self.alike not in ("", _CITEXT)


@dataclass(frozen=True)
class Relation:
    """A table or a view: what FROM calls it, and its columns."""

    name: str
    columns: Mapping[str, Declared]

    @property
    def types(self) -> dict[str, str]:
        """The type of every column, in DuckDB's words."""
        return {name: column.kind for name, column in self.columns.items()}

    @property
    def collations(self) -> dict[str, str]:
        """What takes several texts for one, for the columns of which that is true."""
        return {name: column.alike for name, column in self.columns.items() if column.alike}

    def taken(self, wanted: Collection[str] | None) -> dict[str, Declared]:
        """Return the columns that are wanted, None for all."""
        return {name: column for name, column in self.columns.items() if wanted is None or name in wanted}


def relation(connection: Connection, source: Source, schema: str | None) -> Relation:
    """Find what a source means in the database of a connection, or say what there is instead.

    A name without a schema is looked for in `schema`, or where the role would look for it.
    """
    named = _parts(source)
    folded = [(name if quoted else name.lower(), quoted) for name, quoted in named]  # as SQL has it
    for *place, (name, _) in (named, folded):
        path = [where for where, _ in place] or ([schema] if schema is not None else _path(connection))
        found = execute(connection, _RELATIONS, [json.dumps(path, ensure_ascii=False)])
        chosen = next((row for where in path for row in found if row[1:3] == (where, name)), None)
        if chosen is not None:
            break
    else:
        raise ParameterError(_absent(source, path, [row[1:3] for row in found if row[3]]))
    written = identifier(*chosen[1:3])
    if not chosen[3]:
        raise ParameterError(
            f"{written} may not be read by this role. Its owner can run: GRANT SELECT ON {written} TO …"
        )
    columns = {column: declared(column, *rest) for column, *rest in execute(connection, _COLUMNS, [chosen[0]])}
    return Relation(written, columns)


def read(relation: Relation, wanted: Collection[str] | None, name: str) -> str:
    """Return what FROM calls a relation with its columns in the form that steps expect."""
    texts = [f"{column.value} AS {identifier(own)}" for own, column in relation.taken(wanted).items()]
    return f"(SELECT {', '.join(texts) or 'NULL'} FROM {relation.name}) AS {name}"


def streamed(engine: DuckDBPyConnection, source: Source, wanted: Collection[str] | None, name: str) -> Reading:
    """Open a source for DuckDB: its rows flow through Arrow when they are read, and are never held at once."""
    address = Address.of(str(source.data))
    try:
        with connected(address, f"SET TRANSACTION READ ONLY; {SETTINGS}") as connection:
            found = relation(connection, source, address.fragment)
    except Exception as error:
        if not from_driver(error):
            raise
        raise DatabaseUnavailable(f"{source.words} cannot be looked up: {told(error)}") from None
    kept = found.taken(wanted)
    if not kept:
        return Reading("", found.types)
    check_streamable(kept, source)
    engine.register(name, _reader(address, found, kept, source))
    exact = [f"TRY_CAST({identifier(own)} AS {kept[own].kind}) AS {identifier(own)}" for own in _scaled(kept)]
    rows = f"(SELECT * REPLACE ({', '.join(exact)}) FROM {name})" if exact else name
    return Reading(rows, found.types, collations=found.collations)


def told(error: BaseException) -> str:
    """Say what may be said of a failure: not the server's own words, which may quote a row."""
    state = sqlstate(error)
    whole = next((text for start, text in _TOLD.items() if state.startswith(start)), None)
    return (
        whole
        or f"PostgreSQL reports error {state or 'without a code'}. What it says may quote a row; see its log."
    )


def _parts(source: Source) -> list[tuple[str, bool]]:
    """The schema, if it is named, and the name; and whether they stand in quotes."""
    if source.table is None:
        raise ParameterError('say which table of the database is meant: Source("postgresql://…", table="visits").')
    if not re.fullmatch(rf"{_PART.pattern}(\.{_PART.pattern})?", source.table):
        raise ParameterError(
            f"table={source.table!r} is no name of a table. Write visits, shop.visits, or with quotes where a "
            'name has capitals, dots or blanks: shop."The Visits".'
        )
    found = _PART.findall(source.table)
    return [(quoted.replace('""', '"') or plain, bool(quoted)) for quoted, plain in found]


def _path(connection: Connection) -> list[str]:
    """Where the role of a connection looks for tables."""
    run(connection, "SET LOCAL search_path TO DEFAULT")
    ((schemas,),) = execute(connection, _PATH)
    run(connection, SETTINGS)
    path: list[str] = json.loads(schemas)
    return path


def _absent(source: Source, path: list[str], readable: list[tuple[str, str]]) -> str:
    where = " or ".join(map(identifier, path)) or "any schema"
    names = [name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else identifier(name) for _, name in readable]
    there = f"It has {', '.join(names[:20])}{' …' if len(names) > 20 else ''}." if names else "It has none."
    return f"there is no table or view {source.table} in {where}. {there}"


def declared(column: str, typname: str, modifier: int, written: str, alike: str = "") -> Declared:
    """Return what a column is, from the name of its type, its modifier, and both as SQL writes them.

    Texts are compared by their characters, whatever collation they have, unless it takes several for one.

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
    """The type of a NUMERIC: what it declares, if DuckDB can hold that."""
    precision, scale = (modifier - 4) >> 16, ((modifier - 4) & 0x7FF ^ 0x400) - 0x400
    return f"DECIMAL({precision},{scale})" if modifier >= 4 and 0 <= scale <= precision <= 38 else "NUMERIC"


def _scaled(columns: Mapping[str, Declared]) -> list[str]:
    return [name for name, column in columns.items() if column.kind.startswith("DECIMAL(")]


def check_streamable(columns: Mapping[str, Declared], source: Source) -> None:
    """Refuse what would mean something else outside of its database."""
    names = [name.casefold() for name in columns]
    if len(set(names)) < len(names):  # DuckDB takes them for one
        raise ParameterError(
            f"{source.words} has columns whose names differ in capitals only: {', '.join(map(repr, columns))}. "
            "Give them other names in a view."
        )
    for name, column in columns.items():
        if column.loose:
            raise ParameterError(
                f"column {name!r} of {source.words} has a collation that takes different texts for one, which "
                'holds in the database only. Seal into it, to="postgresql://…#people", or read a view in which '
                f'the column is {identifier(name)} COLLATE "C".'
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
    texts = [  # decimals travel as digits
        f"{column.value if column.kind in kinds else f'CAST({column.value} AS TEXT)'} AS {identifier(name)}"
        for name, column in columns.items()
    ]
    query = f"SELECT {', '.join(texts)} FROM {relation.name}"
    return pyarrow.RecordBatchReader.from_batches(schema, _batches(address, query, schema, source))


def _batches(
    address: Address, query: str, schema: pyarrow.Schema, source: Source
) -> Iterator[pyarrow.RecordBatch]:
    """The rows, in one transaction that begins when the first are wanted."""
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
        failure = told(error)
    if failure:  # raised here, so that nothing hangs on it that quotes a row
        raise SealingFailed(f"{source.words} cannot be read to its end: {failure}")
