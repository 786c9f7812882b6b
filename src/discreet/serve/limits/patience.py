"""Close connections of HTTP that keep the server waiting: slow heads, slow bodies, replies that are not taken.

uvicorn limits only the pause between two requests. A client that sends nothing, one byte of a head a minute, or a
body without an end would keep its connection for good. All limits are public settings, and no row decides any.

    head     all of it within `head_seconds` of its first byte, or of the connection for the first one
    body     within `body_seconds`, and one second more for every `slowest_body` bytes that arrived
    reply    no byte of it taken for `stall_seconds`
    pause    `idle_seconds` between two requests (uvicorn's own)

While the server computes, and while it does not read on its own account, no time of the client runs.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.serve.limits.gate import cut
from discreet.serve.settings import Settings


class PatientProtocol(H11Protocol):
    """A connection of HTTP with limits.

    Args:
        settings: The limits.
        given: What uvicorn gives to each connection.
    """

    def __init__(self, settings: Settings, **given: Any):
        """Prepare the connection."""
        super().__init__(**given)
        self._limits = settings
        self.gone = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._head_since: float | None = None
        self._body_since, self._body_size = 0.0, 0
        self._waiting, self._moved, self._stalled_since = 0, False, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to count the time."""
        super().connection_made(transport)
        self._head_since = self.loop.time()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to count."""
        super().connection_lost(exc)
        self.gone.set()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Note when a head began, and how much of a body has arrived."""
        if self._head_since is None:
            self._head_since = self.loop.time()
        self._body_size += len(data)
        super().data_received(data)

    def handle_events(self) -> None:
        """Note when a head is complete: then the time of its body begins."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._head_since, self._body_since, self._body_size = None, self.loop.time(), 0

    def resume_writing(self) -> None:
        """Note that the client takes what was sent."""
        self._moved = True
        super().resume_writing()

    def _look(self) -> None:
        """Close the connection if its time is over, or look again soon."""
        now, due, limits = self.loop.time(), self._due(), self._limits
        size = self.transport.get_write_buffer_size()
        if (
            not self._waiting or size < self._waiting or self._moved
        ):  # the client took some, or had nothing to take
            self._stalled_since = now
        self._waiting, self._moved = size, False
        if now >= min(due, self._stalled_since + limits.stall_seconds if size else inf):
            cut(self.transport)
            return
        # A time that begins between two looks ends after the next one, so that nothing is set up for each byte.
        pace = min(limits.head_seconds, limits.body_seconds, limits.stall_seconds) / 2
        self._timer = self.loop.call_later(min(pace, due - now), self._look)

    def _due(self) -> float:
        """Return when the client's time is over; never while it is the server's turn."""
        limits, state = self._limits, self.conn.their_state
        if state is h11.SEND_BODY and not self.flow.read_paused:
            return self._body_since + limits.body_seconds + self._body_size / limits.slowest_body
        if state is h11.IDLE and self._head_since is not None:
            return self._head_since + limits.head_seconds
        return inf
