"""Whatever is changed in the file behind the ledger's back is seen, and the first bad entry is named."""

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import LedgerTampered
from discreet.ledger import Budget, Entry, Ledger
from discreet.ledger.entry import sealed

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


UNGUARDED = ("DROP TRIGGER never_changed", "DROP TRIGGER never_shortened", "DROP TRIGGER only_continued")


def rewritten(path: Path, change: Callable[[Entry], Entry]) -> None:
    """Change entries, and compute all hashes anew: what an attacker with time would do."""
    ledger = Ledger.open(path)
    entries, previous, rows = [change(entry) for entry in ledger.entries()], "0" * 64, []
    ledger.close()
    for entry in entries:
        new = sealed(previous, entry.number, entry.time, entry.kind, entry.content)
        rows.append((new.number, new.time, new.kind, new.body, new.hash, *new.keys))
        previous = new.hash
    connection = sqlite3.connect(path)
    for statement in (*UNGUARDED, "DELETE FROM entries"):
        connection.execute(statement)
    connection.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * 9)})", rows)
    connection.commit()
    connection.close()


def test_an_honest_ledger_verifies(ledger: Ledger) -> None:
    head = ledger.head()
    assert head.number == 8
    assert ledger.verify() == head
    ledger.reserve(TENTH, question="and then?")
    assert ledger.verify(since=head).number == 9
    assert ledger.verify(since=(head.number, head.hash)).number == 9  # as it comes back from where it was kept


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ("UPDATE entries SET body = replace(body, '1/10', '1/11') WHERE number = 3", 3),
        ("UPDATE entries SET body = '{}' WHERE number = 5", 5),
        ("UPDATE entries SET body = x'ff00' WHERE number = 5", 5),
        ("UPDATE entries SET body = cast(x'ff' as text) WHERE number = 5", 5),
        ("UPDATE entries SET time = '2020-01-01T00:00:00.000000Z' WHERE number = 4", 4),
        ("UPDATE entries SET kind = 'charge' WHERE number = 6", 6),
        ("UPDATE entries SET hash = upper(hash) WHERE number = 1", 1),
        ("UPDATE entries SET analyst = 'bob' WHERE number = 7", 7),
        ("UPDATE entries SET question = NULL WHERE number = 8", 8),
        ("UPDATE entries SET charge = 99 WHERE number = 8", 8),
        ("DELETE FROM entries WHERE number = 4", 4),
        ("DELETE FROM entries WHERE number = 1", 1),
    ],
)
def test_a_changed_row_is_found_and_named(path: Path, ledger: Ledger, change: str, number: int) -> None:
    raw(path, *UNGUARDED, change)
    with pytest.raises(LedgerTampered, match=f"Entry {number} "):
        ledger.verify()


def test_a_charge_never_relies_on_a_changed_entry(path: Path, ledger: Ledger) -> None:
    raw(path, *UNGUARDED, "UPDATE entries SET body = replace(body, '3/10', '0') WHERE number = 7")
    with pytest.raises(LedgerTampered, match="Entry 7 "):
        ledger.reserve(TENTH, question="?", analyst="ana")
    with pytest.raises(LedgerTampered, match="Entry 7 "):
        ledger.balance(analyst="ana")


def test_a_changed_answer_is_not_returned(path: Path, ledger: Ledger) -> None:
    body = 'replace(body, \'"answer":"2"\', \'"answer":"3"\')'
    raw(path, *UNGUARDED, f"UPDATE entries SET body = {body} WHERE number = 8")
    with pytest.raises(LedgerTampered, match="Entry 8 "):
        ledger.find("2")


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


def test_a_tail_cut_off_is_seen_with_a_head_that_was_kept(path: Path, ledger: Ledger) -> None:
    head = ledger.head()
    raw(path, *UNGUARDED, "DELETE FROM entries WHERE number > 6")
    with pytest.raises(LedgerTampered, match="ends at entry 6, and entry 8 was kept: its tail was cut off"):
        ledger.verify(since=head)
    ledger.reserve(TENTH, question="?")
    ledger.reserve(TENTH, question="?")
    ledger.reserve(TENTH, question="?")
    with pytest.raises(LedgerTampered, match="Entry 8 of the ledger is not the one that was kept"):
        ledger.verify(since=head)


def test_removed_guards_are_seen(path: Path, ledger: Ledger) -> None:
    raw(path, "DROP TRIGGER never_changed")
    with pytest.raises(LedgerTampered, match="removed what guards"):
        ledger.verify()


def test_a_rewritten_chain_still_has_to_add_up(path: Path, ledger: Ledger) -> None:
    def cheaper(entry: Entry) -> Entry:
        body = entry.body.replace('"epsilon":"3/10"', '"epsilon":"1/10"') if entry.number == 7 else entry.body
        return Entry(entry.number, entry.time, entry.kind, body, entry.hash)

    head = ledger.head()
    ledger.close()
    rewritten(path, cheaper)
    with pytest.raises(LedgerTampered, match=r"Entry 7 .*balances that do not follow"):
        ledger.verify()
    with pytest.raises(LedgerTampered):
        ledger.verify(since=head)


@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ('"charge":3', '"charge":2', 4),  # a release of what is no charge
        ('"reason":""', '"reason":"","strict":true', 2),  # harmless by itself, and still not what was kept
        ('"epsilon":"1/2"', '"epsilon":"1/4"', 2),  # a smaller allotment than what is carried on
        ('"cost":{"delta":"0","epsilon":"1/10"', '"cost":{"delta":"0","epsilon":"-1/10"', 3),
        ('"rho":null', '"rho":"1/2"', 1),
    ],
)
def test_a_rewritten_chain_is_not_the_one_that_was_kept(
    path: Path, ledger: Ledger, old: str, new: str, number: int
) -> None:
    def changed(entry: Entry) -> Entry:
        body = entry.body.replace(old, new) if entry.number == number else entry.body
        return Entry(entry.number, entry.time, entry.kind, body, entry.hash)

    head = ledger.head()
    ledger.close()
    rewritten(path, changed)
    with pytest.raises(LedgerTampered, match=r"Entry \d "):
        ledger.verify(since=head)


def test_overspending_written_by_hand_is_seen(path: Path, ledger: Ledger) -> None:
    # A consistent chain in which ana spent 0.6 of 0.5: the sums are right and the filter was ignored.
    def dearer(entry: Entry) -> Entry:
        body = entry.body
        for old, new in (("3/10", "3/5"), ("1/5", "2/5"), ("1/10", "1/5")):
            body = body.replace(f'"epsilon":"{old}"', f'"epsilon":"{new}"')
        return Entry(entry.number, entry.time, entry.kind, body, entry.hash)

    ledger.close()
    rewritten(path, dearer)
    with pytest.raises(LedgerTampered, match=r"Entry 7 .*0\.1 of 0\.5 is left"):
        ledger.verify()


def test_damaged_pages_are_reported(path: Path, ledger: Ledger) -> None:
    ledger.close()
    content = bytearray(path.read_bytes())
    content[4096 + 8 : 4096 + 200] = b"\xff" * 192
    path.write_bytes(content)
    with pytest.raises(LedgerTampered):
        Ledger.open(path).verify()


def test_a_clock_that_goes_backwards_changes_nothing(path: Path, ledger: Ledger) -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=365 * n) for n in range(4)]
    backwards = Ledger.open(path, clock=iter(moments).__next__)
    for n in range(2):
        backwards.record(backwards.reserve(TENTH, question=f"later {n}", analyst="ana"), f"{n}")
    times = [entry.time for entry in ledger.entries(after=8)]
    assert times == sorted(times, reverse=True)
    assert [entry.number for entry in ledger.entries()] == list(range(1, 13))
    assert ledger.balance(analyst="ana").remaining == 0
    assert ledger.find("later 1") == "1"
    ledger.verify()
    backwards.close()
