"""Files that a command writes: looked at before anything is paid for, and a sentence if they fail afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from discreet.cli import output
from discreet.errors import DiscreetError

_DRAWN = {".svg": "", ".png": "", ".html": "", ".pdf": ""}


def expect_picture(option: str, file: Path) -> None:
    """Refuse to promise a picture where it cannot be written, or where nothing can draw it."""
    output.expect_writable(option, file, _DRAWN)
    expect_pictures()


def expect_pictures() -> None:
    """Refuse to promise pictures where nothing can draw them."""
    from importlib.util import find_spec

    if find_spec("altair") is None or find_spec("vl_convert") is None:
        raise DiscreetError(
            'Pictures need altair and vl-convert. Install them with: pip install "discreet[plots]"'
        )


def picture(chart: Any, file: Path) -> None:
    """Draw a chart to a file, of the kind that its ending says."""
    page: dict[str, Any] = {"inline": True} if file.suffix.lower() == ".html" else {}  # opens without a network
    chart.save(str(file), **page)


def write(option: str, file: Path | None, writer: Callable[[Path], None], *, quiet: bool = False) -> None:
    """Write a file, if one is wanted, and say so. What was paid for is recorded, whatever happens here."""
    if file is None:
        return
    try:
        writer(file)
    except OSError as error:
        raise DiscreetError(
            f"{option} {file} cannot be written: {error.strerror or error}. Asking again is free."
        ) from error
    typer.echo(f"Wrote {file}", err=quiet)
