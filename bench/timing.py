"""Tell two neighbours apart by time: vaults in which one person wrote a text of 2 MB, or did not.

The question has 300 LIKEs, so that the long text takes most of its time. An analyst asks it fresh, of both vaults
in random order, in pairs, and looks at the time of the reply. Three attackers:

    alone       one login, which waits for the reply
    probing     a second login of the same analyst sends requests meanwhile, and times the refusals (409)
    colluding   another analyst sends a recorded question meanwhile, and times the answers

Each attacker has a number for each question (the time of the reply; with a second login, the mean time of its
requests as well) and the figure is the best AUC of them, in the better direction: 0.5 is a guess, 1 is certainty.
Its standard error is 0.02 for 400 pairs. The third one has no reach: docs/service.md says what colluding analysts
see.

The quantum must exceed the question's time on this machine; a program that runs beside it makes every figure
worse, so the load is printed. `python -m bench.timing PAIRS QUANTUM ATTACKER…`: 400 pairs at 0.5 s take about 7
minutes for each attacker.
"""

from __future__ import annotations

import os
import random
import re
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx2
import pyarrow

import discreet as dp
from bench.figures import figure
from discreet.serve.accounts import Accounts, Role, database_at

PERSONS, TEXT, LIKES = 500, 2_000_000, 300
VAULTS = ("short", "long")
ATTACKERS = ("alone", "probing", "colluding")
PRICE = "1/1000000"
WARM = 5


def main(pairs: int = 400, quantum: float = 0.5, attackers: Sequence[str] = ATTACKERS) -> None:
    """Run the attacks, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in VAULTS:
            _sealed(place, name)
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {pairs} pairs; quantum {quantum} s")
        _contrast(place)
        accounts = Accounts(database_at(str(place / "accounts.sqlite")))
        for name in ("ana", "bo"):
            accounts.add(name, Role.ANALYST)
            for vault in VAULTS:
                accounts.grant(name, vault, by="bench")
        tokens = {"ask": accounts.new_token("ana"), "second": accounts.new_token("ana")}
        tokens["other"] = accounts.new_token("bo")
        accounts.close()
        settings = {"QUANTUM": quantum, "DEADLINE": 60 * quantum, "WORKERS": 1, "REQUESTS_PER_MINUTE": 10**6}
        server = subprocess.Popen(
            [sys.executable, "-m", "discreet", "serve", folder, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **{f"DISCREET_SERVE_{name}": str(value) for name, value in settings.items()}},
        )
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
            clients = {
                who: httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=600)
                for who, token in tokens.items()
            }
            _attack(clients, pairs, quantum, attackers)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


def _attack(clients: dict[str, httpx2.Client], pairs: int, quantum: float, attackers: Sequence[str]) -> None:
    other = clients["other"]
    recorded = {"sql": "select count(*) from people", "epsilon": PRICE}
    assert other.post(f"/api/v1/vaults/{VAULTS[0]}/ask", json=recorded).status_code == 200
    probes: dict[str, Callable[[], httpx2.Response] | None] = {
        "alone": None,
        "probing": lambda: clients["second"].get("/api/v1/whoami"),
        "colluding": lambda: other.post(f"/api/v1/vaults/{VAULTS[0]}/ask", json=recorded),
    }
    for name in attackers:
        probe = probes[name]
        for _ in range(WARM):
            _pair(clients["ask"], probe)
        found = [_pair(clients["ask"], probe) for _ in range(pairs)]
        features = list(zip(*((pair["short"], pair["long"]) for pair in found), strict=True))
        areas = []
        for place, feature in enumerate(["reply", "probe"][: len(found[0]["short"])]):
            short, long = ([one[place] for one in side] for side in features)
            areas.append(auc(short, long))
            medians = [1000 * statistics.median(side) for side in (short, long)]
            print(f"{name}: {feature} AUC {areas[-1]:.3f}, medians {medians[0]:.1f} and {medians[1]:.1f} ms")
        late = sum(one[0] > 1.5 * quantum for pair in found for one in pair.values())
        print(f"{name}: {late} of {2 * pairs} replies left after the first tick; load {os.getloadavg()[0]:.1f}")
        if name == "colluding":
            print(f"{name}: best AUC {max(areas):.3f}; no reach")
        else:
            figure(f"serve-timing-auc-{name}", max(areas), 0.55, at_least=False)


def _pair(client: httpx2.Client, probe: Callable[[], httpx2.Response] | None) -> dict[str, tuple[float, ...]]:
    """Ask both vaults a fresh question, in random order, and return what the attacker measures of each."""
    order = [*VAULTS]
    random.shuffle(order)
    return {vault: _asked(client, vault, probe) for vault in order}


def _asked(client: httpx2.Client, vault: str, probe: Callable[[], httpx2.Response] | None) -> tuple[float, ...]:
    ended, times = threading.Event(), list[float]()

    def meanwhile() -> None:
        assert probe is not None
        while not ended.is_set():
            start = time.perf_counter()
            probe()
            times.append(time.perf_counter() - start)

    body, second = {"sql": _question(), "epsilon": PRICE}, threading.Thread(target=meanwhile)
    start = time.perf_counter()
    if probe is not None:
        second.start()
    reply = client.post(f"/api/v1/vaults/{vault}/ask", json=body)
    while reply.status_code == 409:  # the second login was served first
        reply = client.post(f"/api/v1/vaults/{vault}/ask", json=body)
    taken = time.perf_counter() - start
    ended.set()
    assert reply.status_code == 200, reply.text
    if probe is None:
        return (taken,)
    second.join()
    return taken, statistics.fmean(times)


def auc(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how often a number of one side is below one of the other; ties count half; the better direction.

    >>> auc([1, 2, 3], [4, 5, 6]), auc([1, 2], [1, 2])
    (1.0, 0.5)
    """
    below = sum((a < b) + (a == b) / 2 for a in one for b in other) / (len(one) * len(other))
    return max(below, 1 - below)


def _question() -> str:
    word = secrets.token_hex(4)  # each question is a new one
    return "select count(*) from people where " + " or ".join(f"note like '%{word}{i}%z%'" for i in range(LIKES))


def _contrast(folder: Path) -> None:
    """Print what the time of a call in process shows: what the service must hide."""
    times: dict[str, list[float]] = {}
    for vault in VAULTS:
        with dp.Vault(folder / f"{vault}.vault") as opened:
            opened.ask(_question(), epsilon=PRICE)
            times[vault] = []
            for _ in range(20):
                start = time.perf_counter()
                opened.ask(_question(), epsilon=PRICE)
                times[vault].append(time.perf_counter() - start)
    medians = [1000 * statistics.median(times[vault]) for vault in VAULTS]
    print(f"in process: AUC {auc(*times.values()):.3f}, medians {medians[0]:.0f} and {medians[1]:.0f} ms")


def _sealed(folder: Path, name: str) -> None:
    first = "x" * TEXT if name == "long" else "tea"
    rows = pyarrow.table({"who": [*range(PERSONS)], "note": [first, *["tea and milk"] * (PERSONS - 1)]})
    columns = {"note": dp.Text()}
    to = folder / f"{name}.vault"
    dp.Vault.seal(rows, to=to, name="people", person="who", columns=columns, budget=dp.Budget(100)).close()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 400, float(given[1]) if given[1:] else 0.5, given[2:] or ATTACKERS)
