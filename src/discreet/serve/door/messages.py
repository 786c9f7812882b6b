"""Read and write the messages of PostgreSQL's protocol 3.0, each within a limit.

A message is a letter, its length and its body. The length is checked before the body is read: 8 kB before a client
has signed in, 64 kB afterwards, so that no client makes the server keep more. Every field of a body is read with
its bounds checked; a body that is too short, too long or not UTF-8 ends the connection.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.serve.door.refusals import IDLE, PROTOCOL, Refusal
from discreet.serve.door.results import SIZES, Column, encoded

BEFORE_LOGIN, AFTER_LOGIN = 8 * 1024, 64 * 1024
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
PROTOCOL_3 = 3
MOST_WAITING = 1 << 20  # bytes that may wait for a slow client before the server waits for it


class Gone(ConnectionError):
    """The client has closed the connection, or does not take what it is sent."""


@dataclass(frozen=True)
class Limits:
    """How long a client may keep the server waiting, in seconds.

    Args:
        idle: Until the first byte of a message.
        message: From the first byte of a message to its last.
        stall: To take what waits for it, once that is more than `MOST_WAITING`.
    """

    idle: float
    message: float
    stall: float


class Fields:
    """The fields of the body of a message, read one after another."""

    def __init__(self, body: bytes) -> None:
        """Start at the first byte."""
        self._body, self._at = body, 0

    def text(self) -> str:
        """Read a text that ends with a zero byte."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise malformed()
        found = decoded(self._body[self._at : end])
        self._at = end + 1
        return found

    def int16(self) -> int:
        """Read a number of two bytes."""
        return int.from_bytes(self.raw(2), "big", signed=True)

    def int32(self) -> int:
        """Read a number of four bytes."""
        return int.from_bytes(self.raw(4), "big", signed=True)

    def raw(self, size: int) -> bytes:
        """Read so many bytes."""
        if size < 0 or self._at + size > len(self._body):
            raise malformed()
        self._at += size
        return self._body[self._at - size : self._at]

    def numbers(self, size: int) -> list[int]:
        """Read a count, and so many numbers of this size."""
        count = self.int16()
        return [int.from_bytes(self.raw(size), "big", signed=size == 2) for _ in range(max(count, 0))]

    def values(self) -> list[bytes | None]:
        """Read a count, and so many values with their lengths; a length below zero is NULL."""
        sizes = range(max(self.int16(), 0))
        return [None if (size := self.int32()) < 0 else self.raw(size) for _ in sizes]

    def end(self) -> None:
        """Refuse a body that has more than its fields."""
        if self._at != len(self._body):
            raise malformed()


def decoded(data: bytes) -> str:
    """Return a text of UTF-8, or refuse it."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refusal("A message is not UTF-8.", "22021", fatal=True) from None


def malformed() -> Refusal:
    """Return the refusal of a message that breaks the protocol."""
    return Refusal("A message breaks the PostgreSQL protocol.", PROTOCOL, fatal=True)


def startup(body: bytes) -> dict[str, str]:
    """Return the names and values of a start-up message."""
    words = decoded(body.rstrip(b"\0")).split("\0") if body.strip(b"\0") else []
    # An empty value is a text of its own, so pairs stay pairs; a last empty value lost its zero byte above.
    return dict(zip(words[::2], [*words[1::2], ""], strict=False))


class Wire:
    """The messages of one connection.

    Args:
        reader: What the client sends, inside TLS.
        writer: What it gets.
        limits: How long the client may keep the server waiting.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        """Take both directions."""
        self._reader, self._writer, self._limits = reader, writer, limits
        writer.transport.set_write_buffer_limits(high=MOST_WAITING)

    async def read_start(self) -> tuple[int, bytes]:
        """Read a message that has no letter: the code of the request, and the rest."""
        size, code = struct.unpack("!II", await self._reader.readexactly(8))
        if not 8 <= size <= BEFORE_LOGIN:
            raise malformed()
        return code, await self._reader.readexactly(size - 8)

    async def read(self, limit: int = AFTER_LOGIN) -> tuple[bytes, Fields]:
        """Read a message: its letter and its fields."""
        try:
            async with asyncio.timeout(self._limits.idle):
                letter = await self._reader.readexactly(1)
        except TimeoutError:
            raise Refusal("This connection was idle for too long.", IDLE, "Connect again.", fatal=True) from None
        async with asyncio.timeout(self._limits.message):
            (size,) = struct.unpack("!I", await self._reader.readexactly(4))
            if not 4 <= size <= limit:
                raise Refusal(
                    "This message is too long.", PROTOCOL, f"Send at most {limit:,} bytes at once.", fatal=True
                )
            return letter, Fields(await self._reader.readexactly(size - 4))

    async def flush(self) -> None:
        """Wait until a slow client has taken what waits for it. One that does not is gone."""
        try:
            async with asyncio.timeout(self._limits.stall):
                await self._writer.drain()
        except (OSError, TimeoutError):
            raise Gone from None

    def send(self, letter: bytes, body: bytes = b"") -> None:
        """Write a message."""
        self._writer.write(letter + struct.pack("!I", len(body) + 4) + body)

    def ask_password(self) -> None:
        """Ask for the token, in clear inside TLS: only hashes of tokens are stored, which SCRAM cannot use."""
        self.send(b"R", struct.pack("!I", 3))

    def welcome(self, facts: Mapping[str, str], process: int, secret: int) -> None:
        """Tell that the client is signed in, with facts about the server and the key for cancel requests."""
        self.send(b"R", struct.pack("!I", 0))
        for name, value in facts.items():
            self.status(name, value)
        self.send(b"K", struct.pack("!II", process, secret))

    def status(self, name: str, value: str) -> None:
        """Tell the value of a setting that clients watch."""
        self.send(b"S", _text(name) + _text(value))

    def parameters(self, oids: Iterable[int]) -> None:
        """Tell the types of the parameters of a statement."""
        listed = list(oids)
        self.send(b"t", struct.pack(f"!H{len(listed)}I", len(listed), *listed))

    def columns(self, columns: Sequence[Column], formats: Sequence[int] = ()) -> None:
        """Tell the columns of a result."""
        parts = [struct.pack("!H", len(columns))]
        for place, column in enumerate(columns):
            size, form = SIZES.get(column.oid, -1), format_at(formats, place)
            parts.append(_text(column.name) + struct.pack("!IhIhih", 0, 0, column.oid, size, -1, form))
        self.send(b"T", b"".join(parts))

    def row(self, columns: Sequence[Column], values: Sequence[object], formats: Sequence[int] = ()) -> None:
        """Send a row."""
        parts = [struct.pack("!H", len(columns))]
        for place, (column, value) in enumerate(zip(columns, values, strict=True)):
            data = encoded(value, column.oid, binary=format_at(formats, place) == 1)
            parts.append(struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data)
        self.send(b"D", b"".join(parts))

    def complete(self, tag: str) -> None:
        """Tell that a statement has ended."""
        self.send(b"C", _text(tag))

    def ready(self, status: bytes) -> None:
        """Tell that the next statement may come: idle, or in a transaction."""
        self.send(b"Z", status)

    def error(self, refusal: Refusal) -> None:
        """Send an error."""
        severity = "FATAL" if refusal.fatal else "ERROR"
        self._report(b"E", severity, refusal.state, refusal.message, refusal.hint)

    def notice(self, message: str) -> None:
        """Send a notice beside a result."""
        self._report(b"N", "NOTICE", "00000", message, "")

    def _report(self, letter: bytes, severity: str, state: str, message: str, hint: str) -> None:
        fields = {"S": severity, "V": severity, "C": state, "M": message, "H": hint}
        self.send(letter, b"".join(name.encode() + _text(text) for name, text in fields.items() if text) + b"\0")


def format_at(formats: Sequence[int], place: int) -> int:
    """Return the format of a column: all as text without formats, all alike with one."""
    if not formats:
        return 0
    if len(formats) == 1:
        return formats[0]
    if place >= len(formats):
        raise malformed()
    return formats[place]


def _text(value: str) -> bytes:
    return value.replace("\0", "").encode(errors="replace") + b"\0"
