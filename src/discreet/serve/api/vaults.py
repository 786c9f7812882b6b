"""List the vaults of an account, and describe one of them."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response, get
from litestar.params import PathParameter

from discreet.serve.api.bodies import Listed, problems
from discreet.serve.api.replies import replied
from discreet.serve.guards import Parts, WhoAsks

VaultName = Annotated[str, PathParameter(max_length=64, description="The name of a vault")]


@get("/vaults", responses=problems())
async def listed(actor: WhoAsks, service: Parts) -> list[Listed]:
    """List the vaults that the account may use, with the purposes that it may name."""
    actor.expect("describe")
    purposes = {grant.vault: sorted(grant.purposes) for grant in actor.grants}
    return [Listed(name, purposes.get(name, [])) for name in service.vaults.names_for(actor)]


@get("/vaults/{name:str}", responses=problems(404))
async def described(name: VaultName, actor: WhoAsks, service: Parts) -> Response[Any]:
    """Describe a vault: its columns with their bounds, and what is left for the account. All of it is public."""
    actor.expect("describe")
    return replied(await service.questions.run(actor, name, "describe", {}))
