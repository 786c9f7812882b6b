"""Many analysts at one service: previews, recorded and fresh answers over HTTP, beside the call in process.

A server process with two workers serves a vault of a hundred thousand rows, on SQLite. Clients are threads of this
process, each an analyst with one connection. A fresh answer is charged and leaves on a tick, at least one quantum
later. At the end the ledger must have the charges of the fresh answers to the last fraction. Then devices report
to a local collection, in batches as a collector sends them, and every report must be counted.

The load of other programs is in these figures: they are wall time. "CPU" is that of one call in process.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import httpx2
import numpy as np
import pyarrow

import discreet as dp
from bench.figures import cpu_seconds, figure
from discreet.local import Collection, signing
from discreet.local.device.wire import batch, frames
from discreet.serve.accounts import Accounts, Role, database_at

CLIENTS = 32
EACH = 10
BATCH, BATCHES = 500, 100
ROWS = 100_000
QUANTUM = 0.25
PRICE = Fraction(1, 1000)


def main() -> None:
    """Run all of it, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _sealed(place)
        print(f"in process: {1000 * _in_process(place):.1f} ms of CPU for a fresh answer")
        accounts = Accounts(database_at(str(place / "accounts.sqlite")))
        tokens = [_account(accounts, f"analyst{i}") for i in range(CLIENTS)]
        server = subprocess.Popen(
            [sys.executable, "-m", "discreet", "serve", folder, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            _measure(address, tokens, place, server.pid)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


def _measure(address: str, tokens: list[str], place: Path, server: int) -> None:
    clients = [
        httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=120)
        for token in tokens
    ]
    _asked(clients[0], "ask", "select count(*) from people")  # the workers are ready then
    before = _spent(place)
    recorded = _rate("recorded", server, clients, lambda c, i: _asked(c, "ask", "select count(*) from people"))
    preview = _rate(
        "preview", server, clients, lambda c, i: _asked(c, "preview", f"select count(*) from people {_where(i)}")
    )
    assert _spent(place) == before
    fresh = _rate(
        "fresh", server, clients, lambda c, i: _asked(c, "ask", f"select count(*) from people {_where(i)}")
    )
    charged = _spent(place) - before
    print(f"ledger: {CLIENTS * EACH} answers were charged {charged}")
    figure("serve-recorded-per-second", recorded[0], 300, at_least=True)
    figure("serve-preview-per-second", preview[0], 100, at_least=True)
    figure("serve-fresh-per-second", fresh[0], 60, at_least=True)
    figure("serve-fresh-p99-in-quanta", fresh[1] / QUANTUM, 2, at_least=False)
    figure("serve-recorded-p99-seconds", recorded[1], 2 * QUANTUM, at_least=False)
    figure("serve-ledger-off-by", float(abs(charged - CLIENTS * EACH * PRICE)), 0, at_least=False)
    figure("serve-frames-per-second", _frames(clients), 10_000, at_least=True)
    for client in clients:
        client.close()


def _frames(clients: list[httpx2.Client]) -> float:
    """Send batches of reports to a collection, from all clients. Return how many reports a second were counted."""
    terms = {"name": "colours", "domain": ["red", "green", "blue"], "epsilon": "1"}
    made = clients[0].post("/api/v1/collections", json=terms).json()
    collection = signing.opened(made["signed"].encode(), bytes.fromhex(made["key"]))
    path = f"/api/v1/collections/{made['id']}/reports"
    payloads = collection.randomiser.encode(np.zeros(BATCH, np.int64))
    sent = [batch(frames(collection, payloads, identified=True)) for _ in range(BATCHES)]
    start = time.perf_counter()
    for one in sent:
        assert clients[0].post(path, content=one).json()["counted"] == BATCH
    rate = BATCH * BATCHES / (time.perf_counter() - start)
    print(f"reports: {rate:,.0f} a second, in batches of {BATCH:,}, by the collector's one connection")
    with ThreadPoolExecutor(8) as threads:
        begun = time.perf_counter()
        codes = list(threads.map(lambda _: _answered(clients[0], made["id"], collection), range(BATCHES)))
        open_rate = BATCH * len(codes) / (time.perf_counter() - begun)
    assert set(codes) == {204}
    print(f"reports: {open_rate:,.0f} a second at the door for devices, by eight connections, made meanwhile")
    assert clients[0].get(f"/api/v1/collections/{made['id']}").json()["reports"] == 2 * BATCH * BATCHES
    return min(rate, open_rate)


def _answered(client: httpx2.Client, id_: str, collection: Collection) -> int:
    reports = frames(collection, collection.randomiser.encode(np.zeros(BATCH, np.int64)), identified=True)
    return client.post(f"/s/{id_}/reports", content=batch(reports), headers={"Authorization": ""}).status_code


def _rate(
    name: str, server: int, clients: list[httpx2.Client], ask: Callable[[httpx2.Client, int], None]
) -> tuple[float, float]:
    """Let every client ask one after the other, all at the same time. Return requests per second, and p99."""
    times: list[float] = []

    def work(place: int) -> None:
        for i in range(EACH):
            start = time.perf_counter()
            ask(clients[place], place * EACH + i)
            times.append(time.perf_counter() - start)

    before, start = _cpu(server), time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(work, range(CLIENTS)))
    rate, p99 = len(times) / (time.perf_counter() - start), sorted(times)[int(0.99 * len(times))]
    print(
        f"{name}: {rate:.0f} requests/s, median {1000 * statistics.median(times):.0f} ms, p99 {1000 * p99:.0f} ms"
    )
    used = [1000 * (now - then) / len(times) for now, then in zip(_cpu(server), before, strict=True)]
    print(f"  CPU of a request: {used[0]:.1f} ms in the server, {used[1]:.1f} ms in workers")
    return rate, p99


def _cpu(server: int) -> tuple[float, float]:
    """Return the CPU seconds of the server process, and of its workers together."""
    ticks = os.sysconf("SC_CLK_TCK")

    def used(pid: str) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    children = " ".join(path.read_text() for path in Path(f"/proc/{server}/task").glob("*/children")).split()
    return used(str(server)), sum(used(pid) for pid in children)


def _asked(client: httpx2.Client, verb: str, sql: str) -> None:
    while True:
        response = client.post(f"/api/v1/vaults/people/{verb}", json={"sql": sql, "epsilon": str(PRICE)})
        if response.status_code != 202:
            assert response.status_code == 200, response.text
            return
        while (response := client.get(response.headers["location"])).status_code == 202:
            pass
        return


def _where(place: int) -> str:
    return f"where age >= {place % 100} and income < {1000 * (place // 100 + 1)}"


def _sealed(folder: Path) -> None:
    rows = pyarrow.table(
        {
            "who": list(range(ROWS)),
            "age": [i % 100 for i in range(ROWS)],
            "income": [(i * 7919) % 100_000 for i in range(ROWS)],
        }
    )
    columns = {"age": dp.Integer(0, 110), "income": dp.Integer(0, 100_000)}
    budget = dp.Budget(100)
    dp.Vault.seal(
        rows, to=folder / "people.vault", name="people", person="who", columns=columns, budget=budget
    ).close()


def _in_process(folder: Path) -> float:
    with dp.Vault(folder / "people.vault") as vault:
        asked = iter(range(1000))
        return cpu_seconds(
            lambda: vault.ask(f"select count(*) from people where age > {next(asked)}", epsilon=PRICE), repeats=20
        )


def _account(accounts: Accounts, name: str) -> str:
    accounts.add(name, Role.ANALYST)
    accounts.grant(name, "people", by="bench")
    return accounts.new_token(name)


def _spent(folder: Path) -> Fraction:
    with dp.Vault(folder / "people.vault") as vault:
        return vault.ledger.balance().used


if __name__ == "__main__":
    main()
