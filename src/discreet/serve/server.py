"""Run the service: one process that answers, several that compute, until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn

from discreet.errors import Fix, ServiceFailed
from discreet.serve.app import create_app
from discreet.serve.door import Door, Reception
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
        super().__init__(
            uvicorn.Config(
                create_app(settings, parts),
                host=settings.host,
                port=settings.port,
                ssl_certfile=settings.tls_certificate or None,
                ssl_keyfile=settings.tls_key or None,
                server_header=False,
                access_log=False,
                log_config=None,
                lifespan="on",
                http="h11",  # which refuses a header with a line break; the faster one writes it as it is
                ws="none",
                h11_max_incomplete_event_size=32 * 1024,
                timeout_keep_alive=30,
                limit_concurrency=1000,
                timeout_graceful_shutdown=int(settings.deadline) + 1,
            )
        )
        quiet()

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start to listen, and tell where."""
        try:
            await super().startup(sockets)  # type: ignore[arg-type]
        except SystemExit:  # uvicorn's way to report a port that is taken, to a log that is silent here
            raise ServiceFailed(
                "The service cannot listen at this address.",
                found=f"{self._settings.host}:{self._settings.port}",
                fix=[Fix("port", 0, note="any free one"), "Or end what listens there."],
            ) from None
        if self.started:
            for name, door in self._doors.items():
                self.doors[name] = await door.start()
            port = self.servers[0].sockets[0].getsockname()[1]
            scheme = "https" if self._settings.tls_certificate else "http"
            host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
            self._listening(f"{scheme}://{host}:{port}")

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Close the doors for tools, then the one of HTTP."""
        for name in self.doors:
            await self._doors[name].stop()
        self.reception.close()
        await super().shutdown(sockets)  # type: ignore[arg-type]


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
