"""Show a vault: its columns with their bounds, and the share of the budget that is left."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from litestar import get

from discreet.render import svg
from discreet.schema import describe, from_json
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.pages import Page, body_of, page
from discreet.serve.guards import Parts, WhoAsks

_MADE = {"oracle": "Oracle", "synthetic": "Synthetic table", "model": "Model"}
"""What people call a product that has a page."""


@get("/vaults/{name:str}")
async def vault_page(name: VaultName, actor: WhoAsks, service: Parts) -> Page:
    """Show what is public about a vault, and what is left for the account."""
    actor.expect("describe")
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    described["columns"] = in_words(described["columns"])
    accounts = [left_of(account) for account in described["accounts"]]
    mine = await asyncio.to_thread(service.products.of, actor.name, name) if "job" in actor.verbs else []
    made = [{"product": one, "words": _MADE[one.kind]} for one in mine if one.kind in _MADE]
    return page("vault", actor, vault=name, described=described, accounts=accounts, made=made)


def in_words(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns with their values described in words."""
    found = []
    for record in columns:
        declared = {name: value for name, value in record.items() if name not in ("name", "description")}
        column = from_json(declared)
        found.append({**record, "description": f"{describe.domain(column)}; {describe.fate(column)}"})
    return found


def left_of(account: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is left of an account as a share, in words and as a picture.

    >>> account = {"analyst": "ana", "purpose": None, "budget": {"value": 2.0}, "left": {"value": 1.5}}
    >>> left_of(account)["sentence"]
    '75 % of the budget of ana is left.'
    """
    who = account["analyst"] or account["purpose"]
    whose = f"the budget of {who}" if who else "the budget of the whole vault"
    if account["budget"] is None or account["left"] is None:
        return {"sentence": f"There is no separate limit for {who}.", "svg": "", "words": account.get("words", "")}
    total, left = account["budget"]["value"], account["left"]["value"]
    share = left / total if total else 0.0
    # Rounded down: a budget must not look larger than it is.
    shown = f"{int(share * 1000) / 10:g} %"
    sentence = f"{shown} of {whose} is left."
    return {"sentence": sentence, "svg": svg.share(share, sentence), "words": account.get("words", "")}
