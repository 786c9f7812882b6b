"""End every command with an exit code, and with a sentence on stderr instead of a traceback for bad input.

    0     the command succeeded
    1     the command did its work and found something wrong; or a ledger is damaged or gone
    2     the input has no meaning: the message says what to write instead
    3     the budget is not sufficient; nothing was charged
    4     a vault does not answer such questions; nothing was charged, and no row was read
    5     an answer, but not within the margin that was asked for: the budget ended first
    6     undecided: nothing was found wrong, but the work ended before it could be (discreet audit)
    70    the command itself failed (EX_SOFTWARE of sysexits.h): the traceback follows, and nothing was shown
    75    the ledger cannot be reached now (EX_TEMPFAIL): it is locked, or its disk or server is down; try again
    130   stopped with Ctrl-C
    141   the reader of the output went away (128 + SIGPIPE), as `| head` does

Python would end with 1 after a traceback, and a pipeline could not distinguish a crash from a finding. Errors are
rendered with options (`discreet.cli.fixes`), without the passwords of addresses that were typed. With --json an
error is one JSON object on stderr (`DiscreetError.to_json`), so that stdout holds documents and nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec

import typer
from typer.core import TyperCommand, TyperGroup

from discreet.cli import help as help_text
from discreet.cli import output
from discreet.cli.fixes import rendered
from discreet.cli.locations import display_name, hidden
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    LedgerMissing,
    LedgerTampered,
    LedgerUnavailable,
    QuestionRefused,
)

CAUGHT, BAD_INPUT, OVERSPENT, REFUSED, TOO_WIDE, UNDECIDED = 1, 2, 3, 4, 5, 6
CRASHED, UNAVAILABLE, STOPPED, UNREAD = 70, 75, 130, 141

_CODES: dict[type[DiscreetError], int] = {
    BudgetExceeded: OVERSPENT,
    QuestionRefused: REFUSED,
    LedgerTampered: CAUGHT,
    LedgerMissing: CAUGHT,  # trying again does not help
    LedgerUnavailable: UNAVAILABLE,
}

_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Faults of the disk, which are none of ours: it is full, or read-only, or fails."""

_options: ContextVar[frozenset[str] | None] = ContextVar("options", default=None)  # of the command that runs

Parameters = ParamSpec("Parameters")


def reporting_errors(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return the command with errors reported on stderr and the exit codes above."""
    # typer reads every signature four times before it shows any help, and would evaluate its texts each time.
    command.__annotations__ = inspect.get_annotations(command, eval_str=True)

    @wraps(command)
    def reported(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        typed = [*args, *kwargs.values()]

        def tell(text: str) -> None:
            typer.echo(hidden(text, typed), err=True)

        try:
            command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError:
            raise _unread() from None
        except SystemExit as end:  # no command exits so: rich does if the pipe is closed, and code under audit may
            if isinstance(end.__context__, BrokenPipeError):
                raise _unread() from None
            tell(f"discreet: the code that was run ended Python (SystemExit: {end.code}).")
            raise typer.Exit(CRASHED) from end
        except DiscreetError as error:
            report(error, typed, vault=_vault(kwargs), as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(code_of(error)) from error
        except PermissionError as error:  # a vault is for its owner alone
            denied = DiscreetError(
                "You do not have the right to use this file.", found=error.filename, fix="Ask its owner for it."
            )
            report(denied, typed, as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(BAD_INPUT) from error
        except OSError as error:
            if error.errno not in _DISK:
                raise _crashed(tell) from error
            full = DiscreetError(
                f"A file cannot be written: {os.strerror(error.errno)}.",
                found=error.filename,
                fix="Free some space, or choose another folder.",
            )
            report(full, typed, as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as stop:
            # A note says what was charged before; `kernel.spend` writes it.
            tell(
                " ".join(["discreet: stopped.", *getattr(stop, "__notes__", [])]).replace("VAULT", _vault(kwargs))
            )
            raise typer.Exit(STOPPED) from None
        except Exception as error:
            raise _crashed(tell) from error

    return reported


def _crashed(tell: Callable[[str], None]) -> typer.Exit:
    """Print the traceback of a fault of our own, and return the exit."""
    tell(traceback.format_exc())  # Python's own: it shows no local variables, which may hold exact values
    return typer.Exit(CRASHED)


def code_of(error: DiscreetError) -> int:
    """Return the exit code of an error.

    >>> code_of(BudgetExceeded("…")), code_of(DiscreetError("…"))
    (3, 2)
    """
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), BAD_INPUT)


def report(
    error: DiscreetError,
    typed: list[Any],
    *,
    vault: str = "VAULT",
    prefix: str = "discreet: ",
    as_json: bool = False,
    **facts: Any,
) -> None:
    """Print an error on stderr, without the passwords that were typed.

    Args:
        error: The error.
        typed: What was typed: passwords in it are hidden.
        vault: The vault of the command, as it may be shown.
        prefix: What stands before the text.
        as_json: Whether to print it as JSON.
        facts: More fields of the JSON object.
    """
    if as_json:
        output.data(_hidden({**facts, **error.to_json()}, typed), err=True)
    else:
        typer.echo(hidden(f"{prefix}{rendered(error, vault, _options.get())}", typed), err=True)


def _hidden(document: Any, typed: list[Any]) -> Any:
    """Return a JSON document without passwords: in its texts, before they are escaped."""
    if isinstance(document, dict):
        return {key: _hidden(value, typed) for key, value in document.items()}
    if isinstance(document, list):
        return [_hidden(value, typed) for value in document]
    return hidden(document, typed) if isinstance(document, str) else document


def _vault(given: dict[str, Any]) -> str:
    """Return the vault of a command as it may be shown, or the word that the help uses for it."""
    where = given.get("vault", given.get("to"))
    try:
        return display_name(where) if isinstance(where, str) else "VAULT"
    except DiscreetError:
        return "VAULT"


class Careful(TyperCommand):
    """A command whose errors name only its own options, and whose usage errors do not quote passwords."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help, with the exit statuses in a table of their own."""
        whole = self.help
        self.help, found = help_text.statuses(whole)
        try:
            super().format_help(ctx, formatter)
        finally:
            self.help = whole
        help_text.table(found)

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, which show what they take in plain words."""
        found = super().get_params(ctx)
        help_text.plain_types(found)
        return found

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Read what was typed."""
        with _careful([*args]):
            return super().make_context(info_name, args, *rest, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        known = _options.set(
            frozenset(name for each in self.params for name in (*each.opts, *each.secondary_opts))
        )
        try:
            return super().invoke(ctx)
        finally:
            _options.reset(known)


class Commands(TyperGroup):
    """A group of commands whose usage errors do not quote passwords."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help without loading what draws that of a command."""
        typer.echo(help_text.of_group(self, ctx), nl=False)

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, which show what they take in plain words."""
        found = super().get_params(ctx)
        help_text.plain_types(found)
        return found

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was typed."""
        with _careful([*args]):
            return super().resolve_command(ctx, args)


@contextlib.contextmanager
def _careful(typed: list[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):  # a usage error of typer
            error.message = hidden(error.message, typed)  # type: ignore[attr-defined]
        raise


def _unread() -> typer.Exit:
    """Close stdout quietly, so that Python prints nothing when it flushes what is left."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return typer.Exit(UNREAD)
