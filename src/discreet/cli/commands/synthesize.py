"""Define `discreet synthesize`: make a synthetic table to publish, with a report of how far to trust it.

Files are checked before anything is charged. If writing fails afterwards, the table is in the ledger's record, and
making it again is free.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options, output
from discreet.cli.commands.ask import Analyst, Purpose, cost_in_numbers, receipt_in_numbers
from discreet.cli.locations import Location, opened
from discreet.cli.progress import stages, waiting
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.synth import Comparison, Synthetic

_TABLES = (".parquet", ".csv")


def synthesize(
    vault: Location,
    epsilon: options.Epsilon = None,
    spend: options.Spend = None,
    columns: options.Columns = None,
    rows: Annotated[int | None, typer.Option(help="The number of rows. [about that of the vault]")] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Columns whose marginal matters: age,city. May be repeated."),
    ] = None,
    impossible: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION", help="An impossible row, such as 'age < 15 and married'. May be repeated."
        ),
    ] = None,
    persons: Annotated[
        bool, typer.Option(help="Give rows person ids, with as many rows to an id as persons have.")
    ] = False,
    bins: options.Bins = None,
    prior: options.Prior = None,
    seed: Annotated[int, typer.Option(help="The seed that draws the rows. Another seed is free.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file for the rows: .parquet or .csv.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Save the whole table, for Synthetic.load in Python.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw its errors: .html, .svg, .png or .pdf.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON", help="Spend this ε, or this share such as 2%, more to compare it with the vault."
        ),
    ] = None,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print report, cost and label as JSON.")] = False,
) -> None:
    """Make a synthetic table, and charge it once. The same table again, with any number of rows, is free.

    [bold]Examples[/bold]

    [cyan]discreet synthesize people.vault --epsilon 1 --out people-synthetic.parquet[/cyan]

    [cyan]discreet synthesize people.vault --spend 20% --columns age,city --rows 10000 --out small.csv[/cyan]

    [cyan]discreet synthesize people.vault --epsilon 1 --report wrong.html --compare 0.2[/cyan]
      beside the vault itself, for ε = 0.2 more

    Exit status: as ask.
    """
    _expect_files(out, save, report)
    price = options.amount(epsilon, spend)
    wanted: dict[str, Any] = {
        "columns": options.names(columns),
        "workload": [options.names(one) or [] for one in workload] if workload else None,
        "impossible": impossible or (),
        "persons": persons,
        "bins": options.bins(bins),
        "prior": options.prior(prior),
    }
    with opened(vault, analyst=analyst, purpose=purpose) as sealed:
        with stages() as told:
            table = sealed.synthesize(**price, rows=rows, seed=seed, progress=told, **wanted)
        found = table.compare(**_price(compare))
    if as_json:
        output.data(_document(table, found))
    else:
        output.say(*str(table).split("\n"), "", *str(found).split("\n"))
    output.write("--out", out, lambda to: _write_rows(table, to), quiet=as_json)
    output.write("--save", save, table.save, quiet=as_json)
    output.write("--report", report, lambda to: output.picture(found.plot(), to), quiet=as_json)
    if not (as_json or out or save):
        output.say("", "To write its rows, for free: run the same command with --out FILE.parquet")


def _price(compare: str | None) -> dict[str, Any]:
    """Return what a comparison spends: nothing, an ε, or a share of the budget."""
    if compare is None:
        return {}
    return {"spend" if compare.strip().endswith("%") else "epsilon": compare}


def _expect_files(out: Path | None, save: Path | None, report: Path | None) -> None:
    if out is not None:
        output.expect_writable("--out", out, _TABLES)
    if save is not None and (save.exists() or not save.absolute().parent.is_dir()):
        raise DiscreetError(
            "--save needs a new directory.", found=save, fix="Name a new directory in a folder that exists."
        )
    if report is not None:
        output.expect_picture("--report", report)


def _write_rows(table: Synthetic, file: Path) -> None:
    with waiting("drawing rows"):
        rows = table.to_arrow()
    if file.suffix.lower() == ".csv":
        from pyarrow import csv

        csv.write_csv(rows, file)
    else:
        from pyarrow import parquet

        parquet.write_table(rows, file)


def _document(table: Synthetic, found: Comparison) -> dict[str, Any]:
    table.expect_release("--json")
    means = {ways: found.mean(ways) for ways in (1, 2, 3)}
    return {
        "columns": list(table.domain.names),
        "rows": round(table.total) if table.rows is None else table.rows,
        "free": table.free,
        "cost": cost_in_numbers(table.cost),
        **receipt_in_numbers(table.receipt),
        "notes": list(table.notes),
        "report": {
            "title": found.title,
            "receipt": found.receipt.in_numbers(),
            "mean_distance": {str(ways): list(mean) for ways, mean in means.items() if mean is not None},
            "distances": [
                {"columns": list(d.columns), "distance": d.value, "deviation": d.deviation, "how": d.how}
                for d in found.distances
            ],
        },
        "label": table.label.facts,
    }
