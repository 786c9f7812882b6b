"""Sign clients in, at whichever door they come: one turn, one limit and one catalogue for all doors.

An account that comes by two doors waits for itself, and has one limit on fresh questions.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping

from discreet.serve.door.analyst import Analyst, Turns
from discreet.serve.door.catalogue import Catalogue
from discreet.serve.door.session import Session
from discreet.serve.door.variables import Variables
from discreet.serve.limits import Rate
from discreet.serve.service import Service

_CATALOGUES = 16  # vaults whose catalogues are kept


class Reception:
    """What the doors share.

    Args:
        service: The parts of the service.
    """

    def __init__(self, service: Service) -> None:
        """Start without any client."""
        self.service = service
        self.fresh = Rate(service.settings.door_questions_per_minute)
        self._turns = Turns()
        self._catalogues: OrderedDict[str, Catalogue] = OrderedDict()

    def analyst(self, name: str, vault: str, token: str) -> Analyst:
        """Return a client of an account. Nothing is checked yet.

        Args:
            name: The account.
            vault: The name of the vault.
            token: A token of the account.
        """
        return Analyst(self.service, self._turns, self.fresh, name, vault, token)

    async def session(self, analyst: Analyst, start: Mapping[str, str], begins: str) -> Session:
        """Return a new session of a client, in the turn of its account.

        Args:
            analyst: The client, whose token and rights were checked.
            start: The settings that it begins with.
            begins: How a client of this door can begin with a price, as a sentence.
        """
        variables = Variables(start, self.service.settings.door_spend)
        catalogue = await self._catalogue(analyst)
        self.service.log.note("door_sign_in", analyst=analyst.name, vault=analyst.vault)
        return Session(analyst, variables, catalogue, begins=begins)

    def close(self) -> None:
        """Free the memory of the catalogues."""
        for catalogue in self._catalogues.values():
            catalogue.close()
        self._catalogues.clear()

    async def _catalogue(self, analyst: Analyst) -> Catalogue:
        described = await analyst.describe()
        facts = {name: described[name] for name in ("table", "columns", "person", "version")}
        key = f"{analyst.vault} {facts!r}"
        if key not in self._catalogues:
            made = await asyncio.to_thread(Catalogue, analyst.vault, facts)
            self._catalogues.setdefault(key, made)
        self._catalogues.move_to_end(key)
        while len(self._catalogues) > _CATALOGUES:
            self._catalogues.popitem(last=False)  # connections that use it keep it
        return self._catalogues[key]
