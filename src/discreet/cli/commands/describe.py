"""`discreet describe`: what is public about a vault, for whoever wants to ask it something."""

from __future__ import annotations

import difflib
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import output
from discreet.cli.locations import Place
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.ledger import Budget
    from discreet.schema import Column
    from discreet.schema.metadata import TableMetadata

_LISTED = 40  # values of a category in the table of all columns


def describe(
    vault: Place,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this column, with all of its values.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON.")] = False,
) -> None:
    """Say what may be asked of a vault: columns, bounds, whom it protects. It is free, and all of it is public.

    [bold]Examples[/bold]

    [cyan]discreet describe people.vault[/cyan]

    [cyan]discreet describe people.vault --column city[/cyan]
      every value of a list, as one writes it after WHERE

    [cyan]discreet describe "postgresql://host/database#people"[/cyan]
    """
    from discreet.vault.storage import storage_at

    described = storage_at(vault).metadata()
    if column is not None:
        _expect(column, described)
    if as_json:
        document = described.as_json()
        output.data(document if column is None else document["columns"][column])
    elif column is not None:
        _show_column(column, described.columns[column])
    else:
        show(described, _budget(vault))


def show(described: TableMetadata, budget: Budget | None) -> None:
    """Print a description, and the budget if it is known."""
    from discreet.schema import describe as declared

    promised = [] if budget is None else [f"Budget: {budget}, all answers together."]
    output.say(f"Table {described.name}, version {described.version}", style="bold")
    output.say(*_sentences(described), *promised, "")
    rows = [(name, _holds(name, c), declared.fate(c)) for name, c in described.columns.items()]
    output.table(("column", "holds", "and other values"), rows)


def _holds(name: str, column: Column) -> str:
    """What a column can hold: whoever asks needs every value of a list, as far as there is room for it."""
    from discreet.schema import Category
    from discreet.schema import describe as declared

    if not isinstance(column, Category):
        return declared.domain(column)
    listed, rest = ", ".join(map(str, column.labels[:_LISTED])), len(column.labels) - _LISTED
    return f"one of {listed}{f' and {rest:,} more (--column {shlex.quote(name)})' if rest > 0 else ''}"


def _show_column(name: str, column: Column) -> None:
    from discreet.schema import Category
    from discreet.schema import describe as declared

    output.say(name, style="bold")
    if isinstance(column, Category):
        output.say("one of")
        for label in column.labels:
            quoted = "'" + label.replace("'", "''") + "'" if isinstance(label, str) else str(label)
            output.say(quoted, indent=2)
    else:
        output.say(declared.domain(column))
    output.say(declared.fate(column))


def _expect(column: str, described: TableMetadata) -> None:
    if column not in described.columns:
        near = difflib.get_close_matches(column, described.columns, 1)
        there = f"Did you mean {near[0]}?" if near else f"It has {', '.join(described.columns)}."
        raise DiscreetError(f"The table {described.name} has no column {column}. {there}")


def _budget(vault: str) -> Budget | None:
    """What the ledger promises, where whoever asks may read it: a description is public by itself."""
    from discreet.errors import LedgerTampered, LedgerUnavailable
    from discreet.vault.storage import storage_at

    try:
        with storage_at(vault).ledger() as ledger:
            return ledger.balance().budget
    except (LedgerTampered, LedgerUnavailable, PermissionError):
        return None


def _sentences(described: TableMetadata) -> list[str]:
    if described.person is None:
        unit = "Protected is every row, as a person of its own."
    else:
        most = described.rows_per_person
        rows = "1 row of a person counts" if most == 1 else f"{most:,} rows of a person count"
        unit = (
            f"Protected is every {described.person}, with all of their rows. {rows} in full; "
            "of someone with more, every row is scaled down."
        )
    joined = [f"With {words}." for words in described.joins]
    return [unit, *joined]
