"""Listen for clients of PostgreSQL, with TLS only, and sign them in with a token.

Before TLS the door reads exactly the eight bytes of a request from the socket, and nothing more: no byte that was
sent in clear can be taken for one that came through TLS (CVE-2021-23222). A client that does not ask for TLS is
refused before it is asked for a password. A client has `door_sign_in_seconds` to sign in, and at most half of the
connections are of clients that have not.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import ssl
import struct
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field

from discreet.errors import DiscreetError
from discreet.serve.door import tls
from discreet.serve.door.analyst import Analyst, Turns
from discreet.serve.door.catalogue import Catalogue
from discreet.serve.door.connection import Connection
from discreet.serve.door.messages import (
    BEFORE_LOGIN,
    CANCEL_REQUEST,
    GSS_REQUEST,
    PROTOCOL_3,
    SSL_REQUEST,
    Limits,
    Wire,
    malformed,
    startup,
)
from discreet.serve.door.refusals import NO_TLS, PROTOCOL, Refusal, refusal_of
from discreet.serve.door.session import Session
from discreet.serve.door.variables import REPORTED, Variables
from discreet.serve.limits import Rate
from discreet.serve.limits.gate import Gate, accept, cut, place_of
from discreet.serve.service import Service

_CATALOGUES = 16  # vaults whose catalogues are kept
_GONE = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError, OSError)


@dataclass
class Door:
    """The door for clients of PostgreSQL.

    Args:
        service: The parts of the service.
    """

    service: Service
    _turns: Turns = field(default_factory=Turns)
    _open: dict[int, tuple[int, Connection]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _last: int = 0
    _catalogues: OrderedDict[str, Catalogue] = field(default_factory=OrderedDict)

    async def start(self) -> tuple[str, int]:
        """Start to listen, and return where."""
        settings = self.service.settings
        host = settings.door_host or settings.host
        self._tls = tls.context(settings.folder, host, settings.door_certificate, settings.door_key)
        self._fresh = Rate(settings.door_questions_per_minute)
        self._strangers = Gate(max(1, settings.door_connections // 2), settings.connections_per_address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, settings.door_port), family=family, backlog=128)
        self._listener.setblocking(False)
        self._accepting = asyncio.create_task(accept(self._listener, self._admit))
        port: int = self._listener.getsockname()[1]
        self.service.log.note("door", host=host, port=port)
        return host, port

    async def stop(self) -> None:
        """Stop to listen, and end all connections. Questions that run go on."""
        self._accepting.cancel()
        with suppress(asyncio.CancelledError):
            await self._accepting
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for catalogue in self._catalogues.values():
            catalogue.close()

    def _admit(self, client: socket.socket, address: str) -> None:
        if len(self._tasks) >= self.service.settings.door_connections or not self._strangers.enter(address):
            client.close()
            return
        task = asyncio.create_task(self._serve(client, address))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, client: socket.socket, address: str) -> None:
        """Serve one client from its first byte to its last. Nothing that it does ends the door."""
        writer: asyncio.StreamWriter | None = None
        signed_in, process = False, 0
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(self.service.settings.door_sign_in_seconds):
                if not await self._asked_for_tls(client):
                    return
                wire, writer = await self._in_tls(client)
                try:
                    start = await self._started(wire)
                    if start is None:
                        return
                    connection = await self._sign_in(wire, start, address)
                except DiscreetError as error:
                    refused = refusal_of(error)
                    wire.error(Refusal(refused.message, refused.state, refused.hint, fatal=True))
                    return
                except Refusal as refusal:
                    wire.error(Refusal(refusal.message, refusal.state, refusal.hint, fatal=True))
                    return
            self._strangers.leave(address)
            signed_in = True
            process = self._welcome(wire, connection)
            try:
                await connection.run()
            except Refusal as refusal:
                wire.error(refusal)
        except _GONE:
            pass
        except Exception as error:  # its text may hold a value
            self.service.log.note("failed", door="postgresql", kind=type(error).__name__)
        finally:
            if not signed_in:
                self._strangers.leave(address)
            self._open.pop(process, None)
            await _closed(client, writer)

    async def _asked_for_tls(self, client: socket.socket) -> bool:
        """Read requests in clear until the client asks for TLS. Only the bytes of each request are read."""
        loop = asyncio.get_running_loop()
        for _ in range(3):
            size, code = struct.unpack("!II", await _exactly(client, 8))
            if code == SSL_REQUEST and size == 8:
                if _more_waits(client):
                    return False  # sent in clear, to be read as if it had come through TLS
                await loop.sock_sendall(client, b"S")
                return True
            if code == GSS_REQUEST and size == 8:
                await loop.sock_sendall(client, b"N")
            elif code == CANCEL_REQUEST and size == 16:
                self._cancel(await _exactly(client, 8))
                return False
            else:
                if code >> 16 == PROTOCOL_3 and 8 <= size <= BEFORE_LOGIN:
                    await _exactly(client, size - 8)  # else the system may drop the error with the connection
                    await loop.sock_sendall(client, _tls_only())
                return False
        return False

    async def _in_tls(self, client: socket.socket) -> tuple[Wire, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=2 * BEFORE_LOGIN)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            client,
            ssl=self._tls,
            ssl_handshake_timeout=self.service.settings.door_sign_in_seconds,
        )
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        settings = self.service.settings
        limits = Limits(settings.door_idle, settings.door_sign_in_seconds, settings.stall_seconds)
        return Wire(reader, writer, limits), writer

    async def _started(self, wire: Wire) -> dict[str, str] | None:
        code, body = await wire.read_start()
        if code == CANCEL_REQUEST and len(body) == 8:
            self._cancel(body)
            return None
        if code >> 16 != PROTOCOL_3:
            raise malformed()
        start = startup(body)
        unknown = [name for name in start if name.startswith("_pq_.")]
        if code & 0xFFFF or unknown:  # a newer minor version: 3.0 is what is spoken here
            names = b"".join(name.encode() + b"\0" for name in unknown)
            wire.send(b"v", struct.pack("!II", PROTOCOL_3 << 16, len(unknown)) + names)
        return {name: value for name, value in start.items() if name not in unknown}

    async def _sign_in(self, wire: Wire, start: dict[str, str], address: str) -> Connection:
        self.service.requests.take(f"address {place_of(address)}")
        name, most = start.get("user", ""), self.service.settings.door_connections_per_account
        wire.ask_password()
        await wire.flush()
        letter, fields = await wire.read(BEFORE_LOGIN)
        if letter != b"p":
            raise Refusal("A password was asked for.", PROTOCOL, fatal=True)
        token = fields.text()
        analyst = Analyst(self.service, self._turns, self._fresh, name, start.get("database") or name, token)
        await analyst.actor()
        self.service.requests.take(f"account {name}")
        variables = Variables(start, self.service.settings.door_spend)
        async with analyst.turn():
            catalogue = await self._catalogue(analyst)
        if sum(one.analyst.name == name for _, one in self._open.values()) >= most:
            raise Refusal("Too many connections of this account.", "53300", "Close some of them.", fatal=True)
        self.service.log.note("door_sign_in", analyst=name, vault=analyst.vault)
        return Connection(wire, analyst, Session(analyst, variables, catalogue))

    async def _catalogue(self, analyst: Analyst) -> Catalogue:
        described = await analyst.describe()
        facts = {name: described[name] for name in ("table", "columns", "person", "version")}
        key = f"{analyst.vault} {facts!r}"
        if key not in self._catalogues:
            made = await asyncio.to_thread(Catalogue, analyst.vault, facts)
            self._catalogues.setdefault(key, made)
        self._catalogues.move_to_end(key)
        while len(self._catalogues) > _CATALOGUES:
            self._catalogues.popitem(last=False)  # connections that use it keep it
        return self._catalogues[key]

    def _welcome(self, wire: Wire, connection: Connection) -> int:
        self._last = self._last % 0x7FFFFFFF + 1
        secret = secrets.randbits(32)
        self._open[self._last] = secret, connection
        facts = {name: connection.session.variables.get(name) for name in REPORTED}
        wire.welcome({**facts, "session_authorization": connection.analyst.name}, self._last, secret)
        wire.ready(b"I")
        return self._last

    def _cancel(self, key: bytes) -> None:
        process, secret = struct.unpack("!II", key)
        known, connection = self._open.get(process, (0, None))
        if connection is not None and hmac.compare_digest(known.to_bytes(4, "big"), secret.to_bytes(4, "big")):
            connection.cancel()


async def _exactly(client: socket.socket, size: int) -> bytes:
    """Read so many bytes, and not one more."""
    loop, found = asyncio.get_running_loop(), b""
    while len(found) < size:
        part = await loop.sock_recv(client, size - len(found))
        if not part:
            raise ConnectionError
        found += part
    return found


def _more_waits(client: socket.socket) -> bool:
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def _tls_only() -> bytes:
    """Return the error for a client that begins without TLS, as a message in clear."""
    message, hint = "This server speaks TLS only.", "Connect with sslmode=require."
    fields = {"S": "FATAL", "V": "FATAL", "C": NO_TLS, "M": message, "H": hint}
    body = b"".join(name.encode() + text.encode() + b"\0" for name, text in fields.items()) + b"\0"
    return b"E" + struct.pack("!I", len(body) + 4) + body


async def _closed(client: socket.socket, writer: asyncio.StreamWriter | None) -> None:
    """Close the connection. A client that does not answer to the end of TLS is not waited for."""
    if writer is None:
        client.close()
        return
    writer.close()
    with suppress(*_GONE):
        async with asyncio.timeout(1):
            await writer.wait_closed()
    cut(writer.transport)
