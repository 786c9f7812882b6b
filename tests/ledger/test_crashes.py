"""A crash wastes budget at worst: what was released was charged, and the ledger opens and verifies."""

import os
import shutil
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import LedgerUnavailable
from discreet.ledger import Budget, Ledger
from discreet.ledger.entry import sealed
from discreet.postgres import is_address
from tests.ledger.backends import Backend
from tests.ledger.processes import Tell, alone

TENTH = privacy.Pure("0.1")


class Killer:
    """Ends its process without any clean-up at the n-th chance."""

    def __init__(self, at: int):
        self.left = at

    def __call__(self, statement: str = "") -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def ask(backend: Backend, place: str, at: int, tell: Tell) -> None:
    """One question, as a vault asks it, killed at the n-th statement or step."""
    killer = Killer(at)
    ledger = Ledger(backend.traced(place, killer))
    killer()
    charge = ledger.reserve(TENTH, question=f"{at}", analyst=f"{at}")
    tell("charged")
    killer()
    tell("drawn")  # noise is drawn here, after the charge
    ledger.record(charge, "42")
    killer()
    tell("shown")


def test_killed_at_every_point_of_the_path_nothing_is_released_uncharged(place: str, backend: Backend) -> None:
    ledger = Ledger.create(place, Budget(100))
    seen, tenth = set(), Fraction(1, 10)
    for at in range(1, 200):
        child = alone(lambda tell, at=at: ask(backend, place, at, tell))  # type: ignore[misc]
        with backend.store().write():
            pass  # no lock was left behind, and what the dead process had begun has ended
        spent, answer = ledger.balance(analyst=f"{at}").spent.epsilon, ledger.find(f"{at}")
        assert spent in (0, tenth)
        if "charged" in child.told or answer is not None:
            assert spent == tenth
        if "shown" in child.told:
            assert answer == "42"
        unfinished = [entry.content["question"] for entry in ledger.unfinished()]
        assert (f"{at}" in unfinished) == (spent != 0 and answer is None)
        seen.add((spent, answer, tuple(child.told)))
        if child.status == 0:
            break
        assert child.status == -signal.SIGKILL, child
    assert {(0, None, ()), (tenth, None, ("charged",)), (tenth, "42", ("charged", "drawn", "shown"))} <= seen
    assert (tenth, "42", ("charged", "drawn")) in seen  # recorded, and killed before the answer was shown
    if is_address(place):  # whose steps include one after the commit
        assert (tenth, None, ()) in seen  # committed, and killed before telling
    assert at > 20
    ledger.verify()
    answered = sum(entry.kind == "release" for entry in ledger.entries())
    assert ledger.balance().charges == answered + len(ledger.unfinished())
    ledger.close()


def test_killed_while_it_is_made_a_ledger_can_be_made_again(
    new_place: Callable[[], str], backend: Backend
) -> None:
    outcomes = set()
    for at in range(1, 200):
        place = new_place()

        def make(tell: Tell, place: str = place, at: int = at) -> None:
            Ledger.create(backend.traced(place, Killer(at)), Budget(1))

        child = alone(make)
        try:
            ledger = Ledger.open(place)
            outcomes.add("made")
        except LedgerUnavailable:
            ledger = Ledger.create(place, Budget(1))
            outcomes.add("made again")
        with ledger:
            assert ledger.verify().number == 1
        if child.status == 0:
            break
    assert outcomes == {"made", "made again"}


def test_killed_at_any_moment_charges_that_were_told_are_there(place: str, backend: Backend) -> None:
    with Ledger.create(place, Budget(1000)) as ledger:
        told = 0
        for moment in (0.002, 0.005, 0.011, 0.023, 0.041):

            def work(tell: Tell, moment: float = moment) -> None:
                own = Ledger.open(place)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever it is doing
                signal.setitimer(signal.ITIMER_REAL, moment)
                for n in range(100_000):
                    own.record(own.reserve(TENTH, question="?"), str(n))
                    tell("shown")

            child = alone(work)
            assert child.status == -signal.SIGALRM, child
            told += child.told.count("shown")
            with backend.store().write():
                pass  # whatever the dead process had begun has ended now
            ledger.verify()
            releases = sum(entry.kind == "release" for entry in ledger.entries())
            assert releases >= told
            assert ledger.balance().charges == releases + len(ledger.unfinished())


def test_a_log_torn_by_a_power_cut_loses_whole_entries_from_its_end_only(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"

    def ask_and_die(tell: Tell) -> None:
        ledger = Ledger.create(path, Budget(1))
        for n in range(5):
            ledger.record(ledger.reserve(TENTH, question=f"{n}"), f"{n}")
        os.kill(os.getpid(), signal.SIGKILL)  # everything is in the log, nothing in the file

    assert alone(ask_and_die).status == -signal.SIGKILL
    log = Path(f"{path}-wal").read_bytes()
    for number, kept in enumerate([*range(0, len(log), len(log) // 60), len(log)]):
        shutil.copy(path, tmp_path / f"torn{number}")
        (tmp_path / f"torn{number}-wal").write_bytes(log[:kept])
    with Ledger.open(path) as ledger:
        entries = list(ledger.entries())
    lengths = []
    for torn in sorted(tmp_path.glob("torn*[0-9]"), key=lambda file: int(file.name[4:])):
        try:
            with Ledger.open(torn) as rest:
                rest.verify()
                left = list(rest.entries())
        except LedgerUnavailable:
            left = []  # torn before the first transaction: there never was a ledger
        assert left == entries[: len(left)]
        lengths.append(len(left))
    assert lengths == sorted(lengths)
    assert {0, 5, len(entries)} <= set(lengths)


def test_an_interrupted_transaction_leaves_nothing(place: str) -> None:
    with Ledger.create(place, Budget(1)) as ledger:
        before = ledger.head()

        def clock_that_breaks() -> None:
            raise KeyboardInterrupt

        broken = Ledger.open(place, clock=clock_that_breaks)  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            broken.reserve(TENTH, question="?")
        assert ledger.head() == before
        assert ledger.reserve(TENTH, question="?").number == 2
        assert broken.balance().remaining == Fraction(9, 10)
        broken.close()


def test_an_entry_whose_transaction_was_interrupted_was_never_written(place: str, backend: Backend) -> None:
    with Ledger.create(place, Budget(1)) as ledger:
        before = ledger.head()
        entry = sealed(before.hash, 2, "2026-01-01T00:00:00.000000Z", "charge", {"question": "?"})
        store = backend.store()

        def interrupted() -> None:
            with store.write() as rows:
                rows.append(entry)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert ledger.head() == before
        with store.read() as rows:  # by the connection that was interrupted
            assert rows.get(2) is None
        store.close()
