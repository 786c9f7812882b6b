"""Read and write entries: the statements that SQLite and PostgreSQL share, and what a store adds to them.

A store has one exclusive writer at a time. A `write` is durable when it returns, and leaves nothing if it raises.
The ledger reads everything through `Rows`, which rejects an entry whose hash does not follow from its predecessor.

    sqlite               a file
    sqlite_connections   connections that no fork can share
    postgres             a schema of a server
    postgres_rights      which role of the server may append which entry
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

from discreet.errors import LedgerTampered, LedgerUnavailable
from discreet.ledger.account import Account
from discreet.ledger.entry import ORIGIN, RESTORE, Entry, Keys, checked

SCHEMA = 1
"""The version of the layout that this code writes."""

MISSING_LEDGER = "Restore it from a backup, or create a ledger there. A new ledger does not know what was spent."
"""The fix of every error about a ledger that is not there."""

Execute: TypeAlias = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs a statement with `?` for parameters, and returns its rows."""

_SELECT = """
    SELECT e.number, e.time, e.kind, e.body, e.hash, e.analyst, e.purpose, e.question, e.charge, p.hash,
        (SELECT hash FROM entries WHERE number = 1)
    FROM entries e LEFT JOIN entries p ON p.number = e.number - 1
"""
_PAGE = 500  # entries read at a time


class Rows:
    """The entries, as seen inside one transaction. `first` is the hash of entry 1, once any entry was read."""

    def __init__(self, execute: Execute):
        self._execute = execute
        self.first: str | None = None

    def last(self) -> Entry | None:
        """Return the newest entry."""
        return self._one("ORDER BY e.number DESC LIMIT 1")

    def get(self, number: int) -> Entry | None:
        """Return the entry of this number."""
        return self._one("WHERE e.number = ?", number)

    def latest(self, account: Account) -> Entry | None:
        """Return the newest entry that carries the balance of this account."""
        if account.role == "vault":
            return self._one("WHERE e.kind NOT IN ('release', 'failure') ORDER BY e.number DESC LIMIT 1")
        return self._one(f"WHERE e.{account.role} = ? ORDER BY e.number DESC LIMIT 1", account.name)

    def answer(self, question: str) -> Entry | None:
        """Return the first release that answers the question of this digest."""
        return self._one("WHERE e.kind = 'release' AND e.question = ? ORDER BY e.number LIMIT 1", question)

    def end_of(self, charge: int) -> Entry | None:
        """Return the release of this charge, or its failure."""
        return self._one("WHERE e.charge = ?", charge)

    def open_charges(self, question: str) -> list[Entry]:
        """Return the charges for the question of this digest that have neither a release nor a failure."""
        missing = "NOT EXISTS (SELECT 1 FROM entries r WHERE r.charge = e.number)"
        return self._all(f"WHERE e.question = ? AND e.kind = 'charge' AND {missing} ORDER BY e.number", question)

    def after(self, number: int) -> list[Entry]:
        """Return some of the entries after this number, in order; none when there are no more."""
        return self._all("WHERE e.number > ? ORDER BY e.number LIMIT ?", number, _PAGE)

    def unfinished(self) -> list[Entry]:
        """Return the charges without a release."""
        missing = "NOT EXISTS (SELECT 1 FROM entries r WHERE r.charge = e.number AND r.kind = 'release')"
        return self._all(f"WHERE e.kind = 'charge' AND {missing} ORDER BY e.number")

    def accounts(self) -> list[Account]:
        """Return every account that was ever named, the whole first."""
        named = [
            self._execute(f"SELECT DISTINCT {role} FROM entries WHERE {role} IS NOT NULL ORDER BY {role}", ())
            for role in ("analyst", "purpose")
        ]
        analysts, purposes = ([row[0] for row in rows] for rows in named)
        return [Account(), *(Account(analyst=a) for a in analysts), *(Account(purpose=p) for p in purposes)]

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        values = (entry.number, entry.time, entry.kind, entry.body, entry.hash, *entry.keys)
        self._execute(
            "INSERT INTO entries (number, time, kind, body, hash, analyst, purpose, question, charge)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )

    def _one(self, clause: str, *parameters: object) -> Entry | None:
        found = self._all(clause, *parameters)
        return found[0] if found else None

    def _all(self, clause: str, *parameters: object) -> list[Entry]:
        rows = self._execute(_SELECT + clause, parameters)
        if rows:
            self.first = rows[0][10]
        return [checked(Entry(*row[:5]), ORIGIN if row[0] == 1 else row[9], Keys(*row[5:9])) for row in rows]


class Store(Protocol):
    """Keeps entries. `write` is exclusive, atomic and durable; `read` sees one state throughout."""

    @property
    def name(self) -> str:
        """The name of the store in messages."""
        ...

    def create(self, opening: Entry) -> None:
        """Make a new store with its first entry; refuse where there is something already."""
        ...

    def write(self) -> AbstractContextManager[Rows]:
        """Open the only writing transaction."""
        ...

    def read(self) -> AbstractContextManager[Rows]:
        """Open a reading transaction."""
        ...

    def check(self) -> None:
        """Let the database examine itself."""
        ...

    def guarded(self) -> bool:
        """Return whether the database itself checks which role appends which entry."""
        ...

    def expect_right_to_record(self) -> None:
        """Refuse a role that could not record an answer."""
        ...

    def trust(self, role: str, *, budgets: bool = False) -> None:
        """Let a role of the database record answers, and with `budgets` set budgets."""
        ...

    def close(self) -> None:
        """Close idle connections."""
        ...


def newer_layout(name: str, layout: int) -> LedgerUnavailable:
    """Return the error for a ledger that a newer Discreet has written."""
    return LedgerUnavailable(
        f"The ledger {name} was written by a newer Discreet: its layout is {layout}, and this one knows {SCHEMA}.",
        fix="Upgrade with: pip install --upgrade discreet",
    )


def removed_trigger(name: str, trigger: str) -> LedgerTampered:
    """Return the error for a ledger whose trigger is missing."""
    return LedgerTampered(
        f"A trigger that guards the ledger {name} against changes was removed.", found=trigger, fix=RESTORE
    )
