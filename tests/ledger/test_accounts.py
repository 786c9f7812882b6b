"""Budgets within budgets: the whole vault, analysts, purposes, and the curator who amends them."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from discreet import privacy
from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.ledger import Account, Budget, Ledger

TENTH = privacy.Pure("0.1")


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, Budget(1)) as ledger:
        yield ledger


def test_a_charge_must_fit_the_whole_the_analyst_and_the_purpose(ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.2"))
    ledger.allot(purpose="report", budget=Budget("0.3"))
    ledger.reserve(TENTH, question="?", analyst="ana", purpose="report")
    ledger.reserve(TENTH, question="?", analyst="ana")
    with pytest.raises(BudgetExceeded, match='left of the budget of analyst "ana"'):
        ledger.reserve(TENTH, question="?", analyst="ana", purpose="report")
    ledger.reserve(TENTH * 2, question="?", analyst="bob", purpose="report")
    with pytest.raises(BudgetExceeded, match='left of the budget of purpose "report"'):
        ledger.reserve(TENTH, question="?", analyst="bob", purpose="report")
    ledger.reserve(TENTH * 6, question="?", analyst="bob")
    with pytest.raises(BudgetExceeded, match=r"Nothing is left of the budget\. "):
        ledger.reserve(TENTH, question="?", analyst="cho")


def test_what_is_offered_fits_every_account(ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.5"))
    ledger.allot(purpose="report", budget=Budget("0.3"))
    with pytest.raises(BudgetExceeded, match=r'epsilon="0\.3" \(still fits\)'):
        ledger.reserve(privacy.Pure("0.7"), question="?", analyst="ana", purpose="report")
    assert ledger.room(analyst="ana", purpose="report").epsilon == Fraction(3, 10)


def test_an_analyst_without_an_account_spends_from_the_whole_and_is_counted(ledger: Ledger) -> None:
    ledger.reserve(TENTH * 4, question="?", analyst="bob")
    balance = ledger.balance(analyst="bob")
    assert (balance.budget, balance.spent.epsilon, balance.charges) == (None, Fraction(2, 5), 1)
    assert balance.remaining is None


def test_what_was_spent_before_an_allotment_counts(ledger: Ledger) -> None:
    ledger.reserve(TENTH * 4, question="?", analyst="bob")
    with pytest.raises(
        ParameterError, match=r'already spent: ε = 0.4 .*budget=Budget\(epsilon="0.4"\) \(the least\)'
    ):
        ledger.allot(analyst="bob", budget=Budget("0.3"))
    ledger.allot(analyst="bob", budget=Budget("0.4"))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(privacy.Pure("0.001"), question="?", analyst="bob")


def test_a_strict_ledger_knows_whom_it_serves(place: str) -> None:
    Ledger.create(place, Budget(1), strict=True).close()
    with Ledger.open(place) as ledger:
        assert ledger.strict
        ledger.allot(analyst="ana", budget=Budget(1))
        ledger.reserve(TENTH, question="?", analyst="ana")
        strangers: list[dict[str, Any]] = [{}, {"analyst": "bob"}, {"analyst": "ana", "purpose": "fun"}]
        for whom in (*strangers, {"purpose": "fun"}):
            with pytest.raises(BudgetExceeded, match="strict"):
                ledger.reserve(TENTH, question="?", **whom)
            assert ledger.room(**whom).epsilon == 0
        with pytest.raises(
            BudgetExceeded, match=r'ledger\.allot\(analyst="bob"\) \(by the curator, with a budget\)'
        ):
            ledger.reserve(TENTH, question="?", analyst="bob")
        ledger.verify()


def test_amending_is_recorded_with_its_reason(ledger: Ledger) -> None:
    ledger.amend(Budget(2), reason="second year of the survey")
    last = list(ledger.entries())[-1]
    assert last.kind == "amendment"
    assert last.content["reason"] == "second year of the survey"
    ledger.reserve(privacy.Pure(2), question="?")


def test_a_budget_never_falls_below_what_was_spent(ledger: Ledger) -> None:
    ledger.reserve(TENTH * 5, question="?")
    with pytest.raises(ParameterError, match=r"already spent: ε = 0\.5"):
        ledger.amend(Budget("0.4"))
    ledger.amend(Budget("0.5"))
    assert ledger.balance().remaining == 0


def test_a_budget_may_gain_a_delta_and_lose_it_while_all_questions_were_pure(ledger: Ledger) -> None:
    ledger.reserve(TENTH, question="?")
    ledger.amend(Budget(2, "1e-9"))
    ledger.reserve(TENTH, question="?")
    ledger.amend(Budget(2))
    assert ledger.balance().remaining == Fraction(9, 5)
    ledger.amend(Budget(2, "1e-9"))
    ledger.reserve(privacy.Gaussian(sigma=10), question="?")
    with pytest.raises(ParameterError, match="no pure ε, so its budget needs a δ"):
        ledger.amend(Budget(100))
    ledger.verify()


def test_the_least_budget_with_a_delta_is_named_and_accepted(place: str) -> None:
    with Ledger.create(place, Budget(2, "1e-9")) as ledger:
        ledger.reserve([privacy.Gaussian(sigma=10), privacy.Approximate("0.1", "1e-10")], question="?")
        with pytest.raises(ParameterError) as refused:
            ledger.amend(Budget("0.1", "1e-9"))
        fix = refused.value.fixes[0]
        assert isinstance(fix, Fix)
        least = fix.value
        ledger.amend(Budget(least, "1e-9"))
        with pytest.raises(ParameterError, match=r'delta="2e-10" \(at least\)'):
            ledger.amend(Budget(2, "1e-10"))
        ledger.amend(Budget(2, "2e-10"))


def test_allotting_twice_and_amending_nothing_are_refused(ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget(1))
    with pytest.raises(ParameterError, match=r"already a budget for .*found: ε = 1\)\. Try: ledger\.amend"):
        ledger.allot(analyst="ana", budget=Budget(2))
    with pytest.raises(ParameterError, match=r"no budget for .* to amend\. Try: ledger\.allot"):
        ledger.amend(Budget(1), analyst="bob")
    with pytest.raises(ParameterError, match="must name an analyst or a purpose"):
        ledger.allot(budget=Budget(1))
    with pytest.raises(ParameterError, match="Make two accounts"):
        ledger.allot(analyst="ana", purpose="report", budget=Budget(1))
    with pytest.raises(ParameterError, match="The budget must be a Budget"):
        ledger.allot(analyst="bob", budget=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["李小龍", "O'Brien", '"; DELETE FROM entries; --', "a/b?c#d%00", "😀", "null"])
def test_any_printable_name_is_a_name(ledger: Ledger, name: str) -> None:
    ledger.allot(analyst=name, budget=Budget("0.2"))
    ledger.allot(purpose=name, budget=Budget("0.5"))
    ledger.reserve(TENTH * 2, question=name, analyst=name, purpose=name)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(TENTH, question=name, analyst=name, purpose=name)
    assert Account(analyst=name) in [balance.account for balance in ledger.balances()]
    ledger.verify()


def test_the_same_name_in_another_spelling_of_unicode_is_the_same_analyst(ledger: Ledger) -> None:
    ledger.allot(analyst="Rene\u0301", budget=Budget("0.1"))
    ledger.reserve(TENTH, question="?", analyst="Ren\u00e9")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(TENTH, question="?", analyst="Rene\u0301")


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "a\x00b", "\udc80", "x" * 201])
def test_what_is_no_name_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="printable characters"):
        ledger.reserve(TENTH, question="?", analyst=name)
