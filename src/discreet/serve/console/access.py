"""Let curators grant and revoke a vault, set budgets, and see who spent what over time.

A budget is raised only with a reason and a typed confirmation, and the ledger keeps both: once answers were seen,
only the larger budget is promised, for these answers as well.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from fractions import Fraction
from typing import Annotated, Any

import msgspec
from litestar import Response, get, post
from litestar.params import URLEncodedBody

from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.query import cache_key
from discreet.rational import positive
from discreet.render import numbers, svg
from discreet.serve.accounts import Actor, Role
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.pages import Page, body_of, elsewhere, page
from discreet.serve.console.vault import left_of
from discreet.serve.guards import Parts, WhoAsks
from discreet.serve.service import Service

_Text = Annotated[str, msgspec.Meta(max_length=300)]


class Grant(msgspec.Struct, forbid_unknown_fields=True):
    """An analyst, the purposes that they may name, and a share of the budget for them alone."""

    user: _Text
    purposes: _Text = ""
    share: _Text = ""


class Revoke(msgspec.Struct, forbid_unknown_fields=True):
    """The analyst whose grant is taken back."""

    user: _Text


class Raise(msgspec.Struct, forbid_unknown_fields=True):
    """A new budget, of the vault or of an analyst, with its reason and what the curator typed to confirm it."""

    epsilon: _Text
    reason: _Text
    typed: _Text
    analyst: _Text = ""


@get("/vaults/{name:str}/access")
async def access_page(name: VaultName, actor: WhoAsks, service: Parts) -> Page:
    """Show grants and budgets."""
    return await _page(name, actor, service)


@post("/vaults/{name:str}/grant", status_code=303)
async def grant(name: VaultName, data: URLEncodedBody[Grant], actor: WhoAsks, service: Parts) -> Page:
    """Let an analyst use the vault, with a budget of their own if a share is given."""
    actor.expect("manage")
    service.vaults.place_for(actor, name)
    purposes = [one.strip() for one in data.purposes.split(",") if one.strip()]
    # The budget comes before the grant, which without it would let the analyst spend all. The ledger keeps it for
    # ever, so the name is checked first.
    await asyncio.to_thread(service.accounts.find, data.user)
    if data.share.strip():
        whole = (await _accounts(service, actor, name))[0]
        part = positive(data.share.strip().removesuffix("%").strip(), "share") / 100
        if part > 1:
            raise ParameterError("A share is at most 100 %.", found=data.share)
        arguments = await _budget(service, actor, name, data.user, share_of(whole["promise"], part))
        arguments["reason"] = f"a share of {data.share.strip().removesuffix('%')} % (by {actor.name})"
        body_of(await service.questions.run(actor, name, "budget", arguments))
    await asyncio.to_thread(service.accounts.grant, data.user, name, by=actor.name, purposes=purposes)
    return elsewhere(f"/vaults/{name}/access")


@post("/vaults/{name:str}/revoke", status_code=303)
async def revoke(name: VaultName, data: URLEncodedBody[Revoke], actor: WhoAsks, service: Parts) -> Page:
    """Take a grant back. What was spent stays spent."""
    actor.expect("manage")
    service.vaults.place_for(actor, name)
    await asyncio.to_thread(service.accounts.withdraw, data.user, name)
    return elsewhere(f"/vaults/{name}/access")


@post("/vaults/{name:str}/raise", status_code=303)
async def raise_budget(name: VaultName, data: URLEncodedBody[Raise], actor: WhoAsks, service: Parts) -> Page:
    """Change a budget, with a reason and a confirmation that name the vault and the amount."""
    actor.expect("manage")
    wanted = positive(data.epsilon.strip(), "budget")
    if not data.reason.strip():
        raise ParameterError("A budget is raised only for a reason, which the ledger keeps.")
    expected = f"{name} {data.epsilon.strip()}"
    if data.typed.strip() != expected:
        raise ParameterError(
            "The budget was not changed, because that was not confirmed.",
            found=data.typed.strip() or "nothing",
            fix=f"Type: {expected}",
        )
    arguments = await _budget(service, actor, name, data.analyst, wanted)
    arguments |= {"reason": f"{data.reason.strip()} (by {actor.name})", "confirmed": f"typed {expected}"}
    body_of(await service.questions.run(actor, name, "budget", arguments))
    return elsewhere(f"/vaults/{name}/access")


@get("/vaults/{name:str}/spending")
async def spending(name: VaultName, actor: WhoAsks, service: Parts) -> Page:
    """Show who spent what over time, and the line that verifies the ledger."""
    actor.expect("audit")
    accounts = await _accounts(service, actor, name)
    entries = await _entries(service, actor, name)
    checked = body_of(await service.questions.run(actor, name, "verify", {}))
    charged = charges(entries, accounts[0])
    return page(
        "spending",
        actor,
        vault=name,
        accounts=accounts,
        charges=list(reversed(charged))[:100],
        grants=[one for one in entries if one["kind"] in ("opening", "allotment", "amendment")],
        chart=over_time(charged) if charged else "",
        checked=checked,
    )


@get("/vaults/{name:str}/spending.txt")
async def line(name: VaultName, actor: WhoAsks, service: Parts) -> Response[str]:
    """Return the line that verifies the ledger later, as a file."""
    actor.expect("audit")
    checked = body_of(await service.questions.run(actor, name, "verify", {}))
    headers = {"content-disposition": f'attachment; filename="{name}-ledger.txt"'}
    text = f"discreet ledger {name}.vault verify --since {checked['line']}\n"
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


def share_of(promise: dict[str, str], part: Fraction) -> Fraction:
    """Return the ε of an account that may spend a share of the whole budget, as questions spend shares of it.

    A ledger with δ adds up ρ, of which ε is no fixed multiple: half of ρ is more than half of ε. It is rounded up,
    so that the whole share can be spent; the account of the whole vault still limits all.

    >>> share_of({"epsilon": "4", "delta": "0"}, Fraction(1, 2))
    Fraction(2, 1)
    >>> float(share_of({"epsilon": "4", "delta": "1e-9"}, Fraction(1, 2)))
    2.76296
    """
    whole = Budget(promise["epsilon"], promise["delta"])
    if whole.rho is None:
        return whole.epsilon * part
    converted = Fraction(zcdp_to_approximate(whole.rho * part, whole.key_delta))
    return min(whole.epsilon, Fraction(numbers.decimal(converted, "ROUND_CEILING", 6)))


def charges(entries: list[dict[str, Any]], whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the charges, each with its share of the whole budget and what it was for."""
    total = Fraction(whole["budget"]["exact"]) if whole["budget"] else Fraction(0)
    found = []
    for entry in entries:
        if entry["kind"] != "charge":
            continue
        amount = entry["cost"].get("epsilon" if whole["unit"] == "epsilon" else "rho") or 0
        part = Fraction(amount) / total if total else Fraction(0)
        found.append(
            {
                **entry,
                "part": float(part),
                "words": numbers.share(part, Fraction(1)),
                "what": cache_key.words(entry["question"]),
            }
        )
    return found


def over_time(charged: list[dict[str, Any]]) -> str:
    """Draw what was spent in all, over time, in percent of the budget."""
    points, total = [], 0.0
    for one in charged:
        total += 100 * one["part"]
        when = datetime.fromisoformat(one["at"])
        points.append(svg.Point(when.timestamp(), when.strftime("%d %b %H:%M"), total, total, total))
    if len(points) == 1:
        points.insert(0, points[0]._replace(at=points[0].at - 1, value=0.0, low=0.0, high=0.0, label=""))
    return svg.line(
        points, "The share of the budget that was spent, in percent, over time", height=180, steps=True
    )


async def _page(name: str, actor: Actor, service: Service) -> Page:
    actor.expect("manage")
    accounts = await _accounts(service, actor, name)
    grants = [one for one in await asyncio.to_thread(service.accounts.grants) if one.vault == name]
    users = await asyncio.to_thread(service.accounts.users)
    granted = {one.user for one in grants}
    others = [user.name for user in users if user.role is Role.ANALYST and user.name not in granted]
    mine = {account["analyst"]: account for account in accounts if account["analyst"]}
    return page("access", actor, vault=name, accounts=accounts, grants=grants, others=others, mine=mine)


async def _accounts(service: Service, actor: Actor, name: str) -> list[dict[str, Any]]:
    found = body_of(await service.questions.run(actor, name, "accounts", {}))["accounts"]
    return [{**account, **left_of(account)} for account in found]


async def _budget(service: Service, actor: Actor, name: str, analyst: str, epsilon: Fraction) -> dict[str, Any]:
    """Return the arguments of a budget: its δ is that of the vault, or an account could not pay for its noise."""
    whole = (await _accounts(service, actor, name))[0]
    return {
        "analyst": analyst or None,
        "purpose": None,
        "epsilon": str(epsilon),
        "delta": whole["promise"]["delta"],
    }


async def _entries(service: Service, actor: Actor, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < 5000:
        after = found[-1]["number"] if found else 0
        some = body_of(await service.questions.run(actor, name, "entries", {"all": True, "after": after}))[
            "entries"
        ]
        found += some
        if not some:
            break
    return found
