"""What a device may still say: its secret, and its own ledger, in one file.

Claims, whatever crashes and however many processes of a device report at once:

1. A report is paid for on the disk (SQLite, synchronous=FULL) before it is drawn. A crash wastes, it never leaks.
2. Whether a report is allowed follows from the days and collections of earlier reports alone, never from a value.
   So silence says nothing about an answer. Policies with a memory are paid for whole with the first report.
3. All that was paid never exceeds `lifetime`, nor what was paid within one period of `days` days `per_period`.
4. The secret is in the same file as the ledger: whoever loses one loses both, and permanent answers are not drawn
   again from a new secret under an old allowance. Nobody but the file's owner can read it (0600).

Putting back an old copy of the file makes a device forget what it paid, and no file can tell. Amounts are exact
fractions.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

from discreet.errors import BudgetExceeded, LedgerUnavailable
from discreet.local.collection.canonical_json import decimal_above
from discreet.local.collection.collection import Collection
from discreet.local.device.days import day_number

_TABLES = """
CREATE TABLE device (secret BLOB NOT NULL);
CREATE TABLE paid (day INTEGER NOT NULL, collection BLOB NOT NULL, epsilon TEXT NOT NULL);
CREATE TABLE reported (collection BLOB PRIMARY KEY, day INTEGER NOT NULL, reports INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE permanent (collection BLOB, tag BLOB, answer BLOB, PRIMARY KEY (collection, tag));
PRAGMA user_version = 1;
"""


@dataclass(frozen=True)
class Allowance:
    """The file of a device, with the caps that it keeps."""

    path: Path
    lifetime: Fraction
    per_period: Fraction
    days: int = 1

    def create(self) -> None:
        """Make the file with a new secret, unless it is there. Of two processes, one makes it and both use it."""
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.close(descriptor)
        try:
            connection = sqlite3.connect(draft, isolation_level=None)
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(f"BEGIN; {_TABLES} COMMIT;")
            connection.execute("INSERT INTO device VALUES (?)", (secrets.token_bytes(32),))
            connection.close()
            with suppress(FileExistsError):
                os.link(draft, self.path)  # all of it or nothing, and never over another
        finally:
            draft.unlink()
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # a file that a crash makes nameless would forget what was paid
        finally:
            os.close(folder)

    def secret(self) -> bytes:
        """Return the 32 bytes that settle this device's permanent answers."""
        with self._transaction() as rows:
            secret: bytes = rows.execute("SELECT secret FROM device").fetchone()[0]
        return secret

    def pay(self, collection: Collection, today: date) -> None:
        """Pay for a report of today, or refuse. Returns when it is on the disk."""
        day, key, policy = day_number(today), collection.id, collection.policy
        with self._transaction() as rows:
            last, reports = rows.execute(
                "SELECT day, reports FROM reported WHERE collection = ?", (key,)
            ).fetchone() or (None, 0)
            if last is not None and day < last + policy.every:
                wait = last + policy.every - day
                raise BudgetExceeded(
                    f"{collection.name!r} has its report of this period: the next is due in "
                    f"{wait} {'day' if wait == 1 else 'days'} (every={policy.every})."
                )
            if policy.reports is not None and reports >= policy.reports:
                raise BudgetExceeded(
                    f"{collection.name!r} has all of its {policy.reports} reports of this device."
                )
            price = collection.permanent_epsilon * (1 if policy.policy == "none" else policy.distinct or 1)
            if policy.policy == "none" or not reports:
                self._afford(rows, price, day)
                rows.execute("INSERT INTO paid VALUES (?, ?, ?)", (day, key, str(price)))
            rows.execute("INSERT OR REPLACE INTO reported VALUES (?, ?, ?)", (key, day, reports + 1))

    def _afford(self, rows: sqlite3.Connection, price: Fraction, day: int) -> None:
        paid = [(then, Fraction(text)) for then, text in rows.execute("SELECT day, epsilon FROM paid")]
        spent = sum((epsilon for _, epsilon in paid), Fraction(0))
        recent = sum((epsilon for then, epsilon in paid if abs(day - then) < self.days), Fraction(0))
        for used, most, name in ((spent, self.lifetime, "its life"), (recent, self.per_period, "this period")):
            if used + price > most:
                raise BudgetExceeded(
                    f"it costs ε = {decimal_above(price)}, and {float(max(most - used, Fraction(0))):.6g} of "
                    f"{float(most):.6g} is left for {name} of the device. Nothing is sent."
                )

    def admit(self, collection: Collection, tag: bytes, answer: bytes) -> bytes:
        """Return the permanent answer to use: this one while the device has values left, else its last one."""
        with self._transaction() as rows:
            known = rows.execute(
                "SELECT tag, answer FROM permanent WHERE collection = ? ORDER BY rowid", (collection.id,)
            ).fetchall()
            if any(seen == tag for seen, _ in known):
                return answer
            if len(known) >= (collection.policy.distinct or 1):
                last: bytes = known[-1][1]
                return last
            rows.execute("INSERT INTO permanent VALUES (?, ?, ?)", (collection.id, tag, answer))
        return answer

    def spent(self) -> Fraction:
        """Return what was paid in all."""
        with self._transaction() as rows:
            return sum((Fraction(text) for (text,) in rows.execute("SELECT epsilon FROM paid")), Fraction(0))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each transaction: reports are rare, and nothing outlives a fork."""
        try:
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise LedgerUnavailable(f"{self.path} can be read by others. Make it yours: chmod 600 {self.path}")
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", 30, isolation_level=None, uri=True
            )
            try:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed
        except (sqlite3.Error, OSError) as error:
            raise LedgerUnavailable(
                f"the device's file {self.path} cannot be used ({error}). Nothing is sent."
            ) from error
