"""Read and write messages of protobuf: fields of numbers and of bytes, which is all that Flight SQL sends.

A message is a mapping from the numbers of its fields to the values in their order. Unknown fields are kept and not
looked at, as protobuf asks. Bytes that are no message raise `Malformed`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Value = int | bytes
Fields = dict[int, list[Value]]

PREFIX = "type.googleapis.com/arrow.flight.protocol.sql."
"""The beginning of the name of a message of Flight SQL inside of `google.protobuf.Any`."""

_NUMBER, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5  # kinds of fields
_SIZES = {_FIXED_64: 8, _FIXED_32: 4}


class Malformed(ValueError):
    """Bytes that are no message."""


def decode(data: bytes) -> Fields:
    """Return the fields of a message. Numbers of a fixed size are returned as their bytes.

    >>> decode(b"\\x08\\x96\\x01\\x12\\x03abc")
    {1: [150], 2: [b'abc']}
    """
    fields: Fields = {}
    at = 0
    while at < len(data):
        tag, at = _read(data, at)
        kind, value = tag & 7, 0
        if kind == _NUMBER:
            value, at = _read(data, at)
            fields.setdefault(tag >> 3, []).append(value)
            continue
        if kind == _BYTES:
            size, at = _read(data, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise Malformed("kind")
        if at + size > len(data):
            raise Malformed("size")
        fields.setdefault(tag >> 3, []).append(data[at : at + size])
        at += size
    return fields


def encode(fields: Mapping[int, Value | Sequence[Value]]) -> bytes:
    """Return a message. A sequence is a field that is repeated; a number may be negative.

    >>> encode({1: 150, 2: [b"abc", b""]})
    b'\\x08\\x96\\x01\\x12\\x03abc\\x12\\x00'
    """
    out = bytearray()
    for number, values in fields.items():
        for value in [values] if isinstance(values, int | bytes) else values:
            if isinstance(value, int):
                out += _written(number << 3) + _written(value % (1 << 64))
            else:
                out += _written(number << 3 | _BYTES) + _written(len(value)) + value
    return bytes(out)


def unpack(data: bytes) -> tuple[str, Fields]:
    """Return the name and the fields of a message of Flight SQL inside of `Any`.

    >>> unpack(pack("CommandGetCatalogs", {}))
    ('CommandGetCatalogs', {})
    """
    outer = decode(data)
    name = text(outer, 1)
    if not name.startswith(PREFIX):
        raise Malformed("name")
    return name.removeprefix(PREFIX), decode(blob(outer, 2))


def pack(name: str, fields: Mapping[int, Value | Sequence[Value]]) -> bytes:
    """Return a message of Flight SQL inside of `Any`."""
    return encode({1: (PREFIX + name).encode(), 2: encode(fields)})


def blob(fields: Fields, number: int) -> bytes:
    """Return the bytes of a field; none if it is not there."""
    last = fields.get(number, [b""])[-1]
    if not isinstance(last, bytes):
        raise Malformed("number instead of bytes")
    return last


def text(fields: Fields, number: int) -> str:
    """Return the text of a field; empty if it is not there."""
    try:
        return blob(fields, number).decode()
    except UnicodeDecodeError:
        raise Malformed("not UTF-8") from None


def texts(fields: Fields, number: int) -> list[str]:
    """Return all texts of a field that is repeated."""
    return [text({number: [one]}, number) for one in fields.get(number, [])]


def whole(fields: Fields, number: int) -> int:
    """Return the number of a field; 0 if it is not there."""
    last = fields.get(number, [0])[-1]
    if not isinstance(last, int):
        raise Malformed("bytes instead of number")
    return last


def wholes(fields: Fields, number: int) -> list[int]:
    """Return all numbers of a field that is repeated, packed into bytes or one by one.

    >>> wholes({1: [7, b"\\x96\\x01\\x02"]}, 1)
    [7, 150, 2]
    """
    found: list[int] = []
    for value in fields.get(number, []):
        at = 0
        while isinstance(value, bytes) and at < len(value):
            one, at = _read(value, at)
            found.append(one)
        if isinstance(value, int):
            found.append(value)
    return found


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number does not end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value % (1 << 64), at


def _written(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
