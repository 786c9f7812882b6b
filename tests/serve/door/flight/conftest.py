"""The door for clients of Flight SQL, with ADBC's own driver, pyarrow's client, and calls as bytes."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpcore2
import pytest
from adbc_driver_flightsql import dbapi
from pyarrow import flight

from discreet.serve.door import tls
from discreet.serve.door.flight.calls import SERVICE
from discreet.serve.server import FLIGHT
from tests.serve.door.conftest import Opened

ROOTS = "adbc.flight.sql.client_option.tls_root_certs"
HEADER = "adbc.flight.sql.rpc.call_header."


@dataclass
class Flown:
    """The door, and what tests need of it."""

    door: Opened
    host: str
    port: int

    @property
    def certificate(self) -> str:
        return (self.door.running.settings.folder / tls.CERTIFICATE).read_text()

    @property
    def uri(self) -> str:
        return f"grpc+tls://{self.host}:{self.port}"

    def options(self, who: str = "ana", epsilon: str = "1", **given: str) -> dict[str, str]:
        facts = {"username": who, "password": self.door.running.tokens[who], ROOTS: self.certificate}
        return {**facts, **({f"{HEADER}discreet.epsilon": epsilon} if epsilon else {}), **given}

    @contextmanager
    def connected(
        self, who: str = "ana", epsilon: str = "1", *, given: Mapping[str, str] | None = None, **more: Any
    ) -> Iterator[dbapi.Connection]:
        options = self.options(who, epsilon, **(given or {}))
        with dbapi.connect(more.pop("uri", self.uri), db_kwargs=options, autocommit=True, **more) as connection:
            yield connection

    def rows(self, sql: str, who: str = "ana", epsilon: str = "1", **given: Any) -> list[Any]:
        with self.connected(who, epsilon, **given) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    @contextmanager
    def client(self, who: str = "ana", epsilon: str = "1") -> Iterator[tuple[Any, Any]]:
        """Return pyarrow's client, and the headers of its calls."""
        headers = [(b"authorization", f"Bearer {self.door.running.tokens[who]}".encode())]
        headers += [(b"discreet.epsilon", epsilon.encode())]
        with flight.connect(self.uri, tls_root_certs=self.certificate) as client:
            yield client, flight.FlightCallOptions(headers=headers, timeout=60)

    def context(self) -> ssl.SSLContext:
        made = ssl.create_default_context(cadata=self.certificate)
        made.set_alpn_protocols(["h2"])
        return made

    @contextmanager
    def caller(self, who: str | None = "ana") -> Iterator[Any]:
        """Return a function that calls a method with bytes: its status and text, and the bytes of the answer."""
        with httpcore2.ConnectionPool(ssl_context=self.context(), http1=False, http2=True) as pool:

            def call(name: str, message: bytes, *, framed: bool = True, **headers: str) -> tuple[int, str, bytes]:
                sent = {"content-type": "application/grpc", "te": "trailers", **headers}
                if who is not None:
                    sent["authorization"] = f"Bearer {self.door.running.tokens[who]}"
                body = b"\0" + len(message).to_bytes(4, "big") + message if framed else message
                url = f"https://{self.host}:{self.port}{name if name.startswith('/') else SERVICE + name}"
                reply = pool.request("POST", url, headers=[*sent.items()], content=body)
                found = {key.decode(): value.decode() for key, value in reply.headers}
                return int(found.get("grpc-status", -1)), found.get("grpc-message", ""), reply.content

            yield call


@pytest.fixture(scope="session")
def flown(door: Opened) -> Flown:
    return Flown(door, *door.running.server.doors[FLIGHT])
