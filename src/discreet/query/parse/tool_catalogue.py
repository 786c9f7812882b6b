"""Translate catalogue queries from PostgreSQL to DuckDB, by an allow-list of functions and types.

The catalogue is a database in memory that holds the public columns and no row. Its tables of pg_catalog are in the
schema `pgc`, those of information_schema in `inf`. What PostgreSQL has and DuckDB has not is replaced: casts to
regclass and its kin, collations, operators with a schema, functions of the session. A query with a function or a
table function that is not listed is not translated: it could read settings or files of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from discreet.query.parse.tool_growth import TooLong, check_growth

PG_CATALOG, INFORMATION_SCHEMA, TABLES, VALUES = "pgc", "inf", "main", "declared"
"""The schemas of DuckDB that stand for pg_catalog, information_schema and public, and one for declared values."""

MACROS = {
    "pg_get_userbyid(x)": "'discreet'",
    "pg_table_is_visible(x)": "true",
    "pg_type_is_visible(x)": "true",
    "pg_function_is_visible(x)": "true",
    "pg_collation_is_visible(x)": "true",
    "pg_opclass_is_visible(x)": "true",
    "pg_statistics_obj_is_visible(x)": "true",
    "pg_get_function_arguments(x)": "null::varchar",
    "pg_get_function_identity_arguments(x)": "null::varchar",
    "pg_tablespace_location(x)": "null::varchar",
    "pg_char_to_encoding(x)": "6",
    "getdatabaseencoding()": "'UTF8'",
    "pg_get_triggerdef(x, b := false)": "null::varchar",
    "pg_get_ruledef(x, b := false)": "null::varchar",
    "pg_get_expr(a, b, c := false)": "null::varchar",
    "obj_description(a, b := '')": "null::varchar",
    "shobj_description(a, b)": "null::varchar",
    "col_description(a, b)": "(select max(description) from pgc.pg_description where objoid = a and objsubid = b)",
    "pg_is_in_recovery()": "false",
    "pg_encoding_to_char(x)": "'UTF8'",
    "quote_ident(x)": "x",
    "pg_get_constraintdef(a, b := false)": "null::varchar",
    "pg_get_indexdef(a, b := 0, c := false)": "null::varchar",
    "pg_relation_is_publishable(x)": "false",
    "pg_get_partkeydef(x)": "null::varchar",
    "pg_get_viewdef(x, b := false)": "null::varchar",
    "pg_get_function_result(x)": "null::varchar",
    "pg_get_serial_sequence(a, b)": "null::varchar",
    "pg_get_statisticsobjdef_columns(x)": "null::varchar",
    "pg_relation_size(x)": "0",
    "pg_table_size(x)": "0",
    "pg_total_relation_size(x)": "0",
    "pg_size_pretty(x)": "'0 bytes'",
    "pg_database_size(x)": "0",
    "pg_my_temp_schema()": "0",
    "pg_is_other_temp_schema(x)": "false",
    "pg_backend_pid()": "0",
    "has_table_privilege(a, b, c := '')": "contains(upper(concat(b, c)), 'SELECT')",
    "has_schema_privilege(a, b, c := '')": "true",
    "has_column_privilege(a, b, c, d := '')": "true",
    "has_any_column_privilege(a, b, c := '')": "true",
    "has_database_privilege(a, b, c := '')": "true",
    "has_function_privilege(a, b, c := '')": "false",
    "row_security_active(x)": "false",
    "txid_current()": "1",
    "pg_advisory_unlock_all()": "null::varchar",
    "pg_postmaster_start_time()": "null::timestamp",
    "format_type(x, y)": "(select pretty from pgc.type_names where oid = x)",
    "to_regtype(x)": "(select max(oid) from pgc.pg_type where typname = x)",
    "to_regclass(x)": "(select max(oid) from pgc.pg_class where relname = split_part(x, '.', -1))",
    "array_upper(a, b)": "len(a)",
    "array_lower(a, b)": "1",
}
"""The functions of PostgreSQL that the catalogue has as macros: signature and value."""

_PLAIN = [
    "array_position",
    "array_length",
    "array_to_string",
    "array_agg",
    "string_agg",
    "array_upper",
    "lower",
    "upper",
    "length",
    "substring",
    "concat",
    "replace",
    "trim",
    "ltrim",
    "rtrim",
    "split_part",
    "strpos",
    "left",
    "right",
    "regexp_replace",
    "unnest",
    "generate_series",
    "count",
    "max",
    "min",
    "sum",
    "coalesce",
    "json_build_object",
    "repeat",
    "generate_subscripts",
    "pg_get_keywords",
]
_ANONYMOUS = {signature.partition("(")[0] for signature in MACROS} | set(_PLAIN)
_RENAMED = {"json_build_object": "json_object", "jsonb_build_object": "json_object"}
_FACTS = {
    "current_schema": "schema",
    "current_database": "database",
    "current_catalog": "database",
    "current_user": "user",
    "session_user": "user",
    "user": "user",
    "version": "version",
}
_FUNCTIONS = (
    exp.Coalesce, exp.Lower, exp.Upper, exp.Count, exp.Max, exp.Min, exp.Sum, exp.ArrayAgg, exp.Case, exp.If,
    exp.Cast, exp.TryCast, exp.Concat, exp.ConcatWs, exp.Length, exp.Substring, exp.Trim, exp.Nullif, exp.And,
    exp.Array, exp.ArrayToString, exp.GroupConcat, exp.Abs, exp.Round, exp.Floor, exp.Greatest, exp.Least,
    exp.RegexpLike, exp.RegexpILike, exp.RegexpReplace, exp.Left, exp.Right, exp.Replace, exp.StrPosition,
    exp.RowNumber, exp.Exists, exp.Or, exp.Xor, exp.Stuff, exp.SplitPart, exp.Any, exp.JSONObject, exp.Unnest,
    exp.Explode, exp.LogicalAnd, exp.LogicalOr, exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.StartsWith,
    exp.Contains, exp.ArraySize, exp.ArrayContains,
)  # fmt: skip
_OBJECTS = {"regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper"}
_TEXTS = {"name", "text", "varchar", "char", "bpchar", "xid", "cstring", "pg_node_tree", "aclitem", "userdefined",
          "sql_identifier", "character_data", "yes_or_no", "oidvector", "int2vector"}  # fmt: skip
_NUMBERS = {"oid": "bigint", "cardinal_number": "integer", "int2": "smallint", "int4": "integer", "int8": "bigint"}


class _Unlisted(Exception):
    """A function, a table or a type that the catalogue does not have."""


def translated(query: exp.Query, facts: Mapping[str, str]) -> str | None:
    """Return a catalogue query in DuckDB's words; None if it uses what is not listed.

    Args:
        query: The query. It is changed.
        facts: What functions of the session return: database, user, version, schema.

    >>> import sqlglot
    >>> facts = {"database": "trips", "user": "ana", "version": "PostgreSQL 14.0", "schema": "public"}
    >>> query = sqlglot.parse_one("select relname from pg_catalog.pg_class where pg_table_is_visible(oid)")
    >>> translated(query, facts)
    'SELECT relname FROM pgc.pg_class WHERE PG_TABLE_IS_VISIBLE(oid)'
    >>> translated(sqlglot.parse_one("select * from read_text('x')"), facts)
    """
    try:
        rewritten: Any = _walked(query, facts)
        check_growth(rewritten)
    except (_Unlisted, TooLong):
        return None
    text: str = rewritten.sql("duckdb", comments=False)
    return text


def over_values(query: exp.Query, column: str, facts: Mapping[str, str]) -> str | None:
    """Return a query that lists the values of a column, over the declared values; None if it cannot be translated.

    Args:
        query: The query. It is changed.
        column: The table of declared values.
        facts: What functions of the session return.
    """
    for table in query.find_all(exp.Table):
        table.set("catalog", None)
        table.set("db", None)
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias or table.name, quoted=True)))
        table.set("this", exp.to_identifier(f"{VALUES} {column}", quoted=True))
    return translated(query, facts)


def _walked(node: exp.Expr, facts: Mapping[str, str]) -> exp.Expr:
    """Return a tree with every node rewritten, the innermost first. Its depth was checked when it was parsed."""

    def part(argument: Any) -> Any:
        if isinstance(argument, list):
            return [part(item) for item in argument]
        return _walked(argument, facts) if isinstance(argument, exp.Expr) else argument

    if isinstance(node, exp.Cast):  # its type is read as it was written
        return _rewritten(exp.Cast(this=_walked(node.this, facts), to=node.to.copy()), facts)
    made = type(node)(**{name: part(argument) for name, argument in node.args.items()})
    return _rewritten(made, facts)


def _rewritten(node: exp.Expr, facts: Mapping[str, str]) -> exp.Expr:
    if isinstance(node, exp.Dot) and node.this.name.casefold() in ("pg_catalog", "information_schema"):
        function: exp.Expr = node.expression
        return function
    if isinstance(node, exp.ByteString):
        return exp.Literal.string(node.name)
    if isinstance(node, exp.Column):
        return _column(node, facts)
    if isinstance(node, exp.Table):
        return _table(node)
    if isinstance(node, exp.Collate):
        collated: exp.Expr = node.this
        return collated
    if isinstance(node, exp.Operator):
        return _operator(node)
    if isinstance(node, exp.Cast):
        return _cast(node)
    if isinstance(node, exp.Func):
        return _function(node, facts)
    return node


def _column(node: exp.Column, facts: Mapping[str, str]) -> exp.Expr:
    if node.args.get("db") is not None:
        node.set("db", None)
        node.set("catalog", None)
    words = ("session_user", "current_catalog", "user")
    if not node.table and not node.this.args.get("quoted") and node.name.casefold() in words:
        return exp.Literal.string(facts[_FACTS[node.name.casefold()]])
    return node


def _table(node: exp.Table) -> exp.Expr:
    if isinstance(node.this, exp.Anonymous) and str(node.this.this).casefold() == "pg_get_keywords":
        return exp.to_table(f"{PG_CATALOG}.keywords")
    if isinstance(node.this, exp.Func):
        if not isinstance(node.this, exp.GenerateSeries | exp.ExplodingGenerateSeries | exp.Unnest | exp.Explode):
            raise _Unlisted
        node.set("db", None)
        return node
    schema, name = node.db.casefold(), node.name.casefold()
    if schema == "information_schema":
        node.set("db", exp.to_identifier(INFORMATION_SCHEMA))
    elif schema == "pg_catalog" or (not schema and name.startswith("pg_")):
        node.set("db", exp.to_identifier(PG_CATALOG))
    elif not schema and name.startswith(f"{VALUES} "):
        node.set("db", exp.to_identifier(VALUES))
    elif schema == "public":
        node.set("db", exp.to_identifier(TABLES))
    elif schema:
        raise _Unlisted
    node.set("catalog", None)
    return node


def _operator(node: exp.Operator) -> exp.Expr:
    sign = str(node.args["operator"]).rpartition(".")[2]
    left, right = node.this, node.expression
    if sign in ("~", "~*", "!~", "!~*"):
        kind = exp.RegexpILike if "*" in sign else exp.RegexpLike
        found: exp.Expr = kind(this=left, expression=right)
        return exp.Not(this=found) if "!" in sign else found
    kinds = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE}
    if sign not in kinds:
        raise _Unlisted
    return kinds[sign](this=left, expression=right)


def _cast(node: exp.Cast) -> exp.Expr:
    kind = node.to.sql("postgres").casefold().replace('"', "").rpartition(".")[2]
    inner = node.this
    if kind in _OBJECTS:
        return _object(inner, kind)
    if kind in _NUMBERS:
        return exp.cast(inner, _NUMBERS[kind])
    if kind.endswith("[]") and isinstance(inner, exp.Literal) and str(inner.this).startswith("{"):
        words = str(inner.this).strip("{}").split(",")
        return exp.Array(expressions=[exp.Literal.string(word.strip('"')) for word in words])
    if kind.endswith("[]") or node.to.find(exp.ObjectIdentifier) is not None:
        return exp.cast(inner, "varchar[]")
    if kind.partition("(")[0] in _TEXTS:
        return exp.cast(inner, "varchar")
    return node


def _object(inner: exp.Expr, kind: str) -> exp.Expr:
    """Return a cast to regclass or its kin: a name in quotes becomes its number, a number becomes its name."""
    tables = {
        "regclass": ("pg_class", "relname"),
        "regtype": ("pg_type", "typname"),
        "regnamespace": ("pg_namespace", "nspname"),
    }
    if isinstance(inner, exp.Literal) and inner.is_string:
        name = str(inner.this).rpartition(".")[2].strip('"')
        if name.isdecimal():
            return exp.Literal.number(name)
        if kind not in tables:
            return exp.Literal.string(name)
        table, column = tables[kind]
        return _lookup(table, "max(oid)", column, exp.Literal.string(name))
    if kind == "regtype":
        return _lookup("type_names", "max(pretty)", "oid", inner)
    if kind not in tables:
        return exp.cast(inner, "varchar")
    table, column = tables[kind]
    return _lookup(table, f"max({column})", "oid", inner)


def _lookup(table: str, result: str, column: str, value: exp.Expr) -> exp.Expr:
    select = exp.select(result).from_(exp.to_table(f"{PG_CATALOG}.{table}").as_("looked_up"))
    key = exp.column(column, table="looked_up")
    return exp.Subquery(this=select.where(exp.EQ(this=key, expression=value.copy())))


def _schemas() -> exp.Expr:
    return exp.Array(expressions=[exp.Literal.string("pg_catalog"), exp.Literal.string("public")])


def _function(node: exp.Func, facts: Mapping[str, str]) -> exp.Expr:
    fixed = {
        exp.CurrentSchema: "schema",
        exp.CurrentDatabase: "database",
        exp.CurrentCatalog: "database",
        exp.CurrentUser: "user",
        exp.SessionUser: "user",
        exp.CurrentVersion: "version",
    }
    for kind, fact in fixed.items():
        if isinstance(node, kind):
            return exp.Literal.string(facts[fact])
    if isinstance(node, exp.CurrentSchemas):
        return _schemas()
    if isinstance(node, exp.Anonymous):
        name = str(node.this).casefold()
        if name in _FACTS:
            return exp.Literal.string(facts[_FACTS[name]])
        if name == "current_schemas":
            return _schemas()
        if name in _RENAMED:
            return exp.Anonymous(this=_RENAMED[name], expressions=node.expressions)
        if name == "current_setting" and node.expressions and isinstance(node.expressions[0], exp.Literal):
            return exp.Literal.string(facts.get(str(node.expressions[0].this).casefold(), ""))
        if name == "set_config" and len(node.expressions) == 3:
            return exp.cast(node.expressions[1], "varchar")
        if name not in _ANONYMOUS:
            raise _Unlisted
        return node
    if not isinstance(node, _FUNCTIONS):
        raise _Unlisted
    return node
