"""Listen for clients of Arrow Flight SQL, such as ADBC, with TLS only.

A client has `door_sign_in_seconds` until its first call with a token that is right.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from discreet.serve.door import tls
from discreet.serve.door.flight.calls import AT_ONCE, Calls, Waiting
from discreet.serve.door.flight.client import Client
from discreet.serve.door.flight.grpc import Grpc
from discreet.serve.door.listener import Listener, Visit
from discreet.serve.door.reception import Reception
from discreet.serve.service import Service

_AHEAD = 64 * 1024  # bytes that are read ahead


@dataclass
class FlightDoor:
    """The door for clients of Flight SQL.

    Args:
        service: The parts of the service.
        reception: Signs clients in, at all doors.
        waiting: The answers that are not read yet.
    """

    service: Service
    reception: Reception
    waiting: Waiting = field(default_factory=Waiting)

    def __post_init__(self) -> None:
        self.seconds = self.service.settings.door_sign_in_seconds  # until a client has signed in

    async def start(self) -> tuple[str, int]:
        """Start to listen, and return where."""
        settings = self.service.settings
        host = settings.door_host or settings.host
        self._tls = tls.context(settings.folder, host, settings.door_certificate, settings.door_key)
        self._tls.set_alpn_protocols(["h2"])
        self._listener = Listener(self.service, "flight", self._serve)
        return await self._listener.start(host, settings.flight_port)

    async def stop(self) -> None:
        """Stop to listen, and end all connections. Questions that run go on."""
        await self._listener.stop()

    async def _serve(self, visit: Visit) -> None:
        """Serve one client from its first byte to its last."""
        async with asyncio.timeout(self.seconds) as limit:
            reader, writer = await visit.encrypt(self._tls, self.seconds, _AHEAD)
            calls = Calls(Client(self.reception, visit, limit), self.waiting)
            await Grpc(reader, writer, calls.answer, AT_ONCE, self.service.log).run()
