"""Apply an entry to the balances: when the ledger writes it, and again when the ledger is verified.

    opening      gives the whole a budget
    allotment    gives an analyst or a purpose a budget of its own
    amendment    changes a budget, never to less than was spent
    charge       adds a cost to the whole, to its analyst and to its purpose, each of which can afford it
    release      belongs to one charge, and no other release or failure does
    failure      closes one charge that gets no release

To verify a ledger is to walk from entry 1, and to accept only what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import Code, DiscreetError, Fix, LedgerTampered, ParameterError
from discreet.ledger.account import Account
from discreet.ledger.admission import admit
from discreet.ledger.balance import Balance, read, read_cost, written
from discreet.ledger.budget import Budget
from discreet.ledger.costs import NOTHING, Cost
from discreet.ledger.entry import RESTORE, Entry, Head, digest
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.render import numbers

_SLACK = 1 + Fraction(1, 10**9)  # another machine's library may find another twelfth digit of ρ


def touched(analyst: str | None, purpose: str | None) -> list[Account]:
    """Return the accounts that a charge must fit.

    >>> [str(account) for account in touched("ana", None)]
    ['the whole vault', 'analyst "ana"']
    """
    named = [Account(analyst=analyst)] * (analyst is not None) + [Account(purpose=purpose)] * (purpose is not None)
    return [Account(), *named]


def with_budget(balance: Balance, budget: Budget) -> Balance:
    """Return the balance with this budget, which must hold what was spent already."""
    after = balance.granted(budget)
    if after.fits(NOTHING):
        return after
    spent, whom = balance.spent, balance.account
    if budget.pure and (spent.epsilon is None or spent.delta):
        with_delta = Code(f'Budget(epsilon="{numbers.left(budget.epsilon)}", delta="1e-9")')
        raise ParameterError(
            f"The questions charged to {whom} have no pure ε, so its budget needs a δ.",
            fix=Fix("budget", with_delta),
        )
    if budget.pure and spent.epsilon is not None:
        least = numbers.spent(spent.epsilon)
        raise ParameterError(
            f"A budget cannot be below what was already spent: ε = {least} for {whom}.",
            found=budget,
            fix=Fix("budget", Code(f'Budget(epsilon="{least}")'), note="the least"),
        )
    raise ParameterError(
        f"A budget cannot be below what was already spent: ρ = {numbers.spent(spent.rho)} and "
        f"δ = {numbers.spent(spent.delta)} for {whom}.",
        found=f"{budget}, which holds ρ = {numbers.left(after.rho or Fraction(0))} and "
        f"δ = {numbers.left(budget.key_delta)}",
        fix=_least(spent, budget),
    )


def follow(
    entry: Entry, known: Mapping[Account, Balance], open_charges: dict[int, str], strict: bool
) -> list[Balance]:
    """Return the balances after an entry. Raise if it does not follow from what is known.

    Args:
        entry: The entry.
        known: The balances before it.
        open_charges: The charges without a release, by number, with the digests of their questions. It is updated.
        strict: Whether only accounts with a budget may spend.
    """
    content = entry.content
    if entry.kind in ("release", "failure"):
        if open_charges.pop(content["charge"], None) != content["question"]:
            raise ValueError(f"a {entry.kind} without a charge of its own")
        return []
    after = _settled(entry.kind, content, lambda account: known.get(account, Balance(account)), strict)
    if {balance.account.role: written(balance) for balance in after} != content["after"]:
        raise ValueError("balances that do not follow from those before")
    if entry.kind == "charge":
        open_charges[entry.number] = digest(content["question"])
    return after


def verified(entries: Iterable[Entry], since: Head | None) -> Head:
    """Walk all entries, and return the last. Raise at the first that does not follow."""
    known: dict[Account, Balance] = {}
    open_charges: dict[int, str] = {}
    head, strict = Head(0, ""), False
    for entry in entries:
        if entry.number != head.number + 1:
            raise LedgerTampered(f"Entry {head.number + 1} is missing from the ledger.", fix=RESTORE)
        try:
            strict = strict or (entry.kind == "opening" and entry.content["strict"])
            known |= {b.account: b for b in follow(entry, known, open_charges, strict)}
        except (ValueError, KeyError, TypeError, AttributeError, DiscreetError) as error:
            reason = error.problem if isinstance(error, DiscreetError) else str(error)
            raise LedgerTampered(
                f"Entry {entry.number} of the ledger does not follow from the entries before it.",
                found=reason,
                fix=RESTORE,
            ) from error
        head = entry.head
        if since is not None and head.number == since.number and head != since:
            raise LedgerTampered(
                f"Entry {head.number} of the ledger is not the one that was kept: it was rewritten.", fix=RESTORE
            )
    if since is not None and head.number < since.number:
        raise LedgerTampered(
            f"The ledger ends at entry {head.number}, and entry {since.number} was kept: its tail was cut off.",
            fix=RESTORE,
        )
    return head


def _settled(
    kind: str, content: dict[str, Any], known: Callable[[Account], Balance], strict: bool
) -> list[Balance]:
    whole = known(Account())
    if (kind == "opening") != (whole.budget is None):
        raise ValueError("the first entry, and no other, opens a ledger")
    if kind == "charge":
        cost = read_cost(content["cost"])
        before = [known(account) for account in touched(content["analyst"], content["purpose"])]
        admit(before, cost, strict)
        return [balance.charged(cost) for balance in before]
    account = Account(content["analyst"], content["purpose"])
    if kind not in ("opening", "allotment", "amendment"):
        raise ValueError(f"no kind of entry is called {kind!r}")
    if (kind == "amendment") != (known(account).budget is not None):
        raise ValueError("an allotment is the first budget of an account, and an amendment is not")
    after = read(account, content["after"][account.role])
    if after.budget is None or not _plausible(after) or not after.fits(NOTHING):
        raise ValueError(f"a budget that does not hold what was spent: {after}")
    if (after.spent, after.charges) != (known(account).spent, known(account).charges):
        raise ValueError("a budget that changes what was spent")
    return [after] if account.role == "vault" else [whole, after]


def _plausible(balance: Balance) -> bool:
    """Return whether the ρ that was written is the ρ of the budget."""
    own = balance.budget.rho if balance.budget else None
    if own is None or balance.rho is None:
        return own is None and balance.rho is None
    return balance.rho <= own * _SLACK


def _least(spent: Cost, budget: Budget) -> Fix:
    if spent.delta > budget.key_delta:
        return Fix("delta", numbers.spent(2 * spent.delta), note="at least")
    epsilon = Fraction(zcdp_to_approximate(spent.rho, budget.key_delta))
    return Fix("epsilon", numbers.spent(epsilon * (1 + Fraction(1, 10**9))), note="at least, with this delta")
