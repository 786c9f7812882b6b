"""A real server with the doors for tools on loopback, and a vault of trips behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow
import pytest

import discreet as dp
from discreet.schema.metadata import TableMetadata
from discreet.serve.accounts import Role
from discreet.serve.server import POSTGRESQL
from tests.serve.conftest import Running, started

CITIES = ["Bergen", "Oslo", "Tromsø"]
PERSONS = 900
COLUMNS: dict[str, Any] = {
    "city": dp.Category(CITIES),
    "minutes": dp.Real(0, 60, step=1),
    "stops": dp.Integer(0, 4),
    "member": dp.Boolean(),
    "day": dp.Date(date(2024, 1, 1), date(2024, 3, 31)),
    "begun": dp.Datetime(datetime(2024, 1, 1), datetime(2024, 1, 2), "1h"),
}


def trips_metadata() -> TableMetadata:
    return TableMetadata("trips", COLUMNS, person="who")


def sealed_trips(folder: Path, epsilon: str = "100") -> None:
    count = range(PERSONS)
    rows = pyarrow.table(
        {
            "who": [*count],
            "city": [CITIES[i % 3] for i in count],
            "minutes": [float(i % 60) for i in count],
            "stops": [i % 5 for i in count],
            "member": [i % 2 == 0 for i in count],
            "day": [date(2024, 1, 1) + timedelta(days=i % 60) for i in count],
            "begun": [datetime(2024, 1, 1, i % 24) for i in count],
        }
    )
    to = folder / "trips.vault"
    dp.Vault.seal(rows, to=to, name="trips", person="who", columns=COLUMNS, budget=dp.Budget(epsilon)).close()


@dataclass
class Opened:
    """The door, and what tests need of it."""

    running: Running
    host: str
    port: int

    def dsn(self, who: str = "ana", options: str = "-c discreet.epsilon=1", **given: Any) -> str:
        certificate = self.running.settings.folder / "door.crt"
        facts = {
            "host": self.host,
            "port": self.port,
            "user": who,
            "password": self.running.tokens[who],
            "dbname": "trips",
            "sslmode": "verify-full",
            "sslrootcert": str(certificate),
            "connect_timeout": 30,
            "options": options,
        }
        return psycopg.conninfo.make_conninfo("", **{**facts, **given})

    @contextmanager
    def connected(
        self, who: str = "ana", *, autocommit: bool = True, **given: Any
    ) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self.dsn(who, **given), autocommit=autocommit) as connection:
            yield connection

    def rows(self, sql: str, values: Any = None, **given: Any) -> list[Any]:
        with self.connected(**given) as connection:
            return connection.execute(sql, values).fetchall()

    def spent(self) -> Any:
        return self.running.spent("trips")

    def unknown(self) -> int:
        """Return how many catalogue queries had no answer so far."""
        lines = self.running.service.metrics.text().splitlines()
        return sum(int(line.split()[-1]) for line in lines if line.startswith("discreet_door_catalogue_unknown"))


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("door")
    sealed_trips(folder)
    made = started(folder, door_port=0, flight_port=0, door_questions_per_minute=1000, quantum=0.02)
    for name in ("ana", "bo", "cy"):
        made.account(name, Role.ANALYST, "trips")
    yield Opened(made, *made.server.doors[POSTGRESQL])
    made.stop()
