"""Bound how many connections strangers hold open, and accept them one by one.

A place is an address of IPv4, or a network of 64 bits of IPv6, of which one machine has all addresses. One place
has so many connections, and all places together so many. What is refused is closed at once, without a byte.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

_LATER = 0.1  # seconds until an attempt to accept again, when the system has no file descriptor left


def place_of(address: str) -> str:
    """Return the place of an address.

    >>> place_of("192.0.2.7"), place_of("2001:db8::1:2:3:4"), place_of("2001:db8::ffff"), place_of("")
    ('192.0.2.7', '2001:db8::/64', '2001:db8::/64', '')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address) or found.ipv4_mapped is not None:
        return str(getattr(found, "ipv4_mapped", None) or found)
    return str(ipaddress.ip_network((found, 64), strict=False))


class Gate:
    """The connections that are open.

    Args:
        most: The most of them.
        of_place: The most of one place; 0 for no limit.

    >>> gate = Gate(3, of_place=2)
    >>> gate.enter("192.0.2.1"), gate.enter("192.0.2.1"), gate.enter("192.0.2.1"), gate.enter("192.0.2.2")
    (True, True, False, True)
    >>> gate.enter("192.0.2.3"), gate.leave("192.0.2.1"), gate.enter("192.0.2.3")
    (False, None, True)
    """

    def __init__(self, most: int, of_place: int = 0):
        """Start without any."""
        self._most, self._of_place = most, of_place
        self._open: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Count one more connection, and return whether there is room for it."""
        place = place_of(address)
        if self._open.total() >= self._most or (self._of_place and self._open[place] >= self._of_place):
            return False
        self._open[place] += 1
        return True

    def leave(self, address: str) -> None:
        """Count one connection less."""
        place = place_of(address)
        self._open[place] -= 1
        if self._open[place] <= 0:
            del self._open[place]  # many places come once


async def accept(listener: socket.socket, admit: Callable[[socket.socket, str], None]) -> None:
    """Accept connections until this is cancelled.

    Args:
        listener: The socket that listens.
        admit: Called with each connection and the address of its client. It must not wait.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            client, address = await loop.sock_accept(listener)
        except OSError:  # no file descriptor is left: wait until connections end
            await asyncio.sleep(_LATER)
            continue
        client.setblocking(False)
        admit(client, str(address[0]))


def cut(transport: asyncio.WriteTransport) -> None:
    """End a connection at once. What its client has not taken is thrown away, by the system too (a reset)."""
    connected = transport.get_extra_info("socket")
    if connected is not None:
        with suppress(OSError):
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
