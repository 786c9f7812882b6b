"""Speak gRPC with one client: calls over HTTP/2, each with one message to us and messages back.

pyarrow has a server of Flight, which is not used: it sends the text and the traceback of Python's exceptions to
clients, takes messages of any size, and starts a thread for every call that waits (docs/service.md). Here all
calls are tasks of the event loop, within these limits:

* a message to us has at most 64 kB, and a client has at most 16 calls at a time;
* a client that sends more calls, resets and pings than a person or a program needs is closed;
* a client that does not read its answer for a minute loses the call.

Everything that leaves in error passes `statuses.told`.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    PingReceived,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from discreet.errors import TooManyRequests
from discreet.serve.door.flight.protobuf import Malformed
from discreet.serve.door.flight.statuses import TOO_LARGE, Status, escaped, expected, told
from discreet.serve.door.refusals import Refusal
from discreet.serve.limits import Rate
from discreet.serve.logs import Log

MOST_BYTES = 64 * 1024
"""The most bytes of a message to us."""
MOST_HEADERS = 16 * 1024
"""The most bytes of the headers of a call, which hold a token and settings."""
MOST_CALLS = 16
"""The most calls of a connection at a time."""
MOST_FRAMES = 3000
"""The most calls, resets, pings and settings of a connection in a minute."""
SECONDS_TO_READ = 60.0
"""How long a client may read nothing of an answer that waits for it."""

_PREFIX = struct.Struct("!BI")  # whether it is compressed, and how long it is
_CONTENT = (("content-type", "application/grpc"),)
_READ = 16 * 1024


@dataclass
class Call:
    """One call of a client.

    Args:
        path: What is called.
        headers: What the client sent beside its message.
        message: The message; empty where a call begins before one arrived.
        replied: Headers of ours, sent before the first message.
    """

    path: str
    headers: Mapping[str, str] = field(repr=False)
    message: bytes = field(default=b"", repr=False)
    replied: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass
class _Stream:
    number: int
    call: Call
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False
    begun: bool = False
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class _Gone(Exception):
    """The client is gone, or does not read."""


@contextmanager
def _reading() -> Iterator[None]:
    """Tell a client that does not take its answer apart from a fault in the making of the answer."""
    try:
        yield
    except (ProtocolError, OSError):  # a time limit is one of these
        raise _Gone from None


class Grpc:
    """The calls of one client.

    Args:
        reader: Where bytes come from, inside of TLS.
        writer: Where they go.
        handle: Answers a call with messages.
        at_once: The paths of calls that are answered before their messages arrive.
        log: Notes faults on our side, without their text.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handle: Callable[[Call], AsyncGenerator[bytes, None]],
        at_once: Collection[str],
        log: Log,
    ) -> None:
        """Take the parts. `run` answers."""
        self._reader, self._writer, self._handle, self._at_once, self._log = reader, writer, handle, at_once, log
        self._h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._streams: dict[int, _Stream] = {}
        self._frames = Rate(MOST_FRAMES)

    async def run(self) -> None:
        """Answer calls until the client goes."""
        self._h2.initiate_connection()
        self._h2.decoder.max_header_list_size = MOST_HEADERS
        self._h2.update_settings(
            {SettingCodes.MAX_CONCURRENT_STREAMS: MOST_CALLS, SettingCodes.MAX_HEADER_LIST_SIZE: MOST_HEADERS}
        )
        try:
            await self._flush()
            while data := await self._reader.read(_READ):
                for event in self._h2.receive_data(data):
                    if isinstance(event, ConnectionTerminated):
                        return
                    self._event(event)
                await self._flush()
        except ProtocolError:  # h2 has prepared the farewell
            await self._flush()
        except TooManyRequests:
            self._h2.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
            await self._flush()
        finally:
            tasks = [stream.task for stream in self._streams.values() if stream.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _event(self, event: Event) -> None:
        if isinstance(event, RequestReceived | StreamReset | PingReceived | RemoteSettingsChanged):
            self._frames.take("")
        if isinstance(event, RequestReceived):
            self._requested(event)
        elif isinstance(event, DataReceived):
            self._received(event)
        elif isinstance(event, StreamEnded):
            stream = self._streams.get(event.stream_id)
            if stream is not None:
                stream.ended = True
                self._begin(stream)
        elif isinstance(event, StreamReset):
            self._forget(event.stream_id)
        elif isinstance(event, WindowUpdated | RemoteSettingsChanged):
            for stream in self._streams.values():
                stream.opened.set()

    def _requested(self, event: RequestReceived) -> None:
        number = event.stream_id
        assert number is not None
        if len(self._streams) >= MOST_CALLS:
            self._h2.reset_stream(number, ErrorCodes.REFUSED_STREAM)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers or ()}
        stream = self._streams[number] = _Stream(number, Call(headers.get(":path", ""), headers))
        if stream.call.path in self._at_once:
            self._begin(stream)

    def _received(self, event: DataReceived) -> None:
        number, data = event.stream_id, event.data or b""
        assert number is not None
        # The client may go on sending: what is kept of it is bounded here, and not by what it may send ahead.
        self._h2.acknowledge_received_data(event.flow_controlled_length or 0, number)
        stream = self._streams.get(number)
        if stream is None or stream.task is not None:
            return
        stream.body += data
        if len(stream.body) > MOST_BYTES + _PREFIX.size:
            stream.body.clear()
            self._begin(stream, Refusal("A message has at most 64 kB.", TOO_LARGE, "Send a shorter statement."))

    def _begin(self, stream: _Stream, refused: Refusal | None = None) -> None:
        if stream.task is None:
            stream.task = asyncio.create_task(self._answered(stream, refused))

    def _forget(self, number: int | None) -> None:
        """End a call that the client has reset. A question that had begun goes on."""
        stream = self._streams.pop(number or 0, None)
        if stream is not None and stream.task is not None:
            stream.task.cancel()

    async def _answered(self, stream: _Stream, refused: Refusal | None) -> None:
        """Answer one call. Whatever happens in it, the client gets a status and words from `told` alone."""
        try:
            status, words = Status.OK, ""
            try:
                if refused is not None:
                    raise refused
                if stream.call.path not in self._at_once:
                    stream.call.message = _message(bytes(stream.body))
                async with aclosing(self._handle(stream.call)) as messages:
                    async for message in messages:
                        await self._send(stream, _PREFIX.pack(0, len(message)) + message)
            except _Gone:
                raise
            except Exception as error:
                if not expected(error):
                    self._log.note("failed", door="flight", kind=type(error).__name__)
                status, words = told(error)
            await self._end(stream, status, words)
        except _Gone:
            self._writer.transport.abort()
        finally:
            self._streams.pop(stream.number, None)

    async def _send(self, stream: _Stream, data: bytes) -> None:
        """Send bytes of an answer, as fast as the client reads."""
        if not stream.begun:
            stream.begun = True
            with _reading():
                self._h2.send_headers(stream.number, [(":status", "200"), *_CONTENT, *stream.call.replied.items()])
        at = 0
        while at < len(data):
            stream.opened.clear()
            with _reading():
                async with asyncio.timeout(SECONDS_TO_READ):
                    window = min(
                        self._h2.local_flow_control_window(stream.number), self._h2.max_outbound_frame_size
                    )
                    if window <= 0:
                        await stream.opened.wait()
                        continue
                    self._h2.send_data(stream.number, data[at : at + window])
                    at += window
                    await self._flush()

    async def _end(self, stream: _Stream, status: Status, words: str) -> None:
        """Send the status of a call."""
        ends = [("grpc-status", str(int(status))), *([("grpc-message", escaped(words))] if words else [])]
        if not stream.begun:
            ends = [(":status", "200"), *_CONTENT, *stream.call.replied.items(), *ends]
        with _reading():
            self._h2.send_headers(stream.number, ends, end_stream=True)
            if not stream.ended:  # the client need not send the rest
                self._h2.reset_stream(stream.number, ErrorCodes.NO_ERROR)
            async with asyncio.timeout(SECONDS_TO_READ):
                await self._flush()

    async def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data:
            self._writer.write(data)
        await self._writer.drain()


def _message(body: bytes) -> bytes:
    """Return the one message of a call.

    >>> _message(b"\\x00\\x00\\x00\\x00\\x02ab")
    b'ab'
    """
    if len(body) < _PREFIX.size:
        raise Malformed("prefix")
    compressed, size = _PREFIX.unpack_from(body)
    if compressed or size != len(body) - _PREFIX.size:
        raise Malformed("size")
    return body[_PREFIX.size :]
