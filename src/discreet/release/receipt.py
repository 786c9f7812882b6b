"""State what a release was charged, and what is left: the ledger's amounts, and their meaning as (ε, δ).

A ledger without δ adds up ε, and a release of ε is ε-DP. A ledger with δ adds up ρ: a release of ρ, and of δ₀ for
the keys it selected, is δ₀-approximately ρ-zCDP, hence (ε, δ)-DP with ε the conversion of ρ at δ − δ₀, where δ is
that of the ledger. Half of δ is kept for keys: a ledger admits δ₀ ≤ δ/2, and ρ is converted at δ/2, with keys and
without, as it was when the release was asked for with epsilon=ε. So `promise` repeats what was asked. It is a
pure ε where there is a smaller one, and what a sharper theorem proved where that is given (`proven`). What was
spent is rounded up and what is left is rounded down.

Without a vault there are no accounts: under local differential privacy every device charges itself. Then
`lifetime` is the budget of one device, the charge is the most that one device spent, and what is left is not
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from discreet.errors import Code, Fix, ParameterError
from discreet.ledger.account import Account
from discreet.ledger.balance import Balance, share_left
from discreet.ledger.budget import Budget
from discreet.ledger.costs import NOTHING, Cost
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.privacy.theorems.odds import explain
from discreet.render import numbers

UNKNOWN = "what a device has left is known to that device only"
"""What a receipt states instead of balances where devices are charged."""


class Promise(NamedTuple):
    """(ε, δ)-differential privacy."""

    epsilon: Fraction
    delta: Fraction

    def __str__(self) -> str:
        epsilon = f"ε = {numbers.spent(self.epsilon)}"
        return f"{epsilon} at δ = {numbers.spent(self.delta)}" if self.delta else epsilon

    @property
    def meaning(self) -> str:
        """The meaning for one person, in a sentence or two.

        >>> print(Promise(Fraction(1), Fraction(0)).meaning)
        An attacker who starts at even odds about one person ends at no more than 73.2 %.
        """
        return explain(self.epsilon, self.delta)


@dataclass(frozen=True)
class Receipt:
    """One charge, and the accounts after it.

    Args:
        cost: The amounts that were charged.
        losses: The privacy losses, in words.
        balances: The accounts after the charge; that of the whole vault comes first. None without a vault.
        lifetime: The budget of one device, where devices are charged and not a vault; None by default.
        proven: The guarantee of this release by itself, where a sharper theorem than the conversion of ρ proves
            it, such as Gaussian DP for a synthetic table; none by default.

    >>> from discreet.ledger import Account
    >>> cost = Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 200))
    >>> after = Balance(Account(), Budget(2)).charged(cost)
    >>> receipt = Receipt(cost=cost, losses=["Laplace(scale=10)"], balances=[after])
    >>> print(receipt.spent, receipt.left, sep="; ")
    ε = 0.1; ε = 1.9 of 2 is left
    >>> print(receipt.used, receipt.remaining, sep="; ")
    5 % of the budget; 95 % is left
    >>> device = Receipt(cost=cost, losses=["one report"], balances=(), lifetime=Budget(2))
    >>> print(device.spent, device.left, sep="; ")
    ε = 0.1; what a device has left is known to that device only
    """

    cost: Cost
    losses: Sequence[str]
    balances: Sequence[Balance]
    lifetime: Budget | None = None
    proven: Promise | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "losses", tuple(self.losses))
        object.__setattr__(self, "balances", tuple(self.balances))
        if self.lifetime is not None:
            if self.balances:
                raise ParameterError(
                    "The receipt of a device has no accounts of a vault.", fix=Fix("balances", Code("()"))
                )
            return
        if not self.balances or self.balances[0].account.role != "vault" or self.balances[0].budget is None:
            raise ParameterError(
                "A receipt begins with the balance of the whole vault.",
                fix=Fix("balances", Code("[ledger.balance()]")),
            )

    @classmethod
    def free_of(cls, receipt: Receipt) -> Receipt:
        """Return a receipt for a result that cost nothing, with the accounts of another receipt.

        >>> from discreet.ledger import Account
        >>> paid = Receipt(Cost(Fraction(1, 10)), ["Laplace(scale=10)"], [Balance(Account(), Budget(2))])
        >>> Receipt.free_of(paid).free
        True
        """
        return cls(cost=NOTHING, losses=(), balances=receipt.balances, lifetime=receipt.lifetime)

    @property
    def free(self) -> bool:
        """Whether nothing was charged."""
        return self.cost == NOTHING

    @property
    def whole(self) -> Balance:
        """The account of the whole vault; of a device without a vault, one with its budget and nothing spent."""
        return self.balances[0] if self.lifetime is None else Balance(Account(), self.lifetime)

    @property
    def budget(self) -> Budget:
        """The budget of the whole vault, or of one device."""
        return self.whole.budget or Budget(0)

    @property
    def remaining_amount(self) -> Fraction | None:
        """What is left of the whole vault, in the unit that the ledger adds up; None if it is not known."""
        return self.whole.remaining if self.lifetime is None else None

    @property
    def amount(self) -> Fraction:
        """The charge in the unit that the ledger adds up: ε, or ρ if the budget has a δ."""
        return self.cost.epsilon or Fraction(0) if self.whole.unit == "ε" else self.cost.rho

    @property
    def share(self) -> Fraction:
        """The charge as a share of the budget of the vault, or of the device; 0 if that budget is 0."""
        total = self.whole.total
        return self.amount / total if total else Fraction(0)

    @property
    def spent(self) -> str:
        """The charge in the unit that the ledger adds up, as text."""
        amount = f"{self.whole.unit} = {numbers.spent(self.amount)}"
        return f"{amount} and δ = {numbers.spent(self.cost.delta)}" if self.cost.delta else amount

    @property
    def left(self) -> str:
        """The rest of every account that was charged, as text."""
        return "; ".join(map(_left, self.balances)) if self.lifetime is None else UNKNOWN

    @property
    def used(self) -> str:
        """The charge as a share of the budget, in percent."""
        return f"{numbers.share(self.share, Fraction(1))} of the budget"

    @property
    def remaining(self) -> str:
        """The rest of every account that was charged, in percent."""
        return "; ".join(map(_remaining, self.balances)) if self.lifetime is None else UNKNOWN

    @cached_property
    def promise(self) -> Promise:
        """The guarantee of this release by itself.

        >>> from discreet.ledger import Account
        >>> gaussian = Receipt(Cost(None, Fraction(1, 200)), (), [Balance(Account(), Budget(2, "1e-9"))])
        >>> print(gaussian.promise)
        ε = 0.576786 at δ = 1e-9
        """
        cost, budget = self.cost, self.budget
        if self.proven is not None:
            return self.proven
        if budget.pure:
            return Promise(cost.epsilon or Fraction(0), Fraction(0))
        # A budget that was amended since may have less δ: then the keys have taken more than half of it.
        converted = Fraction(zcdp_to_approximate(cost.rho, min(budget.key_delta, budget.delta - cost.delta)))
        if cost.epsilon is not None and cost.epsilon <= converted and not cost.delta:
            return Promise(cost.epsilon, Fraction(0))
        return Promise(converted, budget.delta)

    @property
    def total(self) -> Promise:
        """The guarantee of everything together that is ever asked of the vault, or of the device."""
        return Promise(self.budget.epsilon, self.budget.delta)

    def now(self, balances: Sequence[Balance]) -> Receipt:
        """Return the same receipt with the accounts as they are now."""
        return replace(self, balances=tuple(balances))

    def in_numbers(self) -> dict[str, Any]:
        """Return the charge and the rest for a program: exact fractions as text, and floats.

        >>> from discreet.ledger import Account
        >>> cost = Cost(epsilon=Fraction(1, 10), rho=Fraction(1, 200))
        >>> paid = Receipt(cost, (), [Balance(Account(), Budget(2)).charged(cost)])
        >>> paid.in_numbers()["spent"], paid.in_numbers()["share"]
        ({'exact': '1/10', 'value': 0.1}, 0.05)
        """
        promise = self.promise
        return {
            "unit": "epsilon" if self.whole.unit == "ε" else "rho",
            "spent": exact(self.amount),
            "left": exact(self.remaining_amount),
            "share": float(self.share),
            "guarantee": {"epsilon": float(promise.epsilon), "delta": float(promise.delta)},
            "accounts": [
                {
                    "analyst": balance.account.analyst,
                    "purpose": balance.account.purpose,
                    "left": exact(balance.remaining),
                    "left_share": float(balance.remaining / balance.total)
                    if balance.total and balance.remaining is not None
                    else None,
                }
                for balance in self.balances
            ],
        }


def together(receipts: Sequence[Receipt]) -> Receipt:
    """Return one receipt for several charges: their total cost, and the accounts after the last of them.

    >>> from discreet.ledger import Account
    >>> first = Receipt(Cost(Fraction(1, 10)), ["Laplace(scale=10)"], [Balance(Account(), Budget(2))])
    >>> print(together([first, first]).spent, together([first, first]).losses)
    ε = 0.2 ('Laplace(scale=10)', 'Laplace(scale=10)')
    """
    cost = sum((receipt.cost for receipt in receipts), NOTHING)
    losses = tuple(loss for receipt in receipts for loss in receipt.losses)
    return replace(receipts[-1], cost=cost, losses=losses, proven=None)  # a proof is about one release


def largest_question(balance: Balance) -> Fraction | None:
    """Return the largest ε that one more release may have at the budget's δ, rounded down; None without a budget.

    >>> from discreet.ledger import Account
    >>> largest_question(Balance(Account(), Budget(2)))
    Fraction(2, 1)
    >>> numbers.left(largest_question(Balance(Account(), Budget(2, "1e-9")).granted(Budget(2, "1e-9"))))
    '2'
    """
    return None if balance.room is None else balance.room.epsilon


def exact(amount: Fraction | None) -> dict[str, Any] | None:
    """Return an amount for a program: an exact fraction as text, and a float; None if there is none.

    >>> exact(Fraction(1, 8))
    {'exact': '1/8', 'value': 0.125}
    """
    return None if amount is None else {"exact": str(amount), "value": float(amount)}


def _whose(balance: Balance) -> str:
    return "" if balance.account.role == "vault" else f" for {balance.account}"


def _left(balance: Balance) -> str:
    total, remaining, question = balance.total, balance.remaining, largest_question(balance)
    whose = _whose(balance)
    if total is None or remaining is None or question is None:
        return f"no limit{whose or ' for the whole vault'}"
    sentence = f"{balance.unit} = {numbers.left(remaining)} of {numbers.left(total)} is left{whose}"
    return (
        sentence if balance.unit == "ε" else f"{sentence}, enough for a question of ε = {numbers.left(question)}"
    )


def _remaining(balance: Balance) -> str:
    whose = _whose(balance)
    if balance.total is None or balance.remaining is None:
        return f"no limit{whose or ' for the whole vault'}"
    if not balance.total:
        return f"nothing is left{whose}"
    return f"{share_left(balance.remaining, balance.total)} is left{whose}"
