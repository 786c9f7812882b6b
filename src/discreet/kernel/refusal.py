"""Say what share of the budget a refused release may still spend."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import BudgetExceeded, Fix
from discreet.kernel.amount import whole_amount
from discreet.kernel.payer import strictest_budget
from discreet.ledger.balance import Balance, largest_pure_epsilon
from discreet.render import numbers


def affordable_share(balances: Sequence[Balance]) -> str | None:
    """Return the largest share of the whole budget that every account can pay, rounded down to two digits.

    It is None if nothing is left.

    >>> from discreet.ledger import Account, Budget, Cost
    >>> whole = Balance(Account(), Budget(2)).charged(Cost(Fraction(4, 3)))
    >>> affordable_share([whole]), affordable_share([whole.charged(Cost(Fraction(2, 3)))])
    ('33%', None)
    """
    pure = strictest_budget(balances).pure
    total = whole_amount(balances, pure)
    limits = [_limit(balance, pure) for balance in balances if balance.budget is not None]
    if not total or min(limits) <= 0:
        return None
    return f"{numbers.decimal(100 * min(Fraction(1), min(limits) / total), digits=2):f}%"


def with_share(error: BudgetExceeded, balances: Sequence[Balance]) -> BudgetExceeded:
    """Return a refusal that offers a share of the budget, where the ledger offered an ε."""
    offered = any(isinstance(fix, Fix) and fix.parameter == "epsilon" for fix in error.fixes)
    share = affordable_share(balances) if offered else None
    return error if share is None else BudgetExceeded(error.problem, fix=Fix("spend", share))


def _limit(balance: Balance, pure: bool) -> Fraction:
    """Return what an account can pay: an ε for a pure release, else a ρ."""
    left = balance.remaining or Fraction(0)
    return largest_pure_epsilon(left) if pure and balance.unit == "ρ" else left
