"""Know the browsers in which a person has signed in with a password, so that strangers cannot keep the person out.

Wrong passwords are counted for a name, and a stranger who knows the name can use its attempts up. So a browser in
which a password was right gets a mark, and its attempts are counted apart (OWASP calls it a device cookie).

Claims.

* A mark is no credential: with it a password is as necessary as without it. It buys `logins_per_minute` attempts
  for one name, and is made only by a password that was right. So guessing stays bounded over all addresses.
* A mark has 256 random bits that the server draws; its hash is stored. It does not show the name, and one that was
  made for another name counts as none.
* An account keeps its last `MOST` marks, for `LASTS` seconds each. Strangers make none, so the table is bounded by
  the number of accounts.
"""

from __future__ import annotations

from discreet.serve.accounts.accounts import DAY, Accounts
from discreet.serve.accounts.secrets import digest, new_key

LASTS = 180 * DAY
"""Seconds after the last sign-in that a browser stays known."""
MOST = 20
"""The most browsers of one account that are known."""


class Devices:
    """The browsers of all accounts.

    Args:
        accounts: The accounts of the service.
    """

    def __init__(self, accounts: Accounts):
        """Take the accounts."""
        self._accounts, self._database = accounts, accounts.database

    def knows(self, mark: str, name: str) -> bool:
        """Return whether a mark was made for a name, and still counts."""
        with self._database.read() as run:
            rows = run("SELECT owner, expires FROM devices WHERE hash = ?", digest(mark))
        return bool(rows) and rows[0][0] == name and self._accounts.now() < rows[0][1]

    def remember(self, name: str, old: str) -> str:
        """Return a new mark for a browser in which the password of a name was right; its old one ends."""
        mark, now = new_key(), self._accounts.now()
        with self._database.write() as run:
            run("DELETE FROM devices WHERE expires <= ? OR hash = ?", now, digest(old))
            run("INSERT INTO devices VALUES (?, ?, ?)", digest(mark), name, now + LASTS)
            run(
                "DELETE FROM devices WHERE owner = ? AND hash NOT IN"
                " (SELECT hash FROM devices WHERE owner = ? ORDER BY expires DESC, hash LIMIT ?)",
                name,
                name,
                MOST,
            )
        return mark
