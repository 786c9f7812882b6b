"""When the file cannot be used, the error states it, nothing is charged, and the ledger goes on when it can."""

import os
import resource
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import LedgerTampered, LedgerUnavailable
from discreet.ledger import Budget, Ledger
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.ledger.store.sqlite_connections import Connection
from tests.ledger.processes import Tell, alone

TENTH = privacy.Pure("0.1")


@pytest.fixture
def path() -> Iterator[Path]:
    # Not pytest's own folder, which only root may enter: some of these tests give up root's rights.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder / "people.ledger"
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.create(path, Budget(1)) as ledger:
        yield ledger


def told_by_a_user(task: Callable[[], object], owner: Path | None = None) -> str:
    """Run a task without root's rights, and return the class and text of what it raised."""

    def run(tell: Tell) -> None:
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            tell(f"returned {task()!r}")
        except (LedgerUnavailable, LedgerTampered) as error:
            tell(f"{type(error).__name__}: {error}")

    if owner is not None and os.geteuid() == 0:
        for file in (owner.parent, *owner.parent.iterdir()):
            os.chown(file, 65534, 65534)
    ended = alone(run)
    assert ended.status == 0, ended
    return "\n".join(ended.told)


def test_a_missing_folder_is_named(path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match=r"A ledger cannot be made at .*No such file or directory"):
        Ledger.create(path / "deeper", Budget(1))


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to look like one" * 100, b"short"])
def test_another_kind_of_file_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerUnavailable, match="not a ledger"):
        Ledger.open(path)
    with pytest.raises(LedgerUnavailable, match="not a ledger"):
        Ledger.create(path, Budget(1))
    assert path.read_bytes() == content


def test_another_database_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE cities (name TEXT)")
    other.commit()
    other.close()
    content = path.read_bytes()
    with pytest.raises(LedgerUnavailable, match="is not a ledger"):
        Ledger.open(path)
    with pytest.raises(LedgerUnavailable, match="something at"):
        Ledger.create(path, Budget(1))
    assert path.read_bytes() == content


def test_an_empty_file_is_no_ledger_and_can_become_one(path: Path) -> None:
    path.touch()
    with pytest.raises(LedgerUnavailable, match="is not a ledger"):
        Ledger.open(path)
    with Ledger.create(path, Budget(1)) as ledger:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        ledger.verify()


def test_a_read_only_file_can_be_looked_at_and_not_charged(path: Path, ledger: Ledger) -> None:
    ledger.close()
    os.chmod(path, 0o444)
    seen = told_by_a_user(lambda: Ledger.open(path).balance().remaining, path)
    charged = told_by_a_user(lambda: Ledger.open(path).reserve(TENTH, question="?"), path)
    assert seen == "returned Fraction(1, 1)"
    assert "cannot be written: the file or its directory is read-only" in charged
    os.chmod(path, 0o600)
    assert ledger.balance().remaining == 1


def test_a_file_of_someone_else_cannot_be_opened(path: Path, ledger: Ledger) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs a second user")
    ledger.close()
    assert "cannot be opened" in told_by_a_user(lambda: Ledger.open(path))


def test_a_read_only_directory(path: Path, ledger: Ledger) -> None:
    ledger.close()
    path.parent.chmod(0o555)
    told = told_by_a_user(lambda: Ledger.open(path).reserve(TENTH, question="?"), path)
    assert told.startswith("LedgerUnavailable")
    assert "copy the file to read it" in told
    told = told_by_a_user(lambda: Ledger.create(path.parent / "another", Budget(1)))
    assert "A ledger cannot be made" in told
    assert "Permission denied" in told
    assert ledger.balance().remaining == 1


def test_a_full_disk_leaves_nothing_half_written(path: Path, ledger: Ledger) -> None:
    class Small(SQLiteStore):
        def _set_up(self, connection: Connection) -> None:
            super()._set_up(connection)
            connection.rows("PRAGMA max_page_count = 12")

    small, granted = Ledger(Small(path)), list[int]()

    def ask_until_it_is_full() -> None:
        while True:
            charge = small.reserve(privacy.Pure("0.001"), question="x" * 1000)
            granted.append(charge.number)
            small.record(charge, "1")

    with pytest.raises(LedgerUnavailable, match=r"the disk is full\. Nothing was written"):
        ask_until_it_is_full()
    assert ledger.verify() == ledger.head()
    assert [entry.number for entry in ledger.entries() if entry.kind == "charge"] == granted
    assert len(granted) > 3
    ledger.reserve(TENTH, question="there is room again")
    small.close()


def test_a_limit_on_the_size_of_files_leaves_nothing_half_written(path: Path, ledger: Ledger) -> None:
    def ask(tell: Tell) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        try:
            for _ in range(1000):
                ledger.reserve(privacy.Pure("0.001"), question="x" * 1000)
                tell("charged")
        except LedgerUnavailable as error:
            tell(str(error))

    ended = alone(ask)
    assert ended.status == 0, ended
    assert "Nothing may be released until it can be" in ended.told[-1]
    ledger.verify()
    assert ledger.balance().charges == ended.told.count("charged") > 1


def test_a_file_replaced_while_it_is_open_gets_no_charges(path: Path, ledger: Ledger) -> None:
    # A backup put in the place of the file: charges would go to the old file, which no process can open any more.
    ledger.close()
    shutil.copy(path, path.parent / "backup")
    ledger.reserve(TENTH, question="?")
    os.replace(path.parent / "backup", path)
    with pytest.raises(LedgerUnavailable, match="was moved or replaced while it was open"):
        ledger.reserve(TENTH, question="?")
    path.unlink()
    with pytest.raises(LedgerUnavailable, match="was moved or replaced while it was open"):
        ledger.reserve(TENTH, question="?")
