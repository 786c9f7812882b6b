"""Define what a worker process does with a vault: the verbs, their arguments, and the JSON that they return.

A task runs in a worker and nowhere else. It gets an open vault of the analyst who is signed in, and returns JSON
that is a release or public. Add a verb by adding a `Verb` to `TASKS`.

* `public`: whether the *time* that the result took depends on public facts alone. Such a result leaves at once;
  every other one leaves on a tick. A recorded answer, a preview and a refusal by text are public.
* `resumable`: whether the kernel makes the same task free after a crash (a record or a resumed charge). Only then
  does a retried key start it again after the server was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # the server reads this table too, and opens no vault
    from discreet.ledger.balance import Balance
    from discreet.query.preview import Preview
    from discreet.vault.vault import Vault

Tell: TypeAlias = Callable[[str, float], None]
"""Tell the server how far a job is: a few public words, and the share that is done."""


@dataclass(frozen=True)
class Result:
    """What a task returns: JSON, and whether its time depends on public facts alone."""

    body: dict[str, Any]
    public: bool = False


@dataclass(frozen=True)
class Verb:
    """One thing that a worker does with a vault.

    Args:
        run: Does it. Gets the vault, the arguments from the request, and a function that tells progress.
        resumable: Whether it may be started again for the same key after a crash.
    """

    run: Callable[[Vault, Mapping[str, Any], Tell], Result]
    resumable: bool = False


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
    return Result(previewed(vault.preview(arguments["sql"], **_price(arguments))), public=True)


def ask(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Answer a question and charge it."""
    release = vault.ask(arguments["sql"], **_price(arguments))
    release.expect_release("the service")
    return Result(release.to_json(), public=release.free)


TASKS: dict[str, Verb] = {
    "describe": Verb(describe, resumable=True),
    "preview": Verb(preview, resumable=True),
    "ask": Verb(ask, resumable=True),
}
"""The verbs of workers, by name."""


def previewed(found: Preview) -> dict[str, Any]:
    """Return a preview as JSON."""
    return {
        "question": found.question,
        "columns": [{"name": one.name, "type": one.kind, "part": one.part} for one in found.columns],
        "expected": [{"name": one.name, "margin": one.margin, "words": one.words} for one in found.expected],
        "cost": found.receipt.in_numbers(),
        "verdict": found.verdict,
        "affordable": found.affordable,
        "free": found.recorded,
        "plan": found.plan,
    }


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


def _price(arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = ("epsilon", "spend", "within", "confidence", "keys_delta")
    return {name: arguments[name] for name in names if arguments.get(name) is not None}
