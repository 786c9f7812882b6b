"""`discreet describe`: what is public about a vault, for whoever wants to ask it something.

Tested in tests/cli/test_describe.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import screen
from discreet.cli.places import Place

if TYPE_CHECKING:
    from discreet.ledger import Budget
    from discreet.vault.description import Description


def describe(
    vault: Place,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON.")] = False,
) -> None:
    """Say what may be asked of a vault: columns, bounds, whom it protects. It is free, and all of it is public.

    [bold]Examples[/bold]

    [cyan]discreet describe people.vault[/cyan]

    [cyan]discreet describe "postgresql://host/database#people"[/cyan]
    """
    from discreet.vault.place import at

    described = at(vault).description()
    if as_json:
        screen.data(described.as_json())
    else:
        show(described, _budget(vault))


def show(described: Description, budget: Budget | None) -> None:
    """Print a description, and the budget if it is known."""
    from discreet.vault import declared

    promised = [] if budget is None else [f"Budget: {budget}, all answers together."]
    screen.say(f"Table {described.name}, version {described.version}", style="bold")
    screen.say(*_sentences(described), *promised, "")
    rows = [(name, declared.domain(c), declared.fate(c)) for name, c in described.columns.items()]
    screen.table(("column", "holds", "and other values"), rows)


def _budget(vault: str) -> Budget | None:
    """What the ledger promises, where whoever asks may read it: a description is public by itself."""
    from discreet.errors import LedgerUnavailable
    from discreet.vault.place import at

    try:
        with at(vault).ledger() as ledger:
            return ledger.balance().budget
    except (LedgerUnavailable, PermissionError):
        return None


def _sentences(described: Description) -> list[str]:
    if described.person is None:
        unit = "Protected is every row, as a person of its own."
    else:
        rows = "1 row" if described.rows_per_person == 1 else f"{described.rows_per_person:,} rows"
        unit = (
            f"Protected is every {described.person}, with all of their rows. {rows} of a person count in full; "
            "of someone with more, every row is scaled down."
        )
    joined = [f"With {words}." for words in described.joins]
    return [unit, *joined]
