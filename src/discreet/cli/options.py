"""Read the options that `discreet oracle` and `discreet synthesize` share: columns, bins, and a public prior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.errors import DiscreetError, Fix

Columns = Annotated[
    str | None, typer.Option(metavar="NAMES", help="The columns, separated by commas: age,city,income.")
]
Epsilon = Annotated[
    str | None, typer.Option(help="The ε that this release alone guarantees, at the vault's δ: 0.1.")
]
Spend = Annotated[str | None, typer.Option(metavar="SHARE", help="The share of the whole budget to spend: 5%.")]
Bins = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=COUNT", help="The number of bins of a column, or where they begin: age=0,18,65."),
]
Prior = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A public table to start from: .parquet or .csv.")
]


def amount(epsilon: str | None, spend: str | None) -> dict[str, Any]:
    """Return the one of --epsilon and --spend that was given.

    >>> amount(None, "5%")
    {'spend': '5%'}
    """
    given = {name: value for name, value in (("epsilon", epsilon), ("spend", spend)) if value is not None}
    if len(given) != 1:
        raise DiscreetError(
            "Give either an epsilon or a share of the budget, not both."
            if given
            else "It is not said what to spend: give an epsilon, or a share of the budget.",
            fix=[Fix("epsilon", 1), Fix("spend", "20%")],
        )
    return given


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
    expect_table(file, "The file of the public table")
    if file.suffix.lower() == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(file)
    from pyarrow import csv

    return csv.read_csv(file)


def expect_table(file: Path, what: str) -> None:
    """Refuse a file that is not there. `what` begins the sentence."""
    if not file.is_file():
        raise DiscreetError(f"{what} does not exist.", found=file, fix="Name a .parquet or .csv file.")


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
