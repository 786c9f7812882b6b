"""`discreet describe`: what is public about a vault, for whoever wants to ask it something.

Tested in tests/cli/test_describe.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import screen

if TYPE_CHECKING:
    from discreet.vault.description import Description
    from discreet.vault.vault import Vault

Place = Annotated[Path, typer.Argument(metavar="VAULT", help="The directory of a vault, such as people.vault.")]


def describe(
    vault: Place,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON.")] = False,
) -> None:
    """Say what may be asked of a vault: columns, bounds, whom it protects. It is free, and all of it is public.

    [bold]Example[/bold]

    [cyan]discreet describe people.vault[/cyan]
    """
    from discreet.vault.vault import Vault

    with Vault(vault) as opened:
        if as_json:
            screen.data(opened.description.as_json())
        else:
            show(opened)


def show(vault: Vault) -> None:
    """Print the description of a vault, and its budget."""
    from discreet.vault import declared

    described = vault.description
    screen.say(f"Table {described.name}, version {described.version}", style="bold")
    screen.say(*_sentences(described), f"Budget: {vault.ledger.balance().budget}, all answers together.", "")
    rows = [(name, declared.domain(c), declared.fate(c)) for name, c in described.columns.items()]
    screen.table(("column", "holds", "and other values"), rows)


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
