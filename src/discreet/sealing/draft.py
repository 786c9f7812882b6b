"""Draft a schema file from the types that a source declares, and read a finished one.

A draft lists names and types of columns. A Parquet file, a database or a frame declares both; the header of a CSV
file declares only the names. No row is read: a bound copied from the data is a fact about the person it belongs
to. Where a name is common (age, year, price), the draft guesses type and bounds from it, for the curator to
confirm (`discreet.sealing.guesses`). Everything else is left open. The file is TOML, one table for each column:

    [columns.age]
    type = "integer"
    lo = 0
    hi = 110

    [columns.paid]
    type = "real"
    step = "0.01"
    decimal = ","    # 71,86
    learn = "5%"     # the bounds are learned from the rows, for 5 % of the budget
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import Code, Fix, ParameterError
from discreet.kernel.amount import share_of
from discreet.schema import Column, Integer, Learned, Real, from_json
from discreet.sealing.guesses import guess, may_identify
from discreet.sealing.sources import Source, family, opened

OPEN = "TODO"
"""Marks what the curator has to write: nothing in the source declares it."""

_EXAMPLE = 'For example: [columns.age], and below it type = "integer", lo = 0, hi = 110.'
_HEAD = """\
# A draft of the columns of {name}, from names and declared types. No row was read.
#
# Replace every {open}, and check every guess. Bounds and values become public, so take them from what the
# columns mean (an age is 0 to 110), not from the data: a smallest or largest value copied from the rows
# tells analysts about the person it belongs to. Values outside the bounds are clamped; write
# outside = "missing" to leave them out.
# If the bounds of a number are not known, write learn = "5%" instead of lo and hi: they are then learned
# from the rows, with noise, for 5 % of the budget.
# Texts such as 71,86 and 26.12.2025 need decimal = "," and format = "%d.%m.%Y".
# Remove the columns that are not needed, and the column that identifies the person.
"""
_CHECK = "  # a guess from the name: check it"


def propose(source: Any) -> str:
    """Return the draft of a schema file for a source.

    >>> import pyarrow
    >>> print(propose(pyarrow.table({"age": [31], "name": ["Ada"]})))
    # A draft of the columns of a pyarrow Table, from names and declared types. No row was read.
    ...
    [columns.age]  # BIGINT
    type = "integer"
    lo = 0  # a guess from the name: check it
    hi = 110  # a guess from the name: check it
    <BLANKLINE>
    [columns.name]  # VARCHAR
    type = "category"  # or "text", if the values cannot be listed: finding keys then costs budget
    values = ["TODO"]
    # other = "another"  # the name for values that are not listed; without it they are missing
    <BLANKLINE>
    """
    return written(Source.of(source).display_name, columns_of(source))


def columns_of(source: Any) -> dict[str, str]:
    """Return the columns of a source with their declared types; an empty type if it declares none."""
    import duckdb

    given = Source.of(source)
    with duckdb.connect() as connection:
        types = opened(connection, given, None, "source", rows=False).types
    return dict.fromkeys(types, "") if given.is_text else dict(types)


def written(name: str, columns: Mapping[str, str], chosen: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Return a schema file.

    Args:
        name: The name of the source.
        columns: The columns with their declared types.
        chosen: The fields that the curator chose, by column; columns that are not in it are left out. By default
            all columns are drafted.
    """
    drafts = [
        _table(column, kind, _fields(column, kind) if chosen is None else _lines(chosen[column]))
        for column, kind in columns.items()
        if (chosen is None and column) or (chosen is not None and column in chosen)
    ]
    if chosen is None and "" in columns:  # a separator at the end of the header line makes such a column
        drafts.append("# A column without a name is left out.\n")
    return "\n".join([_HEAD.format(name=name, open=OPEN), *drafts])


def read_schema(path: str | Path, *, learn: Mapping[str, str] | None = None) -> dict[str, Column | Learned]:
    """Return the columns that a finished schema file declares. A mistake is refused with its line.

    Args:
        path: The file.
        learn: Columns whose bounds are to be learned, with the share of the budget for each; none by default.
    """
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
    _learn(file.name, columns, learn or {})
    _refuse_open(file.name, text, columns)
    return {name: _column(file.name, text, name, fields) for name, fields in columns.items()}


def _learn(file: str, columns: Mapping[str, Any], learn: Mapping[str, str]) -> None:
    """Set what columns may cost whose bounds are to be learned, and drop what is still open in them."""
    for name, share in learn.items():
        if name not in columns:
            raise ParameterError(
                f"{file} has no column {name!r} to learn.", fix=f"It has {', '.join(map(repr, columns))}."
            )
        if isinstance(columns[name], dict):
            columns[name]["learn"] = share
    for fields in columns.values():
        if isinstance(fields, dict) and "learn" in fields:
            for bound in ("lo", "hi", "step"):
                if fields.get(bound) == OPEN:
                    del fields[bound]


def _table(name: str, kind: str, lines: list[str]) -> str:
    declared = f"  # {kind}" if kind else ""
    return "\n".join([f"[columns.{_key(name)}]{declared}", *lines]) + "\n"


def _lines(fields: Mapping[str, Any]) -> list[str]:
    """Return the fields of a column as lines of TOML."""
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]


def guessed(name: str, kind: str) -> dict[str, Any]:
    """Return the fields that a column probably has, from its name and its declared type; open ones are left out.

    >>> guessed("age", "BIGINT"), guessed("colour", "")
    ({'type': 'integer', 'lo': 0, 'hi': 110}, {})
    """
    found, declared = guess(name), _TYPES.get(family(kind)) if kind else None
    if declared is None:
        return {} if found is None or kind else found.fields
    numbers = ("integer", "real")
    if found is None or (found.type != declared and not (found.type in numbers and declared in numbers)):
        return {"type": declared} | ({"step": _scale(kind)} if family(kind) == "decimal" else {})
    fields = {**found.fields, "type": declared}
    if declared == "integer":
        fields.pop("step", None)
    if family(kind) == "decimal" and _scale(kind) != OPEN:
        fields["step"] = _scale(kind)
    elif declared == "real":
        fields.setdefault("step", 1)
    return fields


def open_fields(kind: str) -> tuple[str, ...]:
    """Return the fields that a type needs.

    >>> open_fields("real")
    ('lo', 'hi', 'step')
    """
    return _NEEDED.get(kind, ())


_NEEDED = {
    "integer": ("lo", "hi"),
    "real": ("lo", "hi", "step"),
    "date": ("lo", "hi"),
    "datetime": ("lo", "hi", "step"),
    "category": ("values",),
}
_TYPES: dict[str, str] = {
    "integer": "integer",
    "float": "real",
    "decimal": "real",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "datetime",
    "zoned": "datetime",
    "text": "category",
}
_NOTES = {
    "real.step": "the grid that values are rounded to",
    "datetime.step": 'such as "15min", "1h" or "1d"',
}


def _fields(name: str, kind: str) -> list[str]:
    """Return the lines of a draft: what is declared, what is guessed, and what is open."""
    fields = guessed(name, kind)
    identifies = ["# It may identify a person: if so, remove it here, and name it as the person."]
    before = identifies if may_identify(name) else []
    if not fields:
        what = (
            "such values are read as text"
            if kind
            else ("integer, real, category, boolean, date, datetime or text, with their bounds")
        )
        return [*before, f'type = "{OPEN}"  # {what}']
    what = fields["type"]
    if what == "category":
        return [
            *before,
            'type = "category"  # or "text", if the values cannot be listed: finding keys then costs budget',
            f'values = ["{OPEN}"]',
            '# other = "another"  # the name for values that are not listed; without it they are missing',
        ]
    lines = [*before, f'type = "{what}"' + ("" if kind else _CHECK)]
    declared = {"step"} if kind and family(kind) == "decimal" else set()
    for field in open_fields(what):
        value = fields.get(field, OPEN)
        note = f"  # {_NOTES[key]}" if (key := f"{what}.{field}") in _NOTES and value == OPEN else ""
        note = _CHECK if value != OPEN and field not in declared else note
        lines.append(f"{field} = {json.dumps(value, ensure_ascii=False)}{note}")
    return lines


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
        f"{name or 'the column without a name'}.{field} (line {_line(text, name, field)})"
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


def _column(file: str, text: str, name: str, fields: Any) -> Column | Learned:
    where = f"{file}, line {_line(text, name)}, column {name!r}"
    if not isinstance(fields, dict):
        raise ParameterError(f"{where}: a column is a table with a type.", found=repr(fields), fix=_EXAMPLE)
    try:
        return _learned(fields) if "learn" in fields else from_json(fields)
    except ParameterError as wrong:
        fixes = [_in_toml(name, fix) if isinstance(fix, Fix) else fix for fix in wrong.fixes]
        raise ParameterError(f"{where}: {wrong.problem}", found=wrong.found, fix=fixes) from None


def _learned(fields: Mapping[str, Any]) -> Learned:
    """Return a column whose bounds are to be learned."""
    rest = dict(fields)
    kind, share = rest.pop("type", None), rest.pop("learn")
    if kind not in ("integer", "real"):
        raise ParameterError(
            "Bounds can be learned for columns of type integer and real.", found=repr(kind), fix=Fix("learn", None)
        )
    known = {"lo", "hi", "step", "tail", "outside", "decimal", "thousands"} - (
        {"step"} if kind == "integer" else set()
    )
    if unknown := sorted(rest.keys() - known):
        raise ParameterError(
            f"A column with learn is declared with {', '.join(sorted(known))}.",
            found=f"{unknown[0]!r} is not a parameter",
            fix=Fix(unknown[0], None),
        )
    share_of(share)  # this refuses what is not a share
    return (Integer if kind == "integer" else Real).learned(spend=share, **rest)


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
