"""Clients that keep the door waiting: before and during TLS, before sign-in, idle, amid a message, not reading."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest

from discreet.serve.accounts import Role
from discreet.serve.server import POSTGRESQL
from tests.serve.conftest import started
from tests.serve.door.conftest import Opened, sealed_trips
from tests.serve.door.test_protocol import SSL_REQUEST, dial, in_tls, message, signed_in, until

START = struct.pack("!II", 8 + 9, 3 << 16) + b"user\0ana\0"
SECONDS, MOST = 3, 10


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("hasty")
    sealed_trips(folder)
    made = started(
        folder,
        door_port=0,
        door_sign_in_seconds=SECONDS,
        door_idle=SECONDS,
        stall_seconds=0.3,
        connections_per_address=MOST,
        door_connections_per_account=2,
    )
    made.account("ana", Role.ANALYST, "trips")
    yield Opened(made, *made.server.doors[POSTGRESQL])
    made.stop()


@pytest.fixture(autouse=True)
def alone(hasty: Opened) -> Iterator[None]:
    """Let each test begin when the door has seen the clients of the last one leave. Each look is a request."""
    yield
    door = hasty.running.server._doors[POSTGRESQL]
    until, visits = time.monotonic() + 30, door._listener._visits
    with hasty.running.client() as client:
        while visits and time.monotonic() < until:
            client.get("/health")
    assert not visits


def wait_for_the_end(client: socket.socket) -> bytes:
    """Read until the door closes. A door without a limit lets the deadline of the socket pass, which fails."""
    client.settimeout(30)
    found = b""
    with suppress(ConnectionResetError):
        while part := client.recv(1000):
            found += part
    return found


def test_strangers_are_disconnected_wherever_they_stop(hasty: Opened) -> None:
    """All at once, so that their seconds pass together. In the end there is room again."""
    with ExitStack() as stack:
        in_clear = [stack.enter_context(dial(hasty)) for _ in range(4)]
        for client, sent in zip(in_clear, (b"", SSL_REQUEST[:3], SSL_REQUEST, SSL_REQUEST + b"\x16"), strict=True):
            client.sendall(sent)
        inside = [stack.enter_context(in_tls(hasty)) for _ in range(3)]
        for client, sent in zip(inside, (b"", START[:9], START), strict=True):
            client.sendall(sent)
        for client in [*in_clear, *inside]:
            wait_for_the_end(client)
    assert hasty.rows("select 1") == [(1,)]


def test_strangers_of_one_address_are_few(hasty: Opened) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(dial(hasty)) for _ in range(MOST + 1)]
        assert wait_for_the_end(clients[-1]) == b""
        clients[0].setblocking(False)
        with pytest.raises(BlockingIOError):
            clients[0].recv(1)  # the first one is still waited for


def test_who_has_signed_in_must_send_a_message_and_finish_it(hasty: Opened) -> None:
    with signed_in(hasty) as idle, signed_in(hasty) as half:
        refused = pytest.raises(psycopg.OperationalError, match="Too many connections of this account")
        with refused:  # each account has two
            hasty.rows("select 1")
        half.sendall(message(b"Q", b"select 1\0")[:7])
        idle.settimeout(30)
        assert b"C57P05\0" in until(idle, b"E")[-1][1]  # it is told why
        assert wait_for_the_end(half) == b""


def test_a_client_that_does_not_take_rows_does_not_hold_the_turn_of_its_account(hasty: Opened) -> None:
    """While rows are sent, the account has its turn: one that does not read would lock out its other tools."""
    with signed_in(hasty) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(message(b"Q", b"select * from generate_series(1, 200000)\0") * 8)
        closed = select.poll()
        closed.register(client.fileno(), select.POLLRDHUP)
        assert closed.poll(60_000)
    assert hasty.rows("select 1") == [(1,)]
