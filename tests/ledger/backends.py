"""Raw access to a ledger, past all of our code: the same steps for a SQLite file and for a PostgreSQL schema."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from discreet.ledger.store import Store
from discreet.ledger.store.postgres import PostgresStore
from discreet.ledger.store.sqlite import _TRIGGERS, SQLiteStore
from discreet.postgres import Address, identifier
from tests.ledger.processes import TracedPostgresStore, TracedStore
from tests.servers.postgres import Server

TRIGGERS = ("never_changed", "never_shortened", "only_continued")
POSTGRES_TRIGGERS = (*TRIGGERS, "only_by_right")


class Backend(Protocol):
    """Where a ledger is stored. `{table}` in a statement stands for its table."""

    def store(self) -> Store:
        """Return a new store for the ledger."""

    def traced(self, place: str, at: Callable[[str], None]) -> Store:
        """Return a store at this place that calls `at` before each step."""

    def tamper(self, *statements: str) -> None:
        """Run statements with the triggers out of force, as a superuser can."""

    def drop(self, trigger: str) -> None:
        """Remove a trigger."""

    def set_layout(self, version: int) -> None:
        """Mark the ledger as one of another layout."""


class SQLiteBackend:
    """A file."""

    def __init__(self, place: str):
        self._path = Path(place)

    def store(self) -> Store:
        return SQLiteStore(self._path)

    def traced(self, place: str, at: Callable[[str], None]) -> Store:
        return TracedStore(Path(place), at)

    def tamper(self, *statements: str) -> None:
        dropped = [f"DROP TRIGGER {name}" for name in TRIGGERS]
        made = [f"CREATE TRIGGER {name} {action}" for name, action in _TRIGGERS.items()]
        self._run(*dropped, *statements, *made)

    def drop(self, trigger: str) -> None:
        self._run(f"DROP TRIGGER {trigger}")

    def set_layout(self, version: int) -> None:
        self._run(f"PRAGMA user_version = {version}")

    def _run(self, *statements: str) -> None:
        connection = sqlite3.connect(self._path)
        for statement in statements:
            connection.execute(statement.replace("{table}", "entries"))
        connection.commit()
        connection.close()


class PostgresBackend:
    """A schema of a server."""

    def __init__(self, place: str, server: Server):
        self._place, self._server = place, server
        self._table = f"{identifier(Address.of(place).schema)}.entries"

    def store(self) -> Store:
        return PostgresStore(self._place)

    def traced(self, place: str, at: Callable[[str], None]) -> Store:
        return TracedPostgresStore(place, at)

    def tamper(self, *statements: str) -> None:
        enabled = [f"ALTER TABLE {{table}} ENABLE ALWAYS TRIGGER {name}" for name in POSTGRES_TRIGGERS]
        self._run("ALTER TABLE {table} DISABLE TRIGGER ALL", *statements, *enabled)

    def drop(self, trigger: str) -> None:
        self._run(f"DROP TRIGGER {trigger} ON {{table}}")

    def set_layout(self, version: int) -> None:
        self._run(f"COMMENT ON TABLE {{table}} IS 'discreet ledger, layout {version}'")

    def _run(self, *statements: str) -> None:
        self._server.run(*(statement.replace("{table}", self._table) for statement in statements))
