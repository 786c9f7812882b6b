"""What a refused release is offered fits every account."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, Fix
from discreet.kernel import amount_of
from discreet.kernel.refusal import affordable_share, with_share
from discreet.ledger import Account, Balance, Budget, Cost

BUDGETS = st.builds(Budget, st.sampled_from([1, 2]), st.sampled_from([0, "1e-9", "1e-6"]))
SPENT = st.fractions(0, 1, max_denominator=1000)


def balance(account: Account, budget: Budget, share: Fraction) -> Balance:
    granted = Balance(account).granted(budget)
    amount = share * (granted.total or 0)
    return granted.charged(Cost(amount, amount**2 / 2) if budget.pure else Cost(Fraction(0), amount))


@given(BUDGETS, BUDGETS, SPENT, SPENT)
def test_the_share_that_is_offered_fits_every_account_and_is_nearly_all(
    vault: Budget, hers: Budget, first: Fraction, second: Fraction
) -> None:
    accounts = [balance(Account(), vault, first), balance(Account(analyst="ana"), hers, second)]
    share = affordable_share(accounts)
    if share is None:
        assert any(account.remaining == 0 for account in accounts)
        return
    pure = vault.pure or hers.pure

    def cost(spend: str) -> Cost:
        amount = amount_of(accounts, spend=spend)
        return Cost(amount, amount**2 / 2) if pure else Cost(None, amount)

    assert all(account.fits(cost(share)) for account in accounts)
    more = f"{float(share[:-1]) * 1.11}%"
    assert float(share[:-1]) > 90 or not all(account.fits(cost(more)) for account in accounts)


def test_only_the_offer_of_an_epsilon_is_replaced() -> None:
    accounts = [balance(Account(), Budget(2), Fraction(9, 10))]
    strict = BudgetExceeded("This ledger is strict.", fix=Fix("analyst", "ana"))
    assert with_share(strict, accounts) is strict
    offered = with_share(BudgetExceeded("Too expensive.", fix=Fix("epsilon", "0.2")), accounts)
    assert (offered.problem, offered.fixes) == ("Too expensive.", (Fix("spend", "10%"),))
