"""The `discreet` command: one module per group of commands.

    conversation   exit codes, and errors without tracebacks
    audit          discreet audit: attack what ships, the museum, or your own mechanism
    progress       a bar on stderr, if somebody is looking
    targets        module:attribute, as one writes it on the command line

A command is a function in its own module, and is named below. What it needs is imported when it runs, so that
`discreet --help` answers at once. Tested in tests/test_cli.py.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import discreet
from discreet.cli.audit import audit
from discreet.cli.conversation import conversing

app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
app.command()(conversing(audit))


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
