"""Define one line of the ledger, chained to the one before.

    hash = SHA-256 of the UTF-8 lines   previous hash, number, time, kind, body      (joined by "\\n")

The previous hash of entry 1 is 64 zeros. The body is JSON in ASCII, so none of the lines can hold a line break,
and the text that is hashed is the text that is stored: the chain can be checked with sha256 and the rows alone.

Kinds: `opening` (the budget of the whole), `allotment` and `amendment` (of an account), `charge`, `release`, and
`failure` (a charge that gets no release). Every entry but these last two carries the balances after it, so the
newest entry of an account holds its whole state. The columns beside the body are for searching; they must agree
with the body, and this is checked whenever an entry is read.

A release and a failure have the time of their charge. Rows are read between the two, so a time of their own would
tell how long that took. To hide it is not enough: an analyst who knows the rest of an entry finds its time from
its hash, by trying the microseconds of a second. So numbers rise from entry to entry, and times need not.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from discreet.errors import LedgerTampered

ORIGIN = "0" * 64
"""The previous hash of the first entry."""

RESTORE = "Restore the ledger from a backup."
"""The fix of every error about a ledger that was changed."""


class Head(NamedTuple):
    """The last entry of a ledger: keep it elsewhere, and `verify(since=head)` sees a tail that was cut off.

    >>> Head(3, "9f86d0…").number
    3
    """

    number: int
    hash: str


class Keys(NamedTuple):
    """The search keys of an entry: its account, the digest of its question, and the charge of a release."""

    analyst: str | None
    purpose: str | None
    question: str | None
    charge: int | None


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    >>> entry = sealed(ORIGIN, 1, "2026-01-01T00:00:00.000000Z", "charge", {"question": "how many?"})
    >>> entry.content["question"], entry.hash[:8]
    ('how many?', '43632e07')
    """

    number: int
    time: str
    kind: str
    body: str
    hash: str

    @cached_property
    def content(self) -> dict[str, Any]:
        """The body, parsed: once, since it is long and asked for often. What counts is the body."""
        content: dict[str, Any] = json.loads(self.body)
        return content

    @property
    def head(self) -> Head:
        """Number and hash."""
        return Head(self.number, self.hash)

    @property
    def keys(self) -> Keys:
        """The search keys of this entry, according to its body."""
        content = self.content
        question = content.get("question")
        if self.kind == "charge":
            question = digest(content["question"])
        return Keys(content.get("analyst"), content.get("purpose"), question, content.get("charge"))


def sealed(previous: str, number: int, time: str, kind: str, content: dict[str, Any]) -> Entry:
    """Return the entry that follows another one.

    Args:
        previous: The hash of the entry before; `ORIGIN` for the first.
        number: The number of the new entry, from 1 on.
        time: Its moment in UTC, as `stamp` writes it.
        kind: "opening", "allotment", "amendment", "charge", "release" or "failure".
        content: Its body, before it is written as JSON.
    """
    body = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return Entry(number, time, kind, body, _chained(previous, number, time, kind, body))


def checked(entry: Entry, previous: str | None, keys: Keys) -> Entry:
    """Return an entry that was read, if it follows its predecessor and its keys agree with its body."""
    expected = _chained(previous or ORIGIN, entry.number, entry.time, entry.kind, entry.body)
    if previous is None and entry.number > 1:
        raise LedgerTampered(f"Entry {entry.number - 1} is missing from the ledger.", fix=RESTORE)
    if entry.hash != expected:
        raise LedgerTampered(
            f"Entry {entry.number} of the ledger was changed, or the entry before it: its hash does not fit.",
            fix=[RESTORE, "Until then the ledger cannot tell what was spent."],
        )
    try:
        own = entry.keys
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerTampered(
            f"Entry {entry.number} of the ledger is not a valid {entry.kind!r}.", found=repr(error), fix=RESTORE
        ) from error
    if own != keys:
        raise LedgerTampered(
            f"Entry {entry.number} of the ledger is not filed under the keys of its body, {own}.",
            found=keys,
            fix=RESTORE,
        )
    return entry


def digest(question: str) -> str:
    """Return the digest by which a question is found.

    >>> digest("how many?")[:8]
    'a84049d6'
    """
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()


def stamp(moment: datetime) -> str:
    """Return a moment in UTC, to the microsecond.

    >>> stamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '2026-01-02T03:04:05.000000Z'
    """
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _chained(previous: str, number: int, time: str, kind: str, body: str) -> str:
    text = "\n".join((previous, str(number), str(time), str(kind), str(body)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
