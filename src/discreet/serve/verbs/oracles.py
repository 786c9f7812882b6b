"""Plan, open, ask and describe oracles. Each request opens the journal, and closes it again.

Only the opening charges the ledger. What is asked later finds the journal by the same parameters, through a table
that cannot be charged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.serve.verbs.verb import Result, Tell, Verb, given, recorded_only

if TYPE_CHECKING:
    from discreet.oracle.oracle import Oracle
    from discreet.vault.vault import Vault


def plan(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return what an oracle is expected to answer. It is free, and reads no row."""
    made = vault.plan_oracle(**given(arguments))
    return Result({"plan": made.as_json(), "words": str(made)}, public=True)


def open_(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Open an oracle, and charge it once."""
    with vault.oracle(**given(arguments)) as made:
        return Result(_described(made))


def ask(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Answer a question from an oracle that was opened before."""
    with _opened(vault, arguments["opening"]) as made:
        answer = made.ask(arguments["sql"], unchecked=bool(arguments.get("unchecked")))
        answer.expect_release("the service")
        return Result(answer.to_json())


def describe(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return what an oracle has spent, and what it is about."""
    with _opened(vault, arguments["opening"]) as made:
        return Result(_described(made), public=True)


def _opened(vault: Vault, opening: Mapping[str, Any]) -> Oracle:
    from discreet.oracle.open import oracle

    return oracle(recorded_only(vault), **given(opening))


def _described(made: Oracle) -> dict[str, Any]:
    from discreet.release.receipt import exact
    from discreet.release.serialize import written_label, written_receipt

    return {
        "columns": [axis.name for axis in made.axes],
        "margin": made.width,
        "rows": made.rows,
        "spent": exact(made.spent),
        "total": exact(made.total),
        "words": str(made),
        "label": written_label(made.label),
        "receipt": {**made.label.receipt.in_numbers(), **written_receipt(made.label.receipt)},
    }


VERBS = {
    "plan_oracle": Verb(plan, public=True),
    "open_oracle": Verb(open_),
    "ask_oracle": Verb(ask, resumable=True),
    "describe_oracle": Verb(describe, public=True),
}
