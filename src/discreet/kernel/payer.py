"""Name who pays: a ledger, and the accounts in it that a charge is taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import Code, Fix, ParameterError
from discreet.ledger import Budget, Ledger
from discreet.ledger.balance import Balance
from discreet.ledger.charge import Charge, Standing
from discreet.privacy.losses import Losses


@dataclass(frozen=True)
class Payer:
    """The accounts that a release is charged to: the whole vault, and those of an analyst and a purpose.

    Args:
        ledger: The ledger of the vault.
        analyst: The analyst whose account pays as well; none by default.
        purpose: The purpose whose account pays as well; none by default.
    """

    ledger: Ledger
    analyst: str | None = None
    purpose: str | None = None

    def standing(self, key: str) -> Standing:
        """Return the recorded answer under this key, and the balances, all of one moment."""
        return self.ledger.standing(key, analyst=self.analyst, purpose=self.purpose)

    def balances(self) -> tuple[Balance, ...]:
        """Return the balances of the accounts that pay, that of the whole vault first."""
        return self.standing("").balances

    def can_afford(self, losses: Losses, balances: Sequence[Balance] | None = None) -> bool:
        """Return whether a charge of these losses would be accepted now, or with balances that were just read."""
        return self.ledger.can_afford(losses, analyst=self.analyst, purpose=self.purpose, balances=balances)

    def reserve(self, losses: Losses, key: str, *, resumable: bool = False, time: str | None = None) -> Charge:
        """Charge the accounts. For `kernel.spend` only."""
        return self.ledger.reserve(
            losses, question=key, analyst=self.analyst, purpose=self.purpose, resumable=resumable, time=time
        )

    def record(self, charge: Charge, answer: str) -> None:
        """Keep the answer that a charge paid for. For `kernel.spend` only."""
        self.ledger.record(charge, answer)

    def fail(self, charge: Charge, reason: str) -> None:
        """Close a charge that gets no answer. For `kernel.spend` only."""
        self.ledger.fail(charge, reason)

    def strictest_budget(self) -> Budget:
        """Return the budget that decides which noise may be drawn."""
        return strictest_budget(self.balances())


def strictest_budget(balances: Sequence[Balance]) -> Budget:
    """Return the budget that decides which noise may be drawn: an account without δ pays for pure ε only.

    >>> from discreet.ledger import Account
    >>> strictest_budget([Balance(Account(), Budget(2, "1e-9")), Balance(Account(analyst="ana"), Budget(1))])
    Budget(epsilon=Fraction(1, 1), delta=Fraction(0, 1))
    """
    vault_budget(balances)
    budgets = [balance.budget for balance in balances if balance.budget is not None]
    return min(budgets, key=lambda budget: (budget.delta, budget.epsilon))


def expect_delta(budget: Budget, product: str) -> None:
    """Refuse a product that takes a budget with δ. The budget that is offered has the same ε.

    Args:
        budget: The budget that decides.
        product: What is refused, as the subject of a sentence: "An oracle".

    >>> expect_delta(Budget(2, "1e-9"), "An oracle")
    >>> expect_delta(Budget(1), "An oracle")
    Traceback (most recent call last):
        ...
    discreet.errors.ParameterError: An oracle adds up many small losses, which takes a budget with δ
    (found: ε = 1). Try: ledger.amend(budget=Budget(epsilon="1", delta="1e-9")) (by the curator, with a reason).
    """
    if budget.pure:
        raise ParameterError(
            f"{product} adds up many small losses, which takes a budget with δ.",
            found=budget,
            fix=Fix(
                "budget",
                Budget(budget.epsilon, "1e-9").code,
                call="ledger.amend",
                note="by the curator, with a reason",
            ),
        )


def vault_budget(balances: Sequence[Balance]) -> Budget:
    """Return the budget of the whole vault."""
    if balances[0].budget is None:
        raise ParameterError(
            "The ledger of this vault has no budget.",
            fix=Fix("budget", Code('Budget(epsilon=2, delta="1e-9")'), call="ledger.amend"),
        )
    return balances[0].budget
