"""Define `discreet seal`: make a vault from a table.

The report on the rows is private: it is printed on a terminal, or if the curator asks for it with --check, and is
stored nowhere. Nothing else about the rows is printed, not even their number.
"""

from __future__ import annotations

import shlex
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import locations
from discreet.cli.commands.source_options import Encoding, Multiline, Separator, Sources, Table, source_of
from discreet.cli.exit_codes import CAUGHT
from discreet.cli.progress import stages
from discreet.errors import Code, DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.ledger import Balance, Budget
    from discreet.vault.vault import Vault


def seal(
    source: Sources,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="VAULT",
            help="The directory to make, such as people.vault, or the schema: postgresql://host/database#people.",
        ),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The types and bounds of the columns: see discreet propose."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that identifies a person: the unit that is protected."),
    ] = None,
    each_row: Annotated[bool, typer.Option("--each-row", help="Every row is another person.")] = False,
    rows_per_person: Annotated[
        int | None, typer.Option(metavar="N", help="How many rows of a person count in full. [1]")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The ε of the budget, for all answers together.")] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="The δ of the budget, for Gaussian noise and partition selection, such as 1e-9."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the table after FROM. [name of the vault]")] = None,
    learn: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Learn the bounds of a number from the rows, with noise, for 5% of the budget, or as in "
            "income=2%; may be repeated.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Report what would be made of the rows, and seal nothing. The report is private."
        ),
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Seal even if more than half of a column is unreadable.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Only analysts with an account may ask: see discreet budget.")
    ] = False,
    reseal: Annotated[
        bool, typer.Option("--reseal", help="Give an existing vault new rows, under the same ledger.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE", help="A further table of the same persons; may be repeated."),
    ] = None,
    lookup: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=SOURCE", help="A public table that is joined by a column; may be repeated."),
    ] = None,
    table: Table = None,
    separator: Separator = None,
    encoding: Encoding = None,
    multiline: Multiline = False,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="DB.TABLE", help="Keep the rows in Spark, in this new table; the vault holds the ledger."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="The memory for sealing, such as 2GB; the rest goes to disk.")
    ] = None,
) -> None:
    """Seal a table into a vault: bound the contribution of each person, and give it a budget.

    The source is read once and is not changed. The vault holds the rows, for its owner alone, and the ledger.

    [bold]Examples[/bold]

    [cyan]discreet seal trips.csv --schema trips.toml --person user_id --rows-per-person 8 --epsilon 2 --delta 1e-9
    --to trips.vault[/cyan]

    [cyan]discreet seal trips.csv --schema trips.toml --person user_id --check[/cyan]
      what would be read, clamped, missing or unreadable, with lines to look at

    [cyan]discreet seal trips-2026.csv --reseal --to trips.vault[/cyan]
      new rows, the same columns, the same ledger

    [cyan]discreet seal postgresql://host/shop --table visits --schema visits.toml --person user_id --epsilon 2
    --to "postgresql://host/shop#visits_vault"[/cyan]
      rows that stay in their database; give the password with PGPASSWORD or ~/.pgpass

    [cyan]discreet seal spark:shop.visits --schema visits.toml --person user_id --epsilon 2 --rows private.visits
    --to visits.vault[/cyan]
      rows that stay in Spark

    Exit status: 1 = with --check, more than half of a column is unreadable.
    """
    from discreet.sealing.draft import read_schema
    from discreet.vault.vault import Vault

    given = source_of(source, table, separator, encoding, multiline)
    beside: dict[str, Any] = {
        "tables": [locations.source(one) for one in also or []],
        "lookups": _lookups(lookup or []),
        **({} if memory is None else {"memory": memory}),
    }
    shares = _shares(learn or [])
    if check:
        _expect_persons(person, each_row)
        with stages() as told:
            report = Vault.check(
                given,
                columns=read_schema(_expected(schema), learn=shares),
                person=person,
                rows_per_person=1 if rows_per_person is None else rows_per_person,
                progress=told,
                **beside,
            )
        typer.echo(str(report))
        if any(column.mostly_unreadable for column in report.columns.values()):
            raise typer.Exit(CAUGHT)
        return
    to = _expected_vault(to)
    if reseal:
        _refuse_kept(epsilon, delta, name, strict, rows)
        _refuse_memory(to, memory)
        columns = None if schema is None else read_schema(schema, learn=shares)
        opened = locations.opened(to)
        _expect_same_persons(opened, person, each_row)
        with stages() as told:
            opened.reseal(
                given, columns=columns, rows_per_person=rows_per_person, progress=told, anyway=anyway, **beside
            )
    else:
        _expect_persons(person, each_row)
        budget, columns = _budget(epsilon, delta), read_schema(_expected(schema), learn=shares)
        with stages() as told:
            opened = Vault.seal(
                given,
                to=to,
                budget=budget,
                columns=columns,
                person=person,
                rows_per_person=1 if rows_per_person is None else rows_per_person,
                name=name,
                strict=strict,
                rows=rows,
                progress=told,
                anyway=anyway,
                **beside,
            )
    with opened:
        _tell(opened, again=reseal)


# -- required options -------------------------------------------------------------------------------------------


def _expected_vault(to: str | None) -> str:
    if to is None:
        raise DiscreetError(
            "The vault to make is missing.",
            fix=[
                Fix("to", "people.vault"),
                Fix("check", True, note="only reports what would be made of the rows"),
            ],
        )
    return to


def _shares(written: list[str]) -> dict[str, str]:
    """Return the share of the budget for each column to learn."""
    from discreet.kernel.amount import share_of
    from discreet.schema.learned import SHARE

    found = {}
    for one in written:
        column, _, share = one.rpartition("=") if one.rstrip().endswith("%") else (one, "", "")
        share_of(share or SHARE)
        found[column] = share or SHARE
    return found


def _expected(schema: Path | None) -> Path:
    if schema is None:
        raise DiscreetError(
            "The types and bounds of the columns are missing.",
            fix=[
                Fix("schema", "schema.toml"),
                "Draft the file with discreet propose SOURCE --out schema.toml, and finish it.",
            ],
        )
    return schema


def _expect_persons(person: str | None, each_row: bool) -> None:
    if (person is None) is not each_row:
        raise DiscreetError(
            "--person and --each-row contradict each other." if each_row else "Name the persons to protect.",
            fix=[
                Fix("person", "user_id", note="if a person may have several rows"),
                Fix("each_row", True, note="if every row is another person"),
            ],
        )


def _budget(epsilon: str | None, delta: str | None) -> Budget:
    from discreet.cli.commands.ledger import warn
    from discreet.ledger import Budget

    if epsilon is None:
        raise DiscreetError(
            "The budget of the vault is missing.",
            fix=[Fix("epsilon", 2), Fix("budget", Code('Budget(2, delta="1e-9")'), note="with Gaussian noise")],
        )
    budget = Budget(epsilon) if delta is None else Budget(epsilon, delta)
    if not budget.epsilon:
        raise DiscreetError(
            "No question can ever be asked with this budget.", found=epsilon, fix=Fix("epsilon", 2)
        )
    warn(budget)
    return budget


def _refuse_kept(*kept: str | bool | None) -> None:
    if any(kept):
        raise DiscreetError(
            "With --reseal the vault keeps its name, its storage and its ledger.",
            fix="Leave out --epsilon, --delta, --name, --strict and --rows. To change the budget, use discreet "
            "budget VAULT --amend --epsilon …",
        )


def _refuse_memory(to: str, memory: str | None) -> None:
    from discreet.vault.storage import storage_at

    if memory is not None and storage_at(to).metadata().engine != "duckdb":
        raise DiscreetError(
            "--memory is for vaults in a directory: PostgreSQL and Spark use their own memory.",
            found=memory,
            fix=Fix("memory", None),
        )


def _expect_same_persons(vault: Vault, person: str | None, each_row: bool) -> None:
    whose = vault.metadata.person
    if (person is not None and person != whose) or (each_row and whose is not None):
        sealed = "every row is a person" if whose is None else f"a person is a {whose}"
        raise DiscreetError(
            f"In {vault.place} {sealed}, and --reseal cannot change that: its ledger protects these persons.",
            fix=Fix("person", whose) if whose is not None else Fix("each_row", True),
        )


# -- input and output -------------------------------------------------------------------------------------------


def _lookups(written: list[str]) -> dict[str, Any]:
    found = {}
    for lookup in written:
        column, _, file = lookup.partition("=")
        if not column or not file:
            raise DiscreetError(
                "A lookup is given as a column, = and a source.",
                found=lookup,
                fix=Fix("lookup", {"zip": "regions.csv"}),
            )
        found[column] = locations.source(file)
    return found


_SHARE = 5  # percent of the budget, for the first question
_READ = {
    "duckdb": "these files",
    "postgres": "this schema",
    "spark": "that table of the catalogue",
}


def _tell(vault: Vault, *, again: bool) -> None:
    from discreet.cli.commands.describe import show
    from discreet.cli.output import command, say
    from discreet.query.parse.scope import named

    described = vault.metadata
    place = shlex.quote(str(vault.place))
    version = (
        f" Version {described.version}, under the same ledger. The rows of the version before stay, for questions "
        "and oracles that are running; they may be deleted afterwards."
        if again
        else ""
    )
    if sys.stdout.isatty() and vault.sealing_report is not None:  # a file or a pipe would keep it
        typer.echo(f"{vault.sealing_report}\n")
    say(f"Sealed {', '.join(described.sources)} into {vault.place}.{version}", "")
    show(described, vault.ledger.balance().budget)
    balance = vault.ledger.balance()
    if balance.budget is not None and not again:
        _show_budget_table(balance.budget, described.rows_per_person)
    say(
        "",
        f"A user who can read {_READ[described.engine]} can read the rows: give analysts answers, not the vault.",
    )
    share = _affordable(balance)
    if share is None:
        say("Nothing is left of the budget: discreet budget VAULT --amend --epsilon …")
        return
    say("Now ask:")
    question = f"select count(*) from {named(described.name)}"
    command(f"discreet ask {place} {shlex.quote(question)} --spend {share}")


def _affordable(balance: Balance) -> str | None:
    """Return a share of the budget that one more question may spend: 5 %, or less where less is left."""
    from discreet.kernel.refusal import affordable_share

    share = affordable_share([balance])
    return share if share is None or Fraction(share[:-1]) < _SHARE else f"{_SHARE}%"


def _show_budget_table(budget: Budget, rows_per_person: int) -> None:
    """Print how accurate equal counts are under this budget, and under the other kind where that is better."""
    from discreet.cli.output import say, table
    from discreet.query.plan.budget_table import budget_table, other_kind
    from discreet.render.numbers import left, number

    def shown(margin: float | None) -> str:
        return "–" if margin is None else f"± {number(margin, 3)}"

    found, other = budget_table(budget, rows_per_person), other_kind(budget)
    better = any(row.other_is_better for row in found)
    kinds = "without δ" if other.pure else f"with δ = {left(other.delta)}"
    say("", "The margin of each count at 95 %, if they share the budget equally:", "")
    table(
        ("counts", "this budget", *([kinds] if better else [])),
        [(f"{r.counts:,}", shown(r.margin), *([shown(r.other)] if better else [])) for r in found],
        right=(0, 1, 2),
        whole=(0, 1, 2),
    )
    if better:
        few = "For a few questions a budget without δ is better: leave out --delta."
        many = f"For hundreds of questions a budget with δ is better: --delta {left(other.delta)}."
        say("", few if other.pure else many)
