"""Write the bodies of entries: who is meant, what was agreed, and the balances after it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from discreet.errors import Code, Fix, ParameterError
from discreet.ledger.account import Account
from discreet.ledger.balance import Balance, written
from discreet.ledger.budget import Budget
from discreet.ledger.entry import ORIGIN, Entry, sealed, stamp
from discreet.noise.testing import test_bits as bits_in_use
from discreet.rational import shown

Clock: TypeAlias = Callable[[], datetime]


def first_entry(budget: Budget, *, strict: bool = False, clock: Clock | None = None) -> Entry:
    """Return the entry that a new ledger begins with. No two are the same.

    A ledger that is made inside of `noise.deterministic` says so for ever: it belongs to a vault for tests.
    """
    expect_budget(budget)
    moment = (clock or (lambda: datetime.now(UTC)))()
    content = {
        "identity": secrets.token_hex(16),  # so that two ledgers never have the same head
        "strict": bool(strict),
        **({"test_bits": True} if bits_in_use() is not None else {}),
        **who(Account()),
        "after": after([Balance(Account()).granted(budget)]),
    }
    return sealed(ORIGIN, 1, stamp(moment), "opening", content)


def after(balances: list[Balance]) -> dict[str, Any]:
    """Return the balances that an entry leaves behind, by the role of their account."""
    return {balance.account.role: written(balance) for balance in balances}


def who(account: Account) -> dict[str, Any]:
    """Return the account that an entry is about."""
    return {"analyst": account.analyst, "purpose": account.purpose}


def expect_budget(budget: Budget) -> None:
    """Refuse what is not a `Budget`."""
    if not isinstance(budget, Budget):
        raise ParameterError(
            "The budget must be a Budget.",
            found=shown(budget),
            fix=Fix("budget", Code('Budget(epsilon=2, delta="1e-9")')),
        )
