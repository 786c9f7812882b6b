"""Keep the ledger: charge first, release afterwards, forget nothing.

Claims, for every ledger and however its questions, costs and moments were chosen:

1. What was charged never exceeds the budget of any account it touched. Checking and charging are one exclusive
   transaction on exact fractions, so two processes cannot both spend the last ε.
2. `reserve` returns after the charge is on the disk. A vault draws noise only afterwards: a crash may waste
   budget, but never leaks any.
3. Nothing is changed or taken back: entries are appended, each chained to the one before by its hash.

There is no refund. The answer to a charge without a release may have been drawn, and seen in a log, a debugger or
the memory of a process that died afterwards. Such charges are listed by `unfinished`, and stay spent.

The time of an entry is that of the system clock. The order is by number, whatever the clocks show.
Theory in docs/theory/ledger.md.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

from discreet.errors import BudgetExceeded, Code, Fix, LedgerTampered, NotComposable, ParameterError
from discreet.ledger import render, transitions
from discreet.ledger.account import Account
from discreet.ledger.admission import admit, common_room
from discreet.ledger.balance import Balance, Room, read, written, written_cost
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge, Standing
from discreet.ledger.costs import cost, described
from discreet.ledger.entry import ORIGIN, RESTORE, Entry, Head, digest, sealed, stamp
from discreet.ledger.store import Rows, Store
from discreet.ledger.store.postgres import PostgresStore
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.postgres import check_path, is_address
from discreet.privacy.losses import Losses
from discreet.rational import shown

Clock: TypeAlias = Callable[[], datetime]
Place: TypeAlias = str | os.PathLike[str] | Store


class Ledger:
    """Budgets, charges and releases of one vault. For many processes and threads at once.

    >>> import tempfile, os
    >>> from discreet.privacy import Laplace
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(os.path.join(folder.name, "people.ledger"), Budget(epsilon=1))
    >>> ledger.allot(analyst="ana", budget=Budget("0.3"))
    >>> charge = ledger.reserve(Laplace(scale=5), question="how many?", analyst="ana")
    >>> ledger.record(charge, "1042")
    >>> ledger.reserve(Laplace(scale=5), question="how many are ill?", analyst="ana")
    Traceback (most recent call last):
    discreet.errors.BudgetExceeded: Too expensive: it needs 2 times what is left for analyst "ana".
    Try: epsilon="0.1" (still fits). The ledger shows which account spent what.
    >>> ledger.verify().number
    4
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, store: Store, *, clock: Clock | None = None):
        """Use `Ledger.create` or `Ledger.open`."""
        self._store = store
        self._clock = clock or (lambda: datetime.now(UTC))
        with store.read() as rows:
            opening, last = rows.get(1), rows.last()  # each is checked against its predecessor
        if opening is None or last is None or opening.kind != "opening":
            raise LedgerTampered(f"The ledger {store.name} has lost its first entry.", fix=RESTORE)
        self._strict, self._first = bool(opening.content["strict"]), opening.head

    @classmethod
    def create(
        cls,
        place: Place,
        budget: Budget,
        *,
        strict: bool = False,
        timeout: float = 30,
        clock: Clock | None = None,
    ) -> Ledger:
        """Make a ledger with a budget for the whole vault. A place that is not empty is refused.

        Args:
            place: The path of a new file, or an address with the name of a schema in a PostgreSQL database:
                "postgresql://user:password@host/database#people".
            budget: The budget of the whole vault.
            strict: Whether every charge must name an analyst, and every analyst and purpose that is named needs an
                account. By default, analysts without an account spend from the whole.
            timeout: How many seconds to wait for other writers; 30 by default.
            clock: The clock that dates the entries; the system clock by default.
        """
        store = _store(place, timeout)
        store.create(first_entry(budget, strict=strict, clock=clock))
        return cls(store, clock=clock)

    @classmethod
    def open(cls, place: Place, *, timeout: float = 30, clock: Clock | None = None) -> Ledger:
        """Open a ledger, by its path or its address. `timeout` is how many seconds to wait for other writers."""
        return cls(_store(place, timeout), clock=clock)

    @property
    def strict(self) -> bool:
        """True if only accounts with a budget of their own may spend."""
        return self._strict

    @property
    def first(self) -> Head:
        """Number and hash of the first entry, which no other ledger has: a vault knows its own by it."""
        return self._first

    # -- what the curator does --------------------------------------------------------------------------------

    def allot(
        self, *, budget: Budget, analyst: str | None = None, purpose: str | None = None, reason: str = ""
    ) -> None:
        """Give an analyst or a purpose a budget of its own. What it has spent before counts.

        Args:
            budget: The budget of the account.
            analyst: The analyst who gets the budget.
            purpose: The purpose that gets the budget: give it or `analyst`, not both.
            reason: Why, for the readers of the ledger; empty by default.
        """
        account = Account(analyst, purpose)
        if account.role == "vault":
            raise ParameterError(
                "An allotment must name an analyst or a purpose.",
                fix=[Fix("analyst", "ana"), Fix("purpose", "yearly report")],
            )
        self._grant("allotment", account, budget, reason)

    def amend(
        self, budget: Budget, *, analyst: str | None = None, purpose: str | None = None, reason: str = ""
    ) -> None:
        """Change the budget of the whole, or of an account. It is recorded, and cannot fall below what was spent.

        A budget that is raised after looking at answers promises only the raised amount.

        Args:
            budget: The new budget.
            analyst: The analyst whose budget changes.
            purpose: The purpose whose budget changes. Without either, the budget of the whole changes.
            reason: Why, for the readers of the ledger; empty by default.
        """
        self._grant("amendment", Account(analyst, purpose), budget, reason)

    def _grant(self, kind: str, account: Account, budget: Budget, reason: str) -> None:
        _expect_budget(budget)
        with self._store.write() as rows:
            whole, before = _balance(rows, Account()), _balance(rows, account)
            if kind == "allotment" and before.budget is not None:
                raise ParameterError(
                    f"There is already a budget for {account}.",
                    found=before.budget,
                    fix=Fix("budget", budget.code, call="ledger.amend"),
                )
            if kind == "amendment" and before.budget is None:
                raise ParameterError(
                    f"There is no budget for {account} to amend.",
                    fix=Fix("budget", budget.code, call="ledger.allot"),
                )
            after = transitions.with_budget(before, budget)
            balances = [after] if account.role == "vault" else [whole, after]
            self._append(rows, kind, {**_who(account), "reason": reason, "after": _after(balances)})

    # -- what a question does ---------------------------------------------------------------------------------

    def reserve(
        self, losses: Losses, *, question: str, analyst: str | None = None, purpose: str | None = None
    ) -> Charge:
        """Charge a question before noise is drawn for it. A refused charge costs nothing and leaves no trace.

        Args:
            losses: The losses of the question: one, or several.
            question: The canonical text of the question, by which its answer is found again.
            analyst: The analyst who asks, if named.
            purpose: The purpose of the question, if named.
        """
        if not (question and isinstance(question, str)):
            raise ParameterError(
                "The question must be the canonical text of what is asked.", found=shown(question)
            )
        charged, accounts = cost(losses), transitions.touched(analyst, purpose)
        whose = {account.role: account.analyst or account.purpose for account in accounts}
        names = {"analyst": whose.get("analyst"), "purpose": whose.get("purpose")}
        with self._store.write() as rows:
            before = [_balance(rows, account) for account in accounts]
            admit(before, charged, self._strict)
            after = [balance.charged(charged) for balance in before]
            content = {
                "question": question,
                **names,
                "losses": described(losses),
                "cost": written_cost(charged),
                "after": _after(after),
            }
            entry = self._append(rows, "charge", content)
        return Charge(entry.number, entry.hash, question, charged, **names, balances=tuple(after))

    def record(self, charge: Charge, answer: str) -> None:
        """Keep the answer to a charge, before it is shown. One charge is for one answer."""
        if not isinstance(answer, str):
            raise ParameterError(
                "The answer must be JSON text.",
                found=type(answer).__name__,
                fix=Fix("answer", Code("json.dumps(value)")),
            )
        with self._store.write() as rows:
            last = rows.last()
            reserved = last if last is not None and last.number == charge.number else rows.get(charge.number)
            if reserved is None or reserved.hash != charge.hash:
                raise ParameterError(
                    f"Charge {charge.number} was not made by this ledger ({self._store.name}).",
                    fix="Record the answer in the ledger that made the charge.",
                )
            if rows.release_of(charge.number) is not None:
                raise ParameterError(
                    f"Charge {charge.number} has its answer already.", fix="Reserve again to ask again."
                )
            content = {"charge": charge.number, "question": digest(charge.question), "answer": answer}
            self._append(rows, "release", content, last)

    def find(self, question: str) -> str | None:
        """Return the answer that was recorded for this question, the first if there are several. It is free."""
        with self._store.read() as rows:
            return _answer(rows, question)

    def standing(self, question: str, *, analyst: str | None = None, purpose: str | None = None) -> Standing:
        """Return the recorded answer of a question, and the balances of its accounts, all of one moment."""
        accounts = transitions.touched(analyst, purpose)
        with self._store.read() as rows:
            return Standing(_answer(rows, question), tuple(_balance(rows, account) for account in accounts))

    def can_afford(self, losses: Losses, *, analyst: str | None = None, purpose: str | None = None) -> bool:
        """Return whether `reserve` would accept this now."""
        needed = cost(losses)
        try:
            admit(self._balances(transitions.touched(analyst, purpose)), needed, self._strict)
        except (BudgetExceeded, NotComposable):  # too much, or of a kind that a budget without δ cannot afford
            return False
        return True

    def room(self, *, analyst: str | None = None, purpose: str | None = None) -> Room:
        """Return what one more charge may cost at most."""
        balances = self._balances(transitions.touched(analyst, purpose))
        return common_room(balances, self._strict)

    # -- balances and entries --------------------------------------------------------------------------------

    def balance(self, *, analyst: str | None = None, purpose: str | None = None) -> Balance:
        """Return what the whole, an analyst or a purpose may spend, has spent and has left."""
        return self._balances([Account(analyst, purpose)])[0]

    def balances(self) -> list[Balance]:
        """Return the balance of the whole, and of every analyst and purpose that was ever named."""
        with self._store.read() as rows:
            return [_balance(rows, account) for account in rows.accounts()]

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """Yield the entries after this number, including those that are added meanwhile."""
        while True:
            with self._store.read() as rows:
                some = rows.after(after)
            if not some:
                return
            yield from some
            after = some[-1].number

    def unfinished(self) -> list[Entry]:
        """Return the charges without a release: at work now, or lost in a crash, and spent in both cases."""
        with self._store.read() as rows:
            return rows.unfinished()

    def head(self) -> Head:
        """Return number and hash of the last entry. Keep them elsewhere: a cut tail cannot be seen from inside."""
        with self._store.read() as rows:
            last = rows.last()
        if last is None:
            raise LedgerTampered(f"The ledger {self._store.name} has lost its entries.", fix=RESTORE)
        return last.head

    def verify(self, *, since: Head | tuple[int, str] | None = None) -> Head:
        """Walk the chain and the sums from the first entry, and return the head. Raise at the first bad entry.

        With a head that was kept, see also that the ledger still contains it.
        """
        head = transitions.verified(self.entries(), None if since is None else Head(*since))
        self._store.check()
        return head

    def close(self) -> None:
        """Close idle connections. The ledger may still be used."""
        self._store.close()

    def _balances(self, accounts: list[Account]) -> list[Balance]:
        with self._store.read() as rows:
            return [_balance(rows, account) for account in accounts]

    def _append(self, rows: Rows, kind: str, content: dict[str, Any], last: Entry | None = None) -> Entry:
        last = last or rows.last()
        if last is None:
            raise LedgerTampered(f"The ledger {self._store.name} has lost its entries.", fix=RESTORE)
        if rows.first != self._first.hash:  # a charge to it would not be found again in the right one
            raise LedgerTampered(
                f"The ledger at {self._store.name} is not the one that was opened: it was replaced.",
                fix="Restore the right one from a backup.",
            )
        entry = sealed(last.hash, last.number + 1, stamp(self._clock()), kind, content)
        rows.append(entry)
        return entry

    def _table(self) -> tuple[str, list[Balance]]:
        balances, unfinished = self.balances(), len(self.unfinished())
        rest = f", {unfinished} without a release" if unfinished else ""
        return f"{self._store.name}: {balances[0].charges} charges{rest}", balances

    def __str__(self) -> str:
        return render.text(*self._table())

    def _repr_html_(self) -> str:
        return render.notebook(*self._table())

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r})"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A ledger is not copied or pickled: open it where it is needed, Ledger.open(path).")


def first_entry(budget: Budget, *, strict: bool = False, clock: Clock | None = None) -> Entry:
    """Return the entry that a new ledger begins with. No two are the same."""
    _expect_budget(budget)
    moment = (clock or (lambda: datetime.now(UTC)))()
    content = {
        "identity": secrets.token_hex(16),  # so that two ledgers never have the same head
        "strict": bool(strict),
        **_who(Account()),
        "after": _after([Balance(Account()).granted(budget)]),
    }
    return sealed(ORIGIN, 1, stamp(moment), "opening", content)


def _store(place: Place, timeout: float) -> Store:
    if isinstance(place, str) and is_address(place):
        return PostgresStore(place, timeout=timeout)
    check_path(place)
    return SQLiteStore(place, timeout=timeout) if isinstance(place, str | os.PathLike) else place


def _balance(rows: Rows, account: Account) -> Balance:
    entry = rows.latest(account)
    return Balance(account) if entry is None else read(account, entry.content["after"][account.role])


def _answer(rows: Rows, question: str) -> str | None:
    entry = rows.answer(digest(question))
    return None if entry is None else str(entry.content["answer"])


def _after(balances: list[Balance]) -> dict[str, Any]:
    return {balance.account.role: written(balance) for balance in balances}


def _who(account: Account) -> dict[str, Any]:
    return {"analyst": account.analyst, "purpose": account.purpose}


def _expect_budget(budget: Budget) -> None:
    if not isinstance(budget, Budget):
        raise ParameterError(
            "The budget must be a Budget.",
            found=shown(budget),
            fix=Fix("budget", Code('Budget(epsilon=2, delta="1e-9")')),
        )
