"""Keep the secret of a device and its own privacy ledger, in one file.

Claims, whatever crashes and however many processes of a device report at once:

1. A report is charged on the disk (SQLite, synchronous=FULL) before it is drawn. A crash wastes budget, it never
   leaks.
2. Whether a report is allowed follows from the days and collections of earlier reports alone, never from a value.
   So silence says nothing about an answer. Policies with a memory are charged in full with the first report.
3. All charges together never exceed `lifetime`, and those within one period of `days` days never `per_period`.
4. The secret is in the same file as the ledger: a device that loses one loses both, and permanent answers are not
   drawn again from a new secret under an old ledger. Only the file's owner can read it (0600).

Restoring an old copy of the file makes a device forget its charges, and the file cannot detect that. Amounts are
exact fractions.
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
from discreet.local.device.wire import day_number

_TABLES = """
CREATE TABLE device (secret BLOB NOT NULL);
CREATE TABLE paid (day INTEGER NOT NULL, collection BLOB NOT NULL, epsilon TEXT NOT NULL);
CREATE TABLE reported (collection BLOB PRIMARY KEY, day INTEGER NOT NULL, reports INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE permanent (collection BLOB, tag BLOB, answer BLOB, PRIMARY KEY (collection, tag));
PRAGMA user_version = 1;
"""


@dataclass(frozen=True)
class DeviceLedger:
    """The file of a device, with its two limits: over its life, and within one period."""

    path: Path
    lifetime: Fraction
    per_period: Fraction
    days: int = 1

    def create(self) -> None:
        """Make the file with a new secret, unless it exists. Of two processes, one makes it and both use it."""
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
                os.link(draft, self.path)  # a link is atomic, and never replaces an existing file
        finally:
            draft.unlink()
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # without this, a crash could lose the file and with it the charges
        finally:
            os.close(folder)

    def secret(self) -> bytes:
        """Return the 32 bytes that determine this device's permanent answers."""
        with self._transaction() as rows:
            secret: bytes = rows.execute("SELECT secret FROM device").fetchone()[0]
        return secret

    def charge(self, collection: Collection, today: date) -> None:
        """Charge a report of today, or refuse it. Returns when the charge is on the disk."""
        day, key, policy = day_number(today), collection.id, collection.policy
        with self._transaction() as rows:
            last, reports = rows.execute(
                "SELECT day, reports FROM reported WHERE collection = ?", (key,)
            ).fetchone() or (None, 0)
            if last is not None and day < last + policy.every:
                wait = last + policy.every - day
                raise BudgetExceeded(
                    f"The device has sent its report of this period to {collection.name!r}.",
                    found=f"every={policy.every}",
                    fix=f"The next report is due in {wait} {'day' if wait == 1 else 'days'}.",
                )
            if policy.reports is not None and reports >= policy.reports:
                raise BudgetExceeded(
                    f"The device has sent all of its {policy.reports} reports to {collection.name!r}."
                )
            cost = collection.permanent_epsilon * (1 if policy.policy == "none" else policy.distinct or 1)
            if policy.policy == "none" or not reports:
                self._expect_affordable(rows, cost, day)
                rows.execute("INSERT INTO paid VALUES (?, ?, ?)", (day, key, str(cost)))
            rows.execute("INSERT OR REPLACE INTO reported VALUES (?, ?, ?)", (key, day, reports + 1))

    def _expect_affordable(self, rows: sqlite3.Connection, cost: Fraction, day: int) -> None:
        charges = [(then, Fraction(text)) for then, text in rows.execute("SELECT day, epsilon FROM paid")]
        spent = sum((epsilon for _, epsilon in charges), Fraction(0))
        recent = sum((epsilon for then, epsilon in charges if abs(day - then) < self.days), Fraction(0))
        for used, most, name in ((spent, self.lifetime, "the life"), (recent, self.per_period, "this period")):
            if used + cost > most:
                left = float(max(most - used, Fraction(0)))
                raise BudgetExceeded(
                    f"The report costs epsilon = {decimal_above(cost)}, and {left:.6g} of {float(most):.6g} is "
                    f"left for {name} of the device.",
                    fix="Nothing is sent.",
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
        """Return the sum of all charges."""
        with self._transaction() as rows:
            return sum((Fraction(text) for (text,) in rows.execute("SELECT epsilon FROM paid")), Fraction(0))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a connection for one transaction: reports are rare, and no connection outlives a fork."""
        try:
            if stat.S_IMODE(self.path.stat().st_mode) & 0o077:
                raise LedgerUnavailable(
                    f"Other users can read the device's file {self.path}.", fix=f"Run chmod 600 {self.path}"
                )
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?mode=rw", 30, isolation_level=None, uri=True
            )
            try:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # this rolls back an open transaction
        except (sqlite3.Error, OSError) as error:
            raise LedgerUnavailable(
                f"The device's file {self.path} cannot be used ({error}).", fix="Nothing is sent."
            ) from error
