"""List the differences between engines: one `Dialect` for each.

Our names of types and functions are on the left, theirs on the right. `discreet.engines.sql_writer` writes
expressions with them, and tests/engines/test_engines.py asserts that all dialects give the same results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.engines import try_cast


@dataclass(frozen=True)
class Dialect:
    """The SQL of one engine, where it differs from that of others."""

    name: str
    quote: str
    types: Mapping[str, str]  # from our names of types to theirs
    division: str
    wide_division: str
    total: str
    backslashes: bool  # whether a backslash in a string literal escapes
    like_escapes: bool  # whether a backslash in a pattern escapes without being declared
    row_number: str  # a BIGINT that no two rows of a query share
    fence: str  # follows a subquery so that it is computed once and not merged into the outer query
    functions: Mapping[str, str]
    """Our functions. {0}, {1} and {2} are arguments, {rest} are all but the first, with commas, and
    {numbered} is a string of JSON in which those have numbers from 0. "TRY text DATE" goes before "TRY"."""
    narrow_totals: tuple[tuple[int, str], ...] = ()
    """Limits with the template of a sum whose values stay below the limit, the smallest first."""
    code_types: tuple[str, ...] = ("TINYINT", "SMALLINT", "INTEGER")
    """Our names of the types that codes are stored in, the narrowest first; wider codes are BIGINTs."""
    columnar: bool = False
    """Whether the engine is DuckDB or like it: a question reads only its columns, narrow numbers are gathered in
    less time than wide ones, and texts have a `hash` of 64 bits (`discreet.sealing.repeats`)."""


_TYPES = {"INTEGER": "INTEGER", "BIGINT": "BIGINT", "DATE": "DATE", "BOOLEAN": "BOOLEAN", "SMALLINT": "SMALLINT"}

_TEXTS = {"REPLACED": "REPLACE({0}, {rest})", "JOINED": "CONCAT({0}, {rest})"}

DIALECTS = {
    "duckdb": Dialect(
        name="duckdb",
        quote='"',
        types={
            **_TYPES,
            "TINYINT": "TINYINT",
            "WIDE": "HUGEINT",
            "DOUBLE": "DOUBLE",
            "TEXT": "VARCHAR",
            "TIMESTAMP": "TIMESTAMP",
            "ZONED": "TIMESTAMPTZ",
        },
        division="({} // {})",
        wide_division="({} // {})",
        total="SUM({})",
        backslashes=False,
        like_escapes=False,
        row_number="(row_number() OVER () - 1)",
        fence="",
        functions={
            "TRY": "TRY_CAST({0} AS {1})",
            "IS_NAN": "ISNAN({0})",
            "BINARY": '({0} COLLATE "binary")',
            "DICTIONARY": "ENUM_CODE(TRY_CAST({0} AS ENUM ({rest})))",
            "DAYS_SINCE": "({0} - {1})",
            "MICROSECONDS": "EPOCH_US({0})",
            **_TEXTS,
            "MATCHES": "REGEXP_MATCHES({0}, {1})",
            "GROUP": "REGEXP_EXTRACT({0}, {1}, {2})",
        },
        # A file packs the bits of a code whatever its type, and sums of INTEGERs take two thirds of the time.
        code_types=("INTEGER",),
        columnar=True,
    ),
    "postgres": Dialect(
        name="postgres",
        quote='"',
        types={
            **_TYPES,
            "TINYINT": "SMALLINT",
            "WIDE": "NUMERIC",
            "DOUBLE": "DOUBLE PRECISION",
            "TEXT": "TEXT",
            "TIMESTAMP": "TIMESTAMP",
            "ZONED": "TIMESTAMPTZ",
        },
        division="({} / {})",
        wide_division="DIV({}, {})",
        total="SUM({} + BIGINT '0')",  # a sum of INTEGERs would wrap, after 2^32 of them
        backslashes=False,
        like_escapes=True,
        row_number="(row_number() OVER () - 1)",
        fence=" OFFSET 0",
        functions={
            **try_cast.READ_BY_POSTGRES,
            "IS_NAN": "({0} = 'NaN')",
            "BINARY": '({0} COLLATE "C")',
            "DICTIONARY": "CAST(CAST({numbered} AS JSONB) ->> {0} AS INTEGER)",  # an indexed lookup, not a scan
            "DAYS_SINCE": "({0} - {1})",
            "MICROSECONDS": "CAST(EXTRACT(EPOCH FROM {0}) * 1000000 AS BIGINT)",
            **_TEXTS,
            "MATCHES": "({0} ~ {1})",
            "GROUP": "((REGEXP_MATCH({0}, {1}))[{2}])",
        },
        narrow_totals=((2**23, "SUM({})"),),  # the sum of 2^40 such rows fits a BIGINT
    ),
    "spark": Dialect(
        name="spark",
        quote="`",
        types={
            **_TYPES,
            "TINYINT": "TINYINT",
            "WIDE": "DECIMAL(38, 0)",
            "DOUBLE": "DOUBLE",
            "TEXT": "STRING",
            "TIMESTAMP": "TIMESTAMP_NTZ",
            "ZONED": "TIMESTAMP_LTZ",
        },
        division="({} DIV {})",
        # DIV of decimals gives a BIGINT, which may overflow, so the upper half is divided first.
        wide_division=(
            "(CAST(({0} DIV 9223372036854775808) DIV {1} AS DECIMAL(38, 0)) * 9223372036854775808 + "
            "((({0} DIV 9223372036854775808) % {1}) * 9223372036854775808 + {0} % 9223372036854775808) DIV {1})"
        ),
        total="SUM(CAST({} AS DECIMAL(28, 0)))",  # a sum of BIGINTs could overflow
        backslashes=True,
        like_escapes=True,
        row_number="monotonically_increasing_id()",  # a window would gather all rows in one partition
        fence="",
        functions={
            **try_cast.READ_BY_SPARK,
            # FLOOR gives a BIGINT and fails where that overflows; doubles that large are whole already.
            "FLOOR": "COALESCE(CAST(FLOOR(CASE WHEN ABS({0}) < 9007199254740992e0 THEN {0} END) AS DOUBLE), {0})",
            "IS_NAN": "ISNAN({0})",
            "BINARY": "MAKE_VALID_UTF8({0} COLLATE UTF8_BINARY)",
            "DICTIONARY": "(NULLIF(ARRAY_POSITION(ARRAY({rest}), {0}), 0) - 1)",
            "DAYS_SINCE": "DATEDIFF({0}, {1})",
            "MICROSECONDS": "UNIX_MICROS(CAST({0} AS TIMESTAMP_LTZ))",
            **_TEXTS,
            "MATCHES": "({0} RLIKE {1})",
            "GROUP": "REGEXP_EXTRACT({0}, {1}, {2})",
        },
        narrow_totals=(  # the sum of 2^40 such rows fits a BIGINT, whole or in two halves: five times as fast
            (2**23, "SUM(CAST({0} AS BIGINT))"),
            (
                2**43,
                "(CAST(SUM(CAST({0} AS BIGINT) DIV 1048576) AS DECIMAL(38, 0)) * 1048576 + "
                "SUM(CAST({0} AS BIGINT) % 1048576))",
            ),
        ),
    ),
}
