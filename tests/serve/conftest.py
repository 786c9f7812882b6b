"""A real server on loopback with real worker processes, in a thread of the test process, for a whole module."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import pyarrow
import pytest

import discreet as dp
from discreet.schema import Column
from discreet.serve.accounts import Role
from discreet.serve.logs import Log
from discreet.serve.server import Server
from discreet.serve.service import Service
from discreet.serve.settings import Settings

PASSWORD = "a long password of words"
PERSONS, ROWS = 1000, 2000


def sealed(folder: Path, name: str = "visits", epsilon: str = "4") -> Path:
    rows = pyarrow.table({"who": list(range(PERSONS)), "age": [20 + i % 60 for i in range(PERSONS)]})
    path = folder / f"{name}.vault"
    columns = {"age": dp.Integer(0, 110)}
    dp.Vault.seal(rows, to=path, name=name, person="who", columns=columns, budget=dp.Budget(epsilon)).close()
    return path


class Heard(io.StringIO):
    """A log that a test can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._more, self._from = threading.Condition(), 0

    def write(self, text: str) -> int:
        with self._more:
            self._more.notify_all()
            return super().write(text)

    def wait_for(self, *texts: str) -> None:
        """Wait until one line has all texts."""
        with self._more:
            assert self._more.wait_for(
                lambda: any(
                    all(text in line for text in texts) for line in self.getvalue()[self._from :].splitlines()
                ),
                60,
            )

    def forget(self) -> None:
        """Wait for later lines only."""
        with self._more:
            self._from = len(self.getvalue())


@dataclass
class Running:
    """A server that runs, and what tests need of it."""

    settings: Settings
    service: Service
    server: Server
    address: str
    log: Heard
    thread: threading.Thread
    tokens: dict[str, str] = field(default_factory=dict)

    def client(self, who: str | None = None, **headers: str) -> httpx2.Client:
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return httpx2.Client(base_url=self.address, headers=headers, timeout=60)

    def account(self, name: str, role: Role = Role.ANALYST, *vaults: str) -> None:
        self.service.accounts.add(name, role, PASSWORD)
        for vault in vaults:
            self.service.accounts.grant(name, vault, by="curator")
        self.tokens[name] = self.service.accounts.new_token(name)

    def ask(self, who: str, sql: str, *, key: str | None = None, **price: Any) -> httpx2.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        with self.client(who) as client:
            return client.post("/api/v1/vaults/visits/ask", json={"sql": sql, **price}, headers=headers)

    def spent(self, name: str = "visits") -> Fraction:
        with dp.Vault(self.settings.folder / f"{name}.vault") as vault:
            return vault.ledger.balance().used

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(60)


def started(folder: Path, **settings: Any) -> Running:
    """Start a server, and return when it listens."""
    given = Settings.read(
        folder, environment={}, **{"port": 0, "workers": 1, "quantum": 0.05, "deadline": 60, **settings}
    )
    log, listening, found = Heard(), threading.Event(), list[str]()

    def heard(address: str) -> None:
        found.append(address)
        listening.set()

    service = Service.of(given, Log(log))
    server = Server(given, service, heard)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert listening.wait(60)
    return Running(given, service, server, found[0], log, thread)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("vaults")
    sealed(folder)
    sealed(folder, "hidden")
    made = started(folder, logins_per_minute=1000)
    made.tokens["curator"] = made.service.accounts.first_run() or ""
    for name in ("ana", "bo"):
        made.account(name, Role.ANALYST, "visits")
    made.account("audrey", Role.AUDITOR)
    yield made
    made.stop()


@pytest.fixture(scope="session")  # one for all modules of its group: workers import the learners once
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("team")
    rows = pyarrow.table(
        {
            "who": list(range(ROWS)),
            "age": [20 + i % 60 for i in range(ROWS)],
            "city": [("Oslo", "Bergen")[i % 2] for i in range(ROWS)],
            "ill": [i % 60 > 40 for i in range(ROWS)],
        }
    )
    columns: dict[str, Column] = {
        "age": dp.Integer(0, 110),
        "city": dp.Category(["Oslo", "Bergen"]),
        "ill": dp.Boolean(),
    }
    place, budget = folder / "people.vault", dp.Budget(40, "1e-6")
    dp.Vault.seal(rows, to=place, name="people", person="who", columns=columns, budget=budget).close()
    made = started(folder)
    made.tokens["curator"] = made.service.accounts.first_run() or ""
    for name in ("ana", "cleo"):
        made.account(name, Role.ANALYST, "people")
    made.account("audrey", Role.AUDITOR)
    yield made
    made.stop()
