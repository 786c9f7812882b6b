"""Admit a question only if it fits every account that it touches.

Each account with a budget is a filter of its own. An account without a budget refuses nothing; in a strict ledger
it refuses everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import BudgetExceeded, Code, Fix, NotComposable
from discreet.ledger.balance import Balance, Room
from discreet.ledger.costs import Cost
from discreet.render import amounts


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
    return Room(min(r.epsilon for r in limits), min(r.rho for r in limits), min(r.delta for r in limits))


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
            with_delta = Code(f'Budget(epsilon="{amounts.left(balance.budget.epsilon)}", delta="1e-9")')
            raise NotComposable(
                f"The budget of {balance.account} has no δ, and this question has no pure ε.",
                fix=[
                    Fix("budget", with_delta, call="ledger.amend", note="by the curator"),
                    "Or ask with Laplace noise and given keys.",
                ],
            )
    for balance in balances:
        if not balance.fits(cost):
            raise _refusal(balance, cost, common_room(balances, strict))


def _named(balances: Sequence[Balance]) -> bool:
    return any(balance.account.role == "analyst" for balance in balances)


def _refusal(balance: Balance, cost: Cost, room: Room) -> BudgetExceeded:
    """Return the error that states the cost, what is left for which account, and what would fit."""
    whom, budget = balance.account, balance.budget
    if budget is None or balance.total is None or balance.remaining is None:
        raise AssertionError("an account without a budget refuses nothing")
    if budget.pure and cost.epsilon is not None:
        costs = f"This question costs ε = {amounts.spent(cost.epsilon)}, and {amounts.left(balance.remaining)}"
        return BudgetExceeded(f"{costs} of {amounts.left(balance.total)} is left for {whom}.", fix=_offer(room))
    if (balance.spent + cost).rho > balance.total:
        pure = "" if cost.epsilon is None else f"ε = {amounts.spent(cost.epsilon)}, which is "
        costs = f"This question costs {pure}ρ = {amounts.spent(cost.rho)}, and {amounts.left(balance.remaining)}"
        return BudgetExceeded(
            f"{costs} of {amounts.left(balance.total)} is left for {whom} ({budget}).", fix=_offer(room)
        )
    left = amounts.left(budget.key_delta - balance.spent.delta)
    return BudgetExceeded(
        f"This question selects its keys at δ = {amounts.spent(cost.delta)}, and {left} of "
        f"{amounts.left(budget.key_delta)}, half of the budget's δ, is left for {whom}.",
        fix=Fix("delta", amounts.left(room.delta), note="at most") if room.delta else "Ask with given keys.",
    )


def _offer(room: Room) -> list[Fix | str]:
    if amounts.left(room.epsilon) == "0":
        return ["Nothing more can be released here until the curator amends this budget."]
    still = Fix("epsilon", amounts.left(room.epsilon), note="still fits")
    return [still, "The ledger shows which account spent what."]
