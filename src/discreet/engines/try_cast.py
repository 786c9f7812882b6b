"""Write casts that give NULL instead of failing, one for each pair of types.

Claim. None of them raises, for any value, and each reads what DuckDB's TRY_CAST reads, as the same value.
PostgreSQL has no such casts, and its own casts read more strings than DuckDB's, some of them as another value:
hexadecimal numbers, 'today', two digits for a year, the sixtieth second. So the shape of a string is checked
first. The remaining differences are listed in docs/tutorials/postgres.md.

pg_input_is_valid, which PostgreSQL has since version 16, tells whether a string can be read.
"""

from __future__ import annotations


def _over(text: str) -> str:
    """Return the template of a text in which @ is the first argument and braces are ordinary characters."""
    return text.replace("{", "{{").replace("}", "}}").replace("@", "{0}")


_TEXT = '(@ COLLATE "C")'  # replaces the collation of the column, because some collations do not support patterns
_SPACE = r"[ \t\n\r\f\v]*"
_DAY = _SPACE + r"[0-9]{1,7}([-/ ])[0-9]{1,2}\1[0-9]{1,2}"
_CLOCK = r"( +|T)[0-9]{1,2}:[0-9]{1,2}(:[0-5]?[0-9]([.][0-9]*)?)?"
_ZONE = r"(Z|[-+][0-9]{2}(:?[0-9]{2})?| UTC| [A-Za-z]+(/[A-Za-z_]+)+)?"
_NEVER = (
    f"WHEN {_TEXT} ~* '^{_SPACE}inf(inity)?{_SPACE}$' THEN 'infinity' "
    f"WHEN {_TEXT} ~* '^{_SPACE}-inf(inity)?{_SPACE}$' THEN '-infinity' "
    f"WHEN {_TEXT} ~* '^{_SPACE}epoch{_SPACE}$' THEN 'epoch' END"
)
# A year of two digits is in the first century, and digits beyond microseconds are cut off.
_YEAR = rf"REGEXP_REPLACE({_TEXT}, '^({_SPACE})([0-9]{{1,2}}[-/ ])', '\1 00\2')"
_WHEN = rf"REGEXP_REPLACE({_YEAR}, '([.][0-9]{{6}})[0-9]+', '\1')"
_NUMERIC = (
    "WHEN @ = 'NaN' THEN 'NaN' WHEN @ > 1e300 THEN 'Infinity' WHEN @ < -1e300 THEN '-Infinity' "
    "WHEN ABS(@) < 1e-300 THEN 0 ELSE CAST(@ AS DOUBLE PRECISION) END"  # elsewhere the cast would raise
)
_NUMBER = f"{_TEXT} ~ '[xXoObB]'"
_SAID = 'LOWER(@ COLLATE "C")'
_PLAIN = ["integer DOUBLE", "float DOUBLE", *(f"{family} DATE" for family in ("date", "timestamp", "zoned"))]
_PLAIN += ["timestamp TIMESTAMP", "zoned TIMESTAMP", "null TEXT"]
_PLAIN += [f"{family} TEXT" for family in ("integer", "decimal", "text", "boolean", "date", "timestamp", "zoned")]
_PLAIN += ["other TEXT"]
READ_BY_POSTGRES = {
    **{f"TRY {pair}": "CAST({0} AS {1})" for pair in _PLAIN},
    "TRY float BIGINT": _over(
        "CASE WHEN @ >= -9223372036854775808 AND @ < 9223372036854775808 THEN CAST(@ AS BIGINT) END"
    ),
    "TRY float TEXT": _over(
        "CASE WHEN @ = 'Infinity' THEN 'inf' WHEN @ = '-Infinity' THEN '-inf' ELSE CAST(@ AS TEXT) END"
    ),
    "TRY decimal DOUBLE": _over(f"CASE {_NUMERIC}"),
    "TRY decimal WIDE": _over("ROUND(@)"),
    "TRY boolean DOUBLE": _over("CAST(CAST(@ AS INTEGER) AS DOUBLE PRECISION)"),
    "TRY boolean WIDE": _over("CAST(CAST(@ AS INTEGER) AS NUMERIC)"),
    "TRY date TIMESTAMP": _over(
        "CASE WHEN @ <= DATE '294246-12-31' OR @ = 'infinity' THEN CAST(@ AS TIMESTAMP) END"
    ),
    "TRY text DOUBLE": _over(
        f"CASE WHEN {_NUMBER} THEN NULL WHEN PG_INPUT_IS_VALID(@, 'float8') THEN CAST(@ AS DOUBLE PRECISION) "
        f"WHEN NOT PG_INPUT_IS_VALID(@, 'numeric') THEN NULL {_NUMERIC.replace('@', 'CAST(@ AS NUMERIC)')}"
    ),
    "TRY text WIDE": _over(
        f"CASE WHEN NOT {_NUMBER} AND PG_INPUT_IS_VALID(@, 'numeric') THEN ROUND(CAST(@ AS NUMERIC)) END"
    ),
    "TRY text BOOLEAN": _over(
        f"CASE WHEN {_SAID} IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
        f"WHEN {_SAID} IN ('false', 'f', 'no', 'n', '0') THEN FALSE END"
    ),
    "TRY text ZONED": _over(
        f"CASE WHEN {_TEXT} ~ '^{_DAY}({_CLOCK}{_ZONE}{_SPACE})?$' "
        f"AND PG_INPUT_IS_VALID({_WHEN}, 'timestamptz') THEN CAST({_WHEN} AS TIMESTAMPTZ) {_NEVER}"
    ),
    "TRY text DATE": _over(
        f"CASE WHEN {_TEXT} ~ '^{_DAY}{_SPACE}$' "
        f"AND PG_INPUT_IS_VALID({_WHEN}, 'date') THEN CAST({_WHEN} AS DATE) {_NEVER}"
    ),
}

# Spark has TRY_CAST, but reads more with it than DuckDB: Java's letters after numbers, a time alone as of today.
# It also trims characters that DuckDB does not. In its string literals a backslash is written twice.
_BYTES = "(@ COLLATE UTF8_BINARY)"
_WHITE = r"[ \\t\\n\\r\\f\\x0B]*"
_WHOLE = "[0-9](_?[0-9])*"
_NUMERAL = rf"^{_WHITE}[-+]?({_WHOLE}[.]?({_WHOLE})?|[.]{_WHOLE})([eE][-+]?{_WHOLE})?{_WHITE}\\z"
_BEYOND = rf"^{_WHITE}[-+]?(nan|inf|infinity){_WHITE}\\z"
_DAYS = _WHITE + r"[0-9]{1,7}([-/ ])[0-9]{1,2}\\1[0-9]{1,2}"
_DATED = f"REGEXP_REPLACE({_BYTES}, '^{_WHITE}([0-9]+)[-/ ]([0-9]+)[-/ ]([0-9]+)', '000$1-$2-$3')"
_DATED = f"REGEXP_REPLACE({_DATED}, '^0+([0-9]{{4}})', '$1')"  # a year has four digits at least
_TIMED = f"REGEXP_REPLACE({_DATED}, '(?: +|T)([0-9]+:[0-9]+)(?![0-9:])', ' $1:00')"  # and a time has seconds


def _never(kind: str) -> str:
    """Read infinite dates as days beyond every bound that a column can have."""
    ends = {"inf(inity)?": "+200000-01-01", "-inf(inity)?": "-200000-01-01", "epoch": "1970-01-01"}
    said = f"LOWER({_BYTES}) RLIKE '^{_WHITE}"
    return " ".join(rf"WHEN {said}{word}{_WHITE}\\z' THEN {kind} '{day}'" for word, day in ends.items())


READ_BY_SPARK = {
    "TRY": "TRY_CAST({0} AS {1})",
    "TRY text DOUBLE": _over(
        f"CASE WHEN {_BYTES} RLIKE '{_NUMERAL}' OR LOWER({_BYTES}) RLIKE '{_BEYOND}' "
        f"THEN TRY_CAST(REPLACE({_BYTES}, '_', '') AS DOUBLE) END"
    ),
    "TRY text WIDE": _over(
        f"CASE WHEN {_BYTES} RLIKE '{_NUMERAL}' THEN TRY_CAST(REPLACE({_BYTES}, '_', '') AS DECIMAL(38, 0)) END"
    ),
    "TRY text BOOLEAN": _over(
        f"CASE WHEN LOWER({_BYTES}) IN ('true', 't', 'yes', 'y', '1') THEN TRUE "
        f"WHEN LOWER({_BYTES}) IN ('false', 'f', 'no', 'n', '0') THEN FALSE END"
    ),
    "TRY text ZONED": _over(
        rf"CASE {_never('TIMESTAMP_LTZ')} WHEN {_BYTES} RLIKE '^{_DAYS}({_CLOCK}{_ZONE}{_WHITE})?\\z' "
        f"THEN TRY_CAST({_TIMED} AS TIMESTAMP_LTZ) END"
    ),
    "TRY text DATE": _over(
        rf"CASE {_never('DATE')} WHEN {_BYTES} RLIKE '^{_DAYS}{_WHITE}\\z' THEN TRY_CAST({_DATED} AS DATE) END"
    ),
    "TRY date TIMESTAMP": _over(  # elsewhere the cast would overflow
        "CASE WHEN UNIX_DATE(@) BETWEEN -106751991 AND 106751991 THEN CAST(@ AS TIMESTAMP_NTZ) END"
    ),
    "TRY zoned TEXT": "CONCAT(CAST({0} AS STRING), '+00')",
    "TRY other TEXT": "MAKE_VALID_UTF8(TRY_CAST({0} AS STRING))",
}
