"""One meaning of ε: a release of epsilon is (epsilon, δ)-DP alone, and the budget's epsilon spends all of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, ParameterError
from discreet.kernel import amount_of
from discreet.ledger import Account, Balance, Budget
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.schema import Integer
from discreet.vault.vault import Vault

WHOLE = Balance(Account()).granted(Budget(2, "1e-9"))
PURE = Balance(Account()).granted(Budget(2))
COUNT = "select count(*) from people where age >= {}"


def vault(folder: Path, budget: Budget) -> Vault:
    rows = pyarrow.table({"who": range(500), "age": [i % 90 for i in range(500)]})
    return Vault.seal(
        rows, to=folder / "v", name="people", person="who", columns={"age": Integer(0, 110)}, budget=budget
    )


@given(st.fractions(Fraction(1, 1000), Fraction(20)), st.sampled_from(["1e-3", "1e-6", "1e-9", "1e-30"]))
def test_what_is_charged_for_an_epsilon_converts_to_it(epsilon: Fraction, delta: str) -> None:
    whole = Balance(Account()).granted(Budget(50, delta))
    rho = amount_of([whole], epsilon=epsilon)
    assert Fraction(zcdp_to_approximate(rho, Fraction(delta) / 2)) <= epsilon
    assert Fraction(zcdp_to_approximate(rho * Fraction(1001, 1000), Fraction(delta) / 2)) > epsilon


def test_as_many_questions_fit_as_the_conversion_says() -> None:
    fits = [float((WHOLE.total or 0) / amount_of([WHOLE], epsilon=e)) for e in (2, 1, "0.2", "0.1")]
    assert fits == pytest.approx([1, 3.757, 83.69, 319.6], rel=1e-3)


def test_without_delta_epsilon_is_what_adds_up() -> None:
    assert amount_of([PURE], epsilon="0.5") == Fraction(1, 2)
    assert amount_of([PURE], spend="5%") == Fraction(1, 10)


def test_an_account_without_delta_pays_for_pure_noise() -> None:
    hers = Balance(Account(analyst="ana")).granted(Budget(1))
    assert amount_of([WHOLE, hers], epsilon="0.5") == Fraction(1, 2)
    assert amount_of([WHOLE, hers], spend="10%") == Fraction(1, 10)  # of her own budget: the vault's is a ρ


def test_a_share_is_one_of_the_whole_budget() -> None:
    hers = Balance(Account(analyst="ana")).granted(Budget(1, "1e-9"))
    assert amount_of([WHOLE, hers], spend="10%") == (WHOLE.total or 0) / 10


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"epsilon": 1, "spend": "5%"},
        {"spend": "0%"},
        {"spend": "101%"},
        {"spend": "5"},
        {"spend": 5},
        {"epsilon": 0},
    ],
)
def test_what_has_no_meaning_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        amount_of([WHOLE], **wrong)


@pytest.mark.parametrize("budget", [Budget(2), Budget(2, "1e-9")], ids=["pure", "with delta"])
def test_a_question_of_the_budgets_epsilon_spends_all_of_it(tmp_path: Path, budget: Budget) -> None:
    with vault(tmp_path, budget) as sealed:
        sealed.ask(COUNT.format(1), epsilon=2)
        assert sealed.ledger.balance().remaining == 0
        with pytest.raises(BudgetExceeded):
            sealed.ask(COUNT.format(2), epsilon="0.001")


def test_a_share_and_the_epsilon_that_costs_as_much_are_one_question(tmp_path: Path) -> None:
    with vault(tmp_path, Budget(2, "1e-9")) as sealed:
        first = sealed.ask(COUNT.format(1), epsilon=2)
        again = sealed.ask(COUNT.format(1), spend="100%")
        assert again.free
        assert again.value == first.value


def test_a_delta_for_keys_that_are_not_selected_is_no_part_of_the_question(tmp_path: Path) -> None:
    with vault(tmp_path, Budget(2, "1e-9")) as sealed:
        sealed.ask(COUNT.format(1), epsilon=1)
        assert sealed.ask(COUNT.format(1), epsilon=1, keys_delta="1e-11").free
        assert sealed.ledger.balance().charges == 1


@pytest.mark.parametrize("more", [{}, {"epsilon": 1, "spend": "5%"}, {"within": 5, "spend": "5%"}])
def test_a_question_needs_one_of_three(tmp_path: Path, more: dict[str, Any]) -> None:
    with (
        vault(tmp_path, Budget(2, "1e-9")) as sealed,
        pytest.raises(ParameterError, match="one of epsilon, spend"),
    ):
        sealed.ask(COUNT.format(1), **more)
