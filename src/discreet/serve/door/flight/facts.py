"""Answer the catalogue commands of Flight SQL from public facts: catalogs, schemas, tables, types and the server.

A vault is a catalog with the schema `public` and one table, whose columns are the declared ones. The schemas of
the answers are those of the specification, nullability and all: drivers compare them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import discreet
from discreet.release import frames
from discreet.serve.door.catalogue import Catalogue
from discreet.serve.door.flight.protobuf import Fields, text, texts, whole, wholes
from discreet.serve.door.flight.tables import schema_bytes

SCHEMA, TABLE = "public", "TABLE"

_UTF8, _INT32 = pa.utf8(), pa.int32()


def _field(name: str, kind: pa.DataType, *, null: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=null)


_CATALOGS = pa.schema([_field("catalog_name", _UTF8)])
_SCHEMAS = pa.schema([_field("catalog_name", _UTF8, null=True), _field("db_schema_name", _UTF8)])
_TABLE_TYPES = pa.schema([_field("table_type", _UTF8)])
_TABLES = pa.schema(
    [
        _field("catalog_name", _UTF8, null=True),
        _field("db_schema_name", _UTF8, null=True),
        _field("table_name", _UTF8),
        _field("table_type", _UTF8),
    ]
)
_TYPES = pa.schema(
    [
        _field("type_name", _UTF8),
        _field("data_type", _INT32),
        _field("column_size", _INT32, null=True),
        _field("literal_prefix", _UTF8, null=True),
        _field("literal_suffix", _UTF8, null=True),
        _field("create_params", pa.list_(_field("item", _UTF8)), null=True),
        _field("nullable", _INT32),
        _field("case_sensitive", pa.bool_()),
        _field("searchable", _INT32),
        _field("unsigned_attribute", pa.bool_(), null=True),
        _field("fixed_prec_scale", pa.bool_()),
        _field("auto_increment", pa.bool_(), null=True),
        _field("local_type_name", _UTF8, null=True),
        _field("minimum_scale", _INT32, null=True),
        _field("maximum_scale", _INT32, null=True),
        _field("sql_data_type", _INT32),
        _field("datetime_subcode", _INT32, null=True),
        _field("num_prec_radix", _INT32, null=True),
        _field("interval_precision", _INT32, null=True),
    ]
)
# name, number of the type in XDBC, size, quote, radix
_LISTED = (
    ("boolean", -7, 1, None, None),
    ("bigint", -5, 64, None, 2),
    ("double precision", 8, 53, None, 2),
    ("text", 12, None, "'", None),
    ("date", 91, 10, "'", None),
    ("timestamp", 93, 26, "'", None),
)
_NULLABLE, _SEARCHABLE = 1, 3  # of the specification: may be null; may stand in every condition

_VALUES = {
    "string_value": _UTF8,
    "bool_value": pa.bool_(),
    "bigint_value": pa.int64(),
    "int32_bitmask": _INT32,
    "string_list": pa.list_(_UTF8),
    "int32_to_int32_list_map": pa.map_(_INT32, pa.list_(_INT32)),
}
_NO_TRANSACTION = 0
_ABOUT: dict[int, tuple[str, Any]] = {
    0: ("string_value", "Discreet"),
    1: ("string_value", discreet.__version__),
    2: ("string_value", pa.__version__),
    3: ("bool_value", True),  # it is read only
    4: ("bool_value", True),  # it takes SQL
    5: ("bool_value", False),  # and no Substrait
    8: ("int32_bitmask", _NO_TRANSACTION),
    9: ("bool_value", False),  # a question that has begun is not cancelled
    10: ("bool_value", False),  # it takes no rows
    11: ("bool_value", False),
    504: ("string_value", '"'),  # the quote of identifiers
}


def _catalogs(catalogue: Catalogue, _: Fields) -> pa.Table:
    return pa.Table.from_pylist([{"catalog_name": catalogue.name}], _CATALOGS)


def _schemas(catalogue: Catalogue, fields: Fields) -> pa.Table:
    shown = _in_catalog(catalogue, fields) and like(fields, 2, SCHEMA)
    rows = [{"catalog_name": catalogue.name, "db_schema_name": SCHEMA}] if shown else []
    return pa.Table.from_pylist(rows, _SCHEMAS)


def _tables(catalogue: Catalogue, fields: Fields) -> pa.Table:
    shown = _in_catalog(catalogue, fields) and like(fields, 2, SCHEMA) and like(fields, 3, catalogue.table)
    kinds = texts(fields, 4)
    row: dict[str, str | bytes] = {
        "catalog_name": catalogue.name,
        "db_schema_name": SCHEMA,
        "table_name": catalogue.table,
        "table_type": TABLE,
    }
    schema = _TABLES
    if whole(fields, 5):
        schema = schema.append(_field("table_schema", pa.binary()))
        row["table_schema"] = schema_bytes(frames.schema(catalogue.kinds.items()))
    return pa.Table.from_pylist([row] if shown and (not kinds or TABLE in kinds) else [], schema)


def _table_types(_: Catalogue, __: Fields) -> pa.Table:
    return pa.Table.from_pylist([{"table_type": TABLE}], _TABLE_TYPES)


def _types(_: Catalogue, fields: Fields) -> pa.Table:
    wanted = whole(fields, 1) if 1 in fields else None
    rows = [
        {
            "type_name": name, "data_type": number, "column_size": size, "literal_prefix": quote,
            "literal_suffix": quote, "create_params": None, "nullable": _NULLABLE,
            "case_sensitive": name == "text", "searchable": _SEARCHABLE, "unsigned_attribute": False,
            "fixed_prec_scale": False, "auto_increment": False, "local_type_name": name,
            "sql_data_type": number, "num_prec_radix": radix,
        }
        for name, number, size, quote, radix in _LISTED
        if wanted is None or number % (1 << 64) == wanted
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, _TYPES)


def _about(_: Catalogue, fields: Fields) -> pa.Table:
    wanted = set(wholes(fields, 1))
    shown = {number: fact for number, fact in _ABOUT.items() if not wanted or number in wanted}
    value = _union([*shown.values()])
    schema = pa.schema([_field("info_name", pa.uint32()), _field("value", value.type)])
    return pa.Table.from_arrays([pa.array([*shown], pa.uint32()), value], schema=schema)


def _union(facts: Sequence[tuple[str, Any]]) -> pa.Array:
    """Return a dense union: each value is one of several types."""
    members, children = [*_VALUES], {name: list[Any]() for name in _VALUES}
    places = []
    for name, value in facts:
        places.append(len(children[name]))
        children[name].append(value)
    return pa.UnionArray.from_dense(
        pa.array([members.index(name) for name, _ in facts], pa.int8()),
        pa.array(places, _INT32),
        [pa.array(values, _VALUES[name]) for name, values in children.items()],
        members,
    )


def _in_catalog(catalogue: Catalogue, fields: Fields) -> bool:
    return 1 not in fields or text(fields, 1) == catalogue.name


def like(fields: Fields, number: int, name: str) -> bool:
    """Return whether a name has the pattern of a field, with % and _ as in SQL; every name if there is none.

    >>> like({2: [b"tr_p%"]}, 2, "trips"), like({2: [b"trip"]}, 2, "trips"), like({}, 2, "trips")
    (True, False, True)
    """
    if number not in fields:
        return True
    signs = {"%": ".*", "_": "."}
    # Neighbours are one: many of them would keep the pattern matching busy.
    pattern = re.sub("%+", "%", text(fields, number)[:200])
    if pattern.count("%") > 4:
        return False
    return bool(re.fullmatch("".join(signs.get(sign) or re.escape(sign) for sign in pattern), name, re.DOTALL))


COMMANDS: Mapping[str, Callable[[Catalogue, Fields], pa.Table]] = {
    "CommandGetCatalogs": _catalogs,
    "CommandGetDbSchemas": _schemas,
    "CommandGetTables": _tables,
    "CommandGetTableTypes": _table_types,
    "CommandGetSqlInfo": _about,
    "CommandGetXdbcTypeInfo": _types,
}
"""What answers each catalogue command, by its name."""
