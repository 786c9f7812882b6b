"""Replay a whole conversation with an oracle on hostile tables, with every release held fixed."""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow
import pytest

from discreet.audit import replay
from discreet.audit.replay.replay import findings
from discreet.errors import BudgetExceeded
from discreet.ledger import Budget
from discreet.oracle.threshold_oracle import ThresholdOracle
from discreet.schema import Category, Column, Integer
from discreet.vault.vault import Vault

ROWS: list[dict[str, Any]] = [
    {"who": 1, "age": 34, "city": "Oslo", "pay": 3},
    {"who": 1, "age": 34, "city": "Bergen", "pay": 9},
    {"who": 2, "age": 71, "city": "Oslo", "pay": None},
]
COLUMNS: dict[str, Column] = {"age": Integer(0, 99), "city": Category(["Bergen", "Oslo"]), "pay": Integer(0, 9)}
QUESTIONS = [
    "select count(*) from people",
    "select count(*) from people where age > 50",
    "select avg(pay) from people where city = 'Oslo'",
    "select count(*) from people where age between 33 and 35 or pay > age",
    "select sum(pay) from people where age > 50",
]


def conversation(trusting: bool, **terms: Any) -> Any:
    """Return a computation on rows: seal them, open an oracle, ask, and return all that the analyst sees."""
    given = {"epsilon": 20, "within": 60, "bins": {"age": 5}, "start": "pairs", **terms}

    def computation(rows: list[dict[str, Any]]) -> Any:
        table = {name: [_text(name, row.get(name)) for row in rows] for name in ("who", *COLUMNS)}
        typed = {name: pyarrow.array(values, pyarrow.string()) for name, values in table.items()}
        with tempfile.TemporaryDirectory() as folder:
            with (
                Vault.seal(
                    pyarrow.table(typed),
                    to=f"{folder}/people.vault",
                    person="who",
                    rows_per_person=1,
                    columns=COLUMNS,
                    budget=Budget(30, "1e-6"),
                    anyway=True,
                ) as vault,
                vault.oracle(list(COLUMNS), **given) as opened,
            ):
                if trusting:
                    assert isinstance(opened, ThresholdOracle)
                    opened._seen = 10**6
                said = [_asked(opened, text) for text in QUESTIONS]
                seen = [opened.spent, opened.width, opened.rows, opened.marginal("age", "city").tolist()]
            return said, seen

    return computation


def _asked(opened: Any, text: str) -> Any:
    try:
        answer = opened.ask(text)
    except BudgetExceeded as refused:
        return str(refused)
    return answer.value, answer.low, answer.high, answer.how, answer.cost


def _text(name: str, value: Any) -> str | None:
    """Return a value as text. Ids that are equal in Python (1 and 1.0) stay equal, others (1 and "1") differ."""
    if value is None or name != "who":
        return None if value is None else str(value)
    whole = (
        isinstance(value, int | float) and value == value and abs(value) != float("inf") and value == int(value)
    )
    return str(int(value)) if whole else repr(value)


def test_a_conversation_with_an_oracle_is_private_on_hostile_tables() -> None:
    said, _ = conversation(True)(ROWS)
    assert any("checked" in answer[3] for answer in said)
    found = findings(conversation(True), ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.parametrize("within", [60, pytest.param("0.5", marks=pytest.mark.slow)], ids=["rows", "share"])
def test_a_conversation_with_a_span_is_private_on_hostile_tables(within: object) -> None:
    """The replay would see a margin, a free answer or a refusal that depends on rows, beside what was released."""
    span = conversation(False, start="span", span="0.5", within=within, bins={"age": 5, "pay": 10})
    said, _ = span(ROWS)
    if within == 60:
        assert {"span", "paid"} <= {how for answer in said for how in answer[3]}
    found = findings(span, ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.slow
@pytest.mark.parametrize("promise", ["each", "every"])
def test_a_span_is_private_on_every_neighbour_that_is_tried(promise: str) -> None:
    span = conversation(False, start="span", span="0.5", promise=promise, bins={"age": 5, "pay": 10})
    verdict = replay(span, ROWS, person="who", limit=20)
    assert not verdict.caught, verdict.words


@pytest.mark.slow
@pytest.mark.parametrize("trusting", [False, True], ids=["paying", "checking"])
def test_it_is_private_on_every_neighbour_that_is_tried(trusting: bool) -> None:
    verdict = replay(conversation(trusting), ROWS, person="who", limit=20)
    assert not verdict.caught, verdict.words


@pytest.mark.slow
def test_the_auditor_would_see_an_oracle_that_tells_how_many_rows_it_has() -> None:
    honest = conversation(False)
    assert replay(lambda rows: (honest(rows), len(rows)), ROWS, person="who", limit=1).caught
