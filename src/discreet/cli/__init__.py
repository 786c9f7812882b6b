"""The `discreet` command: one module per group of commands.

    seal           discreet propose, seal: from a file of rows to a vault
    ask            discreet ask, preview: a question, and what it would cost
    oracle         discreet oracle: many questions on one charge
    synthesize     discreet synthesize: rows that nobody lived, and how far to trust them
    describe       discreet describe: what is public about a vault
    ledger         discreet ledger, budget: who spent what, and who may
    demo           discreet demo: all of it on a city that does not exist (city)
    audit          discreet audit: attack what ships, the museum, or your own mechanism
    local          discreet local design, simulate: a question to devices that trust nobody, and its rehearsal
    reports        discreet local encode, aggregate: from values to reports, and to counts
    shares         discreet local estimate: from counts to shares
    collected      signed collections, keys and states, as these commands read them
    dialect        what they say of them, in options
    many           columns, bins and public tables, as one writes them
    files          what is written, and looked at before it is paid for
    conversation   exit codes, and errors without tracebacks
    places         directories, addresses of databases, and passwords that are not printed
    progress       a bar on stderr, if somebody is looking
    translation    what the library says in Python, in options
    screen         tables, sentences and data on stdout
    targets        module:attribute, as one writes it on the command line

A command is a function in its own module, and is named below. What it needs is imported when it runs, so that
`discreet --help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import discreet
from discreet.cli.commands.ask import ask, preview
from discreet.cli.commands.audit import audit
from discreet.cli.commands.demo import demo
from discreet.cli.commands.describe import describe
from discreet.cli.commands.ledger import budget, ledger
from discreet.cli.commands.local_design import design, simulate
from discreet.cli.commands.local_estimate import estimate
from discreet.cli.commands.local_reports import aggregate, encode
from discreet.cli.commands.oracle import oracle
from discreet.cli.commands.seal import propose, seal
from discreet.cli.commands.synthesize import synthesize
from discreet.cli.dialect import speaking
from discreet.cli.exit_codes import Careful, Commands, conversing

app = typer.Typer(cls=Commands, rich_markup_mode="rich", pretty_exceptions_enable=False)

_COMMANDS = {
    "For everyone": (demo, audit),
    "For the curator": (propose, seal, budget),
    "For analysts": (describe, preview, ask, oracle, synthesize, ledger),
}
for panel, commands in _COMMANDS.items():
    for command in commands:
        app.command(cls=Careful, rich_help_panel=panel)(conversing(command))

on_devices = typer.Typer(
    cls=Commands, rich_markup_mode="rich", no_args_is_help=True, help="Learn from devices that trust nobody."
)
for each in (design, simulate, encode, aggregate, estimate):
    on_devices.command(cls=Careful)(conversing(speaking(each)))
app.add_typer(on_devices, name="local", rich_help_panel="For devices")


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Learn from data about people with differential privacy."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without ε must not end the work
            stream.reconfigure(errors="replace")
    if version:
        typer.echo(f"discreet {discreet.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
