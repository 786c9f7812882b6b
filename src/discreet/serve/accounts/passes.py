"""Keep what may be used once: the keys of requests that make a collection.

A pass is known by its hash, and what it was used for by another one. The first use is written in a transaction on
a primary key, so of two requests, at this server or another one, one is first. The same use again is the same use:
a request whose reply was lost may be sent again.

Invitation codes and tickets are not here: a database keeps rows in the order in which they came (row numbers,
pages, logs). They are in files of their survey, which do not (`survey.tally`). Older versions had them here.
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
            survey: Empty for keys.
            kind: `KEY`.
            pass_: The hash of the pass.
            what: The hash of what it is used for.
        """
        with self._database.write() as run:
            found = run("SELECT what FROM passes WHERE survey = ? AND kind = ? AND pass = ?", survey, kind, pass_)
            if found:
                return Use(str(found[0][0]), first=False)
            run("INSERT INTO passes (survey, kind, pass, what) VALUES (?, ?, ?, ?)", survey, kind, pass_, what)
            return Use(what, first=True)

    def of(self, survey: str) -> list[tuple[str, str, str]]:
        """Return the codes and tickets of a survey that an older version kept: kind, hash, hash of the use."""
        with self._database.read() as run:
            rows = run("SELECT kind, pass, what FROM passes WHERE survey = ? ORDER BY pass", survey)
        return [(str(kind), str(pass_), str(what)) for kind, pass_, what in rows]

    def forget(self, survey: str) -> None:
        """Delete the codes and tickets of a survey."""
        with self._database.write() as run:
            run("DELETE FROM passes WHERE survey = ?", survey)
