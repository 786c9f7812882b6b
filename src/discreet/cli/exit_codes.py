"""How every command ends: a sentence on stderr instead of a traceback when the fault is in what was asked.

    0     as it should be
    1     the command did its work, and the answer is no: something was caught; or a ledger is damaged or gone
    2     the question had no meaning: the message says what to write instead
    3     the budget does not reach; nothing was charged
    4     a vault does not answer such questions; nothing was charged, and no row was looked at
    5     an answer, but not within the width that was asked for: the budget ended first
    70    the command itself failed (EX_SOFTWARE of sysexits.h): the traceback follows, and nothing was shown
    75    the ledger cannot be reached now (EX_TEMPFAIL): it is locked, or its disk or server is; try again
    130   stopped with Ctrl-C
    141   whoever read the output went away (128 + SIGPIPE), as `| head` does

Python would end with 1 after a traceback, and a pipeline could not tell a crash from a finding. What the library
says it says in Python; here it is said in options (translation), and without the passwords of addresses that were
typed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.cli.fixes import in_options
from discreet.cli.locations import hidden
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    LedgerMissing,
    LedgerTampered,
    LedgerUnavailable,
    QuestionRefused,
)

CAUGHT, BAD_INPUT, OVERSPENT, REFUSED, TOO_WIDE = 1, 2, 3, 4, 5
CRASHED, UNAVAILABLE, STOPPED, UNREAD = 70, 75, 130, 141

_CODES: dict[type[DiscreetError], int] = {
    BudgetExceeded: OVERSPENT,
    QuestionRefused: REFUSED,
    LedgerTampered: CAUGHT,
    LedgerMissing: CAUGHT,  # trying again does not help
    LedgerUnavailable: UNAVAILABLE,
}

Parameters = ParamSpec("Parameters")


def conversing(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return the command with endings as above."""

    @wraps(command)
    def conversed(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        def tell(words: str) -> None:
            typer.echo(hidden(words, [*args, *kwargs.values()]), err=True)

        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            raise _unread() from None
        except SystemExit as end:  # no command ends itself so: rich does if nobody reads, and code under audit may
            if isinstance(end.__context__, BrokenPipeError):
                raise _unread() from None
            tell(f"discreet: the code that was run ended Python (SystemExit: {end.code}).")
            raise typer.Exit(CRASHED) from end
        except DiscreetError as error:
            tell(f"discreet: {in_options(str(error))}")
            code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), BAD_INPUT)
            raise typer.Exit(code) from error
        except PermissionError as error:  # vaults are for their owner alone
            tell(f"discreet: {error.filename} cannot be used: permission denied. Ask who owns it.")
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt:
            typer.echo("discreet: stopped.", err=True)
            raise typer.Exit(STOPPED) from None
        except Exception as error:
            tell(traceback.format_exc())  # Python's own: it shows no local variables, which may hold exact values
            raise typer.Exit(CRASHED) from error

    return conversed


class Careful(TyperCommand):
    """A command whose usage errors, too, quote no password."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Read what was typed."""
        with _careful([*args]):
            return super().make_context(info_name, args, *rest, **more)


class Commands(TyperGroup):
    """All commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was typed."""
        with _careful([*args]):
            return super().resolve_command(ctx, args)


@contextlib.contextmanager
def _careful(typed: list[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):  # as usage errors have it
            error.message = hidden(error.message, typed)  # type: ignore[attr-defined]
        raise


def _unread() -> typer.Exit:
    """Say nothing more, not even when Python closes what it had open."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(UNREAD)
