"""Answer questions about the catalogue from public facts: an empty database in memory with the public columns.

Tools look around before they ask: which schemas, tables, columns and types are there? The answers come from a
DuckDB that holds the declared columns, PostgreSQL's tables about them, and no row of data. It reads no file,
its configuration is locked, and memory and time are limited. What it cannot answer returns no rows with the right
names: that is the truth about keys, indexes, roles and triggers.

The tables have the columns of PostgreSQL's own catalogue (`catalogue_columns.txt`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import duckdb

from discreet.query.parse.tool_catalogue import INFORMATION_SCHEMA, MACROS, PG_CATALOG, TABLES, VALUES
from discreet.query.parse.tool_statements import Statement
from discreet.schema.identifiers import quote
from discreet.serve.door import results
from discreet.serve.door.refusals import CANCELLED, Refusal
from discreet.serve.door.results import Column, Result
from discreet.serve.door.variables import SHOWN

SECONDS = 2.0
"""The longest that the catalogue computes."""

MOST_ROWS, MOST_CHARACTERS = 100_000, 1 << 25
_CELLS = 1024  # that are fetched at a time
_LETTERS = {"u": "uinteger", "s": "smallint", "i": "integer", "b": "bigint", "f": "double", "o": "boolean",
            "t": "varchar", "m": "timestamp", "T": "varchar[]", "S": "smallint[]", "U": "uinteger[]"}  # fmt: skip
_OIDS = {"VARCHAR": results.TEXT, "BIGINT": results.INT8, "INTEGER": results.INT4, "SMALLINT": results.INT2,
         "TINYINT": results.INT2, "BOOLEAN": results.BOOL, "DOUBLE": results.FLOAT8, "FLOAT": results.FLOAT8,
         "UINTEGER": results.OID, "HUGEINT": results.INT8, "UBIGINT": results.INT8, "DATE": results.DATE,
         "TIMESTAMP": results.TIMESTAMP, "VARCHAR[]": results.TEXTS, "SMALLINT[]": results.INT2S,
         "INTEGER[]": results.INT4S, "BIGINT[]": results.INT8S, "UINTEGER[]": results.OIDS}  # fmt: skip
# number, name, bytes, category, element, array, and the name for people
_TYPES = (
    (16, "bool", 1, "B", 0, 1000, "boolean"),
    (17, "bytea", -1, "U", 0, 1001, "bytea"),
    (18, "char", 1, "Z", 0, 1002, '"char"'),
    (19, "name", 64, "S", 18, 1003, "name"),
    (20, "int8", 8, "N", 0, 1016, "bigint"),
    (21, "int2", 2, "N", 0, 1005, "smallint"),
    (23, "int4", 4, "N", 0, 1007, "integer"),
    (25, "text", -1, "S", 0, 1009, "text"),
    (26, "oid", 4, "N", 0, 1028, "oid"),
    (114, "json", -1, "U", 0, 199, "json"),
    (700, "float4", 4, "N", 0, 1021, "real"),
    (701, "float8", 8, "N", 0, 1022, "double precision"),
    (1000, "_bool", -1, "A", 16, 0, "boolean[]"),
    (1005, "_int2", -1, "A", 21, 0, "smallint[]"),
    (1007, "_int4", -1, "A", 23, 0, "integer[]"),
    (1009, "_text", -1, "A", 25, 0, "text[]"),
    (1016, "_int8", -1, "A", 20, 0, "bigint[]"),
    (1022, "_float8", -1, "A", 701, 0, "double precision[]"),
    (1028, "_oid", -1, "A", 26, 0, "oid[]"),
    (1042, "bpchar", -1, "S", 0, 1014, "character"),
    (1043, "varchar", -1, "S", 0, 1015, "character varying"),
    (1082, "date", 4, "D", 0, 1182, "date"),
    (1083, "time", 8, "D", 0, 1183, "time without time zone"),
    (1114, "timestamp", 8, "D", 0, 1115, "timestamp without time zone"),
    (1184, "timestamptz", 8, "D", 0, 1185, "timestamp with time zone"),
    (1700, "numeric", -1, "N", 0, 1231, "numeric"),
    (2950, "uuid", 16, "U", 0, 2951, "uuid"),
)
_SQL_TYPES = {"boolean": "boolean", "integer": "bigint", "real": "double", "text": "varchar", "date": "date",
              "datetime": "timestamp"}  # fmt: skip
_PRETTY = {"boolean": "boolean", "integer": "bigint", "real": "double precision", "text": "text", "date": "date",
           "datetime": "timestamp without time zone"}  # fmt: skip
_UDT = {"boolean": "bool", "integer": "int8", "real": "float8", "text": "text", "date": "date",
        "datetime": "timestamp"}  # fmt: skip
PG_CATALOG_OID, INFORMATION_SCHEMA_OID, PUBLIC_OID, TABLE_OID, OWNER_OID = 11, 13000, 2200, 16384, 10


def kinds_of(described: Mapping[str, Any]) -> dict[str, str]:
    """Return the kinds of the columns that tools see, from the description of a vault; the person comes last."""
    kinds = {
        "integer": "integer", "real": "real", "category": "text", "boolean": "boolean", "date": "date",
        "datetime": "datetime", "text": "text",
    }  # fmt: skip
    found = {column["name"]: kinds.get(column.get("type", ""), "text") for column in described["columns"]}
    for column in described["columns"]:
        values = column.get("values")
        if column.get("type") == "category" and values and all(type(value) is int for value in values):
            found[column["name"]] = "integer"
    if described.get("person"):
        found[described["person"]] = "text"
    return found


def _fetched(found: duckdb.DuckDBPyConnection, columns: int) -> list[tuple[Any, ...]]:
    """Return the rows of a result, a few cells at a time: no limit of memory holds for what Python copies."""
    rows: list[tuple[Any, ...]] = []
    size, some = 0, max(1, _CELLS // max(columns, 1))
    while len(rows) < MOST_ROWS and (batch := found.fetchmany(min(some, MOST_ROWS - len(rows)))):
        size += sum(len(str(value)) if isinstance(value, str | list) else 8 for row in batch for value in row)
        if size > MOST_CHARACTERS:
            raise Refusal("The catalogue was asked for too much.", CANCELLED, "Ask for less.")
        rows += batch
    return rows


def _declare(database: duckdb.DuckDBPyConnection, described: Mapping[str, Any]) -> dict[str, str]:
    """Make a table of the declared values for every column that has some; return their names by column."""
    database.execute(f"create schema {VALUES}")
    found: dict[str, str] = {}
    for place, column in enumerate(described["columns"]):
        values = [False, True] if column.get("type") == "boolean" else column.get("values")
        if not values:
            continue
        whole = all(type(value) is int for value in values)
        kind = "boolean" if column.get("type") == "boolean" else "bigint" if whole else "varchar"
        name = f"{VALUES} {place}"
        database.execute(f"create table {VALUES}.{quote(name)} ({quote(column['name'])} {kind})")
        database.executemany(f"insert into {VALUES}.{quote(name)} values (?)", [[value] for value in values])
        found[column["name"].casefold()] = str(place)
    return found


class Catalogue:
    """The public facts about one vault, as tables.

    Args:
        database: The name of the vault, which clients see as the database.
        described: What the verb `describe` returned: table, columns, person.
    """

    def __init__(self, database: str, described: Mapping[str, Any]) -> None:
        """Build the tables, and lock the configuration."""
        self.name, self.table = database, str(described["table"])
        self.kinds = kinds_of(described)
        about = {column["name"]: str(column.get("description", "")) for column in described["columns"]}
        self._database = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "128MB"})
        run = self._database.execute
        run(f"create schema {PG_CATALOG}; create schema {INFORMATION_SCHEMA}")
        listed = ", ".join(f"{quote(name)} {_SQL_TYPES[kind]}" for name, kind in self.kinds.items())
        run(f"create table {TABLES}.{quote(self.table)} ({listed})")
        self.values = _declare(self._database, described)
        self._columns: dict[str, dict[str, str]] = {}
        text = files("discreet.serve.door").joinpath("catalogue_columns.txt").read_text()
        for line in text.splitlines():
            table, _, columns = line.partition(": ")
            self._create(table, columns.split())
        run(f"create table {PG_CATALOG}.type_names (oid uinteger, pretty varchar)")
        words = "['analyse', 'ilike', 'limit', 'returning']"
        run(f"create table {PG_CATALOG}.keywords as select unnest({words}) as word")
        self._fill(about)
        for signature, value in MACROS.items():
            run(f"create macro main.{signature} as {value}")
        run("set enable_external_access=false; set lock_configuration=true")

    def answer(self, statement: Statement, facts: Mapping[str, str]) -> tuple[Result, bool]:
        """Return the answer to a catalogue query, and whether the catalogue knew it."""
        known = {"database": self.name, "schema": "public", **facts}
        listed = None if statement.reads_catalogue else statement.values_of(self.table)
        table = None if listed is None else self.values.get(listed.casefold())
        sql = statement.catalogue_query(known) if table is None else statement.values_query(table, known)
        if sql is None:
            return self._nothing(statement), False
        cursor = self._database.cursor()
        alarm = threading.Timer(SECONDS, cursor.interrupt)
        alarm.start()
        try:
            found = cursor.execute(sql)
            described = found.description or []
            rows = _fetched(found, len(described))
        except duckdb.InterruptException:
            raise Refusal("The catalogue was asked for too much.", CANCELLED, "Ask for less.") from None
        except duckdb.Error:  # its text may quote the query, and is not shown
            return self._nothing(statement), False
        finally:
            alarm.cancel()
            cursor.close()
        columns = [Column(str(one[0]), _OIDS.get(str(one[1]), results.TEXT)) for one in described]
        return Result(columns, rows), True

    def lists_values(self, statement: Statement) -> bool:
        """Return whether a query only lists the values of a column whose values were declared."""
        return (statement.values_of(self.table) or "").casefold() in self.values

    def close(self) -> None:
        """Free the memory."""
        self._database.close()

    def _nothing(self, statement: Statement) -> Result:
        return Result([Column(name) for name in statement.names])

    # -- rows ---------------------------------------------------------------------------------------------------

    def _create(self, table: str, columns: Sequence[str]) -> None:
        schema, _, name = table.partition(".")
        place = PG_CATALOG if schema == "pg_catalog" else INFORMATION_SCHEMA
        types = {one.partition(":")[0]: _LETTERS[one.partition(":")[2] or "t"] for one in columns}
        listed = ", ".join(f"{quote(column)} {kind}" for column, kind in types.items())
        self._database.execute(f"create table {place}.{name} ({listed})")
        self._columns[f"{place}.{name}"] = types

    def _add(self, table: str, *rows: Mapping[str, Any]) -> None:
        """Insert rows. Columns that a row does not give are false, 0 or an empty text, as in PostgreSQL."""
        types, empty = self._columns[table], {"boolean": False, "varchar": None, "timestamp": None}
        values = []
        for row in rows:
            assert not row.keys() - types.keys(), sorted(row.keys() - types.keys())
            plain = {c: None if kind.endswith("[]") else empty.get(kind, 0) for c, kind in types.items()}
            values.append([*{**plain, **row}.values()])
        marks = ", ".join("?" for _ in types)
        self._database.executemany(f"insert into {table} values ({marks})", values)

    def _fill(self, about: Mapping[str, str]) -> None:
        pg, inf, table = PG_CATALOG, INFORMATION_SCHEMA, {"table_catalog": self.name, "table_schema": "public"}
        self._add(
            f"{pg}.pg_namespace",
            *(
                {"oid": oid, "nspname": name, "nspowner": OWNER_OID}
                for oid, name in (
                    (PG_CATALOG_OID, "pg_catalog"),
                    (PUBLIC_OID, "public"),
                    (INFORMATION_SCHEMA_OID, "information_schema"),
                )
            ),
        )
        self._add(
            f"{pg}.pg_class",
            {
                "oid": TABLE_OID, "relname": self.table, "relnamespace": PUBLIC_OID, "relowner": OWNER_OID,
                "relkind": "r", "relpersistence": "p", "relnatts": len(self.kinds), "reltuples": -1.0, "relam": 2,
                "relreplident": "d", "relispopulated": True, "relacl": ["=r/discreet"],
            },
        )  # fmt: skip
        by_name = {row[1]: row for row in _TYPES}
        self._add(
            f"{pg}.pg_type",
            *(
                {
                    "oid": oid, "typname": name, "typnamespace": PG_CATALOG_OID, "typlen": size, "typtype": "b",
                    "typcategory": category, "typelem": element, "typarray": array, "typdelim": ",",
                    "typisdefined": True, "typinput": "array_in" if category == "A" else f"{name}in",
                    "typowner": OWNER_OID, "typtypmod": -1,
                }
                for oid, name, size, category, element, array, _ in _TYPES
            ),
        )  # fmt: skip
        self._database.executemany(
            f"insert into {pg}.type_names values (?, ?)", [[row[0], row[6]] for row in _TYPES]
        )
        self._add(f"{pg}.pg_am", {"oid": 2, "amname": "heap", "amtype": "t"})
        self._add(
            f"{pg}.pg_roles", {"oid": OWNER_OID, "rolname": "discreet", "rolcanlogin": True, "rolconnlimit": -1}
        )
        self._add(
            f"{pg}.pg_database",
            {"oid": 1, "datname": self.name, "datdba": OWNER_OID, "encoding": 6, "datallowconn": True,
             "datconnlimit": -1, "datcollate": "C", "datctype": "C"},
        )  # fmt: skip
        self._add(
            f"{pg}.pg_settings",
            *({"name": name, "setting": value} for name, value in {**SHOWN, "max_index_keys": "32"}.items()),
        )
        self._add(f"{pg}.pg_tables", {"schemaname": "public", "tablename": self.table, "tableowner": "discreet"})
        self._add(
            f"{inf}.schemata",
            *(
                {"catalog_name": self.name, "schema_name": name, "schema_owner": "discreet"}
                for name in ("pg_catalog", "public", "information_schema")
            ),
        )
        self._add(f"{inf}.information_schema_catalog_name", {"catalog_name": self.name})
        self._add(
            f"{inf}.tables",
            {**table, "table_name": self.table, "table_type": "BASE TABLE", "is_insertable_into": "NO",
             "is_typed": "NO"},
        )  # fmt: skip
        for number, (name, kind) in enumerate(self.kinds.items(), 1):
            oid, udt, size = by_name[_UDT[kind]][0], _UDT[kind], by_name[_UDT[kind]][2]
            self._add(
                f"{pg}.pg_attribute",
                {"attrelid": TABLE_OID, "attname": name, "atttypid": oid, "attlen": size, "attnum": number,
                 "atttypmod": -1, "attstorage": "p", "attalign": "d", "attidentity": "", "attgenerated": "",
                 "attislocal": True, "attcompression": ""},
            )  # fmt: skip
            described = about.get(name) or "The person of a row: count(distinct …) is all that can be asked."
            self._add(
                f"{pg}.pg_description",
                {"objoid": TABLE_OID, "classoid": 1259, "objsubid": number, "description": described},
            )
            self._add(
                f"{inf}.columns",
                {**table, "table_name": self.table, "column_name": name, "ordinal_position": number,
                 "is_nullable": "YES", "data_type": _PRETTY[kind], "udt_catalog": self.name,
                 "udt_schema": "pg_catalog", "udt_name": udt, "dtd_identifier": str(number),
                 "numeric_precision": {"integer": 64, "real": 53}.get(kind), "is_updatable": "NO",
                 "numeric_precision_radix": 2 if kind in ("integer", "real") else None,
                 "numeric_scale": 0 if kind == "integer" else None, "is_identity": "NO", "is_generated": "NEVER",
                 "character_maximum_length": None, "character_octet_length": None,
                 "datetime_precision": {"date": 0, "datetime": 6}.get(kind)},
            )  # fmt: skip
