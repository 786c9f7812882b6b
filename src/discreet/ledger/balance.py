"""Compute the balance of an account: its budget, what it has spent, and what is left.

An account without a budget still counts what it has spent. Where ρ adds up, a question of ε costs at most ε²/2,
whatever its noise: so what is left is enough for ε = √(2ρ), rounded down. Balances are written into the entries of
the ledger, amounts as text "p/q".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.ledger.account import Account
from discreet.ledger.budget import Budget
from discreet.ledger.costs import NOTHING, Cost
from discreet.render import amounts

_PLACES = 320  # behind the point, of a root: those of a budget are 300 at most


@dataclass(frozen=True)
class Room:
    """The most that one more charge may cost: the ε of a question, its ρ where that adds up, and a δ for keys.

    >>> Balance(Account(), Budget(2)).room
    Room(epsilon=Fraction(2, 1), rho=Fraction(0, 1), delta=Fraction(0, 1))
    """

    epsilon: Fraction
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Balance:
    """The state of one account. Amounts are ε where its budget has no δ, else ρ.

    `rho` is the most that ρ may add up to, as it was computed when the budget was set.

    >>> balance = Balance(Account(analyst="ana"), Budget(2), spent=Cost(Fraction(1, 2), Fraction(1, 8)), charges=1)
    >>> balance.used, balance.total, balance.remaining
    (Fraction(1, 2), Fraction(2, 1), Fraction(3, 2))
    >>> print(balance)
    analyst "ana": ε = 0.5 of 2 spent on 1 question, 1.5 left.
    """

    account: Account
    budget: Budget | None = None
    rho: Fraction | None = None
    spent: Cost = NOTHING
    charges: int = 0

    @property
    def unit(self) -> str:
        """The amount that adds up: "ε" or "ρ"."""
        return "ε" if self.budget is not None and self.budget.pure else "ρ"

    @property
    def total(self) -> Fraction | None:
        """The total that may be spent; None without a budget."""
        if self.budget is None:
            return None
        return self.budget.epsilon if self.budget.pure else self.rho

    @property
    def used(self) -> Fraction:
        """The amount that was spent."""
        return self.spent.epsilon or Fraction(0) if self.unit == "ε" else self.spent.rho

    @property
    def remaining(self) -> Fraction | None:
        """The amount that is left; None without a budget."""
        return None if self.total is None else self.total - self.used

    @property
    def room(self) -> Room | None:
        """The most that one more charge may cost; None without a budget."""
        if self.budget is None or self.remaining is None:
            return None
        if self.budget.pure:
            return Room(self.remaining, Fraction(0), Fraction(0))
        return Room(_question(self.remaining), self.remaining, self.budget.key_delta - self.spent.delta)

    def fits(self, cost: Cost) -> bool:
        """Return whether the account can afford this; equality is allowed.

        >>> Balance(Account(), Budget(2)).fits(Cost(Fraction(2), Fraction(2)))
        True
        """
        after = self.spent + cost
        if self.budget is None:
            return True
        if self.budget.pure:
            return after.delta == 0 and after.epsilon is not None and after.epsilon <= self.budget.epsilon
        return after.rho <= (self.rho or 0) and after.delta <= self.budget.key_delta

    def charged(self, cost: Cost) -> Balance:
        """Return the balance after this charge."""
        return replace(self, spent=self.spent + cost, charges=self.charges + 1)

    def granted(self, budget: Budget) -> Balance:
        """Return the balance with this budget."""
        return replace(self, budget=budget, rho=budget.rho)

    def __str__(self) -> str:
        questions = f"{self.charges} question" + ("" if self.charges == 1 else "s")
        spent = f"{self.account}: {self.unit} = {amounts.spent(self.used)}"
        if self.budget is None or self.total is None or self.remaining is None:
            return f"{spent} spent on {questions}, no budget of its own."
        sentence = (
            f"{spent} of {amounts.left(self.total)} spent on {questions}, {amounts.left(self.remaining)} left"
        )
        if self.budget.pure:
            return sentence + "."
        epsilon = amounts.left(self.room.epsilon) if self.room else "0"
        return f"{sentence}, enough for a question of ε = {epsilon} (budget: {self.budget})."


def written(value: Balance) -> dict[str, Any]:
    """Return a balance as JSON."""
    budget = None
    if value.budget is not None:
        budget = {"epsilon": str(value.budget.epsilon), "delta": str(value.budget.delta), "rho": _text(value.rho)}
    return {"budget": budget, "spent": written_cost(value.spent), "charges": value.charges}


def written_cost(value: Cost) -> dict[str, str | None]:
    """Return a cost as JSON."""
    return {"epsilon": _text(value.epsilon), "rho": str(value.rho), "delta": str(value.delta)}


def read(account: Account, value: dict[str, Any]) -> Balance:
    """Return the balance that was written."""
    budget, rho = None, None
    if value["budget"] is not None:
        budget = _budget(value["budget"]["epsilon"], value["budget"]["delta"])
        rho = _number(value["budget"]["rho"])
    return Balance(account, budget, rho, read_cost(value["spent"]), value["charges"])


@lru_cache(maxsize=64)  # every question reads the same few
def _budget(epsilon: str, delta: str) -> Budget:
    return Budget(epsilon, delta)


def read_cost(value: dict[str, str | None]) -> Cost:
    """Return the cost that was written. It is never below zero."""
    cost = Cost(_number(value["epsilon"]), Fraction(value["rho"] or ""), Fraction(value["delta"] or ""))
    if min(cost.epsilon or 0, cost.rho, cost.delta) < 0:
        raise ValueError("an amount below zero")
    return cost


def _question(rho: Fraction) -> Fraction:
    """Return the largest ε of six digits with ε²/2 ≤ ρ."""
    square = max(2 * rho, Fraction(0))
    root = math.isqrt(square.numerator * 10 ** (2 * _PLACES) // square.denominator)
    return Fraction(amounts.decimal(Fraction(root, 10**_PLACES)))


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _number(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
