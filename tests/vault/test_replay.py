"""The auditor at the vault's door: whole questions replayed on hostile tables, from the rows to the release."""

from __future__ import annotations

import datetime as dt
import tempfile
from typing import Any

import pyarrow
import pytest

from discreet.audit import replay
from discreet.audit.replay.diff import changed_calls, departures, distances
from discreet.audit.replay.exposure import overspent
from discreet.audit.replay.replay import findings
from discreet.audit.replay.traces import again, record
from discreet.ledger import Budget
from discreet.privacy import Approximate
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


def asked(text: str, budget: Budget, epsilon: int = 1) -> Any:
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
                anyway=True,
            ) as vault:
                release = vault.ask(text, epsilon=epsilon)
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
    "select corr(age, pay), covar_pop(age, ill), quantile(pay, [0.25, 0.75]) from people",
    "with t as (select nullif(age, 34) as a, lower(city) as c from people where pay > 5) "
    "select c, avg(a), median(a) from t group by c",
    "select city, histogram(age, 5) from people group by city",
]


@pytest.mark.slow
def test_a_whole_question_is_private_on_hostile_tables() -> None:
    shown = "ill, count(*), avg(pay), count(distinct who), median(age)"
    text = f"select {shown} from people where ill or age > 30 group by ill"
    found = findings(asked(text, Budget(10)), ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.slow
@pytest.mark.parametrize("budget", [Budget(10), Budget(10, "1e-6")])
def test_quantiles_and_covariances_are_private_on_hostile_tables(budget: Budget) -> None:
    """The bins of the tree depend on the selected values: replayed, they are the same on both tables."""
    text = "select quantile(pay, [0.5, 0.9]), corr(age, pay) from people"
    found = findings(asked(text, budget), ROWS, person="who", limit=1)
    assert not found, found[0].words


GENEROUS = Budget(40, "1e-2")
"""So much that a word of three persons is kept."""
DRINKS = [{**ROWS[0], "who": i, "word": word} for i in range(8) for word in ("tea", "milk", f"rum {i}")]


def test_a_question_with_string_keys_is_private_when_a_person_leaves() -> None:
    """The person who leaves has three words, and may name two (rows_per_person), or has the same one twice."""
    computation = asked("select word, count(*) from people group by word", GENEROUS, epsilon=40)
    for words in (("tea", "milk", "rum 8"), ("rum 8", "rum 8"), ("rum 8", "ale 8", "gin 8")):
        first = record(computation, [*DRINKS, *({**ROWS[0], "who": 8, "word": word} for word in words)], seed=1)
        kept, *_ = first.tape.calls[0].answer
        assert kept in {("tea",), ("milk",)}  # so that counts are released, and compared
        second = again(computation, DRINKS, first.tape)
        found = [*departures(first, second, "without 8"), *distances(first, second, "without 8", joins=False)]
        assert not found, found[0].words
        claimed = Approximate(40, "1e-2")
        assert not list(overspent([("without 8", changed_calls(first, second))], [], claimed))


@pytest.mark.slow
@pytest.mark.parametrize("text", [*QUESTIONS, "select word, count(*) from people group by word"])
def test_whole_questions_are_private_on_every_neighbour_that_is_tried(text: str) -> None:
    claimed = Approximate(1, "1e-6")
    verdict = replay(asked(text, Budget(10, "1e-6")), ROWS, person="who", limit=40, loss=claimed)
    assert not verdict.caught, verdict.words


@pytest.mark.slow
def test_the_auditor_would_see_it() -> None:
    """A computation that seals honestly and then tells how many rows it sealed."""
    honest = asked("select count(*) from people", Budget(10))
    assert replay(lambda rows: (honest(rows), len(rows)), ROWS, person="who", limit=1).caught
