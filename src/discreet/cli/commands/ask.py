"""Define `discreet ask` and `discreet preview`: ask a vault a question, and see its cost before.

The files for an answer are checked before it is charged. If writing fails afterwards, the answer is recorded, and
asking again is free.
"""

from __future__ import annotations

import io
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options, output
from discreet.cli.exit_codes import OVERSPENT, TOO_WIDE
from discreet.cli.locations import Location, opened
from discreet.cli.progress import waiting
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.release.receipt import Receipt
    from discreet.release.release import Release

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="SQL, in quotes; - reads it from stdin.")]
Within = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MARGIN", help="The margin of error: 200, or 5%; for several numbers name=200, repeated."
    ),
]
Confidence = Annotated[str, typer.Option(help="The confidence of the intervals.")]
KeysDelta = Annotated[
    str | None, typer.Option(help="The δ of partition selection, for the keys of a text column.")
]
Analyst = Annotated[
    str | None,
    typer.Option(
        envvar="DISCREET_ANALYST", help="The analyst who asks, and whose account is charged.", metavar="NAME"
    ),
]
Purpose = Annotated[
    str | None, typer.Option(envvar="DISCREET_PURPOSE", help="The purpose, if it has an account.", metavar="NAME")
]


def ask(
    vault: Location,
    question: Question,
    epsilon: options.Epsilon = None,
    spend: options.Spend = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    keys_delta: KeysDelta = None,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print answer, cost and label as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the answer as CSV: x, x_low, x_high.")] = False,
    label: Annotated[bool, typer.Option("--label", help="Print the label below the answer.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the answer: .svg, .png, .html or .pdf.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the release, for Release.load in Python.")
    ] = None,
) -> None:
    """Answer a question with error bars, and charge it. The same question again is free.

    Give one of --epsilon, --spend and --within. --epsilon 0.1 guarantees ε = 0.1 for this answer alone, at the
    vault's δ: in a vault with a δ, many small questions cost less than their sum. --spend 5% is a share of the
    whole budget. --within 200 is the margin of error.

    [bold]Examples[/bold]

    [cyan]discreet ask people.vault "select city, count(*) from people group by city" --epsilon 0.1[/cyan]

    [cyan]discreet ask people.vault "select avg(income) from people" --spend 5%[/cyan]
      5 % of the whole budget

    [cyan]discreet ask people.vault "select count(*) from people where age >= 65" --within 200[/cyan]
      ± 200 at 95 %, for as little as possible

    [cyan]discreet ask people.vault "select avg(income) from people" --within 5% --json[/cyan]
      doubles ε until the margin is met; this may take nearly all that is left. --epsilon 0.5 caps the total. If
      the cap or the budget is reached first, you get the last answer, with a note

    [cyan]discreet ask "postgresql://host/database#people" "select count(*) from people" --epsilon 0.1[/cyan]
      a vault in a database; give the password with PGPASSWORD or ~/.pgpass

    With --json, an error is a JSON object on stderr.

    Exit status: as ask; 0 = answered; 5 = answered, but with a larger margin than --within 5% allows.
    """
    from discreet.render.terminal import plain

    _expect_one_form(as_json, as_csv, label)
    _expect_files(plot, save)
    price = _price(epsilon, spend, within, confidence, keys_delta)
    with opened(vault, analyst=analyst, purpose=purpose) as asked, waiting("asking"):
        release = asked.ask(_read(question), **price)
    narrow = _reached(release, price["within"])
    if as_json:
        output.data({**_document(release), "reached": narrow})
    elif as_csv:
        typer.echo(_csv(release), nl=False)
    else:
        show(release)
        if label:
            output.say("")
            output.console().print(release.label.as_text(output.console().width), soft_wrap=True)
    output.write("--save", save, release.save, quiet=as_json or as_csv)
    output.write("--plot", plot, lambda to: draw(release, to), quiet=as_json or as_csv)
    if not narrow:
        if as_json or as_csv:
            notes = "; ".join(f"{answer.name}: {answer.note}" for answer in release.aggregates if answer.note)
            typer.echo(f"discreet: {plain(notes)}", err=True)
        raise typer.Exit(TOO_WIDE)


def preview(
    vault: Location,
    question: Question,
    epsilon: options.Epsilon = None,
    spend: options.Spend = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    keys_delta: KeysDelta = None,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show the cost of a question and the margin of error of its answer. It is free, and reads no row.

    [bold]Example[/bold]

    [cyan]discreet preview people.vault "select city, count(*) from people group by city" --epsilon 0.1[/cyan]

    [cyan]discreet preview people.vault "select count(*) from people" --spend 5%[/cyan]

    Exit status: as ask; 3 = the budget would not suffice.
    """
    from discreet.vault.vault import Vault

    price = _price(epsilon, spend, within, confidence, keys_delta)
    if isinstance(price["within"], str) and price["within"].endswith("%"):
        raise DiscreetError(
            "The cost of a relative margin depends on the answer: ε is doubled until the margin is met.",
            found=price["within"],
            fix=[
                Fix("epsilon", "0.01", note="previews one step"),
                Fix("within", 200, note="an absolute margin, for counts and sums"),
            ],
        )
    with Vault(vault, analyst=analyst, purpose=purpose) as asked:
        found = asked.preview(_read(question), **price)
    if as_json:
        output.data(found.to_json())
    else:
        output.say(found.question, style="dim")
        output.say("", *found.plan.split("\n"), "", found.verdict)
    if not (found.affordable or found.recorded):
        raise typer.Exit(OVERSPENT)


# -- input ------------------------------------------------------------------------------------------------------


def _read(question: str) -> str:
    return sys.stdin.read() if question == "-" else question


def _price(
    epsilon: str | None, spend: str | None, within: list[str] | None, confidence: str, keys_delta: str | None
) -> dict[str, Any]:
    margins = [_margin(written) for written in within or []]
    relative = any(margin.endswith("%") for _, margin in margins)
    given = sum((epsilon is not None, spend is not None, bool(within)))
    if given != 1 and not (relative and spend is None):  # epsilon caps the total of a relative margin
        raise DiscreetError(
            "Give either what to spend or the margin of error, not both."
            if given
            else "Give what to spend, or the margin of error.",
            fix=[Fix("epsilon", "0.1"), Fix("spend", "5%"), Fix("within", 200), Fix("within", "5%")],
        )
    named = {name: margin for name, margin in margins if name}
    if len(margins) > 1 and len(named) < len(margins):
        raise DiscreetError(
            "Several margins must be given by name, one for each number.",
            found=", ".join(within or []),
            fix=Fix("within", {"n": 200, "s": 5000}),
        )
    margin = named or (margins[0][1] if margins else None)
    return {
        "epsilon": epsilon,
        "spend": spend,
        "within": margin,
        "confidence": confidence,
        "keys_delta": keys_delta,
    }


def _reached(release: Release, within: Any) -> bool:
    """Return whether a relative margin was met before the budget ended. Absolute ones always are."""
    from discreet.query.plan import relative_accuracy

    relative = isinstance(within, str) and within.endswith("%")
    return not relative or relative_accuracy.reached(relative_accuracy.estimates_of(release), within)


def _margin(written: str) -> tuple[str, str]:
    name, _, margin = written.rpartition("=")
    return name.strip(), re.sub(r"\s", "", margin)


def _expect_one_form(as_json: bool, as_csv: bool, label: bool) -> None:
    if as_json + as_csv > 1 or (as_csv and label):
        raise DiscreetError(
            "--json, --csv and --label cannot be combined.",
            fix="Take one: --json has everything, --csv only the numbers, --label also the label.",
        )


def _expect_files(plot: Path | None, save: Path | None) -> None:
    if save is not None:
        output.expect_writable("--save", save)
    if plot is not None:
        output.expect_picture("--plot", plot)


# -- output -----------------------------------------------------------------------------------------------------


def show(release: Release, *, question: bool = True) -> None:
    """Print a release as Python renders it, with the options that show its label and its table."""
    from discreet.release.render import Hints, styled

    to = output.console()
    lines = styled(release, to.width, Hints(label="--label", table="--csv")).split("\n", allow_blank=True)
    for line in lines if question else lines[[line.plain for line in lines].index("") :]:
        to.print(line, soft_wrap=True)


def _csv(release: Release) -> bytes:
    """Return the answer as CSV in UTF-8, with an empty field where there is no answer."""
    import csv  # here, so that help is quick

    release.expect_release("--csv")
    text = io.StringIO()
    table = _columns(release)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return text.getvalue().encode()


def _document(release: Release) -> dict[str, Any]:
    release.expect_release("--json")
    table = _columns(release)
    return {
        "question": release.question,
        "rows": [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)],
        "confidence": float(release.confidence),
        "at": release.at,
        "free": release.free,
        "cost": cost_in_numbers(release.cost),
        **receipt_in_numbers(release.receipt),
        "notes": {answer.name: answer.note for answer in release.aggregates if answer.note},
        "plan": release.plan,
        "label": release.label.facts,
    }


def _columns(release: Release) -> dict[str, list[Any]]:
    """Return the columns of a release for JSON and CSV: days and times in ISO format."""
    from discreet.render.numbers import instant

    table = {}
    for name, (values, axis) in release.typed_table().items():
        if axis == "key":
            table[name] = [value.isoformat() if hasattr(value, "isoformat") else value for value in values]
            continue
        table[name] = [
            output.number(value) if axis == "number" or value is None else instant(value, axis).isoformat()
            for value in values
        ]
    return table


def cost_in_numbers(receipt: Receipt) -> dict[str, float | None]:
    """Return the charge in numbers, rounded up to six digits."""
    from discreet.render import numbers

    def above(value: Fraction | None) -> float | None:
        return None if value is None else float(numbers.spent(value))

    return {
        "epsilon": above(receipt.cost.epsilon),
        "rho": above(receipt.cost.rho),
        "delta": above(receipt.cost.delta),
    }


def receipt_in_numbers(receipt: Receipt) -> dict[str, Any]:
    """Return what is left of the vault, and the whole receipt: exact fractions as text, and floats."""
    numbers = receipt.in_numbers()
    return {"left": numbers["left"], "receipt": numbers}


def draw(release: Release, file: Path) -> None:
    """Draw a release to a file, of the kind that its ending names."""
    release.expect_release("--plot")
    output.picture(release.plot(), file)
