"""Count the reports of one survey, let each invitation count once, and issue tickets for invitations.

What is durable is a sum and a set (`tally`): the counts of all reports, and what must not count twice. No report
is kept. A report is known by its id, and in a survey by invitation by its pass as well: a code, or a ticket that
was issued for a code. A pass is bound to one report in the same change that counts the report. So a server that is
killed has done both or neither, and the same report may be sent again.

The file does not tell in which order passes and reports arrived, and it does not tell which randomised answer came
with which pass: beside a pass is a hash of its report, which has a random id of 128 bits. Codes that were
exchanged for tickets are in a file of their own, which shares no value with the other one.

Servers of one folder take turns by a lock, and see what others have counted.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter as Numbers
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from discreet.errors import NotFound, NotPermitted, ParameterError
from discreet.local import Aggregator, Answer, signing
from discreet.local.device.wire import Layout, Rows, batch, unpacked
from discreet.local.server.deduplicate import starts
from discreet.local.tickets import Issuer, Ticket
from discreet.serve.accounts.passes import Passes
from discreet.serve.accounts.secrets import digest
from discreet.serve.survey.older import take_over
from discreet.serve.survey.tally import Tally

ENVELOPE, LABELS, CODES, ISSUER = "collection.json", "labels.json", "codes", "issuer.key"
"""The files of a survey: its signed collection, a long list of labels, hashes of codes, the key of its tickets."""
COUNTED, EXCHANGED = "counted", "exchanged"
"""The tallies of a survey: its reports, and the codes that were exchanged for tickets."""
SMALL = 1 << 10
"""The most bytes of a blinded ticket: a modulus has at most 512."""
MOST_REPORTS = 48_000_000
"""The most reports of a survey, 2 GB, or 4 GB with passes: strangers send them, and must not fill the disk."""


class Counter:
    """The reports of one survey that were counted, and the passes that were used.

    Args:
        folder: The folder of the survey.
        key: The public key that verifies its collection.
        invited: Whether a report needs a code or a ticket.
        passes: Where older versions kept codes and tickets.
    """

    def __init__(self, folder: Path, key: str, invited: bool, passes: Passes):
        """Open the collection, and what was counted."""
        self._lock = threading.Lock()
        self.envelope = (folder / ENVELOPE).read_bytes()
        opened = signing.opened(self.envelope, bytes.fromhex(key), today=date(1970, 1, 1))
        labels = folder / LABELS  # a long list of labels is in the signed text as a hash only
        self.collection = opened.with_labels(json.loads(labels.read_text())) if labels.exists() else opened
        self.invited = invited
        self.server = Aggregator(self.collection, identified=True)
        self._refused: Numbers[str] = Numbers()
        self._codes = frozenset(lines(folder / CODES)) - frozenset(lines(folder / "used"))
        issuer = folder / ISSUER
        self._issuer = Issuer.read(issuer.read_text()) if issuer.exists() else None
        self._counted = Tally(folder / COUNTED, len(self.server.state))
        self._exchanged = Tally(folder / EXCHANGED)
        take_over(folder, self.collection, passes, self._counted, self._exchanged)
        self.catch_up()

    def catch_up(self) -> None:
        """Read what other servers have counted."""
        with self._lock:
            with self._counted.locked():
                self._read()
            with self._exchanged.locked():
                pass

    def estimate(self, candidates: list[str] | None = None) -> Answer:
        """Return the estimates; of texts, those of the candidates."""
        self.catch_up()
        server = self.server  # reports of other requests are counted meanwhile, in another one
        return server.frequencies(candidates) if candidates else server.estimate()

    @property
    def has_form(self) -> bool:
        """Whether the respondent's page can ask it: a choice of labels, randomised by one coin."""
        reachable = self.collection.tickets is None or self._issuer is not None
        return self.collection.randomiser.name == "grr" and bool(self.collection.labels) and reachable

    @property
    def exchanged(self) -> int:
        """The number of codes that were used: for a report, or for a ticket."""
        if self.collection.tickets is not None:
            return self._exchanged.entries
        return self._counted.reports if self.invited else 0

    @property
    def redeemed(self) -> int:
        """The number of tickets that were used."""
        return self._counted.reports if self.collection.tickets is not None else 0

    @property
    def unused(self) -> int:
        """The number of codes that were not used."""
        return len(self._codes) - self.exchanged

    def issue(self, code: str | None, blinded: bytes) -> bytes:
        """Sign a blinded ticket for a code: again for the same one after a lost reply, and for no other one."""
        if self._issuer is None:
            raise NotFound("This collection issues no tickets.", fix="Ask its operator where tickets are issued.")
        hashed = self._expect_code(code)
        signature = self._issuer.sign(blinded)  # before the code is used: what is no blinded ticket uses up none
        use = use_of(hashlib.sha256(blinded).hexdigest())
        with self._lock, self._exchanged.locked():
            first = self._exchanged.find(hashed.encode())
            if first is None:
                self._exchanged.add({hashed.encode(): use})
            elif first != use:
                raise _refusal()
        return signature

    def take(self, sent: bytes, *, code: str | None = None, ticket: str | None = None) -> int:
        """Count a batch, and return how many of its reports were new. With passes it has one report, and uses one.

        Args:
            sent: The batch that a client made.
            code: The invitation code, if the survey has codes and no tickets.
            ticket: The ticket, if the collection has a ticket key.
        """
        rows = unpacked(sent)
        if rows is None or not len(rows):
            raise ParameterError("This is not a batch of reports.", fix="Send what the client made, unchanged.")
        used = self._pass(code, ticket)
        if used is not None and len(rows) != 1:
            raise ParameterError("An invitation is for one report.", found=len(rows), fix="Send one report.")
        part = self._part(rows)
        with self._lock, self._counted.locked():
            if self._counted.reports + part.n > MOST_REPORTS:
                raise NotPermitted("This collection is full.", fix="Its operator makes another one.")
            uses = {} if used is None else self._unused(used, sent)
            counted = 0 if uses is None else self._once(part, rows, uses)
            self._refused.update(part.rejected)
            self._read()
            return counted

    def _once(self, part: Aggregator, rows: Rows, uses: dict[bytes, bytes]) -> int:
        """Count the reports whose ids were not counted before, and use up their pass. With none, it stays good."""
        known = [id_ for id_ in part.ids if self._counted.find(id_.tobytes()) is not None]
        new = self._part(_without(rows, np.array(known, np.uint64))) if known else part
        self._refused["replayed"] += part.n - new.n
        if new.n:
            self._counted.add({**uses, **{id_.tobytes(): use_of("") for id_ in new.ids}}, new.n, new.state)
        return new.n

    def _unused(self, used: str, sent: bytes) -> dict[bytes, bytes] | None:
        """Return the use of a pass for a report; None if it was used for this one, which was counted then."""
        use, first = use_of(hashlib.sha256(sent).hexdigest()), self._counted.find(used.encode())
        if first is not None and first != use:
            raise _refusal()
        self._refused["replayed"] += first is not None
        return {used.encode(): use} if first is None else None

    def _part(self, rows: Rows) -> Aggregator:
        """Return the state of these reports alone."""
        part = Aggregator(self.collection, identified=True)
        part.update(batch(rows), received=datetime.now(UTC).date())
        return part

    def _pass(self, code: str | None, ticket: str | None) -> str | None:
        """Return the hash of the pass of a report; None if the survey is open."""
        if self.collection.tickets is not None:  # a code is good for a ticket alone, or it would count twice
            found = Ticket.read(ticket or "", self.collection.tickets)
            if found is None:
                raise NotPermitted(
                    "This report has no ticket of this survey.", fix="Exchange the invitation code for a ticket."
                )
            return hashlib.sha256(found.message).hexdigest()
        return self._expect_code(code) if self.invited else None

    def _expect_code(self, code: str | None) -> str:
        hashed = digest(code or "")
        if hashed not in self._codes:
            raise _refusal()
        return hashed

    def _read(self) -> None:
        counted = self._counted
        self.server = Aggregator.of(self.collection, counted.reports, counted.counts(), self._refused)


def use_of(what: str) -> bytes:
    """Return what is kept of the use of a pass: half of its hash. Of a report id nothing is kept."""
    return bytes.fromhex(what[:32]) if what else bytes(16)


def _without(rows: Rows, known: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Rows:
    """Return the reports whose ids are not among the known ones."""
    kept = np.ones(len(rows), np.bool_)
    for first in np.unique(rows[:, 0]):
        layout, these = Layout.of(int(first)), rows[:, 0] == first
        if layout is not None and layout.identity is not None:
            kept[these] = ~np.isin(starts(rows[these, layout.identity :]), known)
    return rows[kept]


def passes_of(headers: Mapping[str, str]) -> dict[str, str | None]:
    """Return the code and the ticket that the headers of a request have."""
    return {"code": headers.get("discreet-code"), "ticket": headers.get("discreet-ticket")}


def _refusal() -> NotPermitted:
    return NotPermitted("This invitation is unknown or was used.", fix="Each invitation is for one answer.")


def lines(path: Path) -> list[str]:
    """Return the lines of a file; none if there is no file."""
    return path.read_text().split() if path.exists() else []
