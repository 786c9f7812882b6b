"""Write the values of a result in the text and binary formats of PostgreSQL, and read the values of parameters."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

BOOL, INT8, INT2, INT4, TEXT, OID, FLOAT4, FLOAT8 = 16, 20, 21, 23, 25, 26, 700, 701
CHAR, NAME, JSON, BPCHAR, VARCHAR, DATE, TIMESTAMP, NUMERIC, UNKNOWN = (
    18,
    19,
    114,
    1042,
    1043,
    1082,
    1114,
    1700,
    705,
)
INT2S, INT4S, TEXTS, INT8S, OIDS = 1005, 1007, 1009, 1016, 1028

KINDS = {
    "boolean": BOOL,
    "integer": INT8,
    "real": FLOAT8,
    "text": TEXT,
    "date": DATE,
    "datetime": TIMESTAMP,
}
"""The type of a column of an answer, by its kind."""

SIZES = {
    BOOL: 1,
    INT8: 8,
    INT2: 2,
    INT4: 4,
    OID: 4,
    FLOAT4: 4,
    FLOAT8: 8,
    CHAR: 1,
    NAME: 64,
    DATE: 4,
    TIMESTAMP: 8,
}
ELEMENTS = {INT2S: INT2, INT4S: INT4, TEXTS: TEXT, INT8S: INT8, OIDS: OID}
_PACKED = {BOOL: "!?", INT8: "!q", INT2: "!h", INT4: "!i", OID: "!I", FLOAT4: "!f", FLOAT8: "!d"}
_DAY_0, _TIME_0 = date(2000, 1, 1), datetime(2000, 1, 1)  # PostgreSQL counts from here


@dataclass(frozen=True)
class Column:
    """A column of a result: its name and the number of its type."""

    name: str
    oid: int = TEXT


@dataclass(frozen=True)
class Result:
    """What a statement returns.

    Args:
        columns: The columns; none of a statement that returns no rows.
        rows: The rows.
        tag: The word that tells that it has ended; `SELECT n` by default.
        notices: Sentences to show beside it.
        status: A setting that clients watch, if the statement changed one.
        about: What the table of a release says about itself, as metadata of Arrow.
    """

    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Any]] = ()
    tag: str = ""
    notices: Sequence[str] = field(default=())
    status: tuple[str, str] | None = None
    about: Mapping[bytes, bytes] = field(default_factory=dict)

    def tag_of(self, rows: int) -> str:
        """Return the word that tells that it has ended."""
        return self.tag or f"SELECT {rows}"


def encoded(value: Any, oid: int, *, binary: bool) -> bytes | None:
    """Return a value as it is sent; None is NULL.

    >>> encoded(True, BOOL, binary=False), encoded(1.5, FLOAT8, binary=False), encoded(3.0, FLOAT8, binary=False)
    (b't', b'1.5', b'3')
    >>> encoded(date(2000, 1, 3), DATE, binary=True)
    b'\\x00\\x00\\x00\\x02'
    """
    if value is None:
        return None
    if not binary or (oid not in _PACKED and oid not in (DATE, TIMESTAMP, *ELEMENTS)):
        return _text(value).encode(errors="replace")
    if oid == DATE:
        return struct.pack("!i", (value - _DAY_0).days)
    if oid == TIMESTAMP:
        away = value - _TIME_0
        return struct.pack("!q", (away.days * 86_400 + away.seconds) * 1_000_000 + away.microseconds)
    if oid in ELEMENTS:
        return _array(value, ELEMENTS[oid])
    return struct.pack(_PACKED[oid], value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list | tuple):
        return "{" + ",".join("NULL" if one is None else _quoted(_text(one)) for one in value) + "}"
    return str(value)


def _float(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _quoted(text: str) -> str:
    if text and not set(text) & set('{},"\\ \t\n') and text.upper() != "NULL":
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _array(values: Sequence[Any], element: int) -> bytes:
    parts = [struct.pack("!iii", 1 if values else 0, int(None in values), element)]
    if values:
        parts.append(struct.pack("!ii", len(values), 1))
    for value in values:
        data = encoded(value, element, binary=True)
        parts.append(struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data)
    return b"".join(parts)


def read_parameter(data: bytes, oid: int, *, binary: bool) -> str:
    """Return the value of a parameter as text. A format or a value that is not understood raises ValueError.

    >>> read_parameter(b"\\x00\\x00\\x00\\x1e", INT4, binary=True), read_parameter(b"Oslo", TEXT, binary=False)
    ('30', 'Oslo')
    """
    if not binary or oid in (0, TEXT, VARCHAR, BPCHAR, NAME, UNKNOWN, JSON, CHAR):
        return data.decode()
    if oid in _PACKED:
        try:
            (value,) = struct.unpack(_PACKED[oid], data)
        except struct.error:
            raise ValueError("wrong size") from None
        return _text(value)
    if oid == DATE and len(data) == 4:
        return date.fromordinal(_DAY_0.toordinal() + int.from_bytes(data, "big", signed=True)).isoformat()
    if oid == TIMESTAMP and len(data) == 8:
        return str(_TIME_0 + timedelta(microseconds=int.from_bytes(data, "big", signed=True)))
    if oid == NUMERIC:
        return _numeric(data)
    raise ValueError("no binary form")


def _numeric(data: bytes) -> str:
    """Return a number of PostgreSQL's decimal type: groups of four digits, their place, a sign and a scale."""
    if len(data) < 8:
        raise ValueError("wrong size")
    count, weight, sign, scale = struct.unpack("!hhHh", data[:8])
    if not 0 <= count <= 64 or abs(weight) > 64 or not 0 <= scale <= 256 or len(data) != 8 + 2 * count:
        raise ValueError("wrong size")
    if sign not in (0, 0x4000):
        raise ValueError("not a number")
    total = Decimal(0)
    for place, group in enumerate(struct.unpack(f"!{count}h", data[8:])):
        total += Decimal(group).scaleb(4 * (weight - place))
    return format(-total if sign else total, "f")
