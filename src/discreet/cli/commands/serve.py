"""Define `discreet serve`: share the vaults of a folder with a team, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import output
from discreet.errors import DiscreetError, extra


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The directory that holds the vaults.")],
    host: Annotated[str | None, typer.Option(help="The address to listen at; this machine by default.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port; 8470 by default.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A TOML file with more settings.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="How many processes compute; 2 by default.")] = None,
    door_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="A port for psql, Metabase or Excel as well; none by default."),
    ] = None,
    flight_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="A port for ADBC (Arrow Flight SQL) as well; none by default."),
    ] = None,
) -> None:
    """Share the vaults of a folder with a team: an API, and pages for a browser.

    At the first start it prints a token for the curator, once. Ctrl-C lets questions that run end.

    [bold]Example[/bold]

    [cyan]discreet serve vaults --port 8470[/cyan]
    """
    with extra("serve", "The service needs Litestar and uvicorn"):
        from discreet.serve.server import Server
        from discreet.serve.service import Service
        from discreet.serve.settings import Settings
    if not folder.is_dir():
        raise DiscreetError("There is no such directory.", found=folder, fix="Make it, and seal a vault in it.")
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "workers": workers,
        "door_port": door_port,
        "flight_port": flight_port,
    }
    settings = Settings.read(folder, config=config, **given)
    service = Service.of(settings)
    first = service.accounts.first_run()

    def listening(address: str) -> None:
        output.say(f"Discreet serves {folder} at")
        output.command(address)
        for door, (where, number) in server.doors.items():
            output.say(f"Clients of {door} connect to {where}, port {number}, with TLS")
        if first is not None:
            output.say(
                "The curator's token, shown this once. To sign in, leave the name empty, and give it as password:"
            )
            output.command(first)  # on a line of its own, which is not wrapped

    server = Server(settings, service, listening)
    server.run()
