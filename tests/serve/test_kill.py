"""Kill whole servers amid a question: nothing overspent, nothing lost, a clear status, turns that end with them.

A test holds the write lock of a database while it looks and kills, so it is certain what was written by then.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import httpx2
import pytest

import discreet as dp
from discreet.serve.accounts import Accounts, Role, database_at
from tests.serve.conftest import sealed
from tests.serve.processes import Served, polled, serving
from tests.servers.postgres import Server as Postgres

PRICE = Fraction(1, 64)


def analyst(place: str) -> str:
    accounts = Accounts(database_at(place))
    accounts.add("ana", Role.ANALYST)
    accounts.grant("ana", "visits", by="curator")
    made = accounts.new_token("ana")
    accounts.close()
    return made


@pytest.fixture
def token(tmp_path: Path) -> str:
    sealed(tmp_path)
    return analyst(str(tmp_path / "accounts.sqlite"))


def ask(client: httpx2.Client, i: int) -> httpx2.Response:
    body = {"sql": f"select count(*) from visits where age > {i}", "epsilon": str(PRICE)}
    return client.post("/api/v1/vaults/visits/ask", json=body, headers={"Idempotency-Key": f"key-{i}"})


def answer(client: httpx2.Client, i: int) -> httpx2.Response:
    """Ask, and wait for the reply."""
    first = ask(client, i)
    return polled(client, first.headers["location"]) if first.status_code == 202 else first


def book(folder: Path) -> tuple[int, int, Fraction]:
    """Verify the ledger, and return its charges, its releases, and what is spent."""
    with dp.Vault(folder / "visits.vault") as vault:
        vault.ledger.verify()
        kinds = [entry.kind for entry in vault.ledger.entries()]
        return kinds.count("charge"), kinds.count("release"), vault.ledger.balance().used


def killed_amid_a_charge(server: Served, client: httpx2.Client, ledger: Path) -> tuple[int, str]:
    """Kill a server whose question is charged and not recorded. Return which one, and its address."""
    with closing(sqlite3.connect(ledger, isolation_level=None, timeout=60)) as lock, ThreadPoolExecutor() as pool:
        for i in range(50):
            asking = pool.submit(ask, client, i)
            while True:
                lock.execute("BEGIN IMMEDIATE")
                counted = "SELECT sum(kind = 'charge'), sum(kind = 'release') FROM entries"
                charges, releases = (count or 0 for count in lock.execute(counted).fetchone())
                if charges == releases + 1:
                    where = asking.result(60).headers["location"]
                    server.kill()
                    lock.execute("ROLLBACK")
                    return i, where
                lock.execute("ROLLBACK")
                if releases > i:
                    break  # recorded before we looked: the next question
                wait([asking], 0.002)  # let the worker write
            if asking.result(60).status_code == 202:
                polled(client, asking.result().headers["location"])
    raise AssertionError("no question was caught between its charge and its record")


def killed_before_its_reply(server: Served, client: httpx2.Client, folder: Path) -> int:
    """Kill a server whose question is recorded in the ledger, and whose reply is not stored. Return which one."""
    store = sqlite3.connect(folder / "accounts.sqlite", isolation_level=None, timeout=60)
    with closing(store), ThreadPoolExecutor() as pool:
        for i in range(60, 110):
            before, asking = book(folder)[1], pool.submit(ask, client, i)
            found = [(0,)]
            while found == [(0,)] or not found:
                store.execute("BEGIN IMMEDIATE")
                found = store.execute("SELECT status FROM replies WHERE idempotency = ?", [f"key-{i}"]).fetchall()
                if found == [(0,)]:
                    while book(folder)[1] == before:
                        pass
                    server.kill()
                    store.execute("ROLLBACK")
                    return i
                store.execute("ROLLBACK")
                wait([asking], 0.002)
            asking.result(60)
    raise AssertionError("no question was caught between its record and its reply")


@pytest.mark.slow
def test_a_server_killed_amid_a_question_charges_once_and_loses_nothing(tmp_path: Path, token: str) -> None:
    with serving(tmp_path) as first, first.client(token) as client:
        i, where = killed_amid_a_charge(first, client, tmp_path / "visits.vault" / "ledger.sqlite")
    charges, releases, spent = book(tmp_path)
    assert (charges, spent) == (releases + 1, charges * PRICE)
    with serving(tmp_path) as second, second.client(token) as client:
        status = client.get(where)
        assert (status.status_code, status.json()["error"]) == (503, "ServiceFailed")
        assert "Nothing is lost and nothing is overspent" in status.json()["detail"]
        reply = answer(client, i)
        assert reply.status_code == 200
        assert ask(client, i).content == client.get(where).content == reply.content
        assert book(tmp_path) == (charges, charges, spent)
        i = killed_before_its_reply(second, client, tmp_path)
    recorded = book(tmp_path)
    assert recorded[0] == recorded[1]
    with serving(tmp_path) as third, third.client(token) as client:
        assert answer(client, i).status_code == 200
    assert book(tmp_path) == recorded


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def test_two_servers_run_one_question_of_an_analyst_and_the_turn_of_a_killed_one_ends(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "accounts.sqlite")
    if kind == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        place = postgres.address("turns of two servers")
    sealed(tmp_path)
    token, ledger = analyst(place), tmp_path / "visits.vault" / "ledger.sqlite"
    with (
        serving(tmp_path, accounts=place) as one,
        serving(tmp_path, accounts=place) as two,
        one.client(token) as here,
        two.client(token) as there,
        closing(sqlite3.connect(ledger, isolation_level=None, timeout=60)) as lock,
    ):
        assert answer(there, 0).status_code == 200
        for i in (1, 2):
            lock.execute("BEGIN IMMEDIATE")  # the question waits for its charge
            first = ask(here, i)
            assert first.status_code == 202
            where = first.headers["location"]
            refused = [
                there.get("/api/v1/whoami"),
                there.get("/api/v1/vaults/visits"),
                ask(there, 3),
                ask(there, i),
            ]
            assert [found.status_code for found in refused] == [409] * 4
            assert there.get(where).status_code == 202
            if i == 1:
                lock.execute("ROLLBACK")
                seen = polled(there, where)
                assert (seen.status_code, seen.content) == (200, here.get(where).content)
        one.kill()
        # The system frees the turn, and no lease has to end: PostgreSQL when it sees the socket close.
        tries = 1 if kind == "sqlite" else 1000
        assert any(there.get("/api/v1/whoami").status_code == 200 for _ in range(tries))
        assert there.get(where).status_code == 503
        lock.execute("ROLLBACK")
        assert answer(there, 2).status_code == 200
    assert book(tmp_path) == (3, 3, 3 * PRICE)
