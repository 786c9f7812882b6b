"""What a release was paid with, and what is left: the ledger's amounts, and what they mean as (ε, δ).

A ledger without δ adds up ε, and a release of ε is ε-DP. A ledger with δ adds up ρ: a release of ρ, and of δ₀ for
the keys it selected, is δ₀-approximately ρ-zCDP, hence (ε, δ)-DP with ε the conversion of ρ at δ − δ₀, where δ is
that of the ledger. `promise` is the smaller of this ε and a pure one, where there is one. A question asked with
epsilon=e costs e, or ρ = e²/2, at most, so what is left is enough for one more with e = √(2ρ). What was spent is
rounded up and what is left is rounded down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import ParameterError
from discreet.ledger.balance import Balance
from discreet.ledger.budget import Budget
from discreet.ledger.costs import NOTHING, Cost
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.privacy.theorems.odds import explain
from discreet.render import amounts


class Promise(NamedTuple):
    """(ε, δ)-differential privacy."""

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        epsilon = f"ε = {amounts.spent(self.epsilon)}"
        return f"{epsilon} at δ = {amounts.spent(self.delta)}" if self.delta else epsilon

    @property
    def meaning(self) -> str:
        """What it means for one person, in a sentence or two.

        >>> print(Promise(Fraction(1), Fraction(0)).meaning)
        An attacker who starts at even odds about one person ends at no more than 73.2 %.
        """
        return explain(self.epsilon, self.delta)


@dataclass(frozen=True)
class Receipt:
    """What was charged, the losses in words, and the accounts after it was: that of the whole vault comes first.

    >>> from discreet.ledger import Account
    >>> cost = Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 200))
    >>> after = Balance(Account(), Budget(2)).charged(cost)
    >>> receipt = Receipt(cost=cost, losses=["Laplace(scale=10)"], balances=[after])
    >>> print(receipt.spent, receipt.left, sep="; ")
    ε = 0.1; ε = 1.9 of 2 is left
    """

    cost: Cost
    losses: Sequence[str]
    balances: Sequence[Balance]

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", tuple(self.losses))
        object.__setattr__(self, "balances", tuple(self.balances))
        if not self.balances or self.balances[0].account.role != "vault" or self.balances[0].budget is None:
            raise ParameterError(
                "A bill begins with the balance of the whole vault: balances=[ledger.balance(), …]."
            )

    @property
    def whole(self) -> Balance:
        """The account of the whole vault."""
        return self.balances[0]

    @property
    def budget(self) -> Budget:
        """What the whole vault may spend."""
        return self.whole.budget or Budget(0)

    @property
    def spent(self) -> str:
        """What this release cost, in the amount that the ledger adds up."""
        cost, unit = self.cost, self.whole.unit
        amount = (
            f"ε = {amounts.spent(cost.epsilon or Fraction(0))}"
            if unit == "ε"
            else f"ρ = {amounts.spent(cost.rho)}"
        )
        return f"{amount} and δ = {amounts.spent(cost.delta)}" if cost.delta else amount

    @property
    def left(self) -> str:
        """What may still be spent, by every account that this release was charged to."""
        return "; ".join(map(_left, self.balances))

    @property
    def promise(self) -> Promise:
        """What this release promises, by itself.

        >>> from discreet.ledger import Account
        >>> gaussian = Receipt(Cost(None, Fraction(1, 200)), (), [Balance(Account(), Budget(2, "1e-9"))])
        >>> print(gaussian.promise)
        ε = 0.564894 at δ = 1e-9
        """
        cost, budget = self.cost, self.budget
        if budget.pure:
            return Promise(cost.epsilon or Fraction(0), Fraction(0))
        converted = Fraction(zcdp_to_approximate(cost.rho, budget.delta - cost.delta))
        if cost.epsilon is not None and cost.epsilon <= converted and not cost.delta:
            return Promise(cost.epsilon, Fraction(0))
        return Promise(converted, budget.delta)

    @property
    def total(self) -> Promise:
        """What everything together promises that is ever asked of the vault."""
        return Promise(self.budget.epsilon, self.budget.delta)

    def now(self, balances: Sequence[Balance]) -> Receipt:
        """Return the same bill beside the accounts as they are now."""
        return replace(self, balances=tuple(balances))


def together(bills: Sequence[Receipt]) -> Receipt:
    """Return one bill for several charges: what they cost in all, beside the accounts after the last of them.

    >>> from discreet.ledger import Account
    >>> first = Receipt(Cost(Fraction(1, 10)), ["Laplace(scale=10)"], [Balance(Account(), Budget(2))])
    >>> print(together([first, first]).spent, together([first, first]).losses)
    ε = 0.2 ('Laplace(scale=10)', 'Laplace(scale=10)')
    """
    cost = sum((receipt.cost for receipt in bills), NOTHING)
    return replace(bills[-1], cost=cost, losses=tuple(loss for receipt in bills for loss in receipt.losses))


def largest_question(balance: Balance) -> Fraction | None:
    """Return the largest ε that one more question may be asked with, rounded down; None without a budget.

    >>> from discreet.ledger import Account
    >>> largest_question(Balance(Account(), Budget(2)))
    Fraction(2, 1)
    >>> amounts.left(largest_question(Balance(Account(), Budget(2, "1e-9")).granted(Budget(2, "1e-9"))))
    '0.329033'
    """
    return None if balance.room is None else balance.room.epsilon


def _left(balance: Balance) -> str:
    total, remaining, question = balance.total, balance.remaining, largest_question(balance)
    whose = "" if balance.account.role == "vault" else f" for {balance.account}"
    if total is None or remaining is None or question is None:
        return f"no limit{whose or ' for the whole vault'}"
    sentence = f"{balance.unit} = {amounts.left(remaining)} of {amounts.left(total)} is left{whose}"
    return (
        sentence if balance.unit == "ε" else f"{sentence}, enough for a question of ε = {amounts.left(question)}"
    )
