"""An oracle killed at any point at worst wastes budget: no noise is drawn twice, or without its cost set aside."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.engines.engine import Groups
from discreet.engines.statement import Rows, Statement
from discreet.errors import BudgetExceeded, DiscreetError, ParameterError
from discreet.kernel import journal as journals
from discreet.kernel.journal import Journal
from discreet.kernel.threshold_test import NoisyThreshold
from discreet.mechanisms import Gaussian
from discreet.oracle.threshold_oracle import ThresholdOracle
from discreet.schema.metadata import UNIT
from discreet.vault.vault import Vault
from tests.ledger.processes import Tell, alone
from tests.oracle.people import town

FEW, MANY = "select count(*) from people where age = 3", "select count(*) from people where age <= 4"
ROWS = 500


class Still:
    """An engine that always gives the same answer, so that child processes need no threads of a real engine."""

    def __init__(self, limits: Any):
        self.rows = Rows("rows", limits=limits)

    def run(self, statement: Statement) -> Groups:
        return Groups([(0,) * len(statement.keys)], np.array([[ROWS * UNIT]]))

    def mark(self) -> str:
        return ""

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("town")
    town(folder, ROWS).close()
    return folder / "town.vault"


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vault, "_engine", lambda self, metadata: Still(metadata.limits))


def opened(path: Path) -> ThresholdOracle:
    found = Vault(path).oracle(["age", "ill"], epsilon=6, within=120, bins={"age": 20}, start="singles")
    assert isinstance(found, ThresholdOracle)
    return found


class Killer:
    """Ends the process at the n-th chance: before and after every write and sync, and in the middle of a line."""

    def __init__(self, at: int, tell: Tell):
        self.left, self.tell = at, tell

    def chance(self, instead: Callable[[], object] = lambda: None) -> None:
        self.left -= 1
        if self.left == 0:
            instead()
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Replace what writes and what draws. Only the copy of the child process is changed."""
        write, sync, noisy, compared = os.write, os.fsync, Gaussian.release, NoisyThreshold.release

        def writing(handle: int, line: bytes) -> int:
            self.chance()
            self.chance(lambda: write(handle, line[: len(line) // 2]))
            done = write(handle, line)
            self.chance()
            return done

        def synced(handle: int) -> None:
            sync(handle)
            self.chance()

        def released(mechanism: Any, exact: Any) -> Any:
            self.tell("drawn payment")
            return noisy(mechanism, exact)

        def watched(threshold: Any, exact: Any) -> Any:
            self.tell("drawn check")
            return compared(threshold, exact)

        class System:
            """The operating system as the journal sees it."""

            def __getattr__(self, name: str) -> Any:
                return {"write": writing, "fsync": synced}.get(name) or getattr(os, name)

        setattr(journals, "os", System())  # noqa: B010
        setattr(Gaussian, "release", released)  # noqa: B010
        setattr(NoisyThreshold, "release", watched)  # noqa: B010


def questions(path: Path, at: int, tell: Tell) -> None:
    """A payment, and a check with the runs that it needs."""
    asked = opened(path)
    killer = Killer(at, tell)
    killer.watch()
    asked._bad = 1  # after one alarm it is cheaper to pay
    tell(f"answer {asked.ask(FEW).value}")
    asked._seen = 10**6  # now the hypothesis is likely to pass
    tell(f"answer {asked.ask(MANY).value}")


def points(task: Callable[[Path, int, Tell], None], original: Path, folder: Path) -> Iterator[tuple[Path, Any]]:
    """Yield a copy of a vault for every point at which the task can be killed, until a task ends."""
    for at in range(1, 400):
        path = folder / f"{at}" / "town.vault"
        shutil.copytree(original, path)
        ended = alone(lambda tell, path=path, at=at: task(path, at, tell))  # type: ignore[misc]
        yield path, ended
        if ended.status == 0:
            return
        assert ended.status == -signal.SIGKILL, ended


def only_journal(path: Path) -> Path:
    (found,) = path.glob("*.oracle")
    return found


def test_killed_at_every_point_of_asking_nothing_is_drawn_that_was_not_set_aside(
    sealed: Path, tmp_path: Path
) -> None:
    original = tmp_path / "original"
    shutil.copytree(sealed, original)
    opened(original).close()
    seen = set()
    journal = Journal.open(only_journal(original))
    start = len(journal.begun)
    journal.close()
    for path, ended in points(questions, original, tmp_path):
        told = [line for line in ended.told if not line.startswith("Traceback")]
        journal = Journal.open(only_journal(path))
        kinds = [record["begin"] for record in list(journal.begun.values())[start:]]
        assert journal.spent <= journal.rho
        assert told.count("drawn payment") <= kinds.count("payment")
        assert bool(told.count("drawn check")) <= kinds.count("check")
        assert kinds.count("check") == 0 or kinds.count("run") == 2
        unfinished = [n for n in journal.begun if n not in journal.ended and journal.begun[n]["begin"] == "check"]
        spent = journal.spent
        journal.close()
        with closing(opened(path)) as again:
            assert again.spent == spent  # opened again, nothing is spent again
            assert [run.over for run in again._guard.runs] == [bool(unfinished)] * len(again._guard.runs)
            for question, line in zip((FEW, MANY), [x for x in told if x.startswith("answer")], strict=False):
                answer = again.ask(question)
                assert f"answer {answer.value}" == line
                assert answer.free
        seen.add((tuple(kinds), len([x for x in told if x.startswith("answer")]), bool(unfinished)))
    assert (("payment",), 0, False) in seen  # the cost was set aside, and the answer lost
    assert (("payment", "run", "run", "check"), 1, True) in seen  # a check without a result: its runs are over
    assert (("payment", "run", "run", "check"), 2, False) in seen
    assert len(seen) >= 6


def making(path: Path, at: int, tell: Tell) -> None:
    killer = Killer(at, tell)
    killer.watch()
    opened(path)
    tell("made")


def test_killed_while_it_is_made_an_oracle_is_found_or_its_charge_is_wasted(sealed: Path, tmp_path: Path) -> None:
    outcomes = set()
    for path, ended in points(making, sealed, tmp_path):
        drawn = ended.told.count("drawn payment")
        for file in path.glob("*.oracle"):
            if file.stat().st_size and b"\n" in file.read_bytes():
                with_lock = Journal.open(file)
                assert drawn <= len(with_lock.begun)
                with_lock.close()
        charges = Vault(path).ledger.balance().charges
        assert charges == 1
        try:
            with opened(path) as found:
                assert found.spent <= found.total
                outcomes.add("found" if Vault(path).ledger.balance().charges == 1 else "made again")
        except DiscreetError as wrong:
            outcomes.add(str(wrong).partition(" it knew")[0])
    assert outcomes == {"found", "made again", "This oracle was interrupted before"}


def test_a_journal_refuses_what_is_more_than_is_left_and_equality_is_allowed(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "a.oracle", rho=Fraction(1, 3), facts={})
    journal.begin("payment", Fraction(1, 6))
    with pytest.raises(BudgetExceeded, match="left"):
        journal.begin("payment", Fraction(1, 6) + Fraction(1, 10**30))
    journal.begin("payment", Fraction(1, 6))
    assert journal.left == 0
    journal.close()
    with pytest.raises(DiscreetError, match="closed"):
        journal.end(0)


def test_a_torn_last_line_is_dropped_and_a_changed_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.oracle"
    journal = Journal.create(path, rho=Fraction(1), facts={})
    journal.begin("payment", Fraction(1, 4), question="one")
    journal.begin("payment", Fraction(1, 4), question="two")
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    torn = Journal.open(path)
    assert torn.spent == Fraction(1, 4)
    torn.begin("payment", Fraction(1, 4), question="three")
    torn.close()
    again = Journal.open(path)
    assert [record["question"] for record in again.begun.values()] == ["one", "three"]
    again.close()
    path.write_bytes(whole.replace(b'"one"', b'"won"'))
    with pytest.raises(DiscreetError, match="changed in line 2"):
        Journal.open(path)
    path.write_bytes(b"something else\n")
    with pytest.raises((ParameterError, DiscreetError)):
        Journal.open(path)
