"""The auditor at the vault's door: whole questions replayed on hostile tables, from the rows to the release."""

from __future__ import annotations

import datetime as dt
import tempfile
from typing import Any

import pyarrow
import pytest

from discreet.audit import replay
from discreet.audit.replay.replay import findings
from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Date, Integer, Real, Text
from discreet.vault.vault import Vault

ROWS: list[dict[str, Any]] = [
    {"who": 1, "age": 34, "pay": 2500.5, "city": "Oslo", "day": dt.date(2024, 5, 1), "ill": True, "word": "tea"},
    {
        "who": 1,
        "age": 34,
        "pay": 1500.0,
        "city": "Bergen",
        "day": dt.date(2024, 6, 1),
        "ill": False,
        "word": "tea",
    },
    {"who": 2, "age": 71, "pay": 100.25, "city": "Oslo", "day": dt.date(2024, 7, 1), "ill": None, "word": None},
]
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 110),
    "pay": Real(0, 10_000, "0.5"),
    "city": Category(["Bergen", "Oslo"], other="elsewhere"),
    "day": Date(dt.date(2024, 1, 1), dt.date(2024, 12, 31)),
    "ill": Boolean(),
    "word": Text(),
}
TYPES = {
    "who": pyarrow.string(),
    "age": pyarrow.string(),
    "pay": pyarrow.string(),
    "city": pyarrow.string(),
    "day": pyarrow.string(),
    "ill": pyarrow.string(),
    "word": pyarrow.string(),
}


def _written(name: str, value: Any) -> str | None:
    """As text. Ids that Python takes for one person (1 and 1.0) stay one, and others (1 and "1") stay two."""
    if value is None or name != "who":
        return None if value is None else str(value)
    whole = (
        isinstance(value, int | float) and value == value and abs(value) != float("inf") and value == int(value)
    )
    return str(int(value)) if whole else repr(value)


def asked(text: str, budget: Budget) -> Any:
    """A computation on rows: seal them, ask, and return all that is seen."""

    def computation(rows: list[dict[str, Any]]) -> Any:
        # Text is what a CSV has: every value of a hostile table can be written down in it.
        columns = {
            name: pyarrow.array([_written(name, row.get(name)) for row in rows], kind)
            for name, kind in TYPES.items()
        }
        with tempfile.TemporaryDirectory() as folder:
            with Vault.seal(
                pyarrow.table(columns),
                to=f"{folder}/people.vault",
                person="who",
                rows_per_person=2,
                columns=COLUMNS,
                budget=budget,
            ) as vault:
                release = vault.ask(text, epsilon=1)
                spent = vault.ledger.balance().spent
            return [*release.keys.values(), *((a.values, a.low, a.high) for a in release.aggregates), spent]

    return computation


QUESTIONS = [
    "select count(*), count(age), count(distinct who) from people",
    "select city, count(*), sum(pay), avg(pay) from people group by city",
    "select stddev(age), median(pay) from people where ill or age > 30",
    "select floor(age / 10), count(*) from people where pay between 10 and 5000 group by 1",
    "select date_trunc('month', day), count(distinct who) from people where city in ('Oslo') group by 1",
    "select sum(case when age > 50 then pay else 0 end) from people",
]


def test_a_whole_question_is_private_on_hostile_tables() -> None:
    text = "select city, count(*), avg(pay), count(distinct who) from people where ill or age > 30 group by city"
    found = findings(asked(text, Budget(10)), ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.slow
@pytest.mark.parametrize("text", [*QUESTIONS, "select word, count(*) from people group by word"])
def test_whole_questions_are_private_on_every_neighbour_that_is_tried(text: str) -> None:
    verdict = replay(asked(text, Budget(10, "1e-6")), ROWS, person="who", limit=40)
    assert not verdict.caught, verdict.words


@pytest.mark.slow
def test_the_auditor_would_see_it() -> None:
    """A computation that seals honestly and then tells how many rows it sealed."""
    honest = asked("select count(*) from people", Budget(10))
    assert replay(lambda rows: (honest(rows), len(rows)), ROWS, person="who", limit=1).caught
