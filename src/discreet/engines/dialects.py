"""Where engines differ, and nothing else: one entry for each dialect.

Our names of types and functions on the left, theirs on the right. `discreet.engines.emit` writes trees with them,
and tests/engines/test_engines.py asserts that all of them mean the same, to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """Where engines differ."""

    name: str
    quote: str
    types: Mapping[str, str]  # our names of types to theirs
    division: str
    wide_division: str | None
    total: str
    backslashes: bool  # whether a backslash in a string literal escapes
    like_escapes: bool  # whether a backslash in a pattern escapes without being declared
    row_number: str  # a BIGINT that no two rows of a query share
    fence: str  # what follows a subquery to have it computed once, not copied into the one around it
    functions: Mapping[str, str]  # our functions; {0} is the first argument, {1:} the others with commas


_TYPES = {"INTEGER": "INTEGER", "BIGINT": "BIGINT", "DATE": "DATE", "BOOLEAN": "BOOLEAN", "SMALLINT": "SMALLINT"}

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
        },
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
        total="SUM({})",
        backslashes=False,
        like_escapes=True,
        row_number="(row_number() OVER () - 1)",
        fence=" OFFSET 0",
        functions={
            "IS_NAN": "({0} = 'NaN')",
            "BINARY": '({0} COLLATE "C")',
            "DICTIONARY": "(ARRAY_POSITION(ARRAY[{rest}]::TEXT[], {0}) - 1)",
            "DAYS_SINCE": "({0} - {1})",
            "MICROSECONDS": "(EXTRACT(EPOCH FROM {0}) * 1000000)::BIGINT",
        },
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
            "ZONED": "TIMESTAMP",
        },
        division="({} DIV {})",
        wide_division=None,  # DIV of decimals is a BIGINT, which may not hold it
        total="SUM(CAST({} AS DECIMAL(28, 0)))",  # a sum of BIGINTs would wrap
        backslashes=True,
        like_escapes=True,
        row_number="monotonically_increasing_id()",  # a window would gather all rows in one place
        fence="",
        functions={
            "TRY": "TRY_CAST({0} AS {1})",
            "IS_NAN": "ISNAN({0})",
            "BINARY": "({0} COLLATE UTF8_BINARY)",
            "DICTIONARY": "(ARRAY_POSITION(ARRAY({rest}), {0}) - 1)",
            "DAYS_SINCE": "DATEDIFF({0}, {1})",
            "MICROSECONDS": "UNIX_MICROS({0})",
        },
    ),
}
