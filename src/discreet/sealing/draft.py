"""Draft a schema file from the types that a source declares, and read a finished one.

A draft lists names and types of columns. A Parquet file, a database or a frame declares both; the header of a CSV
file declares only the names. No row is read. Bounds, grids and lists of values are left open, because a bound
copied from the data is a fact about the person it belongs to. The file is TOML, one table for each column:

    [columns.age]
    type = "integer"
    lo = 0
    hi = 110
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import Code, Fix, ParameterError
from discreet.schema import Column, from_json
from discreet.sealing.sources import Source, family, opened

OPEN = "TODO"
"""Marks what the curator has to write: nothing in the source declares it."""

_EXAMPLE = 'For example: [columns.age], and below it type = "integer", lo = 0, hi = 110.'
_HEAD = """\
# A draft of the columns of {name}, from its declared types. No row was read.
#
# Replace every {open}. Bounds and values become public, so take them from what the columns mean
# (an age is 0 to 110), not from the data: a smallest or largest value copied from the rows tells
# analysts about the person it belongs to. Values outside the bounds are clamped; write
# outside = "missing" to leave them out.
# Remove the columns that are not needed, and the column that identifies the person.
"""


def propose(source: Any) -> str:
    """Return the draft of a schema file for a source.

    >>> import pyarrow
    >>> print(propose(pyarrow.table({"age": [31], "name": ["Ada"]})))
    # A draft of the columns of a pyarrow Table, from its declared types. No row was read.
    ...
    [columns.age]  # BIGINT
    type = "integer"
    lo = "TODO"
    hi = "TODO"
    <BLANKLINE>
    [columns.name]  # VARCHAR
    type = "category"  # or "text", if the values cannot be listed: finding keys then costs budget
    values = ["TODO"]
    # other = "another"  # the name for values that are not listed; without it they are missing
    <BLANKLINE>
    """
    import duckdb

    given = Source.of(source)
    with duckdb.connect() as connection:
        types = opened(connection, given, None, "source", rows=False).types
    untyped = given.is_text
    drafts = [_draft(name, "" if untyped else kind) for name, kind in types.items()]
    return "\n".join([_HEAD.format(name=given.display_name, open=OPEN), *drafts])


def read_schema(path: str | Path) -> dict[str, Column]:
    """Return the columns that a finished schema file declares. A mistake is refused with its line."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParameterError(
            "The schema file does not exist.",
            found=path,
            fix=Fix("source", Code("…"), call="propose", note="drafts one"),
        ) from None
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise ParameterError(f"{file.name} is not valid TOML: {wrong}.") from None
    columns = record.pop("columns", None)
    if not isinstance(columns, dict) or not columns or record:
        raise ParameterError(
            f"{file.name} must declare columns as [columns.name] tables, and nothing else.",
            found=", ".join(map(repr, record)) or "no columns",
            fix=_EXAMPLE,
        )
    _refuse_open(file.name, text, columns)
    return {name: _column(file.name, text, name, fields) for name, fields in columns.items()}


def _draft(name: str, kind: str) -> str:
    declared = f"  # {kind}" if kind else ""
    lines = [f"[columns.{_key(name)}]{declared}", *_fields(kind)]
    return "\n".join(lines) + "\n"


def _fields(kind: str) -> list[str]:
    if not kind:
        return [f'type = "{OPEN}"  # integer, real, category, boolean, date, datetime or text, with their bounds']
    bounds = [f'lo = "{OPEN}"', f'hi = "{OPEN}"']
    match family(kind):
        case "integer":
            return ['type = "integer"', *bounds]
        case "float":
            return ['type = "real"', *bounds, f'step = "{OPEN}"  # the grid that values are rounded to']
        case "decimal":
            return ['type = "real"', *bounds, f"step = {json.dumps(_scale(kind))}"]
        case "boolean":
            return ['type = "boolean"']
        case "date":
            return ['type = "date"', *bounds]
        case "timestamp" | "zoned":
            return ['type = "datetime"', *bounds, f'step = "{OPEN}"  # such as "15min", "1h" or "1d"']
        case "text":
            return [
                'type = "category"  # or "text", if the values cannot be listed: finding keys then costs budget',
                f'values = ["{OPEN}"]',
                '# other = "another"  # the name for values that are not listed; without it they are missing',
            ]
        case _:
            return [f'type = "{OPEN}"  # such values are read as text']


def _scale(kind: str) -> str:
    if kind == "NUMERIC":  # it may have any scale
        return OPEN
    parts = re.fullmatch(r"DECIMAL\(\d+,(\d+)\)", kind)
    digits = int(parts[1]) if parts else 0
    return "1" if digits == 0 else f"0.{'1'.rjust(digits, '0')}"


def _key(name: str) -> str:
    return (
        name
        if re.fullmatch(r"[A-Za-z0-9_-]+", name)
        else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    )


def _refuse_open(file: str, text: str, columns: Mapping[str, Any]) -> None:
    unfinished = [
        f"{name}.{field} (line {_line(text, name, field)})"
        for name, fields in columns.items()
        if isinstance(fields, dict)
        for field, value in fields.items()
        if value == OPEN or (isinstance(value, list) and OPEN in value)
    ]
    if unfinished:
        raise ParameterError(
            f"{file} is not finished: it still says {OPEN}.",
            found=", ".join(unfinished),
            fix=f"Replace every {OPEN} by a bound or a value that follows from the meaning of the column.",
        )


def _column(file: str, text: str, name: str, fields: Any) -> Column:
    where = f"{file}, line {_line(text, name)}, column {name!r}"
    if not isinstance(fields, dict):
        raise ParameterError(f"{where}: a column is a table with a type.", found=repr(fields), fix=_EXAMPLE)
    try:
        return from_json(fields)
    except ParameterError as wrong:
        fixes = [_in_toml(name, fix) if isinstance(fix, Fix) else fix for fix in wrong.fixes]
        raise ParameterError(f"{where}: {wrong.problem}", found=wrong.found, fix=fixes) from None


def _in_toml(name: str, fix: Fix) -> str:
    """Return a fix of a column as a line of its table in the schema file.

    >>> _in_toml("at", Fix("step", "1h", note="one hour"))
    'Write step = "1h" below [columns.at] (one hour).'
    """
    note = f" ({fix.note})" if fix.note else ""
    if fix.value is None:
        return f"Remove {fix.parameter} below [columns.{_key(name)}]{note}."
    plain = isinstance(fix.value, bool | int | float | str | list)
    value = json.dumps(fix.value if plain else str(fix.value), ensure_ascii=False)
    return f"Write {fix.parameter} = {value} below [columns.{_key(name)}]{note}."


def _line(text: str, name: str, field: str | None = None) -> int:
    """Return the line that declares a column or a field of it; 1 if the file is not written as we draft it."""
    found = 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            found = number if found == 0 and line.startswith(f"[columns.{_key(name)}]") else -abs(found)
        if found > 0 and field is None:
            return number
        if found > 0 and re.match(rf"\s*{re.escape(field or '')}\s*=", line):
            return number
    return abs(found) or 1
