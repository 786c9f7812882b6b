"""Define what a worker process does with a vault: the verbs, their arguments, and the JSON that they return.

A task runs in a worker and nowhere else. It gets an open vault of the analyst who is signed in, and returns JSON
that is a release or public. Add a verb by adding a `Verb` to `TASKS`.

* `public`: whether the *time* that the result took depends on public facts alone. Such a result leaves at once;
  every other one leaves on a tick. A recorded answer, a preview and a refusal by text are public.
* `resumable`: whether the kernel makes the same task free after a crash (a record or a resumed charge). Only then
  does a retried key start it again after the server was killed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.serve import reading
from discreet.serve.verbs import Result, Tell, Verb, price_of

if TYPE_CHECKING:  # the server reads this table too, and opens no vault
    from discreet.ledger.balance import Balance
    from discreet.vault.vault import Vault


def describe(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the public facts about a vault, and what is left for the accounts of the analyst."""
    described = vault.metadata
    columns = [
        {"name": name, "description": str(column), **column_json}
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
    return Result(vault.preview(arguments["sql"], **price_of(arguments)).to_json(), public=True)


def ask(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Answer a question and charge it."""
    release = vault.ask(arguments["sql"], **price_of(arguments))
    release.expect_release("the service")
    return Result(release.to_json(), public=release.free)


TASKS: dict[str, Verb] = {
    "describe": Verb(describe, resumable=True),
    "preview": Verb(preview, resumable=True),
    "ask": Verb(ask, resumable=True),
    **reading.VERBS,
}
"""The verbs of workers, by name."""


def account(balance: Balance) -> dict[str, Any]:
    """Return what is left of an account as JSON."""
    from discreet.release.receipt import exact

    return {
        "analyst": balance.account.analyst,
        "purpose": balance.account.purpose,
        "unit": "epsilon" if balance.unit == "ε" else "rho",
        "budget": exact(balance.total),
        "left": exact(balance.remaining),
        "words": str(balance),
    }
