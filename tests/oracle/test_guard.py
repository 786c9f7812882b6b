"""Runs of the sentry: paid for before anything is compared with them, as many as there are, and found again."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.oracle.guard import Guard
from discreet.oracle.journal import Journal
from discreet.oracle.pricing import Prices, Terms, prices, terms
from tests.oracle.people import town

TERMS: Terms = terms(
    rho=Fraction(2), within=200, confidence="0.95", queries=1000, start="singles", rows_per_person=1
)
PRICES: Prices = prices(TERMS, 10_000)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "a.oracle", rho=TERMS.rho, facts={})


def test_a_run_for_either_side_is_paid_for_once_and_goes_on(journal: Journal) -> None:
    guard = Guard(journal, TERMS, PRICES)
    runs = guard.ready()
    assert runs is not None
    assert set(runs) == {"up", "down"}
    assert journal.spent == 2 * PRICES.run > 0
    assert guard.ready() == runs
    assert journal.spent == 2 * PRICES.run


def test_only_the_side_that_gave_an_alarm_begins_another_run(journal: Journal) -> None:
    guard = Guard(journal, TERMS, PRICES)
    first = guard.ready()
    assert first is not None
    guard.end(first["up"].number)
    second = guard.ready()
    assert second is not None
    assert second["up"] is not first["up"]
    assert second["down"] is first["down"]
    assert not second["up"].over
    assert journal.spent == 3 * PRICES.run


def test_there_are_as_many_runs_as_were_planned_and_no_more(journal: Journal) -> None:
    guard = Guard(journal, TERMS, PRICES)
    assert guard.to_come == PRICES.runs
    while (runs := guard.ready()) is not None:
        guard.end(runs["up"].number)
    assert guard.to_come == 0
    assert journal.spent == PRICES.runs * PRICES.run


def test_a_run_that_is_taken_up_again_has_the_line_that_it_had(journal: Journal) -> None:
    runs = Guard(journal, TERMS, PRICES).ready()
    assert runs is not None
    again = Guard(journal, TERMS, PRICES)
    for record in journal.begun.values():
        again.resume(record)
    assert [run.line.height for run in again.runs] == [run.line.height for run in runs.values()]
    assert again.ready() is not None
    assert journal.spent == 2 * PRICES.run


def test_what_the_sentry_has_still_to_come_is_not_for_payments(tmp_path: Path) -> None:
    few: dict[str, Any] = {"epsilon": 6, "within": 200, "bins": {"age": 20}, "start": "nothing"}
    with town(tmp_path, 2_000) as vault, vault.oracle(["age", "ill"], **few) as oracle:
        oracle._bad = oracle._seen = 10**6  # the hypothesis was always wrong: what can be paid for is
        assert oracle.ask("select count(*) from people where age < 50").how == ("paid",)
        kept = oracle._guard.to_come * oracle._prices.run
        assert kept > 0
        oracle._journal.begin("payment", oracle._journal.left - kept)
        assert oracle.ask("select count(*) from people where age >= 50").how in [("checked",), ("alarm",)]
