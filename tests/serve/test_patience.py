"""Clients that keep the server waiting, on real sockets: each is disconnected by its own limit, no other is."""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.serve.door import tls
from discreet.serve.settings import Settings
from tests.serve.conftest import Running, started

LIMITS: dict[str, Any] = {
    "head_seconds": 0.3,
    "body_seconds": 0.3,
    "stall_seconds": 0.3,
    "slowest_body": 1 << 20,
    "idle_seconds": 1,
}
HOST = b"host: localhost\r\n"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = started(tmp_path_factory.mktemp("hasty"), **LIMITS, connections_per_address=8)
    made.tokens["curator"] = made.service.accounts.first_run() or ""
    yield made
    made.stop()


def dial(running: Running) -> socket.socket:
    host, port = running.address.removeprefix("http://").removeprefix("https://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)


def rest_of(client: socket.socket) -> bytes:
    """Read until the server closes: a server without a limit lets the deadline of the socket pass, which fails."""
    found = b""
    with suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            found += part
    return found


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HTTP/1.1\r\n" + HOST,
        b"POST /s/0/reports HTTP/1.1\r\n" + HOST + b"content-length: 100\r\n\r\n12",
        b"POST /s/0/reports HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n2\r\n12\r\n",
        b"POST /api/v1/vaults/a/ask HTTP/1.1\r\n" + HOST + b"content-length: 100\r\n\r\n12",
    ],
    ids=["nothing", "half a head", "half a body", "half a chunked body", "half a body with a reply"],
)
def test_a_client_that_stops_in_the_middle_of_a_request_is_disconnected(hasty: Running, sent: bytes) -> None:
    """The last one is refused before its body is read; the server must not read what follows for ever."""
    with dial(hasty) as client:
        client.sendall(sent)
        rest_of(client)


def test_a_head_that_arrives_byte_by_byte_is_cut_although_it_never_pauses(hasty: Running) -> None:
    """A limit on pauses alone would let one byte a second hold a connection."""
    with dial(hasty) as client, suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(b"GET /health HTTP/1.1\r\nx-slow: ")
        client.settimeout(0.02)
        for _ in range(1500):
            client.sendall(b"x")
            with suppress(TimeoutError):
                assert client.recv(1) == b"", "the server must close, and not answer"
                return
        pytest.fail("the server was still waiting for the head")


def test_the_second_head_of_a_connection_has_its_own_time(hasty: Running) -> None:
    with dial(hasty) as client:
        request = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
        client.sendall(request)
        while not client.recv(1 << 16).endswith(b"ok"):
            pass
        client.sendall(request[:20])
        assert rest_of(client) == b""


def test_a_connection_without_requests_ends(hasty: Running) -> None:
    with dial(hasty) as client:
        client.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")
        assert rest_of(client).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_take_its_reply_is_disconnected(hasty: Running) -> None:
    """The description of the API is long: when it is asked for many times, much of it waits for the client."""
    with dial(hasty) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = b"GET /schema/openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"
        client.sendall(request * 200)
        closed = select.poll()
        closed.register(client, select.POLLRDHUP)  # a reset is reported as well; what waits to be read is not
        assert closed.poll(30_000)


def test_one_address_has_so_many_connections_and_they_come_back(hasty: Running) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(dial(hasty)) for _ in range(9)]
        assert rest_of(clients[-1]) == b""  # the ninth is closed at once; the others, by their limit
        for client in clients[:-1]:
            rest_of(client)
    with hasty.client() as again:
        assert again.get("/health").text == "ok"


def test_a_slow_upload_that_keeps_moving_is_not_cut(tmp_path: Path) -> None:
    """The time of a body grows with what has arrived: 2 kB are ten seconds more at 200 bytes a second."""
    made = started(tmp_path, **{**LIMITS, "slowest_body": 200, "body_seconds": 1})
    try:
        with dial(made) as client:
            form = b"content-type: application/x-www-form-urlencoded\r\nsec-fetch-site: same-origin\r\n"
            head = b"POST /login HTTP/1.1\r\n" + HOST + form + b"connection: close\r\ncontent-length: 2000\r\n\r\n"
            client.sendall(head)
            for _ in range(20):
                client.sendall(b"x" * 100)
                client.settimeout(0.06)
                with suppress(TimeoutError):
                    client.recv(1, socket.MSG_PEEK)
            client.settimeout(30)
            assert rest_of(client).startswith(b"HTTP/1.1 4")
    finally:
        made.stop()


def test_a_client_that_never_begins_tls_is_disconnected_and_counted(tmp_path: Path) -> None:
    """Without a count before TLS, a thousand silent connections would take a thousand file descriptors."""
    tls.context(tmp_path, "127.0.0.1", "", "")
    certificate, key = tmp_path / tls.CERTIFICATE, tmp_path / tls.KEY
    made = started(
        tmp_path, **LIMITS, connections_per_address=2, tls_certificate=str(certificate), tls_key=str(key)
    )
    try:
        with dial(made) as first, dial(made) as second, dial(made) as third:
            assert rest_of(third) == b""
            assert rest_of(first) == rest_of(second) == b""
        context = ssl.create_default_context(cafile=str(certificate))
        with dial(made) as raw, context.wrap_socket(raw, server_hostname="127.0.0.1") as client:
            client.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n")
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 200")
    finally:
        made.stop()


def test_limits_are_settings_of_file_and_environment(tmp_path: Path) -> None:
    file = tmp_path / "discreet.toml"
    file.write_text("head_seconds = 2\nconnections_per_address = 7\n")
    found = Settings.read(tmp_path, config=file, environment={"DISCREET_SERVE_DOOR_IDLE": "60"})
    assert (found.head_seconds, found.connections_per_address, found.door_idle) == (2.0, 7, 60.0)
    with pytest.raises(ParameterError, match="head_seconds must be positive"):
        Settings.read(tmp_path, environment={"DISCREET_SERVE_HEAD_SECONDS": "0"})
