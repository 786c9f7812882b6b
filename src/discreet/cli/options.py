"""Read the options that `discreet oracle` and `discreet synthesize` share: columns, bins, and a public prior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.errors import DiscreetError, Fix

Columns = Annotated[
    str | None, typer.Option(metavar="NAMES", help="The columns, separated by commas: age,city,income.")
]
Epsilon = Annotated[str, typer.Option(help="The ε to spend in total, such as 1.")]
Delta = Annotated[
    str | None, typer.Option(help="Make this release alone (ε, δ)-private, instead of as a question of that ε.")
]
Bins = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=COUNT", help="The number of bins of a column, or where they begin: age=0,18,65."),
]
Prior = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A public table to start from: .parquet or .csv.")
]


def names(written: str | None) -> list[str] | None:
    """Return the names of columns.

    >>> names("age, city")
    ['age', 'city']
    """
    return None if written is None else [name.strip() for name in written.split(",") if name.strip()]


def bins(written: list[str] | None) -> dict[str, int | list[Any]] | None:
    """Return bins by column.

    >>> bins(["age=20", "pay=0,1000,2000.5", "city=Bergen,Oslo"])
    {'age': 20, 'pay': [0, 1000, 2000.5], 'city': ['Bergen', 'Oslo']}
    """
    if not written:
        return None
    found: dict[str, int | list[Any]] = {}
    for one in written:
        name, _, cut = one.rpartition("=")
        if not name or not cut.strip():
            raise DiscreetError(
                "Bins are given as a column, = and the number of bins, or where the bins begin.",
                found=one,
                fix=[Fix("bins", {"age": 20}), Fix("bins", {"age": [0, 18, 65]})],
            )
        starts = [_value(part.strip()) for part in cut.split(",")]
        found[name.strip()] = starts[0] if len(starts) == 1 and isinstance(starts[0], int) else starts
    return found


def prior(file: Path | None) -> Any:
    """Return a public table, read from a file."""
    if file is None:
        return None
    if not file.is_file():
        raise DiscreetError(
            "The file of the public table does not exist.", found=file, fix="Name a .parquet or .csv file."
        )
    if file.suffix.lower() == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(file)
    from pyarrow import csv

    return csv.read_csv(file)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
