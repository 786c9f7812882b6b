"""Listen for the clients of a door: limits on connections and on strangers, TLS, and the end of a connection.

A stranger is a client that has not signed in yet. Half of the connections of a door are for them, one address
has so many of these, and each has a limited time. An account has a limit of its own. Nothing that a client does
ends the door. Of a fault on our side the log gets the name of its class, and the client nothing: the text of an
exception may hold a value.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from discreet.errors import Fix, ServiceFailed
from discreet.serve.door.refusals import Refusal
from discreet.serve.limits.gate import Gate, accept, cut
from discreet.serve.service import Service

_GONE = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError, OSError)


@dataclass(eq=False)
class Visit:
    """One connection.

    Args:
        client: Its socket.
        address: Where it comes from.
        listener: Where it arrived.
        account: The account that signed in; None while its client is a stranger.
        writer: How to write to it, once it is encrypted.
    """

    client: socket.socket
    address: str
    listener: Listener
    account: str | None = None
    writer: asyncio.StreamWriter | None = None

    def sign_in(self, account: str) -> None:
        """Note whose token was right. A further account of the same connection counts for the first one."""
        if self.account is None:
            self.listener.admit(self, account)

    async def encrypt(
        self, context: ssl.SSLContext, seconds: float, limit: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Begin TLS.

        Args:
            context: The certificate of the door.
            seconds: How long the client may take.
            limit: How many bytes are read ahead.
        """
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=limit)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol, self.client, ssl=context, ssl_handshake_timeout=seconds
        )
        self.writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return reader, self.writer

    async def close(self) -> None:
        """Close the connection. A client that does not answer to the end of TLS is not waited for."""
        if self.writer is None:
            self.client.close()
            return
        self.writer.close()
        with suppress(*_GONE):
            async with asyncio.timeout(1):
                await self.writer.wait_closed()
        if self.writer.transport.get_write_buffer_size():
            cut(self.writer.transport)  # it does not read: what waits for it is thrown away
        self.writer.transport.abort()  # what the system has, such as the reason for the end, still arrives


class Listener:
    """The place where a door listens.

    Args:
        service: The parts of the service.
        door: The name of the door, for the log.
        serve: Serves one client from its first byte to its last.
    """

    def __init__(self, service: Service, door: str, serve: Callable[[Visit], Awaitable[None]]) -> None:
        """Take the parts. `start` listens."""
        self._service, self._door, self._serve = service, door, serve
        self._visits: dict[asyncio.Task[None], Visit] = {}
        settings = service.settings
        self._strangers = Gate(max(1, settings.door_connections // 2), settings.connections_per_address)

    async def start(self, host: str, port: int, setting: str) -> tuple[str, int]:
        """Start to listen, and return where.

        Args:
            host: The address.
            port: The port; 0 lets the system choose one.
            setting: The setting that the port comes from.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family, backlog=128)
        except OSError:
            raise ServiceFailed(
                "The service cannot listen at this address.",
                found=f"{host}:{port}",
                fix=[Fix(setting, 0, note="any free one"), "Or end what listens there."],
            ) from None
        self._listener.setblocking(False)
        self._accepting = asyncio.create_task(accept(self._listener, self._arrived))
        chosen: int = self._listener.getsockname()[1]
        self._service.log.note("door", door=self._door, host=host, port=chosen)
        return host, chosen

    async def stop(self) -> None:
        """Stop to listen, and end all connections. Questions that run go on."""
        self._accepting.cancel()
        with suppress(asyncio.CancelledError):
            await self._accepting
        self._listener.close()
        visits = list(self._visits)
        for task in visits:
            task.cancel()
        await asyncio.gather(*visits, return_exceptions=True)

    def admit(self, visit: Visit, account: str) -> None:
        """Count a connection for the account that signed in, or refuse it."""
        most = self._service.settings.door_connections_per_account
        if sum(one.account == account for one in self._visits.values()) >= most:
            raise Refusal("Too many connections of this account.", "53300", "Close some of them.", fatal=True)
        visit.account = account
        self._strangers.leave(visit.address)

    def _arrived(self, client: socket.socket, address: str) -> None:
        if len(self._visits) >= self._service.settings.door_connections or not self._strangers.enter(address):
            client.close()
            return
        visit = Visit(client, address, self)
        task = asyncio.create_task(self._served(visit))
        self._visits[task] = visit
        task.add_done_callback(self._visits.pop)

    async def _served(self, visit: Visit) -> None:
        try:
            visit.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._serve(visit)
        except _GONE:
            pass
        except Exception as error:  # its text may hold a value
            self._service.log.note("failed", door=self._door, kind=type(error).__name__)
        finally:
            if visit.account is None:
                self._strangers.leave(visit.address)
            await visit.close()
