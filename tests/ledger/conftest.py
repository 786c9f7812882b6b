"""Provide places for ledgers: a test that uses one runs with a SQLite file and with a PostgreSQL schema."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.postgres import is_address
from tests.ledger.backends import Backend, PostgresBackend, SQLiteBackend


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Return a function that names a new, empty place at every call."""
    names = (f"people{number}" for number in itertools.count(1))
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{next(names)}.ledger")
    address: str = request.getfixturevalue("postgres_address")
    return lambda: f"{address}%20{next(names)}"


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    """An empty place."""
    return new_place()


@pytest.fixture
def backend(place: str, request: pytest.FixtureRequest) -> Backend:
    """Raw access to the ledger at `place`."""
    return (
        PostgresBackend(place, request.getfixturevalue("postgres")) if is_address(place) else SQLiteBackend(place)
    )
