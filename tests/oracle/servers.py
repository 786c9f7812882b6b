"""Load tables into database servers, and say where their vaults go, for tests that run on every server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pytest

from tests.vault import postgres_vaults, spark_vaults

SERVERS = [
    pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
    pytest.param("spark", marks=[pytest.mark.xdist_group("spark"), pytest.mark.slow]),
]
"""The servers, each with the group of its tests: one worker starts one server. Spark takes long for each."""


class Place(NamedTuple):
    """A loaded table, the address of its vault, and the further parameters of `Vault.seal`."""

    source: Any
    address: str | Path
    options: dict[str, Any]


def loaded(
    server: str, table: pyarrow.Table, kinds: Sequence[str], request: pytest.FixtureRequest, folder: Path
) -> Place:
    """Load a table into a server.

    Args:
        server: "postgres" or "spark".
        table: The rows.
        kinds: The PostgreSQL types of the columns.
        request: Gives the fixture of the server, so that only the wanted one is started.
        folder: Holds the files of Spark's table, and the vault's own.
    """
    if server == "postgres":
        source: Any = postgres_vaults.loaded(request.getfixturevalue("postgres"), table, kinds)
        return Place(source, request.getfixturevalue("postgres_address"), {})
    source = spark_vaults.loaded(request.getfixturevalue("spark"), table, folder)
    return Place(source, folder / "people.vault", {"rows": f"people_{next(spark_vaults.numbers)}"})
