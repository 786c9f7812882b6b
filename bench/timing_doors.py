"""Ask a service through each of its three doors, as an attacker who looks at the clock does.

    http        a request of the API
    flight      Arrow Flight SQL, with pyarrow's client. A ticket is free, and is made before the clock starts: so
                the time is that of `DoGet`, where the question is computed
    postgres    the protocol of PostgreSQL, with psycopg

A `Login` is one token behind one door. What is timed runs from its first byte to the last byte of the reply.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

import httpx2
import psycopg
from pyarrow import flight

from discreet.serve.door import tls
from discreet.serve.door.flight.protobuf import pack
from discreet.serve.server import FLIGHT, POSTGRESQL

PRICE = "1/1000000"
LISTENS = {"flight": FLIGHT, "postgres": POSTGRESQL}
"""What the service calls the doors that are not HTTP, when it says where they listen."""
_CHANNELS = 4  # one connection of Flight SQL has 3,000 calls in a minute, and a probe makes more


class Login(Protocol):
    """One token behind one door."""

    def question(self, vault: str, sql: str) -> Callable[[], object]:
        """Prepare a question, and return the call that asks it and reads the whole reply."""
        ...

    def probe(self) -> object:
        """Send a request that needs no row, and wait for its reply or its refusal."""
        ...


class Http:
    """A login over HTTP.

    Args:
        address: Where the service listens.
        token: The token.
        opened: Closes the connection.
    """

    def __init__(self, address: str, token: str, opened: ExitStack) -> None:
        """Open the connection."""
        headers = {"Authorization": f"Bearer {token}"}
        self._client = opened.enter_context(httpx2.Client(base_url=address, headers=headers, timeout=600))

    def question(self, vault: str, sql: str) -> Callable[[], object]:
        """Return the request that asks. It is sent again if the second login was served first."""

        def asked() -> None:
            reply = None
            while reply is None or reply.status_code == 409:
                reply = self._client.post(f"/api/v1/vaults/{vault}/ask", json={"sql": sql, "epsilon": PRICE})
            assert reply.status_code == 200, reply.text

        return asked

    def probe(self) -> object:
        """Ask for the account."""
        return self._client.get("/api/v1/whoami")


class Flight:
    """A login at the door of Flight SQL.

    Args:
        address: Where the door listens.
        token: The token.
        certificate: The certificate of the door.
        opened: Closes the connections.
    """

    def __init__(self, address: tuple[str, int], token: str, certificate: Path, opened: ExitStack) -> None:
        """Open the connections."""
        self._headers = [(b"authorization", f"Bearer {token}".encode()), (b"discreet.epsilon", PRICE.encode())]
        uri, roots = f"grpc+tls://{address[0]}:{address[1]}", certificate.read_text()
        apart = [("grpc.use_local_subchannel_pool", 1)]  # else all of them share one connection
        made = [flight.connect(uri, tls_root_certs=roots, generic_options=apart) for _ in range(_CHANNELS)]
        self._clients = cycle([opened.enter_context(client) for client in made])

    def question(self, vault: str, sql: str) -> Callable[[], object]:
        """Return the call that fetches a ticket."""
        command = flight.FlightDescriptor.for_command(pack("CommandStatementQuery", {1: sql.encode()}))
        options = self._options(vault)
        ticket = next(self._clients).get_flight_info(command, options).endpoints[0].ticket
        return lambda: next(self._clients).do_get(ticket, options).read_all()

    def probe(self) -> object:
        """List the actions of the door."""
        return [*next(self._clients).list_actions(self._options("short"))]

    def _options(self, vault: str) -> Any:
        return flight.FlightCallOptions(headers=[*self._headers, (b"discreet.vault", vault.encode())], timeout=600)


class Postgres:
    """A login at the door of PostgreSQL, with a connection for each vault.

    Args:
        address: Where the door listens.
        user: The account.
        token: The token.
        certificate: The certificate of the door.
        opened: Closes the connections.
    """

    def __init__(
        self, address: tuple[str, int], user: str, token: str, certificate: Path, opened: ExitStack
    ) -> None:
        """Remember who signs in."""
        self._facts: dict[str, Any] = {
            "host": address[0],
            "port": address[1],
            "user": user,
            "password": token,
            "sslmode": "verify-full",
            "sslrootcert": str(certificate),
            "options": f"-c discreet.epsilon={PRICE}",
        }
        self._opened, self._connections = opened, dict[str, psycopg.Connection[Any]]()

    def question(self, vault: str, sql: str) -> Callable[[], object]:
        """Return the call that carries the statement out. The connection is made before."""
        connection = self._connection(vault)
        text = sql.encode()  # psycopg takes a text that is made at run time as bytes
        return lambda: connection.execute(text).fetchall()

    def probe(self) -> object:
        """Show a setting."""
        return self._connection("short").execute("show server_version").fetchall()

    def _connection(self, vault: str) -> psycopg.Connection[Any]:
        if vault not in self._connections:
            made = psycopg.connect(
                psycopg.conninfo.make_conninfo("", dbname=vault, **self._facts), autocommit=True
            )
            self._connections[vault] = self._opened.enter_context(made)
        return self._connections[vault]


def login(door: str, at: Any, user: str, token: str, folder: Path, opened: ExitStack) -> Login:
    """Open a login at a door.

    Args:
        door: One of "http", "flight", "postgres".
        at: Where the door listens: an address for HTTP, else host and port.
        user: The account.
        token: A token of the account.
        folder: The folder of the service, which holds the certificate of the doors.
        opened: Closes the connections.
    """
    certificate = folder / tls.CERTIFICATE
    if door == "http":
        return Http(at, token, opened)
    if door == "flight":
        return Flight(at, token, certificate, opened)
    return Postgres(at, user, token, certificate, opened)
