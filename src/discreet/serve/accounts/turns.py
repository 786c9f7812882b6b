"""Let one question of an account run at a time, in all server processes together.

Claims.

* A question has the account's slot alone (`slots`) from before it computes until its tick. So no other server, and
  no other request here, computes for the same account meanwhile: it would measure how busy the machine is.
* What reads public facts alone shares the slot while it runs, and is refused while a question has it. A question
  waits for such requests of this server to end: how long they take is public. If another server has one, the
  question is refused, as beside another question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from discreet.errors import AlreadyRunning, DatabaseUnavailable, Fix
from discreet.serve.accounts.slots import Slots


@dataclass
class _Turn:
    """The state of one account in this process."""

    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    alone: bool = False
    public: int = 0
    none_public: asyncio.Event = field(default_factory=asyncio.Event)


class Turns:
    """The turns of all accounts.

    Args:
        slots: What other servers see.
        wait: After so many seconds a request that was refused may be sent again.
    """

    def __init__(self, slots: Slots, wait: float):
        """Take the slots."""
        self._slots, self._wait = slots, wait
        self._turns: dict[str, _Turn] = {}

    async def free(self, name: str) -> bool:
        """Return whether no other server runs a question of the account."""
        turn = self._turns.setdefault(name, _Turn())
        async with turn.changing:
            return turn.alone or turn.public > 0 or await asyncio.to_thread(self._slots.free, name)

    @asynccontextmanager
    async def public(self, name: str) -> AsyncIterator[None]:
        """Run a request that reads public facts alone, if no question of the account runs elsewhere."""
        turn = self._turns.setdefault(name, _Turn())
        async with turn.changing:
            if turn.alone or (turn.public == 0 and not await self._taken(name, shared=True)):
                raise self.refusal()
            turn.public += 1
            turn.none_public.clear()
        try:
            yield
        finally:
            async with turn.changing:
                turn.public -= 1
                if turn.public == 0:
                    await self._given_back(name)
                    turn.none_public.set()

    @asynccontextmanager
    async def alone(self, name: str) -> AsyncIterator[None]:
        """Run a question. The caller admits no second one of the account at this server."""
        turn = self._turns.setdefault(name, _Turn())
        while not turn.alone:
            if turn.public:
                await turn.none_public.wait()
            async with turn.changing:
                if turn.public:
                    continue
                if not await self._taken(name, shared=False):
                    raise self.refusal()
                turn.alone = True
        try:
            yield
        finally:
            async with turn.changing:
                await self._given_back(name)
                turn.alone = False

    def refusal(self) -> AlreadyRunning:
        """Return the refusal of a request beside a question."""
        return AlreadyRunning(
            "A question of yours is running, and nothing else is answered meanwhile.",
            fix=[
                Fix("Retry-After", self._wait, note="seconds"),
                "Wait for its answer, then send this again.",
            ],
        )

    def close(self) -> None:
        """Give all slots back."""
        self._slots.close()

    async def _taken(self, name: str, *, shared: bool) -> bool:
        return await asyncio.to_thread(self._slots.take, name, shared=shared)

    async def _given_back(self, name: str) -> None:
        with suppress(DatabaseUnavailable):
            await asyncio.to_thread(self._slots.give_back, name)
