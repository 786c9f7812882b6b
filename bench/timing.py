"""Tell two neighbours apart by time: vaults in which one person wrote a text of 2 MB, or did not.

The question has 300 LIKEs, so that the long text takes most of its time. An analyst asks it fresh, of both vaults
in random order, in pairs, and looks at the time of the reply. Three attackers:

    alone       one login, which waits for the reply
    probing     a second login of the same analyst sends requests meanwhile, and times them: over HTTP they are
                refused (409), at the other doors they wait
    colluding   another analyst sends a recorded question meanwhile, and times the answers

Each can come by one of three doors (`timing_doors`): http, flight or postgres.

Each attacker has a number for each question (the time of the reply; with a second login, the mean time of its
requests as well) and the figure is the best AUC of them, in the better direction: 0.5 is a guess, 1 is certainty.
Its standard error is 0.02 for 400 pairs. The third one has no reach: docs/service.md says what colluding analysts
see.

The quantum must exceed the question's time on this machine; a program that runs beside it makes every figure
worse, so the load is printed. 400 pairs at 0.5 s take about 7 minutes for each attacker:

    python -m bench.timing PAIRS QUANTUM ATTACKER… --door DOOR

The figures are `serve-timing-auc-ATTACKER`, and `serve-timing-auc-DOOR-ATTACKER` for the doors that are not HTTP.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow

import discreet as dp
from bench.figures import figure
from bench.timing_doors import LISTENS, PRICE, Login, login
from discreet.serve.accounts import Accounts, Role, database_at

PERSONS, TEXT, LIKES = 500, 2_000_000, 300
VAULTS = ("short", "long")
ATTACKERS = ("alone", "probing", "colluding")
LOGINS = {"ask": "ana", "second": "ana", "other": "bo"}
RECORDED = "select count(*) from people"
WARM = 5

Probe = Callable[[], object]


def main(pairs: int = 400, quantum: float = 0.5, attackers: Sequence[str] = ATTACKERS, door: str = "http") -> None:
    """Run the attacks through a door, and print the figures."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        place = Path(folder)
        for name in VAULTS:
            _sealed(place, name)
        load = os.getloadavg()[0]
        print(f"door {door}; load {load:.1f} on {os.cpu_count()} processors; {pairs} pairs; quantum {quantum} s")
        _contrast(place)
        tokens = _accounts(place)
        at = opened.enter_context(_serving(place, quantum, door))
        logins = {who: login(door, at, user, token, place, opened) for who, (user, token) in tokens.items()}
        for attacker in attackers:
            _attack(logins, attacker, pairs, quantum, f"{'' if door == 'http' else f'{door}-'}{attacker}")


def _accounts(folder: Path) -> dict[str, tuple[str, str]]:
    """Make two analysts, and return the name and token of each login."""
    accounts = Accounts(database_at(str(folder / "accounts.sqlite")))
    for name in ("ana", "bo"):
        accounts.add(name, Role.ANALYST)
        for vault in VAULTS:
            accounts.grant(name, vault, by="bench")
    found = {who: (user, accounts.new_token(user)) for who, user in LOGINS.items()}
    accounts.close()
    return found


@contextmanager
def _serving(folder: Path, quantum: float, door: str) -> Iterator[str | tuple[str, int]]:
    """Run a server, and return where a door of it listens."""
    settings = {
        "QUANTUM": quantum,
        "DEADLINE": 60 * quantum,
        "WORKERS": 1,
        "REQUESTS_PER_MINUTE": 10**6,
        "DOOR_QUESTIONS_PER_MINUTE": 10**6,
    }
    options = {"flight": ["--flight-port", "0"], "postgres": ["--door-port", "0"]}.get(door, [])
    server = subprocess.Popen(
        [sys.executable, "-m", "discreet", "serve", str(folder), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **{f"DISCREET_SERVE_{name}": str(value) for name, value in settings.items()}},
    )
    try:
        assert server.stdout is not None
        if door == "http":
            yield next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        else:
            listens = re.compile(rf"{LISTENS[door]} connect to (\S+), port (\d+)")
            found = next(found for line in server.stdout if (found := listens.search(line)))
            yield found[1], int(found[2])
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def _attack(logins: dict[str, Login], attacker: str, pairs: int, quantum: float, name: str) -> None:
    probe: Probe | None = None
    if attacker == "probing":
        probe = logins["second"].probe
    elif attacker == "colluding":
        logins["other"].question(VAULTS[0], RECORDED)()
        probe = logins["other"].question(VAULTS[0], RECORDED)
    for _ in range(WARM):
        _pair(logins["ask"], probe)
    found = [_pair(logins["ask"], probe) for _ in range(pairs)]
    features = list(zip(*((pair["short"], pair["long"]) for pair in found), strict=True))
    areas = []
    for place, feature in enumerate(["reply", "probe"][: len(found[0]["short"])]):
        short, long = ([one[place] for one in side] for side in features)
        areas.append(auc(short, long))
        medians = [1000 * statistics.median(side) for side in (short, long)]
        print(f"{name}: {feature} AUC {areas[-1]:.3f}, medians {medians[0]:.1f} and {medians[1]:.1f} ms")
    late = sum(one[0] > 1.5 * quantum for pair in found for one in pair.values())
    print(f"{name}: {late} of {2 * pairs} replies left after the first tick; load {os.getloadavg()[0]:.1f}")
    if attacker == "colluding":
        print(f"{name}: best AUC {max(areas):.3f}; no reach")
    else:
        figure(f"serve-timing-auc-{name}", max(areas), 0.55, at_least=False)


def _pair(asks: Login, probe: Probe | None) -> dict[str, tuple[float, ...]]:
    """Ask both vaults a fresh question, in random order, and return what the attacker measures of each."""
    order = [*VAULTS]
    random.shuffle(order)
    return {vault: _asked(asks.question(vault, _question()), probe) for vault in order}


def _asked(ask: Callable[[], object], probe: Probe | None) -> tuple[float, ...]:
    ended, times = threading.Event(), list[float]()

    def meanwhile() -> None:
        assert probe is not None
        while not ended.is_set():
            start = time.perf_counter()
            probe()
            times.append(time.perf_counter() - start)

    second = threading.Thread(target=meanwhile)
    start = time.perf_counter()
    if probe is not None:
        second.start()
    ask()
    taken = time.perf_counter() - start
    ended.set()
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
    parser = argparse.ArgumentParser(prog="python -m bench.timing")
    parser.add_argument("pairs", nargs="?", type=int, default=400)
    parser.add_argument("quantum", nargs="?", type=float, default=0.5)
    parser.add_argument("attackers", nargs="*", metavar="attacker", help=f"{', '.join(ATTACKERS)}; all by default")
    parser.add_argument("--door", choices=("http", *LISTENS), default="http")
    given = parser.parse_args()
    if unknown := set(given.attackers) - {*ATTACKERS}:
        parser.error(f"unknown attackers: {', '.join(sorted(unknown))}")
    main(given.pairs, given.quantum, given.attackers or ATTACKERS, given.door)
