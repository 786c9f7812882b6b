"""The statistical-query oracle: what it answers, what it costs, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, NotForRelease, ParameterError
from discreet.learn.statistical_queries import Sample, SampleOracle, SQOracle, moment, predicate
from discreet.learn.statistical_queries.pricing import WHOLE, for_amount, for_tolerance
from discreet.ledger import Budget
from discreet.ledger.costs import cost
from discreet.noise.testing import scripted
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.schema import Boolean, Integer
from discreet.schema.metadata import UNIT
from tests.learn.statistical_queries import tables

QUESTIONS = ["ill", "age >= 60 and ill", "city = 'Rome'", "pay < 500 or age is null"]


BOTH = [({"epsilon": 5}, None), ({"epsilon": 5}, 2000), ({"tolerance": "0.02"}, 2000)]
BOTH += [({"epsilon": 5, "delta": "1e-6"}, None), ({"epsilon": 5, "delta": "1e-6"}, 2000)]


@pytest.mark.parametrize(("terms", "rows"), BOTH)
def test_intervals_hold_the_exact_means(terms: dict[str, Any], rows: int | None) -> None:
    exact = SampleOracle(tables.sample())
    """Six questions, each off by more than its interval with 1e-10."""
    private = SQOracle(tables.sample(), queries=20, rows=rows, confidence="0.9999999999", **terms)
    asked = [predicate(exact.metadata, text) for text in QUESTIONS]
    asked += [moment(exact.metadata, "age", when="ill"), moment(exact.metadata, "pay", signed=True, flip="ill")]
    for query in asked:
        truth, answer = exact.ask(query).value, private.ask(query)
        low, high = answer.interval
        assert truth is not None
        assert low is not None
        assert high is not None
        assert low <= truth <= high
        assert abs((answer.value or 0) - truth) <= private.tolerance
        assert answer.confidence == Fraction("0.9999999999")
        assert ("private count" in answer.note) == (rows is None)
    assert private.left == 20 - len(asked)


@pytest.mark.parametrize("signs", list(itertools.product((-1, 1), repeat=2)))
@pytest.mark.parametrize("rows", [None, 200])
def test_intervals_hold_when_every_noise_is_as_large_as_the_margin_allows(
    signs: tuple[int, int], rows: int | None
) -> None:
    """The count and the sum are both off by the whole margin, in every direction."""
    table = tables.sample(200)
    exact = SampleOracle(table)
    margin = for_amount(Fraction(1), True, weight=UNIT, queries=1, rows=rows).margin
    for query in (predicate(table, "ill"), predicate(table, "true"), moment(table, "pay", signed=True)):
        draws = iter([margin * sign for sign in signs])
        with scripted(lambda asked, draws=draws: next(draws)):  # type: ignore[misc]
            private = SQOracle(table, queries=1, epsilon=1, rows=rows)
            answer = private.ask(query)
        (low, high), truth = answer.interval, exact.ask(query).value
        assert low is not None
        assert high is not None
        assert truth is not None
        assert low - 1e-12 <= truth <= high + 1e-12
        assert abs((answer.value or 0) - truth) <= private.tolerance + 1e-12


def test_a_tolerance_buys_itself_and_no_more() -> None:
    for pure in (True, False):
        price = for_tolerance("0.01", pure, weight=4096, queries=50, rows=10_000)
        assert price.margin <= WHOLE * 100
        cheaper = for_amount(price.amount * Fraction(99, 100), pure, weight=4096, queries=50, rows=10_000)
        assert cheaper.margin > WHOLE * 100


def test_all_answers_together_cost_what_was_agreed() -> None:
    pure = SQOracle(tables.sample(10), queries=7, epsilon="0.3")
    assert cost(pure.loss).epsilon == Fraction(3, 10)
    gaussian = SQOracle(tables.sample(10), queries=7, epsilon="0.3", delta="1e-6")
    assert zcdp_to_approximate(cost(gaussian.loss).rho, "1e-6") <= 0.3
    known = SQOracle(tables.sample(10), queries=7, epsilon="0.3", rows=10)
    assert cost(known.loss).epsilon == Fraction(3, 10)


def test_queries_beyond_the_declared_number_are_refused_and_repeats_are_free() -> None:
    oracle = SQOracle(tables.sample(100), queries=2, epsilon=1)
    first = oracle.ask("ill")
    assert oracle.ask("ill") == first
    oracle.ask("age > 50")
    with pytest.raises(BudgetExceeded, match="used up"):
        oracle.ask("age > 51")
    assert oracle.ask("ill") == first
    assert oracle.left == 0


def test_a_refused_query_costs_nothing() -> None:
    oracle = SQOracle(tables.sample(100), queries=2, epsilon=1)
    with pytest.raises(DiscreetError):
        oracle.ask("height > 3")
    assert oracle.left == 2


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("rows", [None, 1])
def test_tables_of_no_row_or_one_are_answered_like_any_other(count: int, rows: int | None) -> None:
    for seed in range(30):
        with noise.deterministic(seed):
            oracle = SQOracle(tables.sample(count), queries=2, epsilon=1, rows=rows)
            answer = oracle.ask("ill")
            low, high = answer.interval
            assert low is not None
            assert high is not None
            assert 0 <= low <= (answer.value or 0) <= high <= 1
            assert 0 < oracle.tolerance <= 1


def test_a_class_that_is_missing_is_no_exception() -> None:
    table = Sample.of({"x": [1, 2], "y": [True, True]}, {"x": Integer(0, 3), "y": Boolean()})
    assert SQOracle(table, queries=1, epsilon=1).ask("not y").value is not None


def test_oracles_are_not_copied() -> None:
    oracle = SQOracle(tables.sample(10), queries=1, epsilon=1)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(oracle)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"queries": 0}, "queries"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": None}, "one of epsilon, spend and tolerance"),
        ({"tolerance": "0.1"}, "one of epsilon, spend and tolerance"),
        ({"epsilon": None, "tolerance": "0.1"}, "rows=10000"),
        ({"epsilon": None, "tolerance": 2, "rows": 5}, "below 1"),
        ({"epsilon": None, "spend": "5%"}, "no budget"),
        ({"rows": 0}, "rows"),
        ({"confidence": 2}, "confidence"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        SQOracle(tables.sample(10), **{"queries": 3, "epsilon": 1, **changes})


# -- over a vault -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget(2), Budget(2, "1e-9")])
def test_a_vault_is_charged_once_and_opens_again_with_its_answers(tmp_path: Path, budget: Budget) -> None:
    with tables.sealed(tmp_path / "v", tables.rows(), budget=budget) as vault:
        table = vault.table()
        with SQOracle(table, queries=5, epsilon="0.5") as oracle:
            spent = vault.ledger.balance().spent
            first, label = oracle.ask("ill"), oracle.label
            assert vault.ledger.balance().spent == spent
            assert oracle.left == 4
            assert label is not None
            assert oracle.receipt is not None
            assert float(oracle.receipt.promise.epsilon) <= 0.5 + 1e-9
            assert "6 sums" in str(label.noise[0])
        with SQOracle(table, queries=5, epsilon="0.5") as again:
            assert again.ask("ill") == first
            assert again.left == 4
            assert vault.ledger.balance().spent == spent
            truth = SampleOracle(tables.sample()).ask("ill").value or 0
            assert abs((first.value or 0) - truth) < 0.2
        with SQOracle(table, queries=5, epsilon="0.5", name="second") as other:
            assert other.left == 5
        assert vault.ledger.balance().charges == 2


def test_persons_with_many_rows_count_as_declared(tmp_path: Path) -> None:
    table = tables.rows(300)
    table["who"] = [i // 10 for i in range(300)]
    with (
        tables.sealed(tmp_path / "v", table, person="who", rows_per_person=2) as vault,
        SQOracle(vault.table(), queries=3, epsilon=50, rows=60, confidence="0.99999999") as oracle,
    ):
        low, high = oracle.ask("true").interval
        assert low is not None
        assert high is not None
        assert low <= 1 <= high  # thirty persons of ten rows, which count as two


def test_a_share_of_the_budget_and_a_tolerance(tmp_path: Path) -> None:
    with tables.sealed(tmp_path / "v", tables.rows(), budget=Budget(10)) as vault:
        with SQOracle(vault.table(), queries=5, spend="5%"):
            assert vault.ledger.balance().spent.epsilon == Fraction(1, 2)
        with SQOracle(vault.table(), queries=5, tolerance="0.05", rows=2000) as oracle:
            assert oracle.tolerance <= 0.05
        with pytest.raises(ParameterError, match="own delta"):
            SQOracle(vault.table(), queries=5, epsilon=1, delta="1e-6")


def test_a_measurement_that_was_interrupted_stays_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the process had been killed between the noise and the answer: nothing is drawn twice for one share."""
    with tables.sealed(tmp_path / "v", tables.rows(100)) as vault:
        with SQOracle(vault.table(), queries=2, epsilon=1) as oracle, monkeypatch.context() as patch:
            patch.setattr(type(oracle._sums), "run", _killed)
            with pytest.raises(KeyboardInterrupt):
                oracle.ask("ill")
        with SQOracle(vault.table(), queries=2, epsilon=1) as again:
            assert again.left == 1
            again.ask("ill")
            with pytest.raises(BudgetExceeded):
                again.ask("age > 3")


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_budget_that_is_too_small_refuses_before_anything_is_asked(tmp_path: Path) -> None:
    with tables.sealed(tmp_path / "v", tables.rows(100), budget=Budget(1)) as vault:
        with pytest.raises(BudgetExceeded):
            SQOracle(vault.table(), queries=2, epsilon=2)
        assert vault.ledger.balance().spent.epsilon == 0
        assert not list((tmp_path / "v").glob("*.oracle"))


def test_test_bits_do_not_mix_with_a_real_oracle(tmp_path: Path) -> None:
    with tables.sealed(tmp_path / "v", tables.rows(100)) as vault:
        real = SQOracle(vault.table(), queries=2, epsilon=1)
        with real as oracle, noise.deterministic(1), pytest.raises(NotForRelease):
            oracle.ask("ill")
    with (
        noise.deterministic(1),
        tables.sealed(tmp_path / "tests", tables.rows(100)) as rehearsal,
        SQOracle(rehearsal.table(), queries=2, epsilon=1, name="test") as made,
    ):
        assert made.ask("ill").test_bits
