"""Replay the oracle, and learners that ask it, on hostile tables with every release held fixed."""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow
import pytest

from discreet.audit import replay
from discreet.audit.replay.replay import findings
from discreet.errors import BudgetExceeded
from discreet.learn import finite
from discreet.learn.statistical_queries import (
    Sample,
    SQOracle,
    learn_decision_list,
    learn_halfspace,
    learn_naive_bayes,
)
from discreet.learn.statistical_queries import oracle as oracle_module
from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Integer
from discreet.vault.vault import Vault

ROWS: list[dict[str, Any]] = [
    {"who": 1, "age": 34, "city": "Oslo", "ill": True},
    {"who": 1, "age": 71, "city": "Bergen", "ill": False},
    {"who": 2, "age": None, "city": "Oslo", "ill": None},
]
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 110),
    "city": Category(["Bergen", "Oslo"], other="elsewhere"),
    "ill": Boolean(),
}


def learned(rows: list[dict[str, Any]]) -> Any:
    """Learn from a sample in several ways, and return all that the analyst sees."""
    table = Sample.of(
        {name: [row.get(name) for row in rows] for name in COLUMNS},
        COLUMNS,
        weights=[row.get("weight", 1) for row in rows],
    )
    oracle = SQOracle(table, queries=60, epsilon=3)
    seen: list[Any] = [
        oracle.ask("age >= 50 and ill"),
        learn_decision_list(oracle, label="ill", literals=["age >= 50", "city = 'Oslo'"]),
        learn_halfspace(oracle, label="ill", columns=["age"], alpha="0.2", rounds=4),
        learn_naive_bayes(oracle, label="ill", columns=["city"]),
    ]
    chosen = finite.choose(table, finite.stumps(COLUMNS, ["age", "city"], cuts=3), label="ill", epsilon=1)
    return [str(one) for one in seen], oracle.left, oracle.tolerance, str(chosen)


def asked(rows: list[dict[str, Any]]) -> Any:
    """Ask the oracle of a sample once: enough to see a mistake in what it adds up or divides by."""
    table = Sample.of({name: [row.get(name) for row in rows] for name in COLUMNS}, COLUMNS)
    return str(SQOracle(table, queries=1, epsilon=3).ask("age >= 50 and ill"))


def sealed(rows: list[dict[str, Any]]) -> Any:
    """Seal rows, ask the vault's oracle and choose a hypothesis, and return all that the analyst sees."""
    columns = {
        name: pyarrow.array([_text(name, row.get(name)) for row in rows], pyarrow.string())
        for name in ("who", *COLUMNS)
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        Vault.seal(
            pyarrow.table(columns),
            to=f"{folder}/people.vault",
            person="who",
            rows_per_person=2,
            columns=COLUMNS,
            budget=Budget(30, "1e-6"),
        ) as vault,
    ):
        with SQOracle(vault.table(), queries=3, epsilon=5) as oracle:
            seen = [
                _asked(oracle, text) for text in ("ill", "age > 50", "ill", "city = 'Oslo' and ill", "age < 3")
            ]
            told = oracle.left, oracle.tolerance
        stumps = finite.stumps(COLUMNS, ["age", "city"], cuts=3)
        chosen = finite.choose(vault.table(), stumps, label="ill", epsilon=5)
        again = finite.choose(vault.table(), stumps, label="ill", epsilon=5)
        return seen, told, chosen.condition, again.condition, str(chosen.excess), vault.ledger.balance().spent


def _asked(oracle: SQOracle, text: str) -> Any:
    try:
        return str(oracle.ask(text))
    except BudgetExceeded as refused:
        return str(refused)


def _text(name: str, value: Any) -> str | None:
    """Return a value as text. Ids that are equal in Python (1 and 1.0) stay equal, others (1 and "1") differ."""
    if value is None or name != "who":
        return None if value is None else str(value)
    whole = (
        isinstance(value, int | float) and value == value and abs(value) != float("inf") and value == int(value)
    )
    return str(int(value)) if whole else repr(value)


def without_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**{name: row[name] for name in COLUMNS}, "weight": 1.0} for row in rows]


def test_learning_from_a_sample_is_private_on_hostile_tables() -> None:
    found = findings(learned, without_ids(ROWS), limit=1)
    assert not found, found[0].words


@pytest.mark.slow
def test_learning_from_a_sample_is_private_on_every_neighbour_that_is_tried() -> None:
    verdict = replay(learned, without_ids(ROWS), limit=60)
    assert not verdict.caught, verdict.words


@pytest.mark.slow
def test_learning_from_a_vault_is_private_on_hostile_tables() -> None:
    found = findings(sealed, ROWS, person="who", limit=1)
    assert not found, found[0].words


@pytest.mark.slow
def test_learning_from_a_vault_is_private_on_every_neighbour_that_is_tried() -> None:
    verdict = replay(sealed, ROWS, person="who", limit=30)
    assert not verdict.caught, verdict.words


def test_the_replay_catches_means_that_are_divided_by_the_exact_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The classical leak: a noisy sum over the number of rows that there are."""
    before = oracle_module.SQOracle.__init__

    def nosy(self: Any, table: Any, **given: Any) -> None:
        before(self, table, **given)
        self._total = max(1, int(table.weights.sum()) * 4096)

    assert not findings(asked, without_ids(ROWS), limit=1)
    monkeypatch.setattr(oracle_module.SQOracle, "__init__", nosy)
    assert findings(asked, without_ids(ROWS), limit=1)


def test_the_replay_catches_a_sensitivity_that_is_declared_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle_module, "GRAIN", 2048)
    assert findings(asked, without_ids(ROWS), limit=2)
