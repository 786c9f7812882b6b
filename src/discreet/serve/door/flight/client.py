"""Know the client of a connection: its token, its vault, and its settings.

    authorization: Bearer TOKEN          or Basic with the name of the account and a token as password
    discreet.vault: trips                which vault; the only one of the account by default
    discreet.epsilon: 0.1                a setting for this call alone

Every call brings its token, which is looked up each time. What `SET` changes belongs to the connection and to the
token that changed it: one connection may carry the calls of several people.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from discreet.serve.accounts import Actor
from discreet.serve.door.flight.grpc import Call
from discreet.serve.door.listener import Visit
from discreet.serve.door.reception import Reception
from discreet.serve.door.refusals import Refusal
from discreet.serve.door.session import Session
from discreet.serve.door.variables import PREFIX

VAULT = f"{PREFIX}vault"
_BEGINS = "A client can begin with it: the option adbc.flight.sql.rpc.call_header.discreet.epsilon."
_MOST_SESSIONS = 16  # of one connection

Key = TypeVar("Key")


@dataclass
class Client:
    """The client of one connection, which may speak for several accounts.

    Args:
        reception: Signs clients in, at all doors.
        visit: The connection.
        limit: The time to sign in, which ends with the first token that is right.
    """

    reception: Reception
    visit: Visit
    limit: asyncio.Timeout
    sessions: OrderedDict[tuple[str, str], Session] = field(default_factory=OrderedDict, repr=False)
    vaults: OrderedDict[str, str] = field(default_factory=OrderedDict)

    async def caller(self, call: Call) -> Caller:
        """Return who calls, or refuse the call."""
        service = self.reception.service
        service.requests.take(f"address {self.visit.address}")
        name, token = credentials(call.headers.get("authorization", ""))
        found = await asyncio.to_thread(service.accounts.by_token, token)
        if name is not None and name != found.name:
            raise _wrong()
        self.visit.stranger = False
        if self.limit.when() is not None:
            self.limit.reschedule(None)
        return Caller(self, call, found, token)

    def only(self, actor: Actor) -> str:
        """Return the only vault of an account, or refuse to choose one."""
        names = self.reception.service.vaults.names_for(actor)
        if len(names) != 1:
            listed = f" There are {', '.join(names[:20])}." if names else " There is none for you."
            option = f"adbc.flight.sql.rpc.call_header.{VAULT}"
            raise Refusal("Say which vault you ask.", "3D000", f"Set the option {option}.{listed}")
        return names[0]


@dataclass
class Caller:
    """The account behind one call.

    Args:
        client: The connection.
        call: The call.
        actor: The account, from its token.
        token: The token.
    """

    client: Client
    call: Call
    actor: Actor
    token: str = field(repr=False)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until nothing else of the account runs, at any door, and count the call."""
        reception = self.client.reception
        async with reception.analyst(self.actor.name, "", self.token).turn():
            reception.service.requests.take(f"account {self.actor.name}")
            yield

    async def session(self, vault: str = "") -> Session:
        """Return the session of the call, in the turn of the account. Token and rights are looked up again.

        Args:
            vault: The vault, if a ticket names it; what the call or the connection says by default.
        """
        client, name = self.client, self.actor.name
        vault = vault or self.call.headers.get(VAULT) or client.vaults.get(name) or client.only(self.actor)
        key = (self.token, vault)
        analyst = client.reception.analyst(name, vault, self.token)
        await analyst.actor()
        if key not in client.sessions:
            client.sessions[key] = await client.reception.session(analyst, {}, _BEGINS)
        _keep(client.sessions, key)
        return client.sessions[key]

    def choose(self, vault: str) -> None:
        """Let the calls of the account on this connection ask another vault."""
        self.client.reception.service.vaults.place_for(self.actor, vault)
        self.client.vaults[self.actor.name] = vault
        _keep(self.client.vaults, self.actor.name)

    def forget(self) -> None:
        """Forget what the account has set on this connection."""
        self.client.vaults.pop(self.actor.name, None)
        for key in [key for key in self.client.sessions if key[0] == self.token]:
            del self.client.sessions[key]


def _keep(found: OrderedDict[Key, Any], key: Key) -> None:
    """Keep the last used ones."""
    found.move_to_end(key)
    while len(found) > _MOST_SESSIONS:
        found.popitem(last=False)


def settings(call: Call) -> dict[str, str]:
    """Return the settings that a call brings in its headers."""
    return {name: one for name, one in call.headers.items() if name.startswith(PREFIX) and name != VAULT}


def credentials(header: str) -> tuple[str | None, str]:
    """Return the name, if one is given, and the token of a header, or refuse it. Drivers leave the padding out.

    >>> credentials("Bearer a-token"), credentials("Basic YW5hOmEtdG9rZW4")
    ((None, 'a-token'), ('ana', 'a-token'))
    """
    scheme, _, rest = header.partition(" ")
    if scheme.lower() == "bearer" and rest:
        return None, rest.strip()
    if scheme.lower() == "basic":
        try:
            decoded = base64.b64decode(rest.strip() + "=" * (-len(rest.strip()) % 4), validate=True).decode()
        except (binascii.Error, ValueError):
            raise _wrong() from None
        name, _, token = decoded.partition(":")
        return name, token
    raise Refusal(
        "This call has no token.", "28P01", "Give the name of an account, and a token of it as password."
    )


def _wrong() -> Refusal:
    hint = "The username is the name of an account, and the password is a token of it."
    return Refusal("The name, the token or both are wrong.", "28P01", hint)
