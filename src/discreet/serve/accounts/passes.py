"""Keep what may be used once: invitation codes, tickets, and the keys of requests that make a collection.

A pass is known by its hash, and what it was used for by another one. The first use is written in a transaction on
a primary key, so of two requests, at this server or another one, one is first. The same use again is the same use:
a request whose reply was lost may be sent again.

Neither a time nor an address is kept. A code and the ticket that came of it are in rows that share nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.serve.accounts.database import Database

CODE, TICKET, KEY = "code", "ticket", "key"


@dataclass(frozen=True)
class Use:
    """What a pass was used for first, and whether that is this time."""

    what: str
    first: bool


class Passes:
    """The passes of a service."""

    def __init__(self, database: Database):
        """Take the store of the accounts."""
        self._database = database

    def use(self, survey: str, kind: str, pass_: str, what: str) -> Use:
        """Use a pass for something, and return what it was used for first: this, or something before.

        Args:
            survey: The id of the survey; empty for keys.
            kind: `CODE`, `TICKET` or `KEY`.
            pass_: The hash of the pass.
            what: The hash of what it is used for.
        """
        with self._database.write() as run:
            found = run("SELECT what FROM passes WHERE survey = ? AND kind = ? AND pass = ?", survey, kind, pass_)
            if found:
                return Use(str(found[0][0]), first=False)
            run("INSERT INTO passes (survey, kind, pass, what) VALUES (?, ?, ?, ?)", survey, kind, pass_, what)
            return Use(what, first=True)

    def give_back(self, survey: str, kind: str, pass_: str) -> None:
        """Forget the use of a pass that came to nothing."""
        with self._database.write() as run:
            run("DELETE FROM passes WHERE survey = ? AND kind = ? AND pass = ?", survey, kind, pass_)

    def used(self, survey: str, kind: str) -> int:
        """Return how many passes of a kind were used."""
        with self._database.read() as run:
            ((count,),) = run("SELECT COUNT(*) FROM passes WHERE survey = ? AND kind = ?", survey, kind)
        return int(count)
