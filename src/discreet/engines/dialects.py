"""Where engines differ, and nothing else: one entry for each dialect.

Our names of types and functions on the left, theirs on the right. `discreet.engines.sql_writer` writes trees with
them, and tests/engines/test_engines.py asserts that all of them mean the same, to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.engines import try_cast


@dataclass(frozen=True)
class Dialect:
    """Where engines differ."""

    name: str
    quote: str
    types: Mapping[str, str]  # our names of types to theirs
    division: str
    wide_division: str
    total: str
    backslashes: bool  # whether a backslash in a string literal escapes
    like_escapes: bool  # whether a backslash in a pattern escapes without being declared
    row_number: str  # a BIGINT that no two rows of a query share
    fence: str  # what follows a subquery to have it computed once, not copied into the one around it
    functions: Mapping[str, str]
    """Our functions. {0} and {1} are the first two arguments, {rest} are all but the first, with commas, and
    {numbered} is a string of JSON in which those have numbers from 0. "TRY text DATE" goes before "TRY"."""
    narrow_totals: tuple[tuple[int, str], ...] = ()  # what to write if no value reaches so far, least first


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
        total="SUM({} + BIGINT '0')",  # a sum of INTEGERs would wrap, after 2^32 of them
        backslashes=False,
        like_escapes=True,
        row_number="(row_number() OVER () - 1)",
        fence=" OFFSET 0",
        functions={
            **try_cast.READ_BY_POSTGRES,
            "IS_NAN": "({0} = 'NaN')",
            "BINARY": '({0} COLLATE "C")',
            "DICTIONARY": "CAST(CAST({numbered} AS JSONB) ->> {0} AS INTEGER)",  # looked up, not gone through
            "DAYS_SINCE": "({0} - {1})",
            "MICROSECONDS": "CAST(EXTRACT(EPOCH FROM {0}) * 1000000 AS BIGINT)",
        },
        narrow_totals=((2**23, "SUM({})"),),  # of which 2^40 rows fit a BIGINT
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
        # DIV of decimals is a BIGINT, which may not hold it: so the upper half is divided first.
        wide_division=(
            "(CAST(({0} DIV 9223372036854775808) DIV {1} AS DECIMAL(38, 0)) * 9223372036854775808 + "
            "((({0} DIV 9223372036854775808) % {1}) * 9223372036854775808 + {0} % 9223372036854775808) DIV {1})"
        ),
        total="SUM(CAST({} AS DECIMAL(28, 0)))",  # a sum of BIGINTs could overflow
        backslashes=True,
        like_escapes=True,
        row_number="monotonically_increasing_id()",  # a window would gather all rows in one place
        fence="",
        functions={
            **try_cast.READ_BY_SPARK,
            # FLOOR is a BIGINT, and fails where it does not fit. What is so large is whole already.
            "FLOOR": "COALESCE(CAST(FLOOR(CASE WHEN ABS({0}) < 9007199254740992e0 THEN {0} END) AS DOUBLE), {0})",
            "IS_NAN": "ISNAN({0})",
            "BINARY": "MAKE_VALID_UTF8({0} COLLATE UTF8_BINARY)",
            "DICTIONARY": "(NULLIF(ARRAY_POSITION(ARRAY({rest}), {0}), 0) - 1)",
            "DAYS_SINCE": "DATEDIFF({0}, {1})",
            "MICROSECONDS": "UNIX_MICROS(CAST({0} AS TIMESTAMP_LTZ))",
        },
        narrow_totals=(  # of which 2^40 rows fit a BIGINT, as they are or in two halves: five times as fast
            (2**23, "SUM(CAST({0} AS BIGINT))"),
            (
                2**43,
                "(CAST(SUM(CAST({0} AS BIGINT) DIV 1048576) AS DECIMAL(38, 0)) * 1048576 + "
                "SUM(CAST({0} AS BIGINT) % 1048576))",
            ),
        ),
    ),
}
