"""A holdout inside of a vault: one charge, private answers, intervals for the population, models tried first."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import discreet as dp
from discreet.errors import BudgetExceeded, ParameterError
from discreet.kernel.journal import HOLDOUT, Journal
from discreet.release.released import Released
from discreet.validity import HoldoutAnswer
from discreet.validity.rows_by_name import Rows, scores

N = 20_000
AGE = np.arange(N) % 100
RICH = (AGE >= 50).astype(int)
RICH[::10] = 1 - RICH[::10]


class Old:
    """A model that predicts from one column of an array."""

    def predict(self, rows: Any) -> Any:
        return (np.asarray(rows)[:, 0] >= 50).astype(int)


class Relative(Old):
    """A model that looks at other rows."""

    def predict(self, rows: Any) -> Any:
        rows = np.asarray(rows)
        return (rows[:, 0] >= rows[:, 0].mean()).astype(int)


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[dp.Vault]:
    table = pyarrow.table({"age": AGE, "rich": RICH})
    columns = {"age": dp.Integer(0, 110), "rich": dp.Integer(0, 1)}
    with dp.Vault.seal(
        table, to=tmp_path / "a.vault", person=None, columns=columns, budget=dp.Budget(2, "1e-9"), name="people"
    ) as sealed:
        yield sealed


def test_a_model_is_scored_privately_and_for_the_population(vault: dp.Vault) -> None:
    with vault.holdout("rich", epsilon=1, queries=5) as guard:
        answer, again = guard.score(Old()), guard.score(Old())
        assert isinstance(answer, Released)
        assert answer.low <= 0.9 <= answer.high
        assert abs(answer.value - 0.9) < 0.05
        assert (answer.value, again.value) != (0.9, 0.9)  # one noisy value is exact with a chance of about 1e-5
        assert HoldoutAnswer.from_json(answer.to_json()) == answer
        assert answer.receipt.promise.epsilon <= 1
        assert answer.label.guarantee.startswith("ε")


def test_the_whole_holdout_is_one_charge_and_the_same_call_is_free(vault: dp.Vault) -> None:
    before = vault.ledger.balance().remaining
    with vault.holdout("rich", epsilon=1, queries=5) as guard:
        after = vault.ledger.balance().remaining
        first = guard.score(Old())
    assert after is not None
    assert before is not None
    assert after < before
    with vault.holdout("rich", epsilon=1, queries=5) as guard:
        assert vault.ledger.balance().remaining == after
        assert guard.answers == [first]
        for _ in range(4):
            guard.score(Old())
        with pytest.raises(BudgetExceeded, match="would widen all intervals from"):
            guard.score(Old())
    assert vault.ledger.balance().remaining == after


def test_every_answer_is_set_aside_in_the_journal_and_all_together_are_the_charge(
    vault: dp.Vault, tmp_path: Path
) -> None:
    with vault.holdout("rich", epsilon=1, queries=3, path=tmp_path / "a.holdout") as guard:
        for _ in range(3):
            guard.score(Old())
    journal = Journal.open(tmp_path / "a.holdout", HOLDOUT)
    assert journal.spent == journal.rho
    assert [record["begin"] for record in journal.begun.values()] == ["count", "score", "score", "score"]
    assert all(Fraction(record["rho"]) > 0 for record in journal.begun.values())
    journal.close()


def test_a_model_that_mixes_rows_is_refused_before_any_row_is_read(vault: dp.Vault) -> None:
    with vault.holdout("rich", epsilon=1, queries=5) as guard:
        with pytest.raises(ParameterError, match="looking at other rows"):
            guard.score(Relative())
        with pytest.raises(ParameterError, match=r"must lie in \[0, 1\]"):
            guard.check(lambda rows: rows["age"])
        assert guard.asked == 0


def test_a_row_that_makes_a_model_fail_moves_its_own_score_alone_and_shows_no_error(vault: dp.Vault) -> None:
    """If the batch scored 0, one person of age 98 would move a sum by all rows of the batch, and not by one."""

    def strange(rows: Any) -> Any:
        if (rows["age"] == 98).any():  # in every batch, and in no made-up row
            raise RuntimeError("98!")
        return rows["age"] >= 50

    with vault.holdout("rich", epsilon=1, queries=5) as guard:
        assert abs(guard.check(strange).value - 0.49) < 0.02  # half of the rows, less those of age 98


def test_scores_of_rows_do_not_depend_on_rows_that_fail_or_have_no_number() -> None:
    def share(rows: Any) -> Any:
        if (rows["age"] < 0).any():
            raise ValueError("below 0")
        return np.sqrt(rows["age"]) if len(rows["age"]) < 500 else np.ones(3)  # a shape that is wrong

    ages = np.where(np.arange(1000) % 7 == 0, -1.0, 0.25)
    ages[5] = np.nan
    found = scores(share, Rows({"age": ages}))
    assert found.tolist() == [0.0 if age < 0 or np.isnan(age) else 0.5 for age in ages]


def test_scikit_learn_searches_with_it(vault: dp.Vault) -> None:
    X, y = np.arange(100.0).reshape(-1, 1), (np.arange(100) >= 50).astype(float)
    with vault.holdout("rich", ["age"], epsilon=1, queries=5) as guard:
        search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=guard.cv(X), scoring=guard.scorer())
        search.fit(X, y)
        assert guard.asked == 2
        assert search.best_score_ > 0.8


def test_persons_with_several_rows_have_wider_intervals_that_hold(tmp_path: Path) -> None:
    table = pyarrow.table({"who": np.arange(N) // 4, "age": AGE, "rich": RICH})
    columns = {"age": dp.Integer(0, 110), "rich": dp.Integer(0, 1)}
    with (
        dp.Vault.seal(
            table,
            to=tmp_path / "b.vault",
            person="who",
            rows_per_person=4,
            columns=columns,
            budget=dp.Budget(4, "1e-9"),
        ) as vault,
        vault.holdout("rich", epsilon=2, queries=2) as guard,
    ):
        answer = guard.score(Old())
        assert answer.low <= 0.9 <= answer.high
        assert abs(answer.value - 0.9) < 0.05


def test_a_vault_without_delta_is_refused_for_free(tmp_path: Path) -> None:
    table, columns = pyarrow.table({"rich": RICH}), {"rich": dp.Integer(0, 1)}
    with dp.Vault.seal(table, to=tmp_path / "c.vault", person=None, columns=columns, budget=dp.Budget(1)) as vault:
        with pytest.raises(ParameterError, match="budget with δ"):
            vault.holdout("rich", epsilon="0.1")
        with pytest.raises(ParameterError, match="no column"):
            vault.holdout("poor", epsilon="0.1")
        assert vault.ledger.balance().remaining == 1


def test_one_person_does_not_change_how_the_missing_values_of_others_look() -> None:
    """Thousands whose city is missing were NaN by themselves, and None beside one person who has a city."""

    def unknown(rows: Rows) -> Any:
        return np.array([value is None for value in rows["city"]], np.float64)

    columns = {"city": dp.Category(["Oslo", "Bergen"])}
    alone, together = (Rows.of({"city": np.array(codes)}, columns) for codes in ([-1, -1], [-1, -1, 0]))
    assert alone["city"].dtype == together["city"].dtype
    assert [scores(unknown, rows).sum() for rows in (alone, together)] == [2.0, 2.0]
    moments = {"city": dp.Datetime("2024-01-01", "2025-01-01", "1min")}  # too many to be listed
    assert Rows.of({"city": np.array([-1])}, moments)["city"].tolist() == [None]
    assert np.isnan(Rows.of({"city": np.array([-1])}, {"city": dp.Integer(0, 10**6)})["city"]).all()
