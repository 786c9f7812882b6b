"""Test relative margins: the cost of all steps, that they stop, and that the interval holds when they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.errors import ParameterError, QuestionRefused
from discreet.ledger import Budget, cost
from discreet.query.answer.execute import execute, prepare
from discreet.query.plan.relative_accuracy import doubling, reached, share, written
from discreet.query.question import Question
from discreet.schema import Integer
from discreet.vault.vault import Vault
from tests.vault.sealed_rows import Described, aggregate, engine_with, key, question, term

ROWS = [{"person": i, "c0": i % 11} for i in range(3000)]


@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
def test_every_step_has_twice_the_epsilon_and_half_the_alpha(budget: Budget) -> None:
    steps = [
        step for step, _ in zip(doubling(*_asked("count"), within="5%", budget=budget), range(5), strict=False)
    ]
    assert [1 - step.confidence for step in steps] == [Fraction(1, 20) / 2 ** (i + 1) for i in range(5)]
    spent = [cost(step.losses) for step in steps]
    if budget.pure:
        assert [one.epsilon for one in spent] == [Fraction(2**i, 1000) for i in range(5)]
    else:
        assert [one.rho for one in spent] == [Fraction(4**i, 2 * 10**6) for i in range(5)]


@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
@pytest.mark.parametrize("most", ["0.001", "0.0069", "0.007", "0.0071", "1"])
def test_all_steps_together_cost_no_more_than_they_may_and_one_more_would(budget: Budget, most: str) -> None:
    power = 1 if budget.pure else 2
    cap = Fraction(most) ** power / power  # an ε, or a ρ
    steps = list(doubling(*_asked("count"), within="5%", budget=budget, most=cap))
    paid = [cost(step.losses) for step in steps]
    spent = sum(((one.epsilon if budget.pure else 2 * one.rho) or Fraction(0) for one in paid), Fraction(0))
    further = Fraction(2 ** len(steps), 1000) ** power
    assert spent <= Fraction(most) ** power < spent + further
    with pytest.raises(ParameterError, match="epsilon is too small"):
        doubling(*_asked("count"), within="5%", budget=budget, most=Fraction(9, 10_000) ** power / power)


@pytest.mark.parametrize("kind", ["count", "sum", "avg"])
@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
def test_it_stops_and_the_answer_is_within_the_margin(kind: str, budget: Budget) -> None:
    """False alarm: below 1e-6, with a confidence of 1 − 1e-7."""
    exact = {"count": 3000, "sum": sum(row["c0"] for row in ROWS), "avg": sum(row["c0"] for row in ROWS) / 3000}[
        kind
    ]
    sure = 1 - Fraction(1, 10**7)
    spent, last = Fraction(0), Fraction(0)
    with engine_with(ROWS) as engine:
        for step in doubling(*_asked(kind), within="10%", confidence=sure, budget=budget):
            charge = cost(step.losses)
            last = charge.rho if charge.epsilon is None or not budget.pure else charge.epsilon
            spent += last
            answer = execute(prepare(step, engine.rows), engine)
            if reached(answer, "10%"):
                break
    assert abs(answer[kind].value[0] - exact) <= 0.1 * exact
    assert spent < 2 * last
    assert last < 2


def test_an_answer_that_may_be_zero_does_not_meet_a_relative_margin() -> None:
    with engine_with([]) as engine:
        for step in islice(doubling(*_asked("count"), within="50%", budget=Budget(100)), 6):
            answer = execute(prepare(step, engine.rows), engine)
            assert not (reached(answer, "50%") and answer["count"].low[0] <= 0 <= answer["count"].high[0])


def test_groups_and_percentages_out_of_range_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="without groups"):
        doubling(question(aggregate("count"), keys=[key()]), Described(), within="5%", budget=Budget(1))
    for wrong in ("5", "0%", "100%", "-1%"):
        with pytest.raises(ParameterError, match=r"percentage|between"):
            share(wrong)


def test_a_confidence_that_later_steps_cannot_have_is_refused_before_the_first() -> None:
    with pytest.raises(ParameterError, match="among its steps"):
        doubling(*_asked("count"), within="5%", confidence=1 - Fraction(1, 10**15), budget=Budget(1))


def _asked(kind: str) -> tuple[Question, Described]:
    return question(aggregate(kind, term())), Described()


# -- as a vault answers it --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.table({"who": [row["person"] for row in ROWS], "age": [row["c0"] for row in ROWS]})


@contextmanager
def vault_of(table: pa.Table, folder: Path, budget: Budget) -> Iterator[Vault]:
    columns: dict[str, Any] = {"age": Integer(0, 10)}
    with Vault.seal(table, to=folder / "t.vault", name="t", person="who", columns=columns, budget=budget) as vault:
        yield vault


@pytest.mark.parametrize("budget", [Budget(100), Budget(100, "1e-6")], ids=["pure", "with delta"])
def test_the_receipt_is_that_of_all_steps(table: pa.Table, tmp_path: Path, budget: Budget) -> None:
    with vault_of(table, tmp_path, budget) as vault:
        release = vault.ask("select count(*) from t", within="2%")
        spent = vault.ledger.balance()
        charged = [entry.content for entry in vault.ledger.entries() if entry.kind == "charge"]
        assert len(charged) > 2
        assert release.cost.cost == spent.spent
        assert list(release.cost.losses) == [loss for content in charged for loss in content["losses"]]
        assert release.cost.whole == spent
        assert not release.free
        again = vault.ask("select count(*) as n from t", within="2.0 %")
        assert vault.ledger.balance() == spent
        assert again.free
        assert (again.cost, again["n"].values) == (release.cost, release["count(*)"].values)


def test_the_receipt_leaves_out_steps_that_were_charged_before(table: pa.Table, tmp_path: Path) -> None:
    with vault_of(table, tmp_path, Budget("0.01")) as vault:
        short = vault.ask("select count(*) from t", within="2%")
        assert "the budget does not reach further" in short["count(*)"].note
        before = vault.ledger.balance().spent
        assert short.cost.cost == before
        vault.ledger.amend(Budget(10))
        release = vault.ask("select count(*) from t", within="2%")
        assert not release.free
        assert before + release.cost.cost == vault.ledger.balance().spent


@pytest.mark.parametrize("same", ["10.0", Fraction(10), 10.0, "1e1", {"n": 10}, {"n": "10.0"}])
def test_equal_margins_are_one_question(table: pa.Table, tmp_path: Path, same: Any) -> None:
    with vault_of(table, tmp_path, Budget(100)) as vault:
        first = vault.ask("select count(*) as n from t", within=10)
        spent = vault.ledger.balance()
        again = vault.ask("select count(*) as n from t", within=same)
        assert again.free
        assert again["n"] == first["n"]
        assert vault.ledger.balance() == spent
        assert not vault.ask("select count(*) as n from t", within="10.01").free


def test_margins_by_name_are_distinguished_by_the_order_of_the_numbers() -> None:
    assert written({"a": 1, "b": 2}, ["a", "b"]) == written({"y": "2.0", "x": 1}, ["x", "y"])
    assert written({"a": 1, "b": 2}, ["a", "b"]) != written({"a": 2, "b": 1}, ["a", "b"])
    assert written({"a": 1, "b": 1}, ["a", "b"]) == written(1, ["a", "b"])
    assert written("50%", ["a"]) != written("0.5", ["a"])
