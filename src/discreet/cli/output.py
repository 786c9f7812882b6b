"""What the commands put on stdout: tables and sentences that fit a window, and data that a program reads.

Names and keys come from outside, so nothing is read as markup, and whatever moves the cursor is spelt out. JSON is
ASCII and CSV is UTF-8, whatever the terminal's language.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """Return where words go: colours only on a terminal, 80 columns without one."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def say(*lines: str, style: str = "", indent: int = 0) -> None:
    """Print lines, wrapped between words."""
    from rich.text import Text

    to = console()
    for line in lines:
        edge = " " * indent
        for part in textwrap.wrap(_plain(line), to.width, initial_indent=edge, subsequent_indent=edge) or [""]:
            to.print(Text(part, style=style), soft_wrap=True)


def command(line: str, prompt: str = "  ") -> None:
    """Print what to type, in one piece, so that it can be copied."""
    console().print(prompt + line, style="cyan", soft_wrap=True)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    whole: Collection[int] = (),
) -> None:
    """Print a table. Where there is no room, cells are broken into lines, but for those in `whole` columns."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, head in enumerate(heads):
        side: Literal["left", "right"] = "right" if place in right else "left"
        drawn.add_column(Text(head), justify=side, overflow="fold", no_wrap=place in whole)
    for row in rows:
        drawn.add_row(*(Text("\n".join(map(_plain, cell.split("\n")))) for cell in row))
    console().print(drawn)


def data(document: Any) -> None:
    """Print a document of JSON, in one line of ASCII."""
    typer.echo(json.dumps(document, allow_nan=False))


def number(value: float | None) -> float | str | None:
    """Return a number as JSON has it: there are no infinite ones, so these are texts.

    >>> number(1.5), number(math.inf), number(None)
    (1.5, 'inf', None)
    """
    return value if value is None or math.isfinite(value) else str(value)


def expect_writable(option: str, file: Path, endings: Mapping[str, Any] | None = None) -> None:
    """Refuse a file that cannot be written, before anything is paid for what it is to hold."""
    if endings is not None and file.suffix.lower() not in endings:
        raise DiscreetError(f"{option} {file} has no ending that says what to write: {', '.join(endings)}.")
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise DiscreetError(f"{option} {file} cannot be written: name a file in a folder that exists.")


def _plain(text: str) -> str:
    from discreet.render.terminal import plain

    return plain(text)
