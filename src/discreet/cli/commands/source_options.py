"""Define the arguments and options that name a source, for the commands that read one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from discreet.cli import locations
from discreet.errors import Code, DiscreetError, Fix

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="Parquet, CSV, Arrow or DuckDB: a file, several, or a pattern in quotes; postgresql://host/database, "
        "or spark:db.table.",
    ),
]
Table = Annotated[str | None, typer.Option(help="The table of a DuckDB file or a PostgreSQL database.")]
Separator = Annotated[
    str | None, typer.Option(help="The separator of a CSV file. [the one that its header has most of]")
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="The encoding of a CSV file, such as latin-1. [utf-8]")
]
Multiline = Annotated[
    bool,
    typer.Option("--multiline", help="Quoted cells of a CSV file may hold line breaks. [one line is one row]"),
]


def source_of(
    written: list[str], table: str | None, separator: str | None, encoding: str | None, multiline: bool
) -> Any:
    """Return the source of a command.

    Args:
        written: The files, or the address of a database or a catalogue.
        table: The table of a database.
        separator: The separator of CSV files.
        encoding: The encoding of CSV files.
        multiline: Whether cells of CSV files may hold line breaks.
    """
    from dataclasses import replace

    first = replace(locations.source(written[0], table, separator), encoding=encoding, multiline=multiline)
    if len(written) == 1:
        return first
    if not all(map(locations.is_file, written)):
        raise DiscreetError(
            "Only one table of a database or a catalogue can be sealed.",
            fix=Fix("also", Code("SOURCE"), note="joins a further table of the same persons"),
        )
    return replace(first, data=written)
