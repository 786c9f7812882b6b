"""The protocol under attack: random bytes, bytes before TLS, long messages, exceptions, a second connection."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from discreet.serve.door import messages, results, tls
from discreet.serve.door.refusals import Refusal
from discreet.serve.door.variables import Variables
from tests.serve.door.conftest import Opened

SSL_REQUEST = struct.pack("!II", 8, messages.SSL_REQUEST)


def dial(door: Opened) -> socket.socket:
    return socket.create_connection((door.host, door.port), timeout=5)


def in_tls(door: Opened) -> ssl.SSLSocket:
    raw = dial(door)
    raw.sendall(SSL_REQUEST)
    assert raw.recv(1) == b"S"
    context = ssl.create_default_context(cafile=str(door.running.settings.folder / tls.CERTIFICATE))
    return context.wrap_socket(raw, server_hostname="127.0.0.1")


def signed_in(door: Opened) -> ssl.SSLSocket:
    client = in_tls(door)
    body = struct.pack("!I", 3 << 16) + b"user\0ana\0database\0trips\0options\0-c discreet.epsilon=1\0\0"
    client.sendall(struct.pack("!I", len(body) + 4) + body)
    client.sendall(message(b"p", door.running.tokens["ana"].encode() + b"\0"))
    assert until(client, b"Z")[-1][0] == b"Z"
    return client


def message(letter: bytes, body: bytes) -> bytes:
    return letter + struct.pack("!I", len(body) + 4) + body


def until(client: ssl.SSLSocket, last: bytes) -> list[tuple[bytes, bytes]]:
    """Read messages until one of this letter, or until the server closes."""
    found: list[tuple[bytes, bytes]] = []
    reader = client.makefile("rb")
    while head := reader.read(5):
        letter, size = struct.unpack("!cI", head)
        found.append((letter, reader.read(size - 4)))
        if letter == last:
            break
    return found


def test_random_bytes_leave_the_door_alive(door: Opened) -> None:
    """200 connections: noise in clear, noise after the TLS request, noise inside TLS before and after sign-in."""
    before = door.spent()
    for number in range(190):
        with dial(door) as client:
            client.settimeout(0.5)
            with suppress(OSError):
                client.sendall(os.urandom(64) if number % 2 else SSL_REQUEST + os.urandom(40))
                client.shutdown(socket.SHUT_WR)
                client.recv(100)
    for number in range(10):
        with suppress(OSError), in_tls(door) if number < 5 else signed_in(door) as client:
            client.settimeout(0.5)
            noise = os.urandom(200)
            letters = b"QPBDECSH"
            client.sendall(noise if number % 2 else b"".join(message(bytes([one]), noise[:40]) for one in letters))
            client.recv(4000)
    assert door.rows("select 1") == [(1,)]
    assert door.spent() == before
    assert '"event": "failed"' not in door.running.log.getvalue()


def test_a_text_that_would_keep_the_parser_busy_for_hours_is_refused(door: Opened) -> None:
    texts = [f"select {'array[' * 30}1{']' * 30}", "(" * 60_000, f"select {'a,' * 30_000}a"]
    with signed_in(door) as client:
        for text in texts:
            client.sendall(message(b"Q", text.encode() + b"\0"))
            assert [letter for letter, _ in until(client, b"Z")] == [b"E", b"Z"]
        client.sendall(message(b"Q", b"select 1\0"))
        assert b"D" in [letter for letter, _ in until(client, b"Z")]


def test_bytes_between_the_tls_request_and_the_handshake_are_not_read_as_secret(door: Opened) -> None:
    start = struct.pack("!I", 3 << 16) + b"user\0ana\0database\0trips\0\0"
    with dial(door) as client:
        client.sendall(SSL_REQUEST + struct.pack("!I", len(start) + 4) + start)
        with suppress(OSError):
            assert client.recv(100) in (b"", b"S")  # and no handshake succeeds
            assert client.recv(100) == b""


def test_a_client_without_tls_is_refused_before_a_password_is_asked(door: Opened) -> None:
    start = struct.pack("!I", 3 << 16) + b"user\0ana\0database\0trips\0\0"
    with dial(door) as client:
        client.sendall(struct.pack("!I", len(start) + 4) + start)
        answered = client.recv(1000)
        assert answered[:1] == b"E"
        assert b"TLS only" in answered
        assert b"sslmode=require" in answered
        assert client.recv(100) == b""


@pytest.mark.parametrize(("inside", "size"), [(False, 8193), (True, 65_537), (True, 2**31), (True, 3)])
def test_a_message_that_is_too_long_ends_the_connection(door: Opened, inside: bool, size: int) -> None:
    with signed_in(door) if inside else in_tls(door) as client:
        client.sendall((b"Q" if inside else b"") + struct.pack("!I", size) + b"\0\3\0\0")
        (only,) = until(client, b"")
        assert only[0] == b"E"
        assert b"08P01" in only[1]


def test_an_error_skips_to_sync_and_a_portal_gives_rows_in_parts(door: Opened) -> None:
    with signed_in(door) as client:

        def parse(sql: bytes) -> bytes:
            return message(b"P", b"\0" + sql + b"\0\0\0")

        bind, sync = message(b"B", b"\0\0" + b"\0\0" * 3), message(b"S", b"")
        execute = message(b"E", b"\0" + struct.pack("!I", 3))
        client.sendall(parse(b"select nothing from nowhere") + bind + message(b"D", b"P\0") + execute + sync)
        assert [letter for letter, _ in until(client, b"Z")] == [b"1", b"2", b"E", b"Z"]
        client.sendall(parse(b"select city, count(*) from trips group by 1") + bind + execute + execute + sync)
        letters = b"".join(letter for letter, _ in until(client, b"Z")).replace(b"N", b"")
        assert letters == b"12" + b"DDDs" + b"DC" + b"Z"
        client.sendall(parse(b"") + bind + message(b"D", b"P\0") + execute + message(b"C", b"P\0") + sync)
        assert b"".join(letter for letter, _ in until(client, b"Z")) == b"12nI3Z"


def test_no_text_of_an_exception_reaches_the_client_or_the_log(
    door: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.serve.door import session

    def failing(*_: Any) -> None:
        raise ValueError("secret 4711")

    monkeypatch.setattr(session, "_notices", failing)
    with door.connected() as connection:
        with pytest.raises(psycopg.errors.InternalError_) as failed:
            connection.execute("select count(*) from trips")
        assert "4711" not in str(failed.value)
        assert connection.execute("select 1").fetchone() == (1,)
    assert "4711" not in door.running.log.getvalue()
    assert '"kind": "ValueError"' in door.running.log.getvalue()
    door.running.log.truncate(0)


def test_a_second_connection_of_an_account_waits_for_its_turn(door: Opened) -> None:
    """While a question runs, nothing else of the same analyst is answered: it would measure the server."""
    running = door.running.service.questions._running
    with door.connected() as second:
        running["ana"] = cast(Any, object())  # a question at another door
        thread = threading.Thread(target=second.execute, args=["select 1"])
        try:
            thread.start()
            thread.join(0.3)
            assert thread.is_alive()
        finally:
            del running["ana"]
        thread.join(30)
        assert not thread.is_alive()


def test_the_first_run_makes_a_certificate_whose_key_only_the_owner_reads(door: Opened, tmp_path: Path) -> None:
    folder = door.running.settings.folder
    assert (folder / tls.KEY).stat().st_mode & 0o777 == 0o600
    tls.context(tmp_path, "db.example")
    made = (tmp_path / tls.CERTIFICATE).read_bytes()
    tls.context(tmp_path, "db.example")
    assert (tmp_path / tls.CERTIFICATE).read_bytes() == made


def test_values_in_both_formats() -> None:
    assert results.encoded([None, "a b", 'c"d'], results.TEXTS, binary=False) == b'{NULL,"a b","c\\"d"}'
    assert results.encoded(float("inf"), results.FLOAT8, binary=False) == b"Infinity"
    numeric = struct.pack("!hhHhhh", 2, 0, 0x4000, 2, 12, 3400)
    assert results.read_parameter(numeric, results.NUMERIC, binary=True) == "-12.3400"
    for data, oid in ((b"\0", results.INT4), (b"\0" * 7, results.NUMERIC), (b"", results.DATE)):
        with pytest.raises(ValueError):
            results.read_parameter(data, oid, binary=True)


def test_settings_replace_each_other_and_return_to_the_start() -> None:
    variables = Variables({"user": "ana", "options": "-c discreet.spend=1%"})
    variables.set("discreet.within", "200")
    assert variables.price == {"within": 200.0}
    variables.reset("all")
    assert variables.price == {"spend": "1%"}
    with pytest.raises(Refusal, match="UTF-8"):
        variables.set("client_encoding", "LATIN1")
