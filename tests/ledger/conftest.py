"""Places for ledgers: every test that asks for one runs with a file, and with a schema of a PostgreSQL server."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Names a place where nothing is yet, another one at every call."""
    names = (f"people{number}" for number in itertools.count(1))
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{next(names)}.ledger")
    address: str = request.getfixturevalue("postgres_address")
    return lambda: f"{address}%20{next(names)}"


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """A place where nothing is yet."""
    return new_place()
