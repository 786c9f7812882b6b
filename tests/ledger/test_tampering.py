"""A change behind the ledger's back is seen on every store, and the first bad entry is named."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from discreet import privacy
from discreet.errors import LedgerTampered
from discreet.ledger import Budget, Entry, Ledger
from discreet.ledger.entry import sealed
from tests.ledger.backends import TRIGGERS, Backend

TENTH = privacy.Pure("0.1")


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, Budget(1)) as ledger:
        ledger.allot(analyst="ana", budget=Budget("0.5"))  # entry 2
        for n in range(3):  # entries 3 to 8
            ledger.record(ledger.reserve(TENTH, question=f"{n}", analyst="ana"), f"{n}")
        yield ledger


def literal(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def rewrite(place: str, backend: Backend, change: Callable[[Entry], Entry]) -> None:
    """Change entries, and compute all hashes anew: what an attacker with time would do."""
    with Ledger.open(place) as ledger:
        entries, previous, inserts = [change(entry) for entry in ledger.entries()], "0" * 64, []
    for entry in entries:
        new = sealed(previous, entry.number, entry.time, entry.kind, entry.content)
        values = (new.number, new.time, new.kind, new.body, new.hash, *new.keys)
        inserts.append(f"INSERT INTO {{table}} VALUES ({', '.join(map(literal, values))})")
        previous = new.hash
    backend.tamper("DELETE FROM {table}", *inserts)


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
        ("UPDATE {table} SET body = replace(body, '1/10', '1/11') WHERE number = 3", 3),
        ("UPDATE {table} SET body = '{}' WHERE number = 5", 5),
        ("UPDATE {table} SET time = '2020-01-01T00:00:00.000000Z' WHERE number = 4", 4),
        ("UPDATE {table} SET kind = 'charge' WHERE number = 6", 6),
        ("UPDATE {table} SET hash = upper(hash) WHERE number = 1", 1),
        ("UPDATE {table} SET analyst = 'bob' WHERE number = 7", 7),
        ("UPDATE {table} SET question = NULL WHERE number = 8", 8),
        ("UPDATE {table} SET charge = 99 WHERE number = 8", 8),
        ("DELETE FROM {table} WHERE number = 4", 4),
        ("DELETE FROM {table} WHERE number = 1", 1),
    ],
)
def test_a_changed_row_is_found_and_named(backend: Backend, ledger: Ledger, change: str, number: int) -> None:
    assert ledger.verify().number == 8
    backend.tamper(change)
    with pytest.raises(LedgerTampered, match=f"Entry {number} "):
        ledger.verify()


def test_a_charge_never_relies_on_a_changed_entry(backend: Backend, ledger: Ledger) -> None:
    backend.tamper("UPDATE {table} SET body = replace(body, '3/10', '0') WHERE number = 7")
    with pytest.raises(LedgerTampered, match="Entry 7 "):
        ledger.reserve(TENTH, question="?", analyst="ana")
    with pytest.raises(LedgerTampered, match="Entry 7 "):
        ledger.balance(analyst="ana")


def test_a_changed_answer_is_not_returned(backend: Backend, ledger: Ledger) -> None:
    body = 'replace(body, \'"answer":"2"\', \'"answer":"3"\')'
    backend.tamper(f"UPDATE {{table}} SET body = {body} WHERE number = 8")
    with pytest.raises(LedgerTampered, match="Entry 8 "):
        ledger.find("2")


def test_a_tail_cut_off_is_seen_with_a_head_that_was_kept(backend: Backend, ledger: Ledger) -> None:
    head = ledger.head()
    backend.tamper("DELETE FROM {table} WHERE number > 6")
    assert ledger.verify().number == 6
    with pytest.raises(LedgerTampered, match="ends at entry 6, and entry 8 was kept: its tail was cut off"):
        ledger.verify(since=head)
    ledger.reserve(TENTH, question="?")
    ledger.reserve(TENTH, question="?")
    ledger.reserve(TENTH, question="?")
    with pytest.raises(LedgerTampered, match="Entry 8 of the ledger is not the one that was kept"):
        ledger.verify(since=head)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_removed_triggers_are_seen(backend: Backend, ledger: Ledger, trigger: str) -> None:
    backend.drop(trigger)
    with pytest.raises(LedgerTampered, match=rf"trigger that guards .* was removed \(found: {trigger}\)"):
        ledger.verify()


def test_a_rewritten_chain_still_has_to_add_up(place: str, backend: Backend, ledger: Ledger) -> None:
    def cheaper(entry: Entry) -> Entry:
        body = entry.body.replace('"epsilon":"3/10"', '"epsilon":"1/10"') if entry.number == 7 else entry.body
        return Entry(entry.number, entry.time, entry.kind, body, entry.hash)

    head = ledger.head()
    ledger.close()
    rewrite(place, backend, cheaper)
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
    place: str, backend: Backend, ledger: Ledger, old: str, new: str, number: int
) -> None:
    def changed(entry: Entry) -> Entry:
        body = entry.body.replace(old, new) if entry.number == number else entry.body
        return Entry(entry.number, entry.time, entry.kind, body, entry.hash)

    head = ledger.head()
    ledger.close()
    rewrite(place, backend, changed)
    with pytest.raises(LedgerTampered, match=r"Entry \d "):
        ledger.verify(since=head)


def test_overspending_written_by_hand_is_seen(place: str, backend: Backend, ledger: Ledger) -> None:
    # A consistent chain in which ana spent 0.6 of 0.5: the sums are right and the filter was ignored.
    def more_expensive(entry: Entry) -> Entry:
        body = entry.body
        for old, new in (("3/10", "3/5"), ("1/5", "2/5"), ("1/10", "1/5")):
            body = body.replace(f'"epsilon":"{old}"', f'"epsilon":"{new}"')
        return Entry(entry.number, entry.time, entry.kind, body, entry.hash)

    ledger.close()
    rewrite(place, backend, more_expensive)
    with pytest.raises(LedgerTampered, match=r"Entry 7 .*it needs 2 times what is left for analyst"):
        ledger.verify()


def test_a_clock_that_goes_backwards_changes_nothing(place: str, ledger: Ledger) -> None:
    moments = [datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=365 * n) for n in range(4)]
    backwards = Ledger.open(place, clock=iter(moments).__next__)
    for n in range(2):
        backwards.record(backwards.reserve(TENTH, question=f"later {n}", analyst="ana"), f"{n}")
    times = [entry.time for entry in ledger.entries(after=8)]
    assert times == sorted(times, reverse=True)
    assert [entry.number for entry in ledger.entries()] == list(range(1, 13))
    assert ledger.balance(analyst="ana").remaining == 0
    assert ledger.find("later 1") == "1"
    ledger.verify()
    backwards.close()
