"""Many processes and threads, one budget: exactly what fits is granted, to each once."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import BudgetExceeded, LedgerUnavailable
from discreet.ledger import Account, Budget, Ledger
from discreet.ledger.store import sqlite_connections
from discreet.postgres import is_address
from tests.ledger.backends import Backend
from tests.ledger.processes import Ended, Tell, alone, forked

TENTH = privacy.Pure("0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, Budget(1)) as ledger:
        yield ledger


def spend(ledger: Ledger, loss: privacy.Loss, tell: Tell, whom: str) -> None:
    """Ask until refused, and tell the number of every charge that was granted."""
    try:
        for n in range(100):
            charge = ledger.reserve(loss, question=f"{whom} {n}", analyst=whom)
            tell(f"{charge.number}")
            ledger.record(charge, f'"{whom} {n}"')
    except BudgetExceeded:
        pass


def numbers(children: list[Ended]) -> list[int]:
    assert [child.status for child in children] == [0] * len(children), children
    return [int(line) for child in children for line in child.told]


def test_eight_processes_race_for_the_last_epsilon(place: str, ledger: Ledger) -> None:
    ledger.allot(purpose="unused", budget=Budget("0.5"))  # the children inherit a ledger that is in use
    loss = privacy.Pure("1/47")
    granted = numbers(forked([lambda tell, n=n: spend(Ledger.open(place), loss, tell, f"p{n}") for n in range(8)]))  # type: ignore[misc]
    assert len(granted) == len(set(granted)) == 47
    assert ledger.balance().remaining == 0
    charges = [entry.number for entry in ledger.entries() if entry.kind == "charge"]
    assert sorted(granted) == charges
    assert sum(b.spent.epsilon or 0 for b in ledger.balances() if b.account.role == "analyst") == 1
    assert ledger.unfinished() == []
    ledger.verify()


def test_processes_race_for_an_analysts_share(place: str, ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.3"))
    granted = numbers(forked([lambda tell: spend(Ledger.open(place), TENTH, tell, "ana")] * 4))
    assert len(granted) == 3
    assert ledger.balance(analyst="ana").remaining == 0
    assert ledger.balance().remaining == Fraction(7, 10)
    ledger.verify()


def test_interpreters_that_share_nothing_but_the_place(place: str, ledger: Ledger) -> None:
    code = (
        "import sys; from discreet.ledger import Ledger; from discreet.privacy import Pure\n"
        "from discreet.errors import BudgetExceeded\n"
        "ledger, n = Ledger.open(sys.argv[1]), 0\n"
        "try:\n"
        "    while True: ledger.reserve(Pure('1/30'), question='?'); n += 1\n"
        "except BudgetExceeded: print(n)\n"
    )
    command = [sys.executable, "-W", "error", "-c", code, place]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    assert sum(int(process.communicate()[0]) for process in started) == 30
    assert ledger.balance().remaining == 0
    ledger.verify()


def test_threads_of_one_ledger_race_for_the_last_epsilon(ledger: Ledger) -> None:
    granted: list[str] = []
    threads = [
        threading.Thread(target=spend, args=(ledger, privacy.Pure("1/30"), granted.append, f"t{n}"))
        for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 30
    assert ledger.balance().remaining == 0
    assert ledger.unfinished() == []
    ledger.verify()


def test_a_forked_child_uses_the_ledger_of_its_parent_with_a_connection_of_its_own(ledger: Ledger) -> None:
    ledger.reserve(TENTH, question="parent")
    child = alone(lambda tell: spend(ledger, TENTH, tell, "child"))
    assert len(numbers([child])) == 9
    assert ledger.balance().remaining == 0  # the parent's connection sees what the child did
    with pytest.raises(BudgetExceeded):
        ledger.reserve(TENTH, question="parent")
    ledger.verify()


def test_what_a_child_charges_outlives_the_connections_of_its_parent(path: Path) -> None:
    # SQLite in a child that inherited a connection believes in locks it does not have: when the parent closed its
    # own, the log was deleted under the child, and what the child committed afterwards was lost.
    ledger, (read, write) = Ledger.create(path, Budget(1)), os.pipe()
    ledger.reserve(TENTH, question="parent")

    def charge(tell: Tell) -> None:
        ledger.reserve(TENTH, question="child")
        tell("ready")
        os.read(read, 1)
        ledger.reserve(TENTH, question="child, after the parent closed")

    def close_when_ready(line: str) -> None:
        ledger.close()
        os.write(write, b"!")

    assert forked([charge], heard=close_when_ready)[0].status == 0
    with Ledger.open(path) as reopened:
        assert reopened.balance().charges == 3
        reopened.verify()


def test_a_fork_while_other_threads_write_and_let_ledgers_go(place: str, ledger: Ledger) -> None:
    # It would catch: a child that waits for ever for a mutex inside SQLite; a lock of the parent that the child
    # takes for its own; a finaliser that enters the gate in the middle of a line of the gate.
    ledger.amend(Budget(100))
    stop, granted, thresholds = threading.Event(), list[str](), gc.get_threshold()

    def write() -> None:
        while not stop.is_set():
            mine = Ledger.open(place)
            granted.append(str(mine.reserve(privacy.Pure("0.001"), question="thread").number))
            cycle: list[object] = [mine]
            cycle.append(cycle)  # only the collector of garbage closes it

    threads = [threading.Thread(target=write) for _ in range(2)]
    gc.set_threshold(20, 1, 1)
    try:
        for thread in threads:
            thread.start()
        children = [
            alone(lambda tell: tell(str(ledger.reserve(privacy.Pure("0.001"), question="child").number)))
            for _ in range(10)
        ]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        gc.set_threshold(*thresholds)
    assert ledger.balance().charges == len(granted) + len(numbers(children))
    ledger.verify()


def test_a_child_inherits_no_connection_and_ends_in_silence(tmp_path: Path) -> None:
    # A whole interpreter: its forked child runs all of Python's clean-up, and has nothing of its parent to close.
    code = (
        "import os, sys\n"
        "from discreet.ledger import Budget, Ledger\n"
        "from discreet.privacy import Pure\n"
        "ledger = Ledger.create(sys.argv[1], Budget(1))\n"
        "ledger.reserve(Pure('0.5'), question='before')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    links = (f'/proc/self/fd/{n}' for n in os.listdir('/proc/self/fd'))\n"
        "    sys.exit(any('people' in os.readlink(link) for link in links if os.path.islink(link)))\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "ledger.reserve(Pure('0.5'), question='after')\n"
        "print(ledger.verify().number)\n"
    )
    run = [sys.executable, "-W", "error", "-c", code, str(tmp_path / "people")]
    ended = subprocess.run(run, capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.stderr) == ("3", "")


def test_a_child_inherits_no_connection_of_a_ledger_that_is_being_let_go(tmp_path: Path) -> None:
    """A fork waits for a transaction. Meanwhile a thread drops a ledger, whose finaliser waits for the fork."""
    code = (
        "import gc, os, sys, threading\n"
        "from datetime import UTC, datetime\n"
        "from discreet.ledger import Budget, Ledger\n"
        "from discreet.ledger.store import sqlite_connections\n"
        "from discreet.privacy import Pure\n"
        "path, gate = sys.argv[1], sqlite_connections._process.gate\n"
        "Ledger.create(path, Budget(10))\n"
        "inside, go = threading.Event(), threading.Event()\n"
        "def clock():\n"
        "    inside.set()\n"
        "    go.wait()\n"
        "    return datetime.now(UTC)\n"
        "def write():\n"
        "    Ledger.open(path, clock=clock).reserve(Pure('0.5'), question='slow')\n"
        "def let_go():\n"
        "    while not gate._forking:\n"
        "        os.sched_yield()\n"
        "    held.clear()\n"
        "    gc.collect()\n"
        "def release():\n"
        "    while len(gate._changed._waiters) < 2:\n"  # the fork, and the finaliser
        "        os.sched_yield()\n"
        "    go.set()\n"
        "held = [Ledger.open(path)]\n"
        "held[0].balance()\n"
        "threads = [threading.Thread(target=work) for work in (write, let_go, release)]\n"
        "threads[0].start()\n"
        "inside.wait()\n"
        "threads[1].start()\n"
        "threads[2].start()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    links = (f'/proc/self/fd/{n}' for n in os.listdir('/proc/self/fd'))\n"
        "    os._exit(any('people' in os.readlink(link) for link in links if os.path.islink(link)))\n"
        "status = os.waitpid(child, 0)[1]\n"
        "for thread in threads:\n"
        "    thread.join()\n"
        "print(status, Ledger.open(path).verify().number)\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "people")]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert (ended.stdout.strip(), ended.stderr) == ("0 2", "")


def test_a_finaliser_in_the_thread_that_forks_does_not_wait_for_itself() -> None:
    gate = sqlite_connections._Gate()

    def fork() -> None:
        gate.shut()
        gate.enter()  # garbage is collected here
        gate.leave()
        gate.open()

    thread = threading.Thread(target=fork, daemon=True)
    thread.start()
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_a_fork_inside_a_transaction_is_noticed_in_the_child(place: str, ledger: Ledger) -> None:
    children: list[int] = []

    def clock_that_forks() -> datetime:
        children.append(os.fork())
        return datetime.now(UTC)

    forking = Ledger.open(place, clock=clock_that_forks)
    try:
        forking.reserve(TENTH, question="?")
    except LedgerUnavailable as error:
        refused = children == [0] and "forked inside a transaction" in str(error)
        if is_address(place):
            os._exit(0 if refused else 1)
        try:
            Ledger.open(place)  # not even a new one: SQLite's memory of the file is the parent's
        except LedgerUnavailable:
            os._exit(0 if refused else 1)
        os._exit(1)
    except BaseException:
        os._exit(1)
    if children == [0]:
        os._exit(1)  # a charge that the child believes in, and the parent's transaction made
    assert os.waitpid(children[0], 0)[1] == 0
    forking.close()
    assert ledger.balance().charges == 1
    ledger.verify()


def test_a_writer_waits_for_another_and_readers_do_not(place: str, backend: Backend, ledger: Ledger) -> None:
    waiting, rivals = threading.Event(), Ledger.open(place)

    def ask() -> None:
        waiting.set()
        rivals.reserve(TENTH * 4, question="?")

    thread = threading.Thread(target=ask)
    with backend.store().write() as rows:
        thread.start()
        waiting.wait()
        assert rows.last() is not None
        assert ledger.balance().remaining == 1
    thread.join()
    rivals.close()
    assert ledger.balance().remaining == Fraction(6, 10)


def test_a_reader_sees_one_state_throughout(backend: Backend, ledger: Ledger) -> None:
    with backend.store().read() as rows:
        before = rows.last()
        ledger.reserve(TENTH, question="?", analyst="ana")
        assert rows.last() == before
        assert rows.latest(Account(analyst="ana")) is None
    assert ledger.head().number == 2


def test_a_ledger_is_not_copied_and_not_pickled(ledger: Ledger) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"open it where it is needed, Ledger\.open\(path\)"):
            duplicate(ledger)


def test_only_its_owner_may_read_the_file(path: Path) -> None:
    ledger = Ledger.create(path, Budget(1))
    ledger.reserve(TENTH, question="?")
    files = [file for file in path.parent.iterdir() if file.name.startswith(path.name)]
    assert len(files) == 3  # the file, its -wal and its -shm
    assert {os.stat(file).st_mode & 0o777 for file in files} == {0o600}
    ledger.close()
