"""Define the command `discreet`.

    commands/        one module for each group of commands
    locations        directories, addresses of databases, and passwords that are not printed
    options          columns, bins and public tables, as options
    local_options    collections, keys, values and states of `discreet local`
    targets          module:attribute, for `discreet audit`
    output           tables, sentences, JSON and files
    progress         a bar on stderr
    exit_codes       exit codes, and errors without tracebacks
    fixes            fixes of errors, as options and commands
    help             help that wraps, and exit statuses as a table
    demo_data        the invented city of `discreet demo`

A command is a function in its own module. It imports what it needs when it runs, so that `discreet --help` is
fast.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Annotated

import typer

import discreet
from discreet.cli.commands.ask import ask, preview
from discreet.cli.commands.audit import audit
from discreet.cli.commands.clean import clean
from discreet.cli.commands.demo import demo
from discreet.cli.commands.describe import describe
from discreet.cli.commands.fit import fit, predict
from discreet.cli.commands.ledger import budget, ledger
from discreet.cli.commands.local.design import design, simulate
from discreet.cli.commands.local.estimate import estimate
from discreet.cli.commands.local.reports import aggregate, encode
from discreet.cli.commands.oracle import oracle
from discreet.cli.commands.propose import propose
from discreet.cli.commands.seal import seal
from discreet.cli.commands.serve import serve
from discreet.cli.commands.stream import count, stream_demo
from discreet.cli.commands.synthesize import synthesize
from discreet.cli.commands.validity import demo as show_overfitting
from discreet.cli.commands.validity import plan as plan_holdout
from discreet.cli.exit_codes import Careful, Commands, reporting_errors


def unwrapped(text: str | None) -> str:
    """Return a docstring with one line for each paragraph and each note, so that the terminal wraps them.

    >>> unwrapped("Ask.\\n\\nThe same question\\nis free.\\n\\ndiscreet ask\\n  a note of\\n  two lines")
    'Ask.\\n\\nThe same question is free.\\n\\ndiscreet ask\\n  a note of two lines'
    """
    joined = re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(text or ""))
    return re.sub(r"(?m)(^  .*(?:\n  .*)+)", lambda note: "  " + " ".join(note[0].split()), joined)


app = typer.Typer(cls=Commands, rich_markup_mode="rich", pretty_exceptions_enable=False)

_COMMANDS = {
    "For a first look, and for auditors": (demo, audit),
    "For the curator": (propose, seal, budget, clean, serve),
    "For analysts": (describe, preview, ask, oracle, synthesize, fit, predict, ledger),
}
for panel, commands in _COMMANDS.items():
    for command in commands:
        define = app.command(cls=Careful, rich_help_panel=panel, help=unwrapped(command.__doc__))
        define(reporting_errors(command))

on_devices = typer.Typer(
    cls=Commands, rich_markup_mode="rich", no_args_is_help=True, help="Learn from devices that trust no server."
)
for each in (design, simulate, encode, aggregate, estimate):
    on_devices.command(cls=Careful, help=unwrapped(each.__doc__))(reporting_errors(each))
app.add_typer(on_devices, name="local", rich_help_panel="For devices")

on_holdouts = typer.Typer(
    cls=Commands,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Keep findings valid under adaptive analysis.",
)
for part in (plan_holdout, show_overfitting):
    on_holdouts.command(cls=Careful, help=unwrapped(part.__doc__))(reporting_errors(part))
app.add_typer(on_holdouts, name="validity", rich_help_panel="For analysts")
of_streams = typer.Typer(
    cls=Commands,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Count what arrives, privately at every moment.",
)
of_streams.command("count", cls=Careful, help=unwrapped(count.__doc__))(reporting_errors(count))
of_streams.command("demo", cls=Careful, help=unwrapped(stream_demo.__doc__))(reporting_errors(stream_demo))
app.add_typer(of_streams, name="stream", rich_help_panel="For streams")


_HELP = """Learn from data about people with differential privacy.

With --json, a command prints its result as JSON on stdout, and an error as one JSON object on stderr, with the
fields error, problem, found and fix. The exit code is the same with and without --json.
"""


@app.callback(invoke_without_command=True, help=unwrapped(_HELP))
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Prepare the output, and show the version or the help."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that has no ε must not stop a command
            stream.reconfigure(errors="replace")
    if version:
        typer.echo(f"discreet {discreet.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
