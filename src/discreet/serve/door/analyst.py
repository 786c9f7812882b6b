"""Carry the statements of one signed-in client to the service: rights, turns, rates, workers.

* The token is looked up with every statement, so one that is revoked, or a grant that is withdrawn, ends at once.
* An account has one turn: while a statement of theirs runs, at this door or another one, all other connections of
  the account wait. A second connection would measure how busy the machine is (`questions`).
* A recorded question is free and always answered. Fresh ones have a limit per minute: dashboards refresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import AlreadyRunning, DiscreetError
from discreet.serve.accounts import Actor
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.door.refusals import CANCELLED, Refusal, refusal_of
from discreet.serve.limits import Rate
from discreet.serve.service import Service

PATIENCE = 10
"""A client waits so many deadlines for an answer. The question goes on afterwards, and is recorded."""


class Turns:
    """One turn for each account."""

    def __init__(self) -> None:
        """Start without any."""
        self._locks: dict[str, asyncio.Lock] = {}

    def of(self, name: str) -> asyncio.Lock:
        """Return the turn of an account."""
        return self._locks.setdefault(name, asyncio.Lock())


@dataclass
class Analyst:
    """A client that has signed in.

    Args:
        service: The parts of the service.
        turns: The turns of all accounts.
        fresh: The limit on fresh questions.
        name: The account.
        vault: The vault, which the client calls the database.
        token: What the client sent as its password.
    """

    service: Service
    turns: Turns
    fresh: Rate
    name: str
    vault: str
    token: str = field(repr=False)

    async def actor(self) -> Actor:
        """Return who this is now, or refuse a token that has ended."""
        try:
            found = await asyncio.to_thread(self.service.accounts.by_token, self.token)
            if found.name != self.name:
                raise _wrong()
            self.service.vaults.place_for(found, self.vault)
        except DiscreetError as error:
            refused = refusal_of(error)
            if refused.state == "28P01":
                raise _wrong() from None
            raise Refusal(refused.message, refused.state, refused.hint, fatal=True) from None
        return found

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until nothing else of the account runs."""
        async with self.turns.of(self.name):
            await self._alone()
            yield

    async def _alone(self) -> None:
        """Wait for a question at another door. Its end shows at its tick, here as there."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.service.settings.deadline * PATIENCE
        while True:
            try:
                return await self.service.questions.expect_alone(self.name)
            except AlreadyRunning as error:  # which comes a quantum later
                if loop.time() > until:
                    raise refusal_of(error) from None

    async def describe(self) -> dict[str, Any]:
        """Return the public facts about the vault."""
        return await self._run("describe", {})

    async def preview(self, sql: str, price: Mapping[str, Any], purpose: str | None) -> dict[str, Any]:
        """Return cost and columns of a question. It is free."""
        return await self._run("preview", {"sql": sql, **price}, purpose)

    async def ask(
        self, sql: str, price: Mapping[str, Any], purpose: str | None, *, free: bool, key: str = ""
    ) -> dict[str, Any]:
        """Return the answer to a question, as JSON.

        Args:
            sql: The question.
            price: What it may cost.
            purpose: The purpose that is charged as well.
            free: Whether it is recorded.
            key: The idempotency key, if the client can send it again; none by default.
        """
        if not free:
            try:
                self.fresh.take(f"account {self.name}")
            except DiscreetError as error:
                self.service.metrics.count("refused_rate")
                refused = refusal_of(error)
                hint = f"Questions that were asked before are free and not limited. {refused.hint}"
                raise Refusal("Too many new questions in a minute.", refused.state, hint) from None
        return await self._run("ask", {"sql": sql, **price}, purpose, key)

    async def _run(
        self, verb: str, arguments: dict[str, Any], purpose: str | None = None, key: str = ""
    ) -> dict[str, Any]:
        actor = await self.actor()
        questions, loop = self.service.questions, asyncio.get_running_loop()
        until = loop.time() + self.service.settings.deadline * PATIENCE
        try:
            actor.expect(verb, purpose=purpose, vault=self.vault)
            reply = await questions.run(actor, self.vault, verb, arguments, purpose=purpose, key=key)
            while reply.status == RUNNING and loop.time() < until:
                reply = await questions.poll(actor, reply.id)
        except DiscreetError as error:
            raise refusal_of(error) from None
        if reply.status == RUNNING:
            raise Refusal(
                "This question takes longer than a connection waits. It goes on, and is charged.",
                CANCELLED,
                "Send it again later: then it is answered from the record, and free.",
            )
        refused = reply.error
        if refused is not None:
            raise refusal_of(refused)
        body: dict[str, Any] = reply.body
        return body


def _wrong() -> Refusal:
    """Return the refusal of a sign-in. It does not say which part is wrong."""
    hint = "The user is the name of an account, and the password is a token of it."
    return Refusal("The name, the token or both are wrong.", "28P01", hint, fatal=True)
