"""Read a vault's ledger: balances, entries, releases, verification; and set budgets.

An analyst sees the accounts that pay for them and their own charges. A curator or an auditor sees all of it
(`arguments["all"]`, which the server decides by role). What was released is public to every analyst of the vault.

**Times.** A ledger dates a release with its charge, because rows are read between the two (`ledger.entry`). Older
versions did not: here such a release, and a failure, is shown with the time of its charge all the same, and an
analyst sees the days of their charges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerTampered, NotFound, ParameterError
from discreet.serve.verbs.verb import Result, Tell, Verb

if TYPE_CHECKING:
    from discreet.ledger import Entry
    from discreet.ledger.balance import Balance
    from discreet.vault.vault import Vault

READABLE = ("discreet release ", "discreet synthetic table ", "discreet model ", "discreet choice ")
"""The schemas of records that are releases. Other records name the file of an oracle or a stream."""
MOST = 500  # entries or releases of one reply


def account(balance: Balance) -> dict[str, Any]:
    """Return what is left of an account as JSON."""
    from discreet.ledger.balance import written
    from discreet.release.receipt import exact

    return {
        "analyst": balance.account.analyst,
        "purpose": balance.account.purpose,
        "unit": "epsilon" if balance.unit == "ε" else "rho",
        "budget": exact(balance.total),
        "left": exact(balance.remaining),
        "charges": balance.charges,
        "words": str(balance),
        "record": written(balance),
    }


def ledger(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the balances: of all accounts, or of those that pay for the analyst."""
    book = vault.ledger
    balances = book.balances() if arguments["all"] else list(vault.table().payer.balances())
    head = book.head()
    return Result(
        {
            "strict": book.strict,
            "accounts": [account(balance) for balance in balances],
            "unfinished": len(book.unfinished()) if arguments["all"] else None,
            "head": {"number": head.number, "hash": head.hash},
        },
        public=True,
    )


def entries(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return entries of the ledger after a number: all of them, or the analyst's own charges."""
    own = vault.table().payer.analyst
    found: list[dict[str, Any]] = []
    for entry, charged in _dated(vault, arguments["after"]):
        mine = entry.kind == "charge" and entry.content.get("analyst") == own
        if arguments["all"] or mine:
            content = {name: value for name, value in entry.content.items() if name not in ("answer", "after")}
            at = charged if arguments["all"] else charged[: len("2026-01-01")]
            found.append({"number": entry.number, "at": at, "kind": entry.kind, "hash": entry.hash, **content})
        if len(found) == MOST:
            break
    return Result({"entries": found, "last": found[-1]["number"] if found else arguments["after"]}, public=True)


def verify(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Walk the whole ledger, and return the line to keep elsewhere."""
    since = arguments.get("since")
    try:
        head = vault.ledger.verify(since=None if since is None else (since["number"], since["hash"]))
    except LedgerTampered:
        vault.ledger.verify()  # raises if it is the ledger, and not the line
        raise ParameterError(
            "All entries verify, but the line that was kept is not one of them.",
            found=f"{since['number']}:{since['hash'][:8]}…" if since else None,
            fix="If the line is of this vault, entries were replaced or removed since: tell the curator.",
        ) from None
    line = f"{head.number}:{head.hash}"
    return Result({"number": head.number, "hash": head.hash, "line": line}, public=True)


def budget(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Give an analyst, a purpose or the whole vault a budget, or change it."""
    from discreet.ledger import Budget

    book = vault.ledger
    who = {"analyst": arguments.get("analyst"), "purpose": arguments.get("purpose")}
    agreed, reason = Budget(arguments["epsilon"], arguments.get("delta") or 0), arguments.get("reason") or ""
    if any(who.values()) and book.balance(**who).budget is None:
        book.allot(budget=agreed, reason=reason, **who)
    else:
        book.amend(agreed, reason=reason, confirmed=arguments.get("confirmed") or "", **who)
    return Result({"account": account(book.balance(**who))}, public=True)


def quote(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return what an oracle, a table or a model would use of the budget at most. Nothing is charged."""
    from discreet.kernel import amount_of, strictest_budget
    from discreet.kernel.gaussian_budget import release_rho
    from discreet.kernel.refusal import affordable_share
    from discreet.ledger.costs import cost
    from discreet.privacy.losses import Pure, ZeroConcentrated
    from discreet.release.receipt import Receipt

    payer = vault.table().payer
    balances, terms = payer.balances(), {name: arguments.get(name) for name in ("epsilon", "spend")}
    loss: Pure | ZeroConcentrated
    if strictest_budget(balances).pure:
        loss = Pure(amount_of(balances, **terms, pure=True))
    elif arguments["kind"] == "oracle":
        loss = ZeroConcentrated(amount_of(balances, **terms, pure=False))
    else:
        loss = ZeroConcentrated(release_rho(balances, **terms))
    receipt, enough = Receipt(cost(loss), (), balances), payer.can_afford([loss])
    words = f"This would use {receipt.used}; {receipt.remaining}{'' if enough else ': not enough'}."
    return Result({"words": words, "affordable": enough, "share": affordable_share(balances)}, public=True)


def releases(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """List what was released: number, time, question, and what it is."""
    found = []
    for entry, charged, record in _released(vault, arguments["after"]):
        found.append(
            {
                "number": entry.number,
                # A release of an older version bears the time of its answer, which is after its charge.
                "at": min(charged, record.get("at", charged)),
                "schema": record["schema"],
                "question": record.get("question") or record.get("label", {}).get("product", ""),
            }
        )
        if len(found) == MOST:
            break
    return Result({"releases": found, "last": found[-1]["number"] if found else arguments["after"]}, public=True)


def release(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return one release by its number; to an analyst without the accounts of others that paid for it."""
    if 0 < arguments["number"] < 2**63:  # a ledger has no larger numbers, and its database reads none
        for entry, _, record in _released(vault, arguments["number"] - 1):
            if entry.number == arguments["number"]:
                own = vault.table().payer.analyst
                return Result(record if arguments["all"] else _without_others(record, own), public=True)
            break
    raise NotFound("There is no such release.", found=arguments["number"], fix="List the releases.")


def _without_others(record: Any, own: str | None) -> Any:
    """Return a record without accounts of purposes and of other analysts: who paid, and what they have left.

    >>> accounts = [{"analyst": who, "purpose": None} for who in (None, "ana", "bo")]
    >>> _without_others({"receipt": {"balances": accounts}}, "bo")
    {'receipt': {'balances': [{'analyst': None, 'purpose': None}, {'analyst': 'bo', 'purpose': None}]}}
    """
    if isinstance(record, dict):
        return {name: _without_others(value, own) for name, value in record.items()}
    if (
        isinstance(record, list)
        and record
        and isinstance(record[0], dict)
        and {"analyst", "purpose"} <= {*record[0]}
    ):
        return [one for one in record if one["purpose"] is None and one["analyst"] in (None, own)]
    return record


def _released(vault: Vault, after: int) -> Iterator[tuple[Entry, str, dict[str, Any]]]:
    """Yield releases after a number, each with the time of its charge and its record."""
    for entry, charged in _dated(vault, after):
        if entry.kind != "release":
            continue
        record = json.loads(entry.content["answer"])
        if isinstance(record, dict) and str(record.get("schema", "")).startswith(READABLE):
            yield entry, charged, record


def _dated(vault: Vault, after: int) -> Iterator[tuple[Entry, str]]:
    """Yield entries after a number, each with a time that tells nothing about rows: that of its charge."""
    charges: dict[int, str] = {}
    for entry in vault.ledger.entries(after=after):
        if entry.kind == "charge":
            charges[entry.number] = entry.time
        number = entry.content.get("charge")  # of a release or a failure
        if number is None:
            yield entry, entry.time
            continue
        if number not in charges:  # it was charged before the first of these entries
            charges[number] = next(iter(vault.ledger.entries(after=number - 1))).time
        yield entry, charges.pop(number)


VERBS = {
    "ledger": Verb(ledger, public=True),
    "entries": Verb(entries, public=True),
    "verify": Verb(verify, public=True),
    "budget": Verb(budget, public=True),
    "quote": Verb(quote, public=True),
    "releases": Verb(releases, public=True),
    "release": Verb(release, public=True),
}
