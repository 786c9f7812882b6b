"""Manage accounts, tokens, invitations and grants: for curators."""

from __future__ import annotations

import asyncio

from litestar import delete, get, post, put
from litestar.params import FromPath, JSONBody

from discreet.errors import NotFound, NotPermitted
from discreet.serve.accounts import VERBS, Actor, Grant, Role, Token
from discreet.serve.accounts.records import EVERYWHERE, expect_whole_scope
from discreet.serve.api import bodies
from discreet.serve.api.bodies import problems
from discreet.serve.guards import Parts, WhoAsks


@get("/people", responses=problems())
async def people(actor: WhoAsks, service: Parts) -> list[bodies.Person]:
    """List all accounts."""
    actor.expect("manage")
    found = await asyncio.to_thread(service.accounts.users)
    return [bodies.Person(one.name, str(one.role), not one.disabled, one.created) for one in found]


@post("/people", responses=problems(422))
async def add(data: JSONBody[bodies.NewPerson], actor: WhoAsks, service: Parts) -> bodies.Person:
    """Make an account."""
    actor.expect("manage")
    expect_whole_scope(actor)
    made = await asyncio.to_thread(
        service.accounts.add, data.name, data.role, data.password, provider=data.provider
    )
    return bodies.Person(made.name, str(made.role), True, made.created)


@put("/people/{person:str}", responses=problems(404, 422))
async def set_open(
    person: FromPath[str], data: JSONBody[bodies.Opened], actor: WhoAsks, service: Parts
) -> bodies.Opened:
    """Close an account, or open it again. Its sessions end."""
    actor.expect("manage")
    expect_whole_scope(actor)
    if person == actor.name and not data.open:
        raise NotPermitted("A curator does not close their own account.", fix="Let another curator do it.")
    await asyncio.to_thread(service.accounts.disable, person, disabled=not data.open)
    if data.provider:
        await asyncio.to_thread(service.identities.expect, person)
    return data


@post("/invitations", responses=problems(422))
async def invite(data: JSONBody[bodies.NewInvitation], actor: WhoAsks, service: Parts) -> bodies.Shown:
    """Make a one-time code with which a person makes an account. It is shown once."""
    actor.expect("manage")
    expect_whole_scope(actor)
    return bodies.Shown(await asyncio.to_thread(service.accounts.invite, data.role, by=actor.name, days=data.days))


@get("/people/{person:str}/tokens", responses=problems(404))
async def tokens(person: FromPath[str], actor: WhoAsks, service: Parts) -> list[bodies.KnownToken]:
    """List the tokens of an account: one's own, within the scope of the token that asks, or to a curator any."""
    _expect_may_manage(actor, person)
    return [
        bodies.KnownToken(
            *(one.id, one.label, sorted(one.verbs), sorted(one.vaults)),
            *(one.created, one.expires, one.last_used, one.revoked),
        )
        for one in await asyncio.to_thread(service.accounts.tokens, person)
        if person != actor.name or _within(actor, one)
    ]


@post("/people/{person:str}/tokens", responses=problems(404, 422))
async def new_token(
    person: FromPath[str], data: JSONBody[bodies.NewToken], actor: WhoAsks, service: Parts
) -> bodies.Shown:
    """Make a token of an account. It is shown once."""
    actor.expect("manage")
    _expect_may_manage(actor, person)
    vaults = [EVERYWHERE] if data.vaults is None else data.vaults
    role = (await asyncio.to_thread(service.accounts.find, person)).role
    _expect_within(actor, role, data.verbs, vaults)
    made = await asyncio.to_thread(
        service.accounts.new_token, person, label=data.label, verbs=data.verbs, vaults=vaults, days=data.days
    )
    return bodies.Shown(made)


@delete("/people/{person:str}/tokens/{token:str}", responses=problems(404))
async def revoke(person: FromPath[str], token: FromPath[str], actor: WhoAsks, service: Parts) -> None:
    """Revoke a token for good: one's own, within the scope of the token that asks, or as a curator any."""
    _expect_may_manage(actor, person)
    if person == actor.name:
        known = await asyncio.to_thread(service.accounts.tokens, person)
        if not any(one.id == token and _within(actor, one) for one in known):
            raise NotFound("There is no such token.", found=token[:64])
    await asyncio.to_thread(service.accounts.revoke_token, person, token)


@get("/grants", responses=problems())
async def grants(actor: WhoAsks, service: Parts) -> list[bodies.Granted]:
    """List the grants: one's own, or to a curator all, of the vaults that the token is for."""
    every = "manage" in actor.verbs
    found = await asyncio.to_thread(service.accounts.grants, None if every else actor.name)
    return [_granted(one) for one in found if actor.may_see(one.vault)]


@put("/people/{person:str}/grants/{vault:str}", responses=problems(404, 422))
async def grant(
    person: FromPath[str], vault: FromPath[str], data: JSONBody[bodies.NewGrant], actor: WhoAsks, service: Parts
) -> bodies.Granted:
    """Let an analyst use a vault, or change the purposes that the analyst may name."""
    actor.expect("manage")
    service.vaults.place_for(actor, vault)
    made = await asyncio.to_thread(service.accounts.grant, person, vault, by=actor.name, purposes=data.purposes)
    return _granted(made)


@delete("/people/{person:str}/grants/{vault:str}", responses=problems(404))
async def withdraw(person: FromPath[str], vault: FromPath[str], actor: WhoAsks, service: Parts) -> None:
    """Take a grant back. What was spent stays spent."""
    actor.expect("manage")
    service.vaults.place_for(actor, vault)
    await asyncio.to_thread(service.accounts.withdraw, person, vault)


def _granted(one: Grant) -> bodies.Granted:
    return bodies.Granted(one.user, one.vault, sorted(one.purposes), one.by, one.since)


def _expect_may_manage(actor: Actor, person: str) -> None:
    """Refuse the tokens of another person to a token for some vaults: it would ask, and pay, in that name."""
    if person != actor.name:
        actor.expect("manage")
        expect_whole_scope(actor)


def _within(actor: Actor, token: Token) -> bool:
    """Return whether a token reaches no further than the one that asks: one that leaked must not end others."""
    return token.verbs <= actor.verbs and (EVERYWHERE in actor.vaults or token.vaults <= actor.vaults)


def _expect_within(actor: Actor, role: Role, verbs: list[str] | None, vaults: list[str]) -> None:
    """Refuse a token, of any person, that reaches further than the one that makes it."""
    wanted = {verb for verb, roles in VERBS.items() if role in roles} if verbs is None else set(verbs)
    further = EVERYWHERE not in actor.vaults and not set(vaults) <= actor.vaults
    if further or not wanted <= actor.verbs:
        raise NotPermitted(
            "A token cannot make one that may do more than itself.", fix="Name fewer vaults or verbs."
        )


ROUTES = [people, add, set_open, invite, tokens, new_token, revoke, grants, grant, withdraw]
