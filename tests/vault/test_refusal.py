"""A question that is too expensive is told what it could have, and what is offered is answered."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pytest

from discreet.errors import BudgetExceeded, Fix
from discreet.ledger import Budget
from discreet.query.plan.explain import Expected
from discreet.schema import Column, Integer, Text
from discreet.vault.refusal import with_margins
from discreet.vault.vault import Vault

BUDGETS = [Budget(2), Budget(2, "1e-9")]
KINDS = ["pure", "with delta"]


def sealed(folder: Path, budget: Budget, **more: Any) -> Vault:
    rows = pyarrow.table(
        {
            "who": range(2000),
            "age": [i % 90 for i in range(2000)],
            "pay": [i % 50 for i in range(2000)],
            "word": ["a", "b"] * 1000,
        }
    )
    columns: dict[str, Column] = {"age": Integer(0, 110), "pay": Integer(0, 100), "word": Text()}
    return Vault.seal(rows, to=folder / "v", name="t", person="who", columns=columns, budget=budget, **more)


def refusal(call: Callable[..., Any], *question: Any, **given: Any) -> BudgetExceeded:
    with pytest.raises(BudgetExceeded) as refused:
        call(*question, **given)
    return refused.value


def fixes(error: BudgetExceeded) -> dict[str, Any]:
    return {fix.parameter: fix.value for fix in error.fixes if isinstance(fix, Fix)}


@pytest.mark.parametrize("budget", BUDGETS, ids=KINDS)
@pytest.mark.parametrize("way", ["spend", "within"])
@pytest.mark.parametrize("given", [{"spend": "90%"}, {"within": "0.5"}], ids=["spend", "within"])
def test_what_is_offered_is_answered(tmp_path: Path, budget: Budget, way: str, given: dict[str, Any]) -> None:
    with sealed(tmp_path, budget) as vault:
        vault.ask("select count(*) from t", spend="87.3%")
        error = refusal(vault.ask, "select count(*) from t where age > 40", **given)
        assert error.problem.startswith("Too expensive: it needs ")
        offered = fixes(error)
        assert offered["spend"] == "12%"
        before = vault.ledger.head()
        expected = vault.preview("select count(*) from t where age > 40", spend="12%").expected[0].margin
        assert expected is not None
        assert f"± {expected:.3g}" in str(error)
        release = vault.ask("select count(*) from t where age > 40", **{way: offered[way]})
        assert vault.ledger.head() != before
    assert release.error is not None
    assert release.error <= float(offered["within"])
    assert release.error < 1.3 * expected


@pytest.mark.parametrize("budget", BUDGETS, ids=KINDS)
def test_several_numbers_have_a_margin_each(tmp_path: Path, budget: Budget) -> None:
    question = "select count(*) as n, sum(pay) as s from t"
    with sealed(tmp_path, budget) as vault:
        vault.ask("select count(*) from t", spend="60%")
        error = refusal(vault.ask, question, spend="90%")
        offered = fixes(error)
        assert "for n, ± " in str(error)
        if "within" in offered:
            assert set(offered["within"]) == {"n", "s"}
            vault.preview(question, within=offered["within"])
        vault.ask(question, spend=offered["spend"])


def test_a_margin_that_is_not_known_is_not_stated(tmp_path: Path) -> None:
    with sealed(tmp_path, Budget(2)) as vault:
        vault.ask("select count(*) from t", spend="50%")
        error = refusal(vault.ask, "select avg(age) from t", epsilon=2)
        assert str(error) == 'Too expensive: it needs 2 times what is left. Try: spend="50%".'
        vault.ask("select avg(age) from t", **fixes(error))


@pytest.mark.parametrize("budget", BUDGETS, ids=KINDS)
@pytest.mark.parametrize("given", [{"epsilon": 1}, {"spend": "1%"}, {"within": 100}, {"within": "5%"}])
def test_when_nothing_is_left_the_curator_is_named(tmp_path: Path, budget: Budget, given: dict[str, Any]) -> None:
    with sealed(tmp_path, budget) as vault:
        vault.ask("select count(*) from t", spend="100%")
        error = refusal(vault.ask, "select count(*) from t where age > 40", **given)
        assert error.problem == "Nothing is left of the budget."
        assert str(error).endswith(" (by the curator).")
        assert "ledger.amend(budget=Budget(epsilon=" in str(error)


def test_the_account_of_the_analyst_is_the_one_that_counts(tmp_path: Path) -> None:
    with sealed(tmp_path, Budget(2, "1e-9")) as vault:
        vault.ledger.allot(analyst="ana", budget=Budget("0.1"))
    with Vault(tmp_path / "v", analyst="ana") as vault:
        error = refusal(vault.ask, "select count(*) from t", epsilon=1)
        assert error.problem == 'Too expensive: it needs 10 times what is left for analyst "ana".'
        vault.ask("select count(*) from t", spend=fixes(error)["spend"])
        error = refusal(vault.ask, "select count(*) from t", epsilon=1)
        assert error.problem == 'Nothing is left of the budget of analyst "ana".'


def test_keys_that_need_too_much_delta_are_refused_as_before(tmp_path: Path) -> None:
    with sealed(tmp_path, Budget(2, "1e-9")) as vault:
        error = refusal(vault.ask, "select word, count(*) from t group by word", spend="5%", keys_delta="6e-10")
        assert fixes(error) == {"keys_delta": "5e-10"}
        vault.ask("select word, count(*) from t group by word", spend="5%", keys_delta="5e-10")


def test_a_strict_ledger_still_says_so(tmp_path: Path) -> None:
    with sealed(tmp_path, Budget(2), strict=True) as vault:
        assert "strict" in refusal(vault.ask, "select count(*) from t", epsilon=3).problem


def test_an_oracle_and_a_synthetic_table_are_offered_a_share_that_fits(tmp_path: Path) -> None:
    with sealed(tmp_path, Budget(2, "1e-9")) as vault:
        vault.ask("select count(*) from t", spend="50%")
        for call in (
            lambda **given: vault.synthesize(["age", "pay"], **given),
            lambda **given: vault.oracle(["age", "pay"], within=400, bins={"age": 5, "pay": 5}, **given),
        ):
            error = refusal(call, spend="90%")
            assert error.problem == "Too expensive: it needs 1.8 times what is left."
            assert error.fixes == (Fix("spend", "50%"),)
        table = vault.synthesize(["age", "pay"], spend="50%")
        assert table.label.receipt.whole.remaining == 0


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_the_label_of_a_synthetic_table_states_the_epsilon_that_was_asked(tmp_path: Path, epsilon: str) -> None:
    with sealed(tmp_path, Budget(2, "1e-9")) as vault:
        made = vault.synthesize(["age", "pay"], epsilon=epsilon)
        again = vault.synthesize(["age", "pay"], epsilon=epsilon)
    for table in (made, again):
        assert table.label.receipt.promise == (Fraction(epsilon), Fraction(1, 10**9))
        assert table.label.facts["Privacy"]["This release"].startswith(f"ε = {epsilon} at δ = 1e-9 ")


def test_nothing_is_offered_that_the_accounts_cannot_pay() -> None:
    def planned(spend: str | None = None, within: Any = None) -> Any:
        return SimpleNamespace(expected=[Expected("n", 83.2, "")], within=within)

    refused = BudgetExceeded("Too expensive.", fix=Fix("spend", "10%"))
    wide = with_margins(refused, planned, lambda made: getattr(made, "within", None) in (None, 88))
    assert wide.fixes == (Fix("spend", "10%", note="± 83.2"), Fix("within", 88))
    none = with_margins(refused, planned, lambda made: False)
    assert none.fixes == ("What is left is not enough for any answer to this question.",)
