"""How every command ends: a sentence on stderr instead of a traceback when the fault is in what was asked.

    0     as it should be
    1     the command did its work, and the answer is no (something was caught)
    2     the question had no meaning: the message says what to write instead
    70    the command itself failed (EX_SOFTWARE of sysexits.h): the traceback follows, and nothing was shown
    130   stopped with Ctrl-C

Python would end with 1 after a traceback, and a pipeline could not tell a crash from a finding.
Tested in tests/test_cli.py.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import typer

from discreet.errors import DiscreetError

CAUGHT, BAD_INPUT, CRASHED, STOPPED = 1, 2, 70, 130

Parameters = ParamSpec("Parameters")


def conversing(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return the command with endings as above."""

    @wraps(command)
    def conversed(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except DiscreetError as error:
            typer.echo(f"discreet: {error}", err=True)
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt:
            typer.echo("discreet: stopped.", err=True)
            raise typer.Exit(STOPPED) from None
        except Exception as error:
            traceback.print_exc()  # Python's own: it shows no local variables, which may hold exact values
            raise typer.Exit(CRASHED) from error

    return conversed
