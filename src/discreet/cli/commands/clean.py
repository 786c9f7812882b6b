"""Define `discreet clean`: remove what killed sealings left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import DiscreetError


def clean(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder that holds vaults, or a vault itself.")
    ] = Path("."),
) -> None:
    """Remove the private rows that killed sealings left behind. A sealing that is running is left alone.

    Every command that opens a vault, or seals one, does the same for the folder of that vault.

    [bold]Examples[/bold]

    [cyan]discreet clean[/cyan]
      the current folder, and the vaults in it

    [cyan]discreet clean /data/vaults[/cyan]
    """
    from discreet.cli.output import say
    from discreet.sealing.backends.duckdb import sweep

    if not folder.is_dir():
        raise DiscreetError("This folder does not exist.", found=folder, fix="Give the folder that holds vaults.")
    inside = [path for path in folder.iterdir() if path.is_dir() and (path / "description.json").exists()]
    around = [folder.absolute().parent] if (folder / "description.json").exists() else []
    removed = [path for each in (folder, *around, *inside) for path in sweep(each)]
    for path in removed:
        say(f"Removed {path}")
    if not removed:
        say("Nothing was left behind.")
