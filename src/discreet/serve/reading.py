"""Define the verbs of workers that read a vault's ledger for the console: recorded answers, spending, verification.

Everything here is a release or public to the role that may see it, and nothing is charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import NotFound
from discreet.serve.verbs import Result, Tell, Verb, price_of

if TYPE_CHECKING:
    from discreet.vault.vault import Vault

_LATEST = 200  # entries that a page lists


def recorded(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the answer on record for a question at this price. It is free, and nothing is charged."""
    from discreet.vault import ask as asking

    price = {"epsilon": None, "spend": None, "within": None, "confidence": "0.95", "keys_delta": None}
    wanted = asking.terms(**{**price, **price_of(arguments)})
    found = asking.recorded(vault.table(), arguments["sql"], wanted)
    if found is None:
        raise NotFound("This question has no recorded answer at this price.", fix="Preview it, then ask it.")
    found.expect_release("the service")
    return Result(found.to_json(), public=True)


def spending(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the accounts, and the charges with their times, for the curator and the auditor."""
    ledger = vault.ledger
    whole = ledger.balance()
    total = whole.total or Fraction(1)
    charges, grants = [], []
    for entry in ledger.entries():
        if entry.kind == "charge":
            cost = entry.content["cost"]
            amount = Fraction((cost["epsilon"] if whole.unit == "ε" else cost["rho"]) or 0)
            charges.append(
                {
                    "number": entry.number,
                    "time": entry.time,
                    "analyst": entry.content.get("analyst"),
                    "purpose": entry.content.get("purpose"),
                    "share": float(amount / total),
                }
            )
        elif entry.kind in ("opening", "allotment", "amendment"):
            names = ("analyst", "purpose", "reason", "confirmed")
            grants.append(
                {
                    "number": entry.number,
                    "time": entry.time,
                    "kind": entry.kind,
                    **{name: entry.content.get(name) for name in names},
                }
            )
    accounts = [
        {
            "analyst": balance.account.analyst,
            "purpose": balance.account.purpose,
            "charges": balance.charges,
            "of_whole": float(balance.used / total),
            "left": None if not balance.total else float((balance.remaining or 0) / balance.total),
            "budget": None if balance.budget is None else str(balance.budget),
            "epsilon": None if balance.budget is None else str(balance.budget.epsilon),
            "delta": None if balance.budget is None else str(balance.budget.delta),
        }
        for balance in ledger.balances()
    ]
    return Result({"accounts": accounts, "charges": charges, "grants": grants}, public=True)


def verify(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Check the chain and the sums of the ledger, and return its head and the line that checks it again."""
    since = arguments.get("since")
    head = vault.ledger.verify(since=None if since is None else (since[0], since[1]))
    line = f"verify --since {head.number}:{head.hash}"
    return Result({"number": head.number, "hash": head.hash, "line": line, "guarded": vault.ledger.guarded}, True)


def labels(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the latest releases with the facts of their labels."""
    import json

    from discreet.release.release import Release

    kept = [entry for entry in vault.ledger.entries() if entry.kind == "release"][-_LATEST:]
    found = []
    for entry in reversed(kept):
        try:
            release = Release.from_json(json.loads(entry.content["answer"]))
        except Exception:  # an oracle, a synthetic table or a model: it has a label of its own kind
            continue
        found.append(
            {
                "number": entry.number,
                "time": entry.time,
                "question": release.question,
                "share": float(release.receipt.share),
                "facts": release.label.facts,
            }
        )
    return Result({"releases": found}, public=True)


VERBS: dict[str, Verb] = {
    "recorded": Verb(recorded, resumable=True),
    "spending": Verb(spending, resumable=True),
    "verify": Verb(verify, resumable=True),
    "labels": Verb(labels, resumable=True),
}
"""The verbs, for `tasks.TASKS`."""
