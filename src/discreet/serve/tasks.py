"""Define what a worker process does with a vault: the verbs, their arguments, and the JSON that they return.

A task runs in a worker and nowhere else. It gets an open vault of the analyst who is signed in, and returns JSON
that is a release or public. Add a verb by adding a `Verb` to `TASKS`.

A `Result` is public if its *time* depends on public facts alone: a preview, a recorded answer, a refusal by text.
It leaves at once, and every other result leaves on a tick. `Verb` says how a verb is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.serve.verbs import audits, curating, holdouts, ledger, models, oracles, streams, synthetic
from discreet.serve.verbs.ledger import account
from discreet.serve.verbs.verb import Result, Tell, Verb

if TYPE_CHECKING:  # the server reads this table too, and opens no vault
    from discreet.vault.vault import Vault

__all__ = ["OPEN", "TASKS", "Result", "Tell", "Verb", "account"]


def describe(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the public facts about a vault, and what is left for the accounts of the analyst."""
    from discreet.schema.describe import domain

    described = vault.metadata
    columns = [
        {"name": name, "description": domain(column), **column_json}
        for (name, column), column_json in zip(
            described.columns.items(), described.as_json()["columns"].values(), strict=True
        )
    ]
    return Result(
        {
            "table": described.name,
            "person": described.person,
            "rows_per_person": described.rows_per_person,
            "version": described.version,
            "columns": columns,
            "accounts": [account(balance) for balance in vault.table().payer.balances()],
        },
        public=True,
    )


def preview(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the cost of a question and the margins of its answer."""
    return Result(vault.preview(arguments["sql"], **_price(arguments)).to_json(), public=True)


def ask(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Answer a question and charge it."""
    release = vault.ask(arguments["sql"], **_price(arguments))
    release.expect_release("the service")
    return Result(release.to_json(), public=release.free)


def recorded(vault: Vault, arguments: Mapping[str, Any]) -> Result | None:
    """Return the recorded answer to a question, or None. It reads no row, and costs nothing."""
    from discreet.vault import ask as asking

    wanted = asking.terms(**{**_PRICE, **_price(arguments)})
    found = asking.recorded(vault.table(), arguments["sql"], wanted)
    if found is None:
        return None
    found.expect_release("the service")
    return Result(found.to_json(), public=True)


TASKS: dict[str, Verb] = {
    "describe": Verb(describe, resumable=True, public=True),
    "preview": Verb(preview, resumable=True, public=True),
    "ask": Verb(ask, resumable=True, recorded=recorded),
    **ledger.VERBS,
    **oracles.VERBS,
    **synthetic.VERBS,
    **models.VERBS,
    **holdouts.VERBS,
    **streams.VERBS,
    **audits.VERBS,
    **curating.VERBS,
}
"""The verbs of workers, by name."""

OPEN = "open"
"""The key of a message without reply to a new worker: the places of vaults that questions will come for."""

_PRICE: dict[str, Any] = {
    "epsilon": None,
    "spend": None,
    "within": None,
    "confidence": "0.95",
    "keys_delta": None,
}


def _price(arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = ("epsilon", "spend", "within", "confidence", "keys_delta")
    return {name: arguments[name] for name in names if arguments.get(name) is not None}
