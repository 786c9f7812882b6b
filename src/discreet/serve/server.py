"""Run the service: one process that answers, several that compute, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from discreet.errors import Fix, ServiceFailed
from discreet.serve.app import create_app
from discreet.serve.door import Door, Reception
from discreet.serve.limits.gate import Gate, accept
from discreet.serve.limits.patience import PatientProtocol
from discreet.serve.logs import quiet
from discreet.serve.service import Service
from discreet.serve.settings import Settings

if TYPE_CHECKING:
    from discreet.serve.door.flight import FlightDoor

POSTGRESQL, FLIGHT = "PostgreSQL", "Flight SQL"
"""The doors for tools beside HTTP, as people know them."""


class Server(uvicorn.Server):
    """A server of HTTP that tells where it listens.

    Args:
        settings: The settings.
        service: The parts; made from the settings by default.
        listening: Called with the address once it listens.
    """

    def __init__(
        self,
        settings: Settings,
        service: Service | None = None,
        listening: Callable[[str], None] = lambda address: None,
    ):
        """Prepare the server. `run` runs it."""
        parts = service or Service.of(settings)
        self.reception = Reception(parts)
        self._doors = _doors(parts, self.reception)
        self.doors: dict[str, tuple[str, int]] = {}
        self._settings, self._listening = settings, listening
        # Behind a proxy all clients have one address, and the proxy is trusted to limit them.
        self._gate = Gate(settings.connections, 0 if settings.behind_tls else settings.connections_per_address)
        self._listeners: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._open: set[asyncio.Task[None]] = set()
        super().__init__(
            uvicorn.Config(
                create_app(settings, parts),
                host=settings.host,
                port=settings.port,
                ssl_certfile=settings.tls_certificate or None,
                ssl_keyfile=settings.tls_key or None,
                proxy_headers=settings.behind_tls,  # without a proxy, a header would be the client's own word
                server_header=False,
                access_log=False,
                log_config=None,
                lifespan="on",
                http="h11",  # which refuses a header with a line break; the faster one writes it as it is
                ws="none",
                h11_max_incomplete_event_size=32 * 1024,
                timeout_keep_alive=settings.idle_seconds,
                timeout_graceful_shutdown=int(settings.deadline) + 1,
            )
        )
        quiet()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and tell where. uvicorn opens no socket: connections are counted before TLS begins."""
        self._listeners = self._bound() if sockets is None else sockets
        await super().startup(sockets=[])
        for listener in self._listeners:
            listener.setblocking(False)
            self._accepting.append(asyncio.create_task(accept(listener, self._admit)))
        for name, door in self._doors.items():
            self.doors[name] = await door.start()
        port = self._listeners[0].getsockname()[1]
        scheme = "https" if self._settings.tls_certificate else "http"
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        self._listening(f"{scheme}://{host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the doors for tools, then the one of HTTP."""
        for name in self.doors:
            await self._doors[name].stop()
        self.reception.close()
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        await super().shutdown(sockets)

    def _bound(self) -> list[socket.socket]:
        """Return sockets that listen at all addresses of the host."""
        host, port = self._settings.host, self._settings.port
        try:
            found = {(one[0], one[4]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
            return [
                socket.create_server(place[:2], family=family, backlog=self.config.backlog)
                for family, place in sorted(found)
            ]
        except OSError:
            raise ServiceFailed(
                "The service cannot listen at this address.",
                found=f"{host}:{port}",
                fix=[Fix("port", 0, note="any free one"), "Or end what listens there."],
            ) from None

    def _admit(self, client: socket.socket, address: str) -> None:
        if not self._gate.enter(address):
            client.close()
            return
        task = asyncio.create_task(self._serve_one(client, address))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve_one(self, client: socket.socket, address: str) -> None:
        """Serve one connection, from TLS to its end."""
        config = self.config
        protocol = PatientProtocol(
            self._settings, config=config, server_state=self.server_state, app_state=self.lifespan.state
        )
        within = self._settings.head_seconds if config.ssl else None
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, client, ssl=config.ssl, ssl_handshake_timeout=within
            )
            await protocol.gone.wait()
        except OSError:  # the client left, or could not agree on TLS
            client.close()
        finally:
            self._gate.leave(address)


def _doors(service: Service, reception: Reception) -> dict[str, Door | FlightDoor]:
    """Return the doors for tools that the settings open."""
    found: dict[str, Door | FlightDoor] = {}
    if service.settings.door_port >= 0:
        found[POSTGRESQL] = Door(service, reception)
    if service.settings.flight_port >= 0:
        # Its library of HTTP/2 takes a tenth of a second to import, which a service without this door saves.
        from discreet.serve.door.flight import FlightDoor

        found[FLIGHT] = FlightDoor(service, reception)
    return found
