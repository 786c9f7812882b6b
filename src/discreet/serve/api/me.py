"""Say whom a token stands for."""

from __future__ import annotations

from litestar import get

from discreet.serve.api.bodies import Who, problems
from discreet.serve.guards import Parts, WhoAsks


@get("/whoami", responses=problems())
async def whoami(actor: WhoAsks, service: Parts) -> Who:
    """Say whom the token stands for, and what it may be used for."""
    return Who(actor.name, str(actor.role), sorted(actor.verbs), service.vaults.names_for(actor))
