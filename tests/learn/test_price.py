"""A model costs what was asked for: the same ε means the same with every face."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.kernel.gaussian_budget import rho_of
from discreet.learn.price import Price, short
from discreet.ledger import Account, Balance, Budget
from discreet.release.receipt import Promise


def whole(budget: Budget) -> Balance:
    return Balance(Account(), budget).granted(budget)


def test_without_a_ledger_the_price_is_that_of_the_fit_alone() -> None:
    assert Price.alone(1).pure
    assert Price.alone(1).promise == Promise(Fraction(1), Fraction(0))
    price = Price.alone("0.5", "1e-6")
    assert (price.rho, price.most, price.proves) == (rho_of("0.5", "1e-6"), None, True)
    assert price.mu**2 / 2 <= float(price.rho or 0)


def test_epsilon_equal_to_the_budgets_may_spend_all_of_it_and_not_more() -> None:
    account = whole(Budget(2, "1e-6"))
    price = Price.of([account], 2, None)
    assert price.promise == Promise(Fraction(2), Fraction(1, 10**6))
    assert price.most == account.rho
    assert Price.of([account], 3, None).most is None  # the ledger refuses it, with a fix


def test_a_share_promises_nothing_by_itself_and_costs_exactly_the_share() -> None:
    account = whole(Budget(2, "1e-6"))
    price = Price.of([account], None, "20%")
    assert price.rho == price.most == (account.rho or 0) / 5
    assert price.promise is None


def test_a_pure_account_makes_a_pure_price() -> None:
    price = Price.of([whole(Budget(2, "1e-6")), Balance(Account(analyst="ana")).granted(Budget(1))], "0.5", None)
    assert price.pure
    assert price.epsilon == Fraction(1, 2)
    assert Price.of([whole(Budget(2))], None, "25%").epsilon == Fraction(1, 2)


@pytest.mark.parametrize("given", [(None, None), (1, "5%"), (0, None), (-1, None), (None, "0%"), (None, "120%")])
def test_what_has_no_meaning_is_refused(given: tuple[int | None, str | None]) -> None:
    for budget in (Budget(2), Budget(2, "1e-6")):
        with pytest.raises(ParameterError):
            Price.of([whole(budget)], *given)


def test_short_amounts_are_rounded_to_the_side_that_is_asked_for() -> None:
    amount = Fraction(10**9 + 7, 3 * 10**12)
    assert short(amount) <= amount <= short(amount, up=True)
    assert short(amount, up=True) - short(amount) <= amount / 10**5
