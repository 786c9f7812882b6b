"""Read a ledger: balances, recorded answers, entries, and whether they follow from each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.errors import BudgetExceeded, LedgerTampered, NotComposable
from discreet.ledger import render, transitions
from discreet.ledger.account import Account
from discreet.ledger.admission import admit, common_room
from discreet.ledger.balance import Balance, Room, read
from discreet.ledger.charge import Standing
from discreet.ledger.costs import cost
from discreet.ledger.entry import RESTORE, Entry, Head, digest
from discreet.ledger.store import Rows, Store
from discreet.privacy.losses import Losses
from discreet.render.html import framed


class Reader:
    """What a ledger tells, each time from one state of its store."""

    def __init__(self, store: Store):
        """Take the store, which must have its first entry."""
        self._store = store
        with store.read() as rows:
            opening, last = rows.get(1), rows.last()  # each is checked against its predecessor
        if opening is None or last is None or opening.kind != "opening":
            raise LedgerTampered(f"The ledger {store.name} has lost its first entry.", fix=RESTORE)
        self._strict, self._first = bool(opening.content["strict"]), opening.head
        self._for_tests = bool(opening.content.get("test_bits"))

    @property
    def strict(self) -> bool:
        """True if only accounts with a budget of their own may spend."""
        return self._strict

    @property
    def for_tests(self) -> bool:
        """True if the ledger was made inside of `noise.deterministic`: only then may test bits answer for it."""
        return self._for_tests

    @property
    def guarded(self) -> bool:
        """True if the store itself checks which role appends which entry."""
        return self._store.guarded()

    @property
    def first(self) -> Head:
        """Number and hash of the first entry, which no other ledger has: a vault knows its own by it."""
        return self._first

    def find(self, question: str) -> str | None:
        """Return the answer that was recorded for this question, the first if there are several. It is free."""
        with self._store.read() as rows:
            return _answer(rows, question)

    def standing(self, question: str, *, analyst: str | None = None, purpose: str | None = None) -> Standing:
        """Return the recorded answer of a question, and the balances of its accounts, all of one moment."""
        accounts = transitions.touched(analyst, purpose)
        with self._store.read() as rows:
            return Standing(_answer(rows, question), tuple(balance_in(rows, account) for account in accounts))

    def can_afford(
        self,
        losses: Losses,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        balances: Sequence[Balance] | None = None,
    ) -> bool:
        """Return whether `reserve` would accept this now, or would have with balances that were read before."""
        needed = cost(losses)
        if balances is None:
            balances = self._balances(transitions.touched(analyst, purpose))
        try:
            admit(balances, needed, self._strict)
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
            return [balance_in(rows, account) for account in rows.accounts()]

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

    def _balances(self, accounts: list[Account]) -> list[Balance]:
        with self._store.read() as rows:
            return [balance_in(rows, account) for account in accounts]

    def _table(self) -> tuple[str, list[Balance]]:
        balances, unfinished = self.balances(), len(self.unfinished())
        rest = f", {unfinished} without an answer" if unfinished else ""
        tests = " (for tests: its noise may be predictable)" if self._for_tests else ""
        return f"{self._store.name}: {render.questions(balances[0].charges)}{rest}{tests}", balances

    def __str__(self) -> str:
        return render.text(*self._table())

    def as_html(self) -> str:
        """Return the balances as a fragment of HTML, escaped."""
        return render.page(*self._table())

    def _repr_html_(self) -> str:
        return framed(self.as_html())


def balance_in(rows: Rows, account: Account) -> Balance:
    """Return the balance of an account, inside of a transaction."""
    entry = rows.latest(account)
    return Balance(account) if entry is None else read(account, entry.content["after"][account.role])


def _answer(rows: Rows, question: str) -> str | None:
    entry = rows.answer(digest(question))
    return None if entry is None else str(entry.content["answer"])
