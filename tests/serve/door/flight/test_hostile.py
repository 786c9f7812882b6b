"""The protocol under attack: random bytes and messages, exceptions, large messages, floods, silent clients."""

from __future__ import annotations

import os
import random
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    SettingsAcknowledged,
    StreamEnded,
    StreamReset,
)
from h2.settings import SettingCodes

from discreet.serve.door.flight import FlightDoor, calls, client, facts, grpc, tables
from discreet.serve.door.flight.calls import SERVICE
from discreet.serve.door.flight.protobuf import encode, pack
from discreet.serve.door.flight.statuses import Status
from discreet.serve.limits import Gate
from discreet.serve.server import FLIGHT
from tests.serve.door.flight.conftest import Flown

METHODS = ("GetFlightInfo", "GetSchema", "DoGet", "DoAction", "ListActions", "DoPut", "DoExchange", "Handshake")
COMMANDS = (
    *facts.COMMANDS,
    *("CommandStatementQuery", "CommandPreparedStatementQuery", "TicketStatementQuery", "CommandStatementUpdate"),
)
ACTIONS = (
    *("CreatePreparedStatement", "ClosePreparedStatement", "SetSessionOptions", "GetSessionOptions"),
    *("CloseSession", "BeginTransaction", "CancelFlightInfo", "Nothing"),
)
SECRET = "secret 4711"


class Raw:
    """A client of HTTP/2 that sends what a test wants."""

    def __init__(self, flown: Flown, who: str | None = "ana"):
        raw = socket.create_connection((flown.host, flown.port), timeout=10)
        self.socket = flown.context().wrap_socket(raw, server_hostname=flown.host)
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.headers = [
            (":method", "POST"), (":scheme", "https"), (":authority", "discreet"),
            ("content-type", "application/grpc"), ("te", "trailers"),
        ]  # fmt: skip
        if who is not None:
            self.headers.append(("authorization", f"Bearer {flown.door.running.tokens[who]}"))
        self.headers.append(("discreet.epsilon", "1"))

    def begin(self, window: int | None = None) -> None:
        self.h2.initiate_connection()
        self.flush()
        if window is not None:
            self.until(SettingsAcknowledged)
            self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})
            self.flush()
            self.until(SettingsAcknowledged)

    def call(self, name: str, message: bytes, *, end: bool = True) -> int:
        number = self.h2.get_next_available_stream_id()
        self.h2.send_headers(number, [(":path", SERVICE + name), *self.headers])
        self.h2.send_data(number, b"\0" + len(message).to_bytes(4, "big") + message, end_stream=end)
        self.flush()
        return number

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def events(self) -> Iterator[Event]:
        """Return what the server sends, until it closes."""
        with suppress(ConnectionError, ssl.SSLError):
            while data := self.socket.recv(65_536):
                yield from self.h2.receive_data(data)
                self.flush()

    def until(self, *kinds: type[Event]) -> list[Event]:
        found: list[Event] = []
        for event in self.events():
            found.append(event)
            if isinstance(event, kinds):
                break
        return found


@contextmanager
def opened(flown: Flown, who: str | None = "ana", window: int | None = None) -> Iterator[Raw]:
    raw = Raw(flown, who)
    with raw.socket:
        raw.begin(window)
        yield raw


def alive(flown: Flown) -> None:
    assert flown.rows("select 1") == [(1,)]
    assert '"event": "failed"' not in flown.door.running.log.getvalue()


def test_random_bytes_leave_the_door_alive(flown: Flown) -> None:
    """Noise in clear, noise inside TLS, and noise after a proper beginning of HTTP/2."""
    before = flown.door.spent()
    for _ in range(60):
        with socket.create_connection((flown.host, flown.port), timeout=5) as plain, suppress(OSError):
            plain.sendall(os.urandom(64))
            plain.shutdown(socket.SHUT_WR)
            plain.recv(100)
    for number in range(20):
        raw = Raw(flown)
        with raw.socket, suppress(OSError):
            if number % 2:
                raw.begin()
                kind = bytes([number % 11])  # a frame of each kind, with the right size and a wrong content
                raw.socket.sendall(b"\0\0\x20" + kind + os.urandom(1) + b"\0\0\0" + bytes([number % 4]))
            raw.socket.sendall(os.urandom(32))
            raw.socket.shutdown(socket.SHUT_WR)
            raw.socket.recv(1000)
    alive(flown)
    assert flown.door.spent() == before


def test_random_messages_are_refused_in_words_of_ours_and_charge_nothing(flown: Flown) -> None:
    """600 calls with a valid token: random bytes, random fields in known messages, wrong frames."""
    before = flown.door.spent()
    draw = random.Random(20)  # the same calls in every run

    def fields() -> dict[int, Any]:
        texts = (b"trips", b"%", b"", b"\xff\xfe", b"select 1", b"{}", draw.randbytes(9))
        values = (*texts, 0, 1, -1, 2**63, [b"a", 3], encode({1: b"x", 2: encode({1: b"1"})}))
        return {draw.randint(1, 6): draw.choice(values) for _ in range(draw.randint(0, 4))}

    def message(name: str) -> bytes:
        if draw.random() < 0.3:
            return draw.randbytes(draw.randint(0, 60))
        command = pack(draw.choice(COMMANDS), fields())
        if name == "DoAction":
            action = draw.choice(ACTIONS).encode()
            return encode({1: action, 2: draw.choice([command, encode(fields()), draw.randbytes(8)])})
        return encode({1: command if name == "DoGet" else 2, 2: command})

    statuses = set()
    with flown.caller("bo") as call:
        for number in range(600):
            name = METHODS[number % len(METHODS)]
            status, words, _ = call(name, message(name), framed=draw.random() < 0.95)
            statuses.add(status)
            assert "Traceback" not in words
            assert "Error" not in words
    assert Status.INTERNAL not in statuses
    assert Status.INVALID_ARGUMENT in statuses
    alive(flown)
    assert flown.door.spent() == before


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (tables, "schema_of"),
        (tables, "schema_bytes"),
        (tables, "_flight_data"),
        (tables, "table_of"),
        (calls, "parsed"),
        (calls, "settings"),
        (client, "credentials"),
        (grpc, "_message"),
    ],
)
def test_no_text_of_an_exception_reaches_the_client_or_the_log(
    flown: Flown, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    def failing(*_: Any) -> None:
        raise ValueError(SECRET)

    query = pack("CommandStatementQuery", {1: b"select 1"})
    with flown.caller() as call:
        info = call("GetFlightInfo", encode({1: 2, 2: query}))[2][5:]
        ticket = facts_of(info)
        monkeypatch.setattr(owner, name, failing)
        replies = [call("GetFlightInfo", encode({1: 2, 2: query})), call("DoGet", encode({1: ticket}))]
    log = flown.door.running.log
    assert any(status == Status.INTERNAL for status, _, _ in replies)
    for status, words, content in replies:
        assert SECRET.encode() not in content
        assert status in (-1, Status.INTERNAL)
        assert words in ("", "The service failed. The ledger shows what was charged; the same question is not"
                             " charged twice.")  # fmt: skip
    assert SECRET not in log.getvalue()
    assert '"kind": "ValueError"' in log.getvalue()
    log.truncate(0)


def facts_of(info: bytes) -> bytes:
    """Return the ticket of a FlightInfo."""
    from pyarrow import flight

    ticket: bytes = flight.FlightInfo.deserialize(info).endpoints[0].ticket.ticket
    return ticket


def test_a_message_that_is_too_large_is_refused_and_not_kept(flown: Flown) -> None:
    with flown.caller() as call:
        status, words, _ = call("GetFlightInfo", b"\0" * (grpc.MOST_BYTES + 1))
        assert (status, words) == (
            Status.RESOURCE_EXHAUSTED,
            "A message has at most 64 kB. Send a shorter statement.",
        )
        assert call("GetFlightInfo", b"\0" * grpc.MOST_BYTES)[0] == Status.INVALID_ARGUMENT
        assert call("DoAction", b"", framed=False)[0] == Status.INVALID_ARGUMENT
        assert call("/other.Service/GetFlightInfo", b"")[0] == Status.UNIMPLEMENTED
    with flown.caller(None) as call:
        assert call("GetFlightInfo", b"")[0] == Status.UNAUTHENTICATED
    alive(flown)


def test_a_client_has_few_calls_at_a_time(flown: Flown) -> None:
    with opened(flown) as raw:
        numbers = [raw.call("GetFlightInfo", b"", end=False) for _ in range(grpc.MOST_CALLS + 1)]
        reset = raw.until(StreamReset)[-1]
        assert isinstance(reset, StreamReset)
        assert reset.stream_id == numbers[-1]


def test_a_flood_of_frames_ends_the_connection(flown: Flown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc, "MOST_FRAMES", 50)
    with opened(flown) as raw:
        for _ in range(60):
            raw.h2.ping(b"12345678")
        raw.flush()
        assert isinstance(raw.until(ConnectionTerminated)[-1], ConnectionTerminated)
    alive(flown)


def test_a_stranger_has_a_limited_time_and_a_client_that_signed_in_has_not(
    flown: Flown, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(flown, monkeypatch, door_sign_in_seconds=0.5)
    with opened(flown) as known, opened(flown, None) as stranger:
        known.call("ListActions", b"")
        assert known.until(StreamEnded)
        stranger.call("ListActions", b"")
        assert any(isinstance(event, ResponseReceived) for event in stranger.until(StreamEnded))
        assert [*stranger.events()] == []  # until the server closes
        known.call("ListActions", b"")
        assert isinstance(known.until(StreamEnded)[-1], StreamEnded)


def test_a_client_that_sends_nothing_for_long_is_disconnected(
    flown: Flown, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(flown, monkeypatch, door_idle=0.2)
    with opened(flown) as raw:
        raw.call("ListActions", b"")
        assert raw.until(StreamEnded)
        assert [*raw.events()] == []  # until the server closes
    alive(flown)


def test_an_account_has_so_many_connections_and_one_address_so_many_strangers(
    flown: Flown, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(flown, monkeypatch, door_connections_per_account=1)
    with opened(flown, "bo") as first, flown.caller("bo") as second:
        first.call("ListActions", b"")
        assert first.until(StreamEnded)
        status, words, _ = second("ListActions", b"")
        assert (status, words) == (
            Status.RESOURCE_EXHAUSTED,
            "Too many connections of this account. Close some of them.",
        )
    listener, until = door_of(flown)._listener, time.monotonic() + 30
    with flown.door.running.client() as http:  # each look is a request, after which the door has gone on
        while listener._visits and time.monotonic() < until:
            http.get("/health")
    assert not listener._visits
    monkeypatch.setattr(listener, "_strangers", Gate(100, of_place=1))
    with opened(flown, None) as one:
        one.call("ListActions", b"")
        assert one.until(StreamEnded)
        with pytest.raises(OSError):
            opened(flown, None).__enter__()
    alive(flown)


def test_a_client_that_does_not_read_loses_its_connection(flown: Flown, monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(flown, monkeypatch, stall_seconds=0.2)
    with opened(flown, window=10) as raw:
        raw.call("ListActions", b"")
        events = raw.until(StreamEnded)
        assert events
        assert not isinstance(events[-1], StreamEnded)
    alive(flown)
    assert door_of(flown).waiting.size == 0


def test_answers_that_are_not_read_do_not_fill_the_memory(flown: Flown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MOST_WAITING", 200)
    with opened(flown, "bo", window=10) as silent, opened(flown, "cy") as raw:
        silent.call("ListActions", b"")
        assert silent.until(DataReceived)  # the first bytes of its answer, and it opens no window for the rest
        with flown.caller("cy") as call:
            status, words, _ = call("ListActions", b"")
            assert (status, words.split(".")[0]) == (Status.RESOURCE_EXHAUSTED, "Too many answers wait to be read")
        silent.h2.reset_stream(1)
        silent.flush()
        silent.call("CloseSession", b"")  # which is answered after the reset was seen
        silent.until(StreamEnded)
        raw.call("ListActions", b"")
        assert isinstance(raw.until(StreamEnded)[-1], StreamEnded)
    assert door_of(flown).waiting.size == 0


def hasten(flown: Flown, monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    """Give clients that come from now on less time, or fewer connections."""
    door = door_of(flown)
    hasty = replace(door.service, settings=replace(door.service.settings, **limits))  # type: ignore[arg-type]
    monkeypatch.setattr(door, "service", hasty)
    monkeypatch.setattr(door._listener, "_service", hasty)


def door_of(flown: Flown) -> FlightDoor:
    found = flown.door.running.server._doors[FLIGHT]
    assert isinstance(found, FlightDoor)
    return found


def test_a_question_whose_client_has_gone_goes_on_and_is_charged_once(flown: Flown) -> None:
    before, log = flown.door.spent(), flown.door.running.log
    sql = "select count(*) from trips where minutes < 7"
    query = pack("CommandStatementQuery", {1: sql.encode()})
    with flown.caller() as call, opened(flown) as raw:
        ticket = facts_of(call("GetFlightInfo", encode({1: 2, 2: query}), **{"discreet.epsilon": "1"})[2][5:])
        log.forget()
        number = raw.call("DoGet", encode({1: ticket}))
        log.wait_for('"event": "accepted"', '"analyst": "ana"')
        raw.h2.reset_stream(number)
        raw.flush()
        log.wait_for('"event": "question"', '"status": 200')
        assert b"This used 1 % of the budget" in call("DoGet", encode({1: ticket}))[2]
    assert flown.door.spent() == before + 1
