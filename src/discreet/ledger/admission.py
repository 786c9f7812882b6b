"""Admit a charge or refuse it: it must fit every account that it touches.

Each account with a budget is a filter of its own. An account without a budget refuses nothing; in a strict ledger
it refuses everything. A release of ε is (ε, δ)-DP at the δ of the whole vault, whatever the δ of the other
accounts. Where one account has no δ, the release is pure, and costs an account with δ at most ρ = ε²/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING
from fractions import Fraction

from discreet.errors import BudgetExceeded, Fix, NotComposable
from discreet.ledger.balance import Balance, Room, largest_epsilon, largest_pure_epsilon
from discreet.ledger.budget import Budget
from discreet.ledger.costs import Cost
from discreet.render import numbers


def common_room(balances: Sequence[Balance], strict: bool) -> Room:
    """Return the most that a charge may cost which touches all of these accounts.

    >>> from discreet.ledger import Account, Budget
    >>> common_room([Balance(Account(), Budget(2)), Balance(Account(analyst="ana"), Budget(1))], False).epsilon
    Fraction(1, 1)
    """
    rooms = [balance.room for balance in balances]
    if strict and (None in rooms or not _named(balances)):
        return Room(Fraction(0), Fraction(0), Fraction(0))
    limits = [room for room in rooms if room is not None]
    return Room(_epsilon(balances), min(r.rho for r in limits), min(r.delta for r in limits))


def _epsilon(balances: Sequence[Balance]) -> Fraction:
    """Return the largest ε of a release that all of these can pay."""
    limited = [(b.budget, b.remaining) for b in balances if b.budget is not None and b.remaining is not None]
    pure = [left for budget, left in limited if budget.pure]
    rho = [left for budget, left in limited if not budget.pure]
    if pure:
        return min([*pure, *map(largest_pure_epsilon, rho)])
    vault, _ = limited[0]
    return largest_epsilon(min(rho), vault.key_delta)


def admit(balances: Sequence[Balance], cost: Cost, strict: bool) -> None:
    """Raise unless every account can afford this cost."""
    if strict and not _named(balances):
        raise BudgetExceeded(
            "This ledger is strict: every charge must name its analyst.", fix=Fix("analyst", "ana")
        )
    for balance in balances:
        if balance.budget is None and strict:
            raise BudgetExceeded(
                f"Nothing is left for {balance.account}: this ledger is strict, and has no such account.",
                fix=Fix(
                    balance.account.role,
                    balance.account.name,
                    call="ledger.allot",
                    note="by the curator, with a budget",
                ),
            )
        if balance.budget is not None and balance.budget.pure and cost.epsilon is None:
            with_delta = Budget(balance.budget.epsilon, "1e-9").code
            raise NotComposable(
                f"The budget of {balance.account} has no δ, and this question has no pure ε.",
                fix=[
                    Fix("budget", with_delta, call="ledger.amend", note="by the curator"),
                    "Or ask with Laplace noise and given keys.",
                ],
            )
    for balance in balances:
        if not balance.fits(cost):
            raise _refusal(_scarcest(balances, cost), cost, common_room(balances, strict))


def _named(balances: Sequence[Balance]) -> bool:
    return any(balance.account.role == "analyst" for balance in balances)


def _refusal(balance: Balance, cost: Cost, room: Room) -> BudgetExceeded:
    """Return the error that says how much is missing in which account, and what would fit."""
    budget, left = balance.budget, balance.remaining
    if budget is None or left is None:
        raise AssertionError("an account without a budget refuses nothing")
    needed = _needed(balance, cost)
    if needed > left:
        if left <= 0 or not room.epsilon:
            return BudgetExceeded(f"Nothing is left of the budget{_whose(balance, ' of')}.", fix=_larger(balance))
        times = _times(needed / left)
        return BudgetExceeded(
            f"Too expensive: it needs {times} times what is left{_whose(balance, ' for')}.",
            fix=[
                Fix("epsilon", numbers.left(room.epsilon), note="still fits"),
                "The ledger shows which account spent what.",
            ],
        )
    keys = numbers.left(budget.key_delta - balance.spent.delta)
    return BudgetExceeded(
        f"This question selects its keys at δ = {numbers.spent(cost.delta)}, and {keys} of "
        f"{numbers.left(budget.key_delta)}, half of the budget's δ, is left for {balance.account}.",
        fix=Fix("keys_delta", numbers.left(room.delta), note="at most") if room.delta else "Ask with given keys.",
    )


def _needed(balance: Balance, cost: Cost) -> Fraction:
    return cost.epsilon or Fraction(0) if balance.unit == "ε" else cost.rho


def _scarcest(balances: Sequence[Balance], cost: Cost) -> Balance:
    """Return the account that lacks most of what it would have to pay."""
    short = [balance for balance in balances if not balance.fits(cost)]
    return min(short, key=lambda balance: (balance.remaining or Fraction(0)) / (_needed(balance, cost) or 1))


def _times(ratio: Fraction) -> str:
    """Return how many times too expensive a charge is, rounded up to two digits.

    >>> _times(Fraction(26, 3)), _times(Fraction(10) ** 9000)
    ('8.7', 'more than a million')
    """
    if ratio > 10**6:
        return "more than a million"
    return numbers.number(Fraction(numbers.decimal(ratio, ROUND_CEILING, 2)))


def _whose(balance: Balance, word: str) -> str:
    return "" if balance.account.role == "vault" else f"{word} {balance.account}"


def _larger(balance: Balance) -> Fix:
    """Return what the curator can do: amend the budget."""
    budget = balance.budget or Budget(1)
    larger = Budget(2 * budget.epsilon or Fraction(1), budget.delta)
    return Fix("budget", larger.code, call="ledger.amend", note=f"by the curator{_whose(balance, ', for')}")
