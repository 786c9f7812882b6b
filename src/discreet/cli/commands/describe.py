"""Define `discreet describe`: show analysts what is public about a vault."""

from __future__ import annotations

import difflib
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import output
from discreet.cli.locations import Location
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.ledger import Budget
    from discreet.schema import Column
    from discreet.schema.metadata import TableMetadata

_LISTED = 40  # values of a category that the table of all columns shows


_MISSING = "missing values form a group, and count in count(*) only"  # said once, below the table


def describe(
    vault: Location,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this column, with all of its values.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the metadata as JSON.")] = False,
) -> None:
    """Show what a vault can be asked: its columns, bounds and privacy unit. It is free, and all of it is public.

    [bold]Examples[/bold]

    [cyan]discreet describe people.vault[/cyan]

    [cyan]discreet describe people.vault --column city[/cyan]
      every value of a category, as it is written after WHERE

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
    """Print the metadata, and the budget if it is known."""
    from discreet.schema import describe as declared

    promised = [] if budget is None else [f"Budget: {budget}, all answers together."]
    output.say(f"Table {described.name}, version {described.version}", style="bold")
    output.say(*_sentences(described), *promised, "")
    fates = {name: declared.fate(column) for name, column in described.columns.items()}
    rows = [
        (name, _holds(name, column), fates[name].removesuffix(_MISSING).removesuffix("; "))
        for name, column in described.columns.items()
    ]
    output.table(("column", "holds", "and other values"), rows)
    if any(fate.endswith(_MISSING) for fate in fates.values()):
        output.say("", "Missing values form a group of their own, and count in count(*) only.")


def _holds(name: str, column: Column) -> str:
    """Describe the values of a column: those of a category, as many as there is room for."""
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
        raise DiscreetError(
            f"The table {described.name} has no column {column}.",
            fix=f"Did you mean {near[0]}?" if near else f"It has {', '.join(described.columns)}.",
        )


def _budget(vault: str) -> Budget | None:
    """Return the budget of the ledger, if the user may read the ledger. The metadata alone are public."""
    from discreet.errors import LedgerTampered, LedgerUnavailable
    from discreet.vault.storage import storage_at

    try:
        with storage_at(vault).ledger() as ledger:
            return ledger.balance().budget
    except (LedgerTampered, LedgerUnavailable, PermissionError):
        return None


def _sentences(described: TableMetadata) -> list[str]:
    if described.person is None:
        unit = "Every row is protected as another person."
    else:
        most = described.rows_per_person
        rows = "1 row of a person counts" if most == 1 else f"{most:,} rows of a person count"
        unit = (
            f"Every person ({described.person}) is protected, with all of their rows. {rows} in full; "
            "if a person has more, each of them counts for less."
        )
    joined = [f"With {join}." for join in described.joins]
    return [unit, *joined]
