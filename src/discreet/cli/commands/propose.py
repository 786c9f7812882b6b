"""Define `discreet propose`: draft the schema of a table, or ask the curator for it.

No row is read. What is offered comes from the names and the declared types of columns.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import locations
from discreet.cli.commands.source_options import Encoding, Multiline, Separator, Sources, Table, source_of
from discreet.errors import DiscreetError

_KINDS = ("integer", "real", "category", "boolean", "date", "datetime", "text")
_ASKED = {
    "lo": "smallest value",
    "hi": "largest value",
    "step": "rounded to steps of",
    "values": "values, separated by commas",
}


def propose(
    source: Sources,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the draft to a new file.")] = None,
    table: Table = None,
    separator: Separator = None,
    encoding: Encoding = None,
    multiline: Multiline = False,
    draft: Annotated[bool, typer.Option("--draft", help="Write the draft without questions.")] = False,
) -> None:
    """Draft the schema of a table from names and declared types. No row is read.

    On a terminal, with --out, every column is asked about: Enter takes what is offered. Otherwise the draft is
    written with guesses to check and a TODO for everything else. Take bounds from what a column means: a bound
    that is copied from the rows is a fact about a person.

    [bold]Examples[/bold]

    [cyan]discreet propose people.csv --out people.toml[/cyan]

    [cyan]discreet propose kunden.csv --encoding latin-1 --out kunden.toml --draft[/cyan]

    [cyan]discreet propose postgresql://host/shop --table visits --out visits.toml[/cyan]
    """
    from discreet.cli.output import command, expect_writable, say
    from discreet.sealing.draft import columns_of, written
    from discreet.sealing.sources import Source

    if out is not None:
        expect_writable("--out", out)
        if out.exists():
            raise DiscreetError(
                "The file for --out exists, and may hold your work.",
                found=out,
                fix="Name another file, or remove it.",
            )
    given = source_of(source, table, separator, encoding, multiline)
    name, columns = Source.of(given).display_name, columns_of(given)
    if out is None:
        typer.echo(written(name, columns), nl=False)
        return
    options = _options(separator, encoding, multiline)
    if draft or not (sys.stdin.isatty() and sys.stdout.isatty()):
        _write(out, written(name, columns))
        say(f"Wrote {out}: replace every TODO in it, check every guess, and remove columns that are not needed.")
        say("Then:")
        command(_sealing(source[0], table, out, "…", options))
        return
    person, chosen = _interview(columns)
    _write(out, written(name, columns, chosen))
    say("", f"Wrote {out}. See what would be made of the rows, before you seal them:")
    command(f"{_sealing(source[0], table, out, person, options)} --check")


def _interview(columns: Mapping[str, str]) -> tuple[str | None, dict[str, dict[str, Any]]]:
    """Ask for the person column, and for every other column whether to keep it, and its type and bounds."""
    from discreet.cli.output import say
    from discreet.sealing.guesses import may_identify

    say(
        "Enter takes what stands in brackets. Bounds become public: take them from what a column means.",
        f"The columns are {', '.join(columns)}.",
        "",
    )
    likely = next((name for name in columns if may_identify(name)), "")
    person: str | None = None
    while True:
        answer = _asked("Which column identifies a person (- if every row is another person)", likely or "-")
        if answer == "-" or answer in columns:
            person = None if answer == "-" else answer
            break
        say(f"There is no column {answer}.")
    chosen = {}
    for name, kind in columns.items():
        if name != person and (fields := _column(name, kind)):
            chosen[name] = fields
    if not chosen:
        raise DiscreetError("No column was kept.", fix="Keep at least one, so that it can be asked about.")
    return person, chosen


def _column(name: str, kind: str) -> dict[str, Any]:
    """Ask about one column; nothing is returned if it is left out."""
    from discreet.cli.output import say
    from discreet.sealing.draft import OPEN, guessed, open_fields

    offered = guessed(name, kind)
    say("", name, style="bold")
    typed = _asked(f"  type: {', '.join(_KINDS)}, or - to leave it out", str(offered.get("type", "-")), _KINDS)
    if typed == "-":
        return {}
    fields: dict[str, Any] = {"type": typed}
    usual = offered if offered.get("type") == typed else {}
    for field in open_fields(typed):
        default = usual.get(field)
        known = default not in (None, OPEN)
        hint = ", or learn" if field == "lo" and typed in ("integer", "real") else ""
        answer = _asked(f"  {_ASKED[field]}{hint}", str(default) if known else None)
        if hint and answer == "learn":
            fields |= {"learn": "5%"}
            if typed == "real":
                fields["step"] = _number(_asked(f"  {_ASKED['step']}", str(usual.get("step", "0.01"))))
            break
        fields[field] = [part.strip() for part in answer.split(",")] if field == "values" else _number(answer)
    if not kind:
        fields |= _notation(typed)
    return fields


def _notation(typed: str) -> dict[str, str]:
    """Ask how texts are written, where the source declares no types."""
    if typed in ("date", "datetime"):
        written = _asked(
            "  written as (such as %d.%m.%Y)", "2025-12-31" if typed == "date" else "2025-12-31 23:59"
        )
        return {} if written.startswith("2025") else {"format": written}
    if typed == "real":
        mark = _asked("  decimal mark", ".")
        return {} if mark == "." else {"decimal": mark}
    return {}


def _asked(question: str, default: str | None, of: tuple[str, ...] | None = None) -> str:
    while True:
        answer = str(typer.prompt(question, default=default)).strip()
        if answer and (of is None or answer in (*of, "-")):
            return answer
        typer.echo("  Please answer with one of these.")


def _number(answer: str) -> Any:
    """Return whole numbers as numbers, and other answers as they were typed."""
    return int(answer) if re.fullmatch(r"-?\d{1,15}", answer) else answer


def _options(separator: str | None, encoding: str | None, multiline: bool) -> str:
    """Return the options of a CSV file, for the command that follows."""
    given = [("--separator", separator), ("--encoding", encoding)]
    texts = [f" {name} {shlex.quote(value)}" for name, value in given if value is not None]
    return "".join([*texts, " --multiline" if multiline else ""])


def _sealing(source: str, table: str | None, schema: Path, person: str | None, options: str) -> str:
    """Return the command that follows a draft."""
    named = "" if table is None else f" --table {shlex.quote(table)}"
    vault = shlex.quote(f"{locations.stem(source, table)}.vault")
    first = f"discreet seal {shlex.quote(locations.display_name(source))}{named}{options}"
    who = "--each-row" if person is None else f"--person {person if person == '…' else shlex.quote(person)}"
    return f"{first} --schema {shlex.quote(str(schema))} {who} --epsilon 2 --to {vault}"


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DiscreetError(f"The file for --out cannot be written: {error.strerror}.", found=file) from error
