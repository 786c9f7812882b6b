"""Faults: workers, servers, clients and databases that end amid a question. Nothing overspent, a clear status.

A worker is held with SIGSTOP, so that it is certain what runs when something else ends.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import pytest

import discreet as dp
from discreet.serve.accounts import Role
from tests.serve.conftest import Running, sealed, started
from tests.servers.postgres import Server as Postgres

COUNT = "select count(*) from visits"


@contextmanager
def held(running: Running) -> Iterator[int]:
    """Hold the only worker that reads rows."""
    (worker,) = running.service.pool.processes
    os.kill(worker, signal.SIGSTOP)
    try:
        yield worker
    finally:
        os.kill(worker, signal.SIGCONT)


def later(call: Callable[[], httpx2.Response]) -> Future[httpx2.Response]:
    found: Future[httpx2.Response] = Future()

    def run() -> None:
        try:
            found.set_result(call())
        except Exception as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found


def computing(running: Running, verb: str = "ask") -> None:
    """Wait until a worker has a question, and start to listen anew."""
    running.log.wait_for('"computing"', f'"{verb}"')
    running.log.forget()


def test_a_worker_killed_amid_a_question_overspends_nothing_and_says_so(running: Running) -> None:
    running.account("kim", Role.ANALYST, "visits")
    before, sql = running.spent(), f"{COUNT} where age > 33"
    running.log.forget()
    (worker,) = running.service.pool.processes
    os.kill(worker, signal.SIGSTOP)  # it gets the question, and does not go on
    asking = later(lambda: running.ask("kim", sql, epsilon="1/8", key="kill"))
    computing(running)
    with running.client("kim") as second:
        refused = second.get("/api/v1/whoami")
        beside = second.post("/api/v1/vaults/visits/preview", json={"sql": sql, "epsilon": "1/8"})
        polled = second.get("/api/v1/questions/another")
    os.kill(worker, signal.SIGKILL)
    for found, status in ((refused, 409), (beside, 409), (polled, 404)):
        assert found.status_code == status
        # It leaves on a tick: how fast it comes would show how busy the machine is.
        assert found.elapsed.total_seconds() >= running.settings.quantum
    lost = asking.result(60)
    assert (lost.status_code, lost.json()["error"]) == (503, "ServiceFailed")
    assert lost.json()["fixes"]
    assert running.ask("kim", sql, epsilon="1/8", key="kill").status_code == 200
    assert running.spent() - before == 1 / 8
    assert running.service.pool.processes != [worker]


def test_a_client_that_goes_away_finds_its_reply_under_its_key(running: Running) -> None:
    running.account("lea", Role.ANALYST, "visits")
    before, sql = running.spent(), f"{COUNT} where age > 34"
    running.log.forget()
    host, _, port = running.address.removeprefix("http://").partition(":")
    body = f'{{"sql": "{sql}", "epsilon": "1/8"}}'
    head = (
        f"POST /api/v1/vaults/visits/ask HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: gone\r\n"
        f"Authorization: Bearer {running.tokens['lea']}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with held(running), socket.create_connection((host, int(port))) as gone:
        gone.sendall((head + body).encode())
        computing(running)
    reply = running.ask("lea", sql, epsilon="1/8", key="gone")
    assert reply.status_code == 200
    assert running.spent() - before == 1 / 8


def test_previews_and_recorded_answers_do_not_wait_for_workers_that_read_rows(running: Running) -> None:
    running.account("mia", Role.ANALYST, "visits")
    sql = f"{COUNT} where age > 35"
    first = running.ask("ana", sql, epsilon="1/8")
    running.log.forget()
    with held(running), running.client("ana") as ana:
        asking = later(lambda: running.ask("mia", f"{COUNT} where age > 36", epsilon="1/8"))
        computing(running)
        assert ana.post("/api/v1/vaults/visits/preview", json={"sql": sql, "epsilon": "1/8"}).json()["free"]
        again = running.ask("ana", sql, epsilon="1/8").json()
        assert (again["free"], again["aggregates"]) == (True, first.json()["aggregates"])
    assert asking.result(60).status_code == 200


def test_past_the_deadline_a_question_goes_on_and_is_polled_and_a_restart_keeps_its_reply(tmp_path: Path) -> None:
    sealed(tmp_path)
    first = started(tmp_path, deadline=0.05)
    first.account("ana", Role.ANALYST, "visits")
    with held(first), first.client("ana") as ana:
        later_ = first.ask("ana", COUNT, epsilon="1", key="again")
        assert later_.status_code == 202
        where = later_.headers["location"]
        assert ana.get(where).status_code == 202
        assert ana.post("/api/v1/vaults/visits/preview", json={"sql": COUNT, "epsilon": "1"}).status_code == 409
    with first.client("ana") as ana:
        while (reply := ana.get(where)).status_code == 202:  # each poll waits a quantum
            pass
    assert reply.status_code == 200
    first.stop()
    second = started(tmp_path)
    second.tokens = first.tokens
    again = second.ask("ana", COUNT, epsilon="1", key="again")
    second.stop()
    assert again.content == reply.content
    assert second.spent() == 1


def test_a_graceful_stop_lets_a_question_end(tmp_path: Path) -> None:
    sealed(tmp_path)
    running = started(tmp_path)
    running.account("ana", Role.ANALYST, "visits")
    with held(running):
        asking = later(lambda: running.ask("ana", COUNT, epsilon="1"))
        computing(running)
        running.server.should_exit = True
    assert asking.result(60).status_code == 200
    running.stop()
    assert '"stopped"' in running.log.getvalue()
    assert not running.thread.is_alive()
    assert running.spent() == 1


def test_a_job_that_is_cancelled_before_its_charge_costs_nothing(running: Running) -> None:
    running.account("pia", Role.ANALYST, "visits")
    before = running.spent()
    running.log.forget()
    with running.client("pia") as pia:
        body = {"columns": ["age"], "epsilon": "1"}
        first = pia.post("/api/v1/vaults/visits/synthetic", json=body, headers={"Idempotency-Key": "job"})
        assert first.status_code == 202
        computing(running, "synthesize")
        for worker in running.service.jobs.processes:  # it still imports: far from a charge
            os.kill(worker, signal.SIGSTOP)
        spent = running.spent()
        cancelled = pia.delete(first.headers["location"])
        assert (cancelled.status_code, cancelled.json()["error"]) == (410, "Cancelled")
        again = pia.post("/api/v1/vaults/visits/synthetic", json=body, headers={"Idempotency-Key": "job"})
        assert (again.status_code, again.content) == (410, cancelled.content)
        assert pia.get("/api/v1/whoami").status_code == 200
    assert running.spent() == spent == before


def test_a_job_is_cancelled_at_another_server_of_the_team(running: Running) -> None:
    running.account("rosa", Role.ANALYST, "visits")
    before = running.spent()
    running.log.forget()
    other = started(running.settings.folder)
    other.tokens = running.tokens
    with running.client("rosa") as here, other.client("rosa") as there, running.client("ana") as ana:
        body = {"columns": ["age"], "epsilon": "1"}
        first = here.post("/api/v1/vaults/visits/synthetic", json=body, headers={"Idempotency-Key": "far"})
        assert first.status_code == 202
        computing(running, "synthesize")
        for worker in running.service.jobs.processes:  # it still imports: far from a charge
            os.kill(worker, signal.SIGSTOP)
        with other.client("ana") as stranger:
            assert stranger.delete(first.headers["location"]).status_code == 404  # only its owner cancels it
        assert there.get(first.headers["location"]).status_code == 202
        cancelled = there.delete(first.headers["location"])
        assert (cancelled.status_code, cancelled.json()["error"]) == (410, "Cancelled")
        assert here.get(first.headers["location"]).content == cancelled.content
        assert ana.get("/api/v1/whoami").status_code == 200
    other.stop()
    assert running.spent() == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def test_two_servers_on_one_ledger_never_overspend(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = {}
    if kind == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        vault, accounts = postgres.address("raced vault"), postgres.address("raced accounts")
        postgres.run(
            "CREATE TABLE raced AS SELECT i AS who, 20 + i % 60 AS age FROM generate_series(1, 1000) AS i"
        )
        source, columns = dp.Source(postgres.address(), table="raced"), {"age": dp.Integer(0, 110)}
        dp.Vault.seal(source, to=vault, name="visits", person="who", columns=columns, budget=dp.Budget(1)).close()
        options = {"accounts": accounts, "vaults": {"visits": vault}}
    else:
        vault = str(sealed(tmp_path, epsilon="1"))
    servers = [started(tmp_path, **options) for _ in range(2)]
    names = [f"analyst{i}" for i in range(4)]
    for name in names:
        servers[0].account(name, Role.ANALYST, "visits")
    servers[1].tokens = servers[0].tokens

    def ask(place: int) -> list[int]:
        """Send a question with a key, then one without, while the other server gets the same ones."""
        server, who = servers[place % 2], place // 2
        sql, other = f"{COUNT} where age > {30 + who}", f"{COUNT} where age > {50 + who}"
        found = []
        for question, key in ((sql, "both"), (other, None)):
            while (status := server.ask(names[who], question, epsilon="1/4", key=key).status_code) == 409:
                pass  # the other server has a question of this analyst
            found.append(status)
        return found

    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(ask, range(8)))
    for server in servers:
        server.stop()
    with dp.Vault(vault) as book:
        assert book.ledger.balance().used == 1
        charges = [entry for entry in book.ledger.entries() if entry.kind == "charge"]
        releases = [entry for entry in book.ledger.entries() if entry.kind == "release"]
        book.ledger.verify()
    assert len(charges) == len(releases) == 4
    assert {status for found in statuses for status in found} == {200, 403}


@pytest.mark.xdist_group("postgres")
def test_accounts_on_postgres_that_is_gone_and_back(tmp_path: Path, postgres: Postgres) -> None:
    sealed(tmp_path)
    with a_line(postgres) as (address, cut):
        running = started(tmp_path, accounts=f"{address}#gone%20and%20back")
        running.account("ana", Role.ANALYST, "visits")
        assert running.ask("ana", COUNT, epsilon="1/2").status_code == 200
        cut.set()
        gone = running.ask("ana", COUNT, epsilon="1")
        assert (gone.status_code, gone.headers["content-type"]) == (503, "application/problem+json")
        assert "postgres" not in gone.text
        assert running.spent() == Fraction(1, 2)
        cut.clear()
        assert running.ask("ana", COUNT, epsilon="1").status_code == 200
        running.stop()
    assert running.spent() == Fraction(3, 2)


@contextmanager
def a_line(postgres: Postgres) -> Iterator[tuple[str, threading.Event]]:
    """An address of the server, and an event that cuts the line while it is set."""
    import tempfile

    cut, target = threading.Event(), str(postgres.folder / "data" / ".s.PGSQL.5432")
    with tempfile.TemporaryDirectory(prefix="pg") as folder, socket.socket(socket.AF_UNIX) as entrance:
        entrance.bind(f"{folder}/.s.PGSQL.5432")
        entrance.listen()

        def carry(one: socket.socket, other: socket.socket) -> None:
            with one, other:
                while not cut.is_set():
                    ready, _, _ = select.select([one, other], [], [], 0.02)
                    for end in ready:
                        if not (data := end.recv(65536)):
                            return
                        (other if end is one else one).sendall(data)

        def accept() -> None:
            while True:
                try:
                    inward, _ = entrance.accept()
                except OSError:
                    return
                if cut.is_set():
                    inward.close()
                    continue
                outward = socket.socket(socket.AF_UNIX)
                outward.connect(target)
                threading.Thread(target=carry, args=(inward, outward), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"postgresql://postgres@/postgres?host={folder}", cut
        entrance.shutdown(socket.SHUT_RDWR)
        thread.join(60)


def test_workers_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, time\nfrom discreet.serve.workers import Pool\n"
        "async def main():\n pool = Pool(2)\n await pool.start()\n print(*pool.processes, flush=True)\n"
        " time.sleep(600)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        workers = [os.pidfd_open(int(pid)) for pid in server.stdout.readline().split()]
        server.kill()
    outlived = []
    for worker in workers:
        poll = select.poll()
        poll.register(worker, select.POLLIN)
        if not poll.poll(30_000):
            outlived.append(worker)
            signal.pidfd_send_signal(worker, signal.SIGKILL)  # none is left behind, also by a test that fails
        os.close(worker)
    assert outlived == [], "a worker outlived its server"
