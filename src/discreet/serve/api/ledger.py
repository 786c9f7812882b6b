"""Show ledgers and releases, and set budgets."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Response, get, put
from litestar.params import FromPath, JSONBody, QueryParameter

from discreet.errors import ParameterError
from discreet.serve.accounts import Actor, Role
from discreet.serve.api.bodies import NewBudget, problems
from discreet.serve.api.replies import replied
from discreet.serve.api.vaults import VaultName
from discreet.serve.guards import Parts, WhoAsks

After = Annotated[int, QueryParameter(ge=0, le=10**15, description="Entries after this number", required=False)]


@get("/vaults/{name:str}/ledger", responses=problems(404))
async def ledger(name: VaultName, actor: WhoAsks, service: Parts) -> Response[Any]:
    """Return the balances: of the accounts that pay for an analyst; of all, to a curator or an auditor."""
    actor.expect("ledger")
    return replied(await service.questions.run(actor, name, "ledger", {"all": sees_all(actor)}))


@get("/vaults/{name:str}/ledger/entries", responses=problems(404))
async def entries(name: VaultName, actor: WhoAsks, service: Parts, after: After = 0) -> Response[Any]:
    """Return entries, 500 at a time: the analyst's own charges; all of them to a curator or an auditor."""
    actor.expect("ledger")
    arguments = {"all": sees_all(actor), "after": after}
    return replied(await service.questions.run(actor, name, "entries", arguments))


@get("/vaults/{name:str}/ledger/verification", responses=problems(404, 422))
async def verification(
    name: VaultName,
    actor: WhoAsks,
    service: Parts,
    since: Annotated[
        str | None,
        QueryParameter(
            pattern=r"^[0-9]{1,15}:[0-9a-f]{64}$", required=False, description="The line that was kept before"
        ),
    ] = None,
) -> Response[Any]:
    """Walk the whole ledger, and return the line to keep elsewhere."""
    actor.expect("ledger")
    number, _, hash_ = (since or "").partition(":")
    kept = None if since is None else {"number": int(number), "hash": hash_}
    return replied(await service.questions.run(actor, name, "verify", {"since": kept}))


@put("/vaults/{name:str}/budgets", responses=problems(404, 422))
async def budget(name: VaultName, data: JSONBody[NewBudget], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Give an analyst, a purpose or the whole vault a budget, or change it. The ledger records who did."""
    actor.expect("manage")
    if data.analyst is None and data.purpose is None and not (data.reason and data.confirmed):
        raise ParameterError(
            "The budget of the whole vault changes with a reason and a confirmation only.",
            fix="Send reason, and confirmed: how a person confirmed it.",
        )
    given = {one: getattr(data, one) for one in data.__struct_fields__}
    arguments = {**given, "reason": f"{data.reason} (by {actor.name})".strip()}
    return replied(await service.questions.run(actor, name, "budget", arguments))


@get("/vaults/{name:str}/releases", responses=problems(404))
async def releases(name: VaultName, actor: WhoAsks, service: Parts, after: After = 0) -> Response[Any]:
    """List what was released from the vault, 500 at a time. It is public to all who may use the vault."""
    actor.expect("describe")
    return replied(await service.questions.run(actor, name, "releases", {"after": after}))


@get("/vaults/{name:str}/releases/{number:int}", responses=problems(404))
async def release(name: VaultName, number: FromPath[int], actor: WhoAsks, service: Parts) -> Response[Any]:
    """Return a release by its number, as it was recorded; to an analyst without the accounts of others."""
    actor.expect("describe")
    arguments = {"number": number, "all": sees_all(actor)}
    return replied(await service.questions.run(actor, name, "release", arguments))


def sees_all(actor: Actor) -> bool:
    """Return whether the account sees the whole ledger: what others asked, paid and have left."""
    return actor.role in (Role.CURATOR, Role.AUDITOR)
