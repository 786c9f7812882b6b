"""Answers from a synthetic table: near the truth, in intervals that hold it as often as they say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow
import pytest

import discreet as dp
from discreet.errors import QuestionRefused
from discreet.synth import Synthetic, synthesize
from tests.synth.tables import people, sealed


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synthetic]:
    with sealed(people(), tmp_path_factory.mktemp("answers") / "people.vault") as vault:
        yield synthesize(vault, epsilon=4, delta="1e-9")


@pytest.mark.parametrize(
    "condition",
    [
        "age >= 65",
        "city = 'Oslo' and married",
        "age < 30 and city <> 'Rome'",
        "married and age is null",
        "day >= '2024-07-01'",
    ],
)
def test_counts_lie_within_their_intervals(table: Synthetic, condition: str) -> None:
    """At confidence 1 − 1e-9 each, so that a false alarm has a chance below 1e-8."""
    frame = people().to_pandas()
    frame["day"] = frame["day"].astype(str)
    spelled = condition.replace("<>", "!=").replace(" = ", " == ").replace("age is null", "age != age")
    truth = len(frame.query(spelled))
    found = table.ask(f"select count(*) from people where {condition}", confidence="0.999999999")
    assert found.low <= truth <= found.high
    assert found.low <= found.value <= found.high
    assert abs(found.value - truth) < 300


def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sixty tables of three columns; of 240 intervals at 0.9, fewer than 190 hold with a chance below 1e-6."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (300, 3))
    rows = pyarrow.table({"who": range(300), **{name: codes[:, i] for i, name in enumerate("abc")}})
    held = 0
    columns = {name: dp.Integer(0, 2, missing=0) for name in "abc"}
    with sealed(
        rows, tmp_path_factory.mktemp("coverage") / "v", columns=columns, budget=dp.Budget(500, "1e-9")
    ) as vault:
        for seed in range(60):
            made = synthesize(vault, epsilon="0.5", workload={("a", "b", "c"): 1.0 + seed})
            for low in range(2):
                for columns_asked in ("a", "b"):
                    found = made.ask(
                        f"select count(*) from people where {columns_asked} > {low}", confidence="0.9"
                    )
                    truth = int((codes[:, "abc".index(columns_asked)] > low).sum())
                    held += found.low <= truth <= found.high
    assert held >= 190


def test_sums_and_averages_are_near_and_inside(table: Synthetic) -> None:
    frame = people().to_pandas()
    income = np.floor(frame["income"] / 100 + 0.5).clip(0, 2000) * 100
    total = table.ask("select sum(income) from people", confidence="0.999999")
    assert total.low <= income.sum() <= total.high
    assert abs(total.value / income.sum() - 1) < 0.1
    mean = table.ask("select avg(age) from people where city = 'Oslo'", confidence="0.999999")
    truth = frame[frame["city"] == "Oslo"]["age"].mean()
    assert mean.low <= truth <= mean.high
    assert abs(mean.value - truth) < 4


def test_the_builder_is_understood_too(table: Synthetic) -> None:
    assert abs(float(table.ask(dp.where(age=(30, 40), city="Oslo"))) - 220) < 120


def test_an_interval_says_what_it_rests_on(table: Synthetic) -> None:
    assert table.ask("select count(*) from people where married").how == "measured"
    deep = table.ask("select count(*) from people where married and city = 'Oslo' and age < 50 and income < 9000")
    assert deep.how == "unknown"
    assert deep.low == 0
    assert deep.high >= table.total
    assert "were not measured together" in str(deep)


def test_a_cut_bin_widens_the_interval(table: Synthetic) -> None:
    axis = next(axis for axis in table.axes if axis.name == "income")
    wide = next(i for i in range(1, len(axis.starts) - 1) if axis.starts[i + 1] - axis.starts[i] > 1)
    edge, inside = 100 * axis.starts[wide], 100 * axis.starts[wide] + 100
    crisp, cut = (table.ask(f"select count(*) from people where income >= {x}") for x in (edge, inside))
    assert cut.error > crisp.error


@pytest.mark.parametrize(
    "question",
    [
        "select city, count(*) from people group by city",
        "select median(age) from people",
        "select sum(age * age) from people",
    ],
)
def test_what_it_cannot_answer_it_refuses(table: Synthetic, question: str) -> None:
    with pytest.raises(QuestionRefused):
        table.ask(question)
