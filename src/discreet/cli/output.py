"""Write what the commands show and keep: tables, sentences, JSON, and files.

Names and keys come from outside, so nothing is read as markup, and characters that move the cursor are written
out. JSON is ASCII and CSV is UTF-8, whatever the language of the terminal. Files are checked before anything is
charged.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from rich.console import Console

_WHOLE = 2**53  # up to here a double holds every integer
PICTURES = (".svg", ".png", ".html", ".pdf")
"""The endings of the pictures that can be drawn."""


def console() -> Console:
    """Return the console on stdout: with colours on a terminal only, 80 columns wide without one."""
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
    """Print a command on one line, so that it can be copied."""
    console().print(prompt + line, style="cyan", soft_wrap=True)


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    whole: Collection[int] = (),
) -> None:
    """Print a table.

    Args:
        heads: The headings.
        rows: The cells, row by row.
        right: The columns that are aligned to the right; none by default.
        whole: The columns whose cells are never broken into lines; none by default.
    """
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i, head in enumerate(heads):
        side: Literal["left", "right"] = "right" if i in right else "left"
        drawn.add_column(Text(head), justify=side, overflow="fold", no_wrap=i in whole)
    for row in rows:
        drawn.add_row(*(Text("\n".join(map(_plain, cell.split("\n")))) for cell in row))
    console().print(drawn)


def data(document: Any, *, err: bool = False) -> None:
    """Print a JSON document on one line of ASCII: on stdout, or on stderr for an error."""
    typer.echo(json.dumps(document, allow_nan=False), err=err)


def number(value: float | None) -> float | str | None:
    """Return a number for JSON: whole numbers as integers, and infinite ones, which JSON has not, as texts.

    >>> number(1.5), number(1042.0), number(math.inf), number(None)
    (1.5, 1042, 'inf', None)
    """
    if value is None or not math.isfinite(value):
        return None if value is None else str(value)
    return int(value) if value == int(value) and abs(value) <= _WHOLE else value


# -- files ------------------------------------------------------------------------------------------------------


def expect_writable(option: str, file: Path, endings: Collection[str] | None = None) -> None:
    """Refuse a file that cannot be written, before anything is charged."""
    if endings is not None and file.suffix.lower() not in endings:
        raise DiscreetError(
            f"The ending of the file for {option} is not supported.",
            found=file,
            fix=f"Use one of these endings: {', '.join(endings)}.",
        )
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise DiscreetError(
            f"The file for {option} cannot be written.", found=file, fix="Name a file in a folder that exists."
        )


def expect_picture(option: str, file: Path) -> None:
    """Refuse a picture that cannot be written or drawn, before anything is charged."""
    expect_writable(option, file, PICTURES)
    expect_pictures()


def expect_pictures() -> None:
    """Refuse if the packages that draw pictures are not installed."""
    from importlib.util import find_spec

    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise DiscreetError(
            "Pictures need altair and vl-convert, which are not installed.",
            fix='Install them with: pip install "discreet[plots]"',
        )


def picture(chart: Any, file: Path) -> None:
    """Draw a chart to a file, of the kind that its ending names."""
    page: dict[str, Any] = {"inline": True} if file.suffix.lower() == ".html" else {}  # opens without a network
    chart.save(str(file), **page)


def write(option: str, file: Path | None, writer: Callable[[Path], None], *, quiet: bool = False) -> None:
    """Write a file, if one is wanted, and print its name.

    What was charged is recorded already, so a file that fails costs nothing to write again.

    Args:
        option: The option that names the file.
        file: The file; None for none.
        writer: Writes it.
        quiet: Whether stdout is for data only; then the name goes to stderr.
    """
    if file is None:
        return
    before = _state(file)
    try:
        writer(file)
    except (OSError, KeyboardInterrupt) as error:
        if file.is_file() and _state(file) != before:
            file.unlink()  # half a file looks like a whole one
        if isinstance(error, KeyboardInterrupt):
            raise
        raise DiscreetError(
            f"The file for {option} cannot be written: {error.strerror or error}.",
            found=file,
            fix="Asking again is free.",
        ) from error
    typer.echo(f"Wrote {file}", err=quiet)


def _state(file: Path) -> tuple[int, int] | None:
    """Return the size of a file and the time of its last change; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _plain(text: str) -> str:
    from discreet.render.terminal import plain

    return plain(text)
