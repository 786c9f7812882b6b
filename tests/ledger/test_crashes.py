"""A crash wastes budget at worst: what was released was charged, and the ledger opens and verifies."""

import os
import shutil
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import LedgerUnavailable
from discreet.ledger import Budget, Ledger
from discreet.ledger.entry import sealed
from discreet.ledger.store.sqlite import SQLiteStore
from tests.ledger.processes import Tell, TracedStore, alone

TENTH = privacy.Pure("0.1")


class Killer:
    """Ends its process without any clean-up at the n-th chance."""

    def __init__(self, at: int):
        self.left = at

    def __call__(self, statement: str = "") -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def ask(path: Path, at: int, tell: Tell) -> None:
    """One question, as a vault asks it, killed at the n-th statement or step."""
    killer = Killer(at)
    ledger = Ledger(TracedStore(path, killer))
    killer()
    charge = ledger.reserve(TENTH, question="how many?", analyst="ana")
    tell("charged")
    killer()
    tell("drawn")  # noise is drawn here, after the charge
    ledger.record(charge, "42")
    killer()
    tell("shown")


def test_killed_at_every_point_of_the_path_nothing_is_released_uncharged(tmp_path: Path) -> None:
    seen = set()
    for at in range(1, 200):
        path = tmp_path / f"{at}.ledger"
        Ledger.create(path, Budget(1)).close()
        child = alone(lambda tell, path=path, at=at: ask(path, at, tell))  # type: ignore[misc]
        with Ledger.open(path) as ledger:
            ledger.verify()
            spent, answer = ledger.balance().spent.epsilon, ledger.find("how many?")
            assert spent in (0, Fraction(1, 10))
            if "charged" in child.told:
                assert spent == Fraction(1, 10)
            if answer is not None:
                assert spent == Fraction(1, 10)
            if "shown" in child.told:
                assert answer == "42"
            assert len(ledger.unfinished()) == (spent != 0 and answer is None)
            assert ledger.reserve(TENTH, question="and then?").number == ledger.head().number
        seen.add((spent, answer, tuple(child.told)))
        if child.status == 0:
            break
        assert child.status == -signal.SIGKILL, child
    tenth = Fraction(1, 10)
    assert {(0, None, ()), (tenth, None, ("charged",)), (tenth, "42", ("charged", "drawn", "shown"))} <= seen
    assert (tenth, "42", ("charged", "drawn")) in seen  # recorded, and killed before anyone saw it
    assert at > 20


def test_killed_while_it_is_made_a_ledger_can_be_made_again(tmp_path: Path) -> None:
    outcomes = set()
    for at in range(1, 200):
        path = tmp_path / f"{at}.ledger"

        def make(tell: Tell, path: Path = path, at: int = at) -> None:
            Ledger.create(TracedStore(path, Killer(at)), Budget(1))

        child = alone(make)
        try:
            ledger = Ledger.open(path)
            outcomes.add("made")
        except LedgerUnavailable:
            ledger = Ledger.create(path, Budget(1))
            outcomes.add("made again")
        with ledger:
            assert ledger.verify().number == 1
        if child.status == 0:
            break
    assert outcomes == {"made", "made again"}


def test_killed_at_any_moment_charges_that_were_told_are_there(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with Ledger.create(path, Budget(1000)) as ledger:
        told = 0
        for moment in (0.002, 0.005, 0.011, 0.023, 0.041):

            def work(tell: Tell, moment: float = moment) -> None:
                own = Ledger.open(path)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever it is doing
                signal.setitimer(signal.ITIMER_REAL, moment)
                for n in range(100_000):
                    own.record(own.reserve(TENTH, question="?"), str(n))
                    tell("shown")

            child = alone(work)
            assert child.status == -signal.SIGALRM, child
            told += child.told.count("shown")
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


def test_an_interrupted_transaction_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with Ledger.create(path, Budget(1)) as ledger:
        before = ledger.head()

        def clock_that_breaks() -> None:
            raise KeyboardInterrupt

        broken = Ledger.open(path, clock=clock_that_breaks)  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            broken.reserve(TENTH, question="?")
        assert ledger.head() == before
        assert ledger.reserve(TENTH, question="?").number == 2
        assert broken.balance().remaining == Fraction(9, 10)
        broken.close()


def test_an_entry_whose_transaction_was_interrupted_was_never_written(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    with Ledger.create(path, Budget(1)) as ledger:
        before = ledger.head()
        entry = sealed(before.hash, 2, "2026-01-01T00:00:00.000000Z", "charge", {"question": "?"})
        store = SQLiteStore(path)

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
