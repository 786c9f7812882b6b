"""Every store refuses what is not a ledger, what exists already, and what it cannot read, with the fix."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import privacy
from discreet.errors import LedgerMissing, LedgerUnavailable
from discreet.ledger import Budget, Ledger
from discreet.postgres import is_address
from tests.ledger.backends import Backend

TENTH = privacy.Pure("0.1")


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, Budget(1)) as ledger:
        yield ledger


def test_a_missing_ledger_is_not_made_by_opening_it(place: str, backend: Backend) -> None:
    for _ in range(2):
        with pytest.raises(LedgerMissing, match=r"There is no ledger at .*people.*\. Restore it from a backup"):
            Ledger.open(place)
        with pytest.raises(LedgerMissing, match="There is no ledger at"), backend.store().write():
            pass
    assert is_address(place) or not Path(place).exists()


def test_what_exists_is_never_overwritten(place: str, ledger: Ledger) -> None:
    ledger.reserve(TENTH, question="?")
    with pytest.raises(LedgerUnavailable, match=r"something at .* already.*Open it, or choose another"):
        Ledger.create(place, Budget(5))
    assert ledger.balance().remaining == Fraction(9, 10)
    ledger.verify()


def test_a_ledger_from_the_future_is_refused(place: str, backend: Backend, ledger: Ledger) -> None:
    ledger.close()
    backend.set_layout(7)
    newer = r"newer Discreet: its layout is 7, and this one knows 1\. Upgrade"
    with pytest.raises(LedgerUnavailable, match=newer):
        Ledger.open(place)
    with pytest.raises(LedgerUnavailable, match="newer Discreet"):
        ledger.reserve(TENTH, question="?")


def test_a_lock_that_lasts_too_long_is_reported(place: str, backend: Backend, ledger: Ledger) -> None:
    impatient = Ledger.open(place, timeout=0.05)
    with backend.store().write():
        with pytest.raises(LedgerUnavailable, match=r"was locked by another process for 0\.05 seconds"):
            impatient.reserve(TENTH, question="?")
        with pytest.raises(LedgerUnavailable, match="was locked by another process for 0 seconds"):
            Ledger.open(place, timeout=0).reserve(TENTH, question="?")
    impatient.reserve(TENTH, question="?")
    impatient.close()
    Ledger.open(place, timeout=float("inf")).reserve(TENTH, question="?")
    assert ledger.balance().remaining == Fraction(8, 10)
