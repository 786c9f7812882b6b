"""An oracle with a span: free answers, payments, plans, restarts, and oracles that were made before spans."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.errors import BudgetExceeded, ParameterError, QuestionRefused
from discreet.kernel.journal import Journal
from discreet.ledger import Budget
from discreet.ledger.costs import cost
from discreet.oracle import OracleAnswer, OraclePlan
from discreet.oracle.linear_query import decompose
from discreet.oracle.pricing import FINE
from discreet.oracle.span_oracle import SpanOracle
from discreet.oracle.threshold_oracle import ThresholdOracle
from discreet.query.builder import avg, select, total, where
from discreet.query.cache_key import parsed
from discreet.schema import Column, Integer
from discreet.vault.vault import Vault
from tests.oracle.people import CITIES, rows, town, true_count
from tests.vault.sealed_tables import scratch

TABLE = rows(4000)
GIVEN: dict[str, Any] = {"epsilon": 4, "within": 150}


@pytest.fixture(scope="module")
def vault() -> Iterator[Vault]:
    with scratch() as folder, town(folder, 4000, budget=Budget(200, "1e-6")) as sealed:
        yield sealed


def opened(vault: Vault, **changes: Any) -> SpanOracle:
    given = {**GIVEN, "bins": {"age": 20}, **changes}
    found = vault.oracle(["age", "city", "ill"], **given)
    assert isinstance(found, SpanOracle)
    return found


@pytest.mark.parametrize("promise", ["each", "every"])
def test_boxes_sets_sums_and_averages_are_free_within_the_margin_and_say_their_promise(
    vault: Vault, promise: str
) -> None:
    """A margin has 2.05 deviations under "each", 2.81 or more under "every": five errors of 5.4 have 3.4e-7.

    An interval ends at 0, so its upper half is the margin.
    """
    margins = {"each": 2.65, "every": 1.95}[promise]
    with opened(vault, promise=promise, within=400) as oracle:
        asked = {
            "box": (where(age=(20, 39), city="Oslo"), true_count(TABLE, age=(20, 39), city="Oslo")),
            "set": (
                "select count(*) from people where city in ('Oslo', 'Hamar')",
                sum(city in ("Oslo", "Hamar") for city in TABLE["city"]),
            ),
            "sum": (select(total("ill")).where(city="Oslo"), true_count(TABLE, city="Oslo", ill=1)),
            "null": ("select count(*) from people where age is null", TABLE["age"].count(None)),
            "all": ("select count(*) from people", 4000),
        }
        for name, (question, truth) in asked.items():
            answer = oracle.ask(question)
            assert set(answer.how) == {"span"}, name
            assert answer.free
            assert answer.promise == promise
            assert f"with 0.95, promise {promise}" in str(answer)
            assert abs(answer.value - truth) <= margins * (answer.high - answer.value), name
            assert answer.error <= oracle.width + 1e-6
        mean = oracle.ask(select(avg("ill")).where(city="Oslo"))
        assert mean.confidence == Fraction(19, 20)
        assert mean.low <= mean.value <= mean.high
        assert f"Intervals promise {promise}" in str(oracle.label)
        assert OracleAnswer.from_json(answer.to_json()).promise == promise
        assert oracle.spent < oracle.total


def test_every_is_the_default_and_its_intervals_are_wider(vault: Vault) -> None:
    question = where(age=(20, 39), city="Oslo")
    with (
        opened(vault, within=400) as every,
        opened(vault, within=400, promise="each", span=every.plan.share) as each,
    ):
        assert every.plan.promise == "every"
        assert every.ask(question).error > 1.5 * each.ask(question).error


def test_what_a_span_does_not_answer_is_paid_for_and_then_free(vault: Vault) -> None:
    with opened(vault, span="0.3", promise="each", name="pays") as oracle:
        for question in (
            "select count(*) from people where age between 33 and 41 and city = 'Oslo'",  # divides bins
            "select sum(age) from people where ill = 1",  # bins are not levels
        ):
            before = oracle.spent
            answer = oracle.ask(question)
            assert "paid" in answer.how
            assert oracle.spent == before + answer.cost > before
            assert oracle.ask(question).free


def test_the_plan_is_public_free_and_what_the_oracle_then_does(vault: Vault) -> None:
    spent = vault.ledger.balance().spent
    names, bins = ["age", "city", "ill"], {"age": 20}
    plan = vault.plan_oracle(names, **GIVEN, bins=bins)
    assert vault.ledger.balance().spent == spent
    with opened(vault) as oracle:
        assert oracle.plan == plan == OraclePlan.from_json(plan.as_json())
        assert oracle.spent == pytest.approx(float(plan.share * oracle.total), rel=0.02)
        assert oracle.spent <= plan.share * oracle.total
    assert plan.floor == pytest.approx((1 - plan.share) * plan.plain, rel=0.06)
    assert "at least" in str(plan)
    with pytest.raises(ParameterError, match="rows=50000"):
        vault.plan_oracle(names, epsilon=1, within="0.01")
    assert vault.plan_oracle(names, epsilon=4, within="0.0375", rows=4000, bins=bins).margin == 150


def test_a_share_of_nothing_pays_for_every_answer_and_spends_nothing_before(vault: Vault) -> None:
    plan = vault.plan_oracle(["age", "city", "ill"], **GIVEN, span=0)
    assert plan.share == 0
    assert plan.floor == int(plan.expected) == plan.plain
    with opened(vault, span=0, name="plain", epsilon="0.2", within=60) as oracle:
        assert oracle.spent == 0
        assert math.isnan(oracle.rows)
        most = oracle.plan.plain
        assert most == oracle.plan.floor < 98
        assert {oracle.ask(where(age=age)).how for age in range(most)} == {("paid",)}
        with pytest.raises(BudgetExceeded):
            oracle.ask(where(age=most))
        assert oracle.ask(where(age=98), unchecked=True).how == ("unchecked",)
        assert "of about" not in str(oracle)


@pytest.mark.parametrize(
    "changes", [{"promise": "all"}, {"span": 1}, {"span": "-0.1"}, {"start": "pairs", "span": 0}]
)
def test_a_promise_or_a_share_that_makes_no_sense_is_refused_before_the_charge(
    vault: Vault, changes: dict[str, Any]
) -> None:
    charges = vault.ledger.balance().charges
    with pytest.raises(ParameterError):
        opened(vault, name="wrong", **changes)
    assert vault.ledger.balance().charges == charges


def test_an_oracle_that_was_made_before_there_were_spans_is_opened_by_the_call_that_made_it(
    tmp_path: Path,
) -> None:
    with town(tmp_path, 500) as vault:
        with vault.oracle(["age", "ill"], epsilon=6, within=120, bins={"age": 20}, start="pairs") as before:
            said = before.ask(where(ill=1))
        with vault.oracle(["age", "ill"], epsilon=6, within=120, bins={"age": 20}) as again:
            assert isinstance(again, ThresholdOracle)
            assert not isinstance(again, SpanOracle)
            assert again.path == before.path
            assert again.ask(where(ill=1)).value == said.value
        assert vault.ledger.balance().charges == 1
        with vault.oracle(["age", "ill"], epsilon=6, within=120, bins={"age": 20}, promise="each") as fresh:
            assert isinstance(fresh, SpanOracle)
        assert vault.ledger.balance().charges == 2


def test_after_a_restart_answers_are_the_same_and_a_scan_without_numbers_is_spent_and_lost(tmp_path: Path) -> None:
    with town(tmp_path, 1000) as vault:
        question = where(age=(20, 39), city="Oslo")
        with opened(vault, within=400) as oracle:
            said, spent, path = oracle.ask(question), oracle.spent, Path(oracle.path)
        with opened(vault, within=400) as again:
            assert (again.ask(question).value, again.spent) == (said.value, spent)
        lines = path.read_bytes().splitlines(keepends=True)
        place = next(i for i, line in enumerate(lines) if b'"end":true' in line and b'"values"' in line)
        path.write_bytes(b"".join(lines[:place]))  # killed after its cost was set aside
        with opened(vault, within=400) as lost:
            assert lost.spent == spent
            answer = lost.ask(question)
            assert answer.how == ("paid",)
            # Margins have two deviations and more, so this has five and more of the difference: 5.7e-7.
            assert abs(answer.value - said.value) <= 2.5 * (answer.error + said.error)
            assert lost.marginal("city").shape == (len(CITIES) + 1,)
        path.write_bytes(b"".join(lines[: place - 1]))  # killed before its cost was set aside: it is measured now
        with opened(vault, within=400) as measured:
            assert measured.spent == spent
            assert measured.ask(question).how == ("span",)


def test_every_step_of_a_span_costs_what_its_noise_loses(vault: Vault) -> None:
    from discreet.mechanisms import Gaussian
    from discreet.oracle.span.measure import unpacked
    from discreet.oracle.span.residuals import sensitivity
    from discreet.oracle.span.strategy import Strategy
    from discreet.schema.metadata import UNIT

    oracle = opened(vault, name="costs")
    oracle.close()
    journal = Journal.open(Path(oracle.path))
    (plan,) = [record for record in journal.begun.values() if record["begin"] == "plan"]
    strategies = {int(i): Strategy(unpacked(text)) for i, text in plan["strategies"].items()}
    noise = {tuple(columns): variance for columns, variance in plan["sets"]}
    for record in journal.begun.values():
        if record["begin"] == "span":
            losses = [
                Gaussian(noise[tuple(some)], sensitivity(UNIT, [strategies[i] for i in some])).loss
                for some in record["sets"]
            ]
            exact = sum((cost(loss).rho for loss in losses), Fraction(0))
            assert exact <= Fraction(record["rho"]) <= exact * (1 + Fraction(1, 10**12))
    assert journal.spent <= oracle.plan.share * oracle.total
    journal.close()
    assert os.stat(oracle.path).st_mode & 0o777 == 0o600


def test_a_margin_that_is_a_share_waits_for_the_noisy_number_of_rows(tmp_path: Path) -> None:
    """The number of rows has a deviation of 18.4, and of 16.2 with what the span says: 5.1 of them have 6.8e-7."""
    with town(tmp_path, 4000) as vault, opened(vault, within="0.1") as oracle:
        assert oracle.width == pytest.approx(400, abs=0.1 * 5.1 * 18.4)
        assert oracle.plan.margin == oracle.width
        assert oracle.rows == pytest.approx(4000, abs=5.1 * 16.2)
        assert oracle.ask(where(city="Oslo")).how == ("span",)


def test_two_runs_are_in_the_share_and_another_is_bought_from_what_free_answers_saved(tmp_path: Path) -> None:
    """Spent is at most the share of the plan and a payment for each answer, also after alarms and a restart."""
    given: dict[str, Any] = {"epsilon": 4, "within": 100, "queries": 100, "bins": {"age": 20, "pay": 18}}
    divided = [f"select count(*) from people where age between {low} and {low + 7}" for low in range(1, 30, 3)]

    def within_credit(oracle: SpanOracle, answers: int) -> bool:
        return oracle.spent <= oracle.plan.share * oracle.total + answers * oracle._prices.single

    with town(tmp_path, 4000, budget=Budget(200, "1e-6")) as vault:
        with vault.oracle(["age", "city", "ill", "pay"], **given) as oracle:
            assert isinstance(oracle, SpanOracle)
            plan = oracle.plan
            assert plan.span == plan.share - plan.test * 2 / 3 > 0
            assert plan.floor == pytest.approx((1 - plan.share) * oracle.total / oracle._prices.single, abs=1)
            assert "tests predictions" in str(plan)
            assert oracle.spent == pytest.approx(float(plan.span * oracle.total), rel=0.02)
            checked = oracle.ask(divided[0])
            assert checked.how[0] in ("checked", "paid", "alarm")
            assert [run.number for run in oracle._guard.runs] == [0, 1]
            assert oracle.spent >= plan.span * oracle.total * 98 / 100 + 2 * oracle._prices.run
            assert within_credit(oracle, 1)
            if not any(run.over for run in oracle._guard.runs):
                oracle._guard.end(0)  # as after an alarm: nothing is saved yet for another run
            oracle._bad = 0
            assert oracle.ask(divided[1]).how == ("paid",)
            assert [run.number for run in oracle._guard.runs] == [0, 1]
            assert within_credit(oracle, 2)
            ranges = [(5 * low, 5 * high + 4) for low in range(20) for high in range(low, 20)]
            boxes = [where(age=ages, ill=ill) for ages in ranges for ill in (0, 1)]
            free = [oracle.ask(box) for box in boxes]
            assert sum(answer.how == ("span",) for answer in free) > 400
            oracle.ask(divided[2])
            assert [run.number for run in oracle._guard.runs] == [0, 1, 2]
            assert within_credit(oracle, len(free) + 3)
        with vault.oracle(["age", "city", "ill", "pay"], **given) as again:
            assert isinstance(again, SpanOracle)
            assert [run.number for run in again._guard.runs] == [0, 1, 2]
            assert again.ask(divided[0]).value == checked.value
            for question in divided[3:]:
                again.ask(question)
            assert within_credit(again, len(free) + len(divided))
            assert again.spent <= again.total


def test_a_prediction_whose_noise_would_raise_an_alarm_is_paid_for_and_others_are_checked(tmp_path: Path) -> None:
    """Every other bin is noisy, and a range is not. The closed form decides, so this is certain."""
    given: dict[str, Any] = {"epsilon": 4, "within": 100, "queries": 100, "bins": {"age": 20, "pay": 18}}
    ages = ", ".join(str(age) for age in range(100) if age // 5 % 2)
    noisy = f"select count(*) from people where age in ({ages}) and pay between 1 and 4000"
    with (
        town(tmp_path, 4000, budget=Budget(200, "1e-6")) as vault,
        vault.oracle(["age", "city", "ill", "pay"], **given) as oracle,
    ):
        assert isinstance(oracle, SpanOracle)
        assert oracle.ask(noisy).how == ("paid",)
        assert not oracle._guard.runs
        oracle.ask("select count(*) from people where age between 1 and 8")
        assert [run.side for run in oracle._guard.runs] == ["up", "down"]


def test_a_prediction_on_two_columns_is_the_tables_and_on_three_between_table_and_span(tmp_path: Path) -> None:
    """By rounding, two columns had parts on three that were not nothing, and the span's answer was taken."""
    given: dict[str, Any] = {"epsilon": 4, "within": 100, "queries": 100, "bins": {"age": 20, "pay": 18}}
    with (
        town(tmp_path, 4000, budget=Budget(200, "1e-6")) as vault,
        vault.oracle(["age", "city", "ill", "pay"], **given) as oracle,
    ):
        assert isinstance(oracle, SpanOracle)
        span = oracle._span
        assert span is not None
        for low in range(0, 60, 5):
            two = decompose(parsed(where(age=(low, low + 34), city="Oslo"), oracle._metadata), oracle._axes).count
            assert oracle._predicted(two) == ThresholdOracle._predicted(oracle, two)
            asked = where(age=(low, low + 34), city="Oslo", ill=1)
            three = decompose(parsed(asked, oracle._metadata), oracle._axes).count
            table, value = ThresholdOracle._predicted(oracle, three), span.value(span.groups(three))[0] * FINE
            assert min(table, value) - 1 <= oracle._predicted(three) <= max(table, value) + 1
            assert abs(oracle._predicted(three) - table) >= 0.1 * abs(value - table) - 1 or value < 0


def test_an_alarm_after_many_comparisons_is_answered_by_another_run_and_not_by_payments(tmp_path: Path) -> None:
    """An alarm costs hundreds of payments. Until it was as rare as that, all was paid for, and no run was left."""
    given: dict[str, Any] = {"epsilon": 4, "within": 100, "queries": 100, "bins": {"age": 20, "pay": 18}}
    with (
        town(tmp_path, 4000, budget=Budget(200, "1e-6")) as vault,
        vault.oracle(["age", "city", "ill", "pay"], **given) as oracle,
    ):
        assert isinstance(oracle, SpanOracle)
        asked = where(age=(1, 8))
        query = decompose(parsed(asked, oracle._metadata), oracle._axes).count
        assert oracle._prices.run > 60 * oracle._prices.single
        oracle._bad, oracle._seen = 1, 48
        assert oracle._runs_if_trusted(query) is None
        oracle._bad, oracle._seen = 1, 49
        assert oracle._runs_if_trusted(query) is not None


def test_a_question_about_more_cells_than_a_table_holds_is_paid_for_and_only_a_hypothesis_refuses_it(
    tmp_path: Path,
) -> None:
    """The margin of a payment has 1.96 deviations or more: five of them have a probability of 9.6e-7."""
    rng = np.random.default_rng(4)
    table = {f"c{i}": rng.integers(0, 120, 2000) for i in range(3)}
    types: dict[str, Column] = {name: Integer(0, 119, missing=0) for name in table}
    met = (table["c0"] < 100) & (table["c1"] >= 20) & (table["c2"] >= 5) & (table["c2"] <= 110)
    question = "select count(*) from t where c0 < 100 and c1 >= 20 and c2 between 5 and 110"
    mean = "select avg(c0) from t where c1 >= 20 and c2 between 5 and 110"
    given: dict[str, Any] = {"columns": types, "budget": Budget(200, "1e-6")}
    with Vault.seal(pyarrow.table(table), to=tmp_path / "v", name="t", person=None, **given) as vault:
        with vault.oracle(["c0", "c1", "c2"], epsilon=4, within=200) as oracle:
            answer = oracle.ask(question)
            assert answer.how == ("paid",)
            assert abs(answer.value - met.sum()) <= 2.5 * answer.error
            assert set(oracle.ask(mean).how) <= {"span", "paid"}
            with pytest.raises(QuestionRefused, match=r"1,728,000: 120 c0 × 120 c1 × 120 c2"):
                oracle._predicted(decompose(parsed(question, vault.metadata), oracle.axes).count)
        with vault.oracle(["c0", "c1", "c2"], epsilon=4, within=200, start="pairs") as hypothesis:
            spent = hypothesis.spent
            for text in (question, mean):
                with pytest.raises(QuestionRefused, match="too many cells for a prediction"):
                    hypothesis.ask(text)
            assert hypothesis.spent == spent  # also the count of an average, which has fewer cells
