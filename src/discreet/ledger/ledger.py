"""Keep the ledger: charge first, release afterwards, forget nothing.

Claims, for every ledger and however its questions, costs and moments were chosen:

1. What was charged never exceeds the budget of any account it touched. Checking and charging are one exclusive
   transaction on exact fractions, so two processes cannot both spend the last ε.
2. `reserve` returns after the charge is on the disk. A vault draws noise only afterwards: a crash may waste
   budget, but never leaks any.
3. Nothing is changed or taken back: entries are appended, each chained to the one before by its hash.

There is no refund: a charge without a release stays spent, and is listed by `unfinished`. It may be resumed where
`kernel.spend` made it for that: then the same question gets its one answer on the same charge.

The time of an entry is that of the system clock. The order is by number, whatever the clocks show.
Theory in docs/theory/ledger.md.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

from discreet.errors import Code, Fix, LedgerTampered, ParameterError
from discreet.ledger import transitions
from discreet.ledger.account import Account
from discreet.ledger.admission import admit
from discreet.ledger.balance import written_cost
from discreet.ledger.bodies import Clock, after, expect_budget, first_entry, who
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge
from discreet.ledger.costs import cost, described
from discreet.ledger.entry import RESTORE, Entry, digest, sealed, stamp
from discreet.ledger.reading import Reader, balance_in
from discreet.ledger.store import Rows, Store
from discreet.ledger.store.postgres import PostgresStore
from discreet.ledger.store.sqlite import SQLiteStore
from discreet.postgres import check_path, is_address
from discreet.privacy.losses import Losses
from discreet.rational import shown

Place: TypeAlias = str | os.PathLike[str] | Store


class Ledger(Reader):
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
        super().__init__(store)
        self._clock = clock or (lambda: datetime.now(UTC))

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
        self,
        budget: Budget,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        reason: str = "",
        confirmed: str = "",
    ) -> None:
        """Change the budget of the whole, or of an account. It is recorded, and cannot fall below what was spent.

        A budget that is raised after looking at answers promises only the raised amount.

        Args:
            budget: The new budget.
            analyst: The analyst whose budget changes.
            purpose: The purpose whose budget changes. Without either, the budget of the whole changes.
            reason: Why, for the readers of the ledger; empty by default.
            confirmed: How a person confirmed it, for the readers of the ledger; empty by default.
        """
        self._grant("amendment", Account(analyst, purpose), budget, reason, confirmed)

    def trust(self, role: str, *, budgets: bool = False) -> None:
        """Let a role of the PostgreSQL server charge and record answers. Only the owner of the ledger can do this.

        Other roles may be granted INSERT on the entries: they may charge, and the server refuses all else. A
        ledger that an older Discreet made gets the trigger for this, and `guarded` becomes True.

        Args:
            role: The role of the service that answers.
            budgets: Whether the role may also set budgets; False by default.
        """
        self._store.trust(role, budgets=budgets)

    def _grant(self, kind: str, account: Account, budget: Budget, reason: str, confirmed: str = "") -> None:
        expect_budget(budget)
        with self._store.write() as rows:
            whole, before = balance_in(rows, Account()), balance_in(rows, account)
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
            changed = transitions.with_budget(before, budget)
            balances = [changed] if account.role == "vault" else [whole, changed]
            agreed = {"reason": reason, **({"confirmed": confirmed} if confirmed else {})}
            self._append(rows, kind, {**who(account), **agreed, "after": after(balances)})

    # -- what a question does ---------------------------------------------------------------------------------

    def reserve(
        self,
        losses: Losses,
        *,
        question: str,
        analyst: str | None = None,
        purpose: str | None = None,
        resumable: bool = False,
        time: str | None = None,
    ) -> Charge:
        """Charge a question before noise is drawn for it. A refused charge costs nothing and leaves no trace.

        If the same accounts have paid the same for the same question, and their process died before it recorded
        the answer, a resumable charge goes on with theirs and costs nothing.

        Args:
            losses: The losses of the question: one, or several.
            question: The canonical text of the question, by which its answer is found again.
            analyst: The analyst who asks, if named.
            purpose: The purpose of the question, if named.
            resumable: Whether nothing of an answer leaves the process before it is recorded; False by default.
            time: The time of the entry; now by default. A later step of a question has that of the first.
        """
        if not (question and isinstance(question, str)):
            raise ParameterError(
                "The question must be the canonical text of what is asked.", found=shown(question)
            )
        charged, accounts = cost(losses), transitions.touched(analyst, purpose)
        whose = {account.role: account.analyst or account.purpose for account in accounts}
        names = {"analyst": whose.get("analyst"), "purpose": whose.get("purpose")}
        with self._store.write() as rows:
            before = [balance_in(rows, account) for account in accounts]

            def terms() -> dict[str, Any]:  # written late: Python refuses to write a cost of thousands of digits
                paid = {"losses": described(losses), "cost": written_cost(charged)}
                return {"question": question, **names, **paid, **({"resumable": True} if resumable else {})}

            for entry in rows.open_charges(digest(question)) if resumable else ():
                if terms().items() <= entry.content.items():
                    return Charge(
                        entry.number,
                        entry.hash,
                        question,
                        charged,
                        **names,
                        time=entry.time,
                        balances=tuple(before),
                    )
            admit(before, charged, self._strict)
            balances = [balance.charged(charged) for balance in before]
            entry = self._append(rows, "charge", {**terms(), "after": after(balances)}, time=time)
        return Charge(
            entry.number, entry.hash, question, charged, **names, time=entry.time, balances=tuple(balances)
        )

    def expect_right_to_record(self) -> None:
        """Refuse a role of the server that could charge, and not record the answer."""
        self._store.expect_right_to_record()

    def record(self, charge: Charge, answer: str) -> None:
        """Keep the answer to a charge, before it is shown. One charge is for one answer."""
        if not isinstance(answer, str):
            raise ParameterError(
                "The answer must be JSON text.",
                found=type(answer).__name__,
                fix=Fix("answer", Code("json.dumps(value)")),
            )
        self._close(charge, "release", {"answer": answer})

    def fail(self, charge: Charge, reason: str) -> None:
        """Close a charge that gets no answer. It stays spent, and is not resumed."""
        self._close(charge, "failure", {"reason": reason})

    def _close(self, charge: Charge, kind: str, content: dict[str, Any]) -> None:
        with self._store.write() as rows:
            last = rows.last()
            reserved = last if last is not None and last.number == charge.number else rows.get(charge.number)
            if reserved is None or reserved.hash != charge.hash:
                raise ParameterError(
                    f"Charge {charge.number} was not made by this ledger ({self._store.name}).",
                    fix="Record the answer in the ledger that made the charge.",
                )
            if (closed := rows.end_of(charge.number)) is not None:
                raise ParameterError(
                    f"Charge {charge.number} has its answer already."
                    if closed.kind == "release"
                    else f"Charge {charge.number} was closed without an answer.",
                    fix="Reserve again to ask again.",
                )
            about = {"charge": charge.number, "question": digest(charge.question)}
            self._append(rows, kind, {**about, **content}, last, time=reserved.time)

    def close(self) -> None:
        """Close idle connections. The ledger may still be used."""
        self._store.close()

    def _append(
        self, rows: Rows, kind: str, content: dict[str, Any], last: Entry | None = None, time: str | None = None
    ) -> Entry:
        last = last or rows.last()
        if last is None:
            raise LedgerTampered(f"The ledger {self._store.name} has lost its entries.", fix=RESTORE)
        if rows.first != self._first.hash:  # a charge to it would not be found again in the right one
            raise LedgerTampered(
                f"The ledger at {self._store.name} is not the one that was opened: it was replaced.",
                fix="Restore the right one from a backup.",
            )
        entry = sealed(last.hash, last.number + 1, time or stamp(self._clock()), kind, content)
        rows.append(entry)
        return entry

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


def _store(place: Place, timeout: float) -> Store:
    if isinstance(place, str) and is_address(place):
        return PostgresStore(place, timeout=timeout)
    check_path(place)
    return SQLiteStore(place, timeout=timeout) if isinstance(place, str | os.PathLike) else place
