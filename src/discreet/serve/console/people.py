"""Let curators manage people: accounts, invitations and tokens; and each person their own tokens and password."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, URLEncodedBody

from discreet.errors import NotPermitted, ParameterError
from discreet.serve.accounts import VERBS, Actor, Role
from discreet.serve.accounts.records import EVERYWHERE
from discreet.serve.console.pages import Page, elsewhere, page, provider_of
from discreet.serve.guards import Parts, WhoAsks, client_place
from discreet.serve.service import Service

_Text = Annotated[str, msgspec.Meta(max_length=128)]
_Secret = Annotated[str, msgspec.Meta(max_length=1024)]


class Invite(msgspec.Struct, forbid_unknown_fields=True):
    """The role of the person who is invited."""

    role: Role


class Join(msgspec.Struct, forbid_unknown_fields=True):
    """An invitation with the name and the password that its owner chose."""

    code: _Text
    name: _Text
    password: _Secret


class NewToken(msgspec.Struct, forbid_unknown_fields=True):
    """A token: what its owner calls it, what it may do, and for how long."""

    label: _Text = ""
    scope: _Text = ""
    days: _Text = "90"


class Password(msgspec.Struct, forbid_unknown_fields=True):
    """The old password, if there is one, and the new one."""

    password: _Secret
    old: _Secret = ""


@get("/people")
async def people_page(actor: WhoAsks, service: Parts) -> Page:
    """Show all accounts with their grants."""
    return await _people(actor, service)


@post("/people/invite", status_code=200)
async def invite(data: URLEncodedBody[Invite], actor: WhoAsks, service: Parts) -> Page:
    """Make a one-time invitation, and show it once."""
    actor.expect("manage")
    code = await asyncio.to_thread(service.accounts.invite, data.role, by=actor.name)
    return await _people(actor, service, code=code, role=str(data.role))


@post("/people/{person:str}/{change:str}", status_code=303)
async def set_open(person: FromPath[str], change: FromPath[str], actor: WhoAsks, service: Parts) -> Page:
    """Close an account, or open it again."""
    actor.expect("manage")
    if change not in ("close", "open"):
        raise ParameterError("There is no such change of an account.", found=change[:20])
    if person == actor.name:
        raise NotPermitted("A curator does not close their own account.", fix="Let another curator do it.")
    await asyncio.to_thread(service.accounts.disable, person, disabled=change == "close")
    return elsewhere("/people")


async def _people(actor: Actor, service: Service, code: str = "", role: str = "") -> Page:
    actor.expect("manage")
    users = await asyncio.to_thread(service.accounts.users)
    grants = await asyncio.to_thread(service.accounts.grants)
    by_user = {user.name: sorted(grant.vault for grant in grants if grant.user == user.name) for user in users}
    return page("people", actor, users=users, grants=by_user, code=code, role=role, roles=list(Role))


# -- the account of the person who is signed in -----------------------------------------------------------------


@get("/account")
async def account_page(actor: WhoAsks, service: Parts) -> Page:
    """Show the tokens of the account."""
    return await _account(actor, service)


@post("/account/tokens", status_code=200)
async def new_token(data: URLEncodedBody[NewToken], actor: WhoAsks, service: Parts) -> Page:
    """Make a token, and show it once."""
    if not data.days.isdecimal() or not 1 <= int(data.days) <= 366:
        raise ParameterError("A token lasts 1 to 366 days.", found=data.days)
    verbs = {"": None, "preview": ["describe", "preview", "ledger"]}.get(data.scope)
    made = await asyncio.to_thread(
        service.accounts.new_token,
        actor.name,
        label=data.label,
        verbs=verbs,
        vaults=[EVERYWHERE],
        days=int(data.days),
    )
    return await _account(actor, service, made=made)


@post("/account/tokens/{token:str}/revoke", status_code=303)
async def revoke(token: FromPath[str], actor: WhoAsks, service: Parts) -> Page:
    """Revoke a token of the account, for good."""
    await asyncio.to_thread(service.accounts.revoke_token, actor.name, token)
    return elsewhere("/account")


@post("/account/password", status_code=303)
async def set_password(data: URLEncodedBody[Password], actor: WhoAsks, service: Parts) -> Page:
    """Set a new password, which ends all sessions. The old one is needed if there is one."""
    service.logins.take(f"password {actor.name}")  # apart from sign-ins, which strangers attempt as well
    await asyncio.to_thread(service.accounts.change_password, actor.name, data.old, data.password)
    return elsewhere("/login")


async def _account(actor: Actor, service: Service, made: str = "") -> Page:
    tokens = await asyncio.to_thread(service.accounts.tokens, actor.name)
    verbs = sorted(verb for verb, roles in VERBS.items() if actor.role in roles)
    now = service.accounts.now()
    return page("account", actor, tokens=tokens, made=made, verbs=verbs, now=now, provider=provider_of(service))


# -- strangers with an invitation -------------------------------------------------------------------------------


@get("/join")
async def join_page() -> Page:
    """Show the form for an invitation. The code is typed or pasted: a link would leave it in histories."""
    return page("join", problem=None)


@post("/join", status_code=303)
async def join(data: URLEncodedBody[Join], request: Request[Any, Any, Any], service: Parts) -> Page:
    """Make an account with an invitation."""
    service.logins.take(client_place(request))
    await asyncio.to_thread(service.accounts.accept, data.code.strip(), data.name.strip(), data.password)
    return elsewhere("/login")
