"""A ledger in a SQLite file: what only a file can suffer, and what its triggers stop."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import LedgerTampered
from discreet.ledger import Budget, Ledger
from tests.ledger.backends import SQLiteBackend

TENTH = privacy.Pure("0.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.create(path, Budget(1)) as ledger:
        ledger.allot(analyst="ana", budget=Budget("0.5"))  # entry 2
        for n in range(3):  # entries 3 to 8
            ledger.record(ledger.reserve(TENTH, question=f"{n}", analyst="ana"), f"{n}")
        yield ledger


def raw(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("body", ["x'ff00'", "cast(x'ff' as text)"])
def test_a_body_that_is_not_text_is_found_and_named(path: Path, ledger: Ledger, body: str) -> None:
    SQLiteBackend(str(path)).tamper(f"UPDATE entries SET body = {body} WHERE number = 5")
    with pytest.raises(LedgerTampered, match="Entry 5 "):
        ledger.verify()


@pytest.mark.parametrize(
    "accident",
    [
        "UPDATE entries SET time = '' WHERE number = 3",
        "DELETE FROM entries WHERE number = 8",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE number = 3",
        "INSERT INTO entries (number, time, kind, body, hash) VALUES (99, '', '', '', '')",
    ],
)
def test_accidents_are_stopped_by_the_file_itself(path: Path, ledger: Ledger, accident: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="a ledger is"):
        raw(path, accident)
    ledger.verify()


def test_damaged_pages_are_reported(path: Path, ledger: Ledger) -> None:
    ledger.close()
    content = bytearray(path.read_bytes())
    content[4096 + 8 : 4096 + 200] = b"\xff" * 192
    path.write_bytes(content)
    with pytest.raises(LedgerTampered):
        Ledger.open(path).verify()
