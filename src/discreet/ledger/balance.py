"""Compute the balance of an account: its budget, what it has spent, and what is left.

An account without a budget still counts what it has spent. Where ρ adds up, a release of ε costs the largest ρ
that converts to (ε, δ/2): what is left is enough for the largest ε of six digits whose ρ, found and checked in the
same way, is not above what is left. A pure release of ε costs ε²/2 at most there: what is left is enough for ε =
√(2ρ), rounded down. Balances are written into the entries of the ledger, amounts as text "p/q".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.ledger.account import Account
from discreet.ledger.budget import Budget
from discreet.ledger.costs import NOTHING, Cost
from discreet.privacy.theorems.calibration import largest_rho
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.render import numbers

_PLACES = 320  # behind the point, of a root: those of a budget are 300 at most


@dataclass(frozen=True)
class Room:
    """The most that one more charge may cost.

    Args:
        epsilon: The guarantee of one more release by itself, at the budget's δ.
        rho: Its ρ, where ρ adds up.
        delta: Its δ for partition selection.

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
    analyst "ana": 25 % used by 1 question, 75 % left (budget: ε = 2).
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
        key_delta = self.budget.key_delta
        return Room(largest_epsilon(self.remaining, key_delta), self.remaining, key_delta - self.spent.delta)

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
        if self.budget is None or self.total is None or self.remaining is None:
            spent = f"{self.unit} = {numbers.spent(self.used)}"
            return f"{self.account}: {spent} spent on {questions}, no budget of its own."
        if not self.total:
            return f"{self.account}: nothing to spend (budget: {self.budget})."
        used, left = numbers.share(self.used, self.total), share_left(self.remaining, self.total)
        return f"{self.account}: {used} used by {questions}, {left} left (budget: {self.budget})."


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


@lru_cache(maxsize=1024)
def largest_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ε of six digits that costs at most this ρ at this δ; 0 if there is none.

    Whatever is returned has been checked: the ρ of a release of this ε is at most the given one.

    >>> budget = Budget(2, "1e-9")
    >>> largest_epsilon(budget.rho, budget.key_delta)
    Fraction(2, 1)
    """
    if rho <= 0:
        return Fraction(0)
    converted = Fraction(zcdp_to_approximate(rho, delta))
    above, below = (Fraction(numbers.decimal(converted, way)) for way in (ROUND_CEILING, ROUND_FLOOR))
    # The conversion is a float, rounded up, and ρ is rounded down: one of the neighbours may be the answer.
    tried = (above, below, Fraction(numbers.decimal(below * (1 - Fraction(1, 10**6)))))
    return next((epsilon for epsilon in tried if epsilon > 0 and largest_rho(epsilon, delta) <= rho), Fraction(0))


def largest_pure_epsilon(rho: Fraction) -> Fraction:
    """Return the largest ε of six digits with ε²/2 ≤ ρ, rounded down.

    >>> largest_pure_epsilon(Fraction(1, 200))
    Fraction(1, 10)
    """
    square = max(2 * rho, Fraction(0))
    root = math.isqrt(square.numerator * 10 ** (2 * _PLACES) // square.denominator)
    return Fraction(numbers.decimal(Fraction(root, 10**_PLACES)))


def share_left(remaining: Fraction, total: Fraction) -> str:
    """Return what is left of a budget in percent, rounded down to three digits.

    >>> share_left(Fraction(2, 3), Fraction(1)), share_left(Fraction(0), Fraction(0))
    ('66.6 %', '0 %')
    """
    return f"{numbers.decimal(100 * remaining / total, ROUND_FLOOR, 3):f} %" if total else "0 %"


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _number(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
