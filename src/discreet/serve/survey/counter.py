"""Count the reports of one survey, let each invitation count once, and issue tickets for invitations.

Reports are appended to a file as they arrive, and counted in memory. The file is what is durable: a server that
starts again counts it again, and report ids keep each report from counting twice. Servers of one folder take turns
by a lock of the file, and count first what others have appended. A report is randomised before it leaves its
device, so the file is as public as its estimates.

A survey is open, or a report needs a pass: a code, or a ticket that was issued for a code. A pass is bound to one
report before the report is counted. So a server that is killed in between lets the same report in again, and no
other one. What is counted twice is nothing; what is refused was not counted.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import BinaryIO

from discreet.errors import NotFound, NotPermitted, ParameterError
from discreet.local import Aggregator, Answer, signing
from discreet.local.device.wire import unpacked
from discreet.local.tickets import Issuer, Ticket
from discreet.serve.accounts.passes import CODE, TICKET, Passes
from discreet.serve.accounts.secrets import digest

ENVELOPE, LABELS, CODES, ISSUER = "collection.json", "labels.json", "codes", "issuer.key"
"""The files of a survey: its signed collection, a long list of labels, hashes of codes, the key of its tickets."""
SMALL = 1 << 10
"""The most bytes of a blinded ticket: a modulus has at most 512."""
MOST_STORED = 1 << 32
"""The most bytes of the reports of a survey: strangers write them, and must not fill the disk."""
_SIZE = 4


class Counter:
    """The reports of one survey that were counted, and the passes that were used.

    Args:
        folder: The folder of the survey.
        id_: Its id.
        key: The public key that verifies its collection.
        invited: Whether a report needs a code or a ticket.
        passes: The codes and tickets that were used.
    """

    def __init__(self, folder: Path, id_: str, key: str, invited: bool, passes: Passes):
        """Open the collection, and count what is stored."""
        self._lock, self._folder, self._id, self._passes = threading.Lock(), folder, id_, passes
        self.envelope = (folder / ENVELOPE).read_bytes()
        opened = signing.opened(self.envelope, bytes.fromhex(key), today=date(1970, 1, 1))
        labels = folder / LABELS  # a long list of labels is in the signed text as a hash only
        self.collection = opened.with_labels(json.loads(labels.read_text())) if labels.exists() else opened
        self.invited = invited
        self.server, self._at = Aggregator(self.collection, identified=True), 0
        self._codes = frozenset(lines(folder / CODES)) - frozenset(lines(folder / "used"))
        issuer = folder / ISSUER
        self._issuer = Issuer.read(issuer.read_text()) if issuer.exists() else None
        self.catch_up()

    def catch_up(self) -> None:
        """Count the reports that other servers have stored."""
        with self._lock, self._stored():
            pass

    def estimate(self, candidates: list[str] | None = None) -> Answer:
        """Return the estimates; of texts, those of the candidates."""
        self.catch_up()
        with self._lock:  # reports of other requests are counted meanwhile
            return self.server.frequencies(candidates) if candidates else self.server.estimate()

    @property
    def has_form(self) -> bool:
        """Whether the respondent's page can ask it: a choice of labels, randomised by one coin."""
        reachable = self.collection.tickets is None or self._issuer is not None
        return self.collection.randomiser.name == "grr" and bool(self.collection.labels) and reachable

    @property
    def exchanged(self) -> int:
        """The number of codes that were used: for a report, or for a ticket."""
        return self._passes.used(self._id, CODE)

    @property
    def redeemed(self) -> int:
        """The number of tickets that were used."""
        return self._passes.used(self._id, TICKET)

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
        what = hashlib.sha256(blinded).hexdigest()
        if self._passes.use(self._id, CODE, hashed, what).what != what:
            raise _refusal()
        return signature

    def take(self, batch: bytes, *, code: str | None = None, ticket: str | None = None) -> int:
        """Count a batch, and return how many of its reports were new. With passes it has one report, and uses one.

        Args:
            batch: The bytes that a client made.
            code: The invitation code, if the survey has codes and no tickets.
            ticket: The ticket, if the collection has a ticket key.
        """
        rows = unpacked(batch)
        if rows is None or not len(rows):
            raise ParameterError("This is not a batch of reports.", fix="Send what the client made, unchanged.")
        used = self._pass(code, ticket)
        if used is None:
            with self._lock, self._stored() as file:
                return self._count(batch, file)
        if len(rows) != 1:
            raise ParameterError("An invitation is for one report.", found=len(rows), fix="Send one report.")
        what = hashlib.sha256(batch).hexdigest()
        with self._lock, self._stored() as file:
            use = self._passes.use(self._id, *used, what)
            if use.what != what:
                raise _refusal()
            counted = self._count(batch, file)
            if use.first and not counted:  # it was no report of this survey, so the pass is as good as new
                self._passes.give_back(self._id, *used)
            return counted

    def _pass(self, code: str | None, ticket: str | None) -> tuple[str, str] | None:
        """Return the kind and the hash of the pass of a report; None if the survey is open."""
        if self.collection.tickets is not None:  # a code is good for a ticket alone, or it would count twice
            found = Ticket.read(ticket or "", self.collection.tickets)
            if found is None:
                raise NotPermitted(
                    "This report has no ticket of this survey.", fix="Exchange the invitation code for a ticket."
                )
            return TICKET, hashlib.sha256(found.message).hexdigest()
        return (CODE, self._expect_code(code)) if self.invited else None

    def _expect_code(self, code: str | None) -> str:
        hashed = digest(code or "")
        if hashed not in self._codes:
            raise _refusal()
        return hashed

    def _count(self, batch: bytes, file: BinaryIO) -> int:
        if self._at + _SIZE + len(batch) > MOST_STORED:
            raise NotPermitted("This collection is full.", fix="Its operator makes another one.")
        counted = self.server.update(batch, received=datetime.now(UTC).date())
        if counted:
            try:
                file.write(len(batch).to_bytes(_SIZE, "big") + batch)
                file.flush()
            except OSError:  # a full disk: what is not stored does not count, so count the file anew
                self.server, self._at = Aggregator(self.collection, identified=True), 0
                raise
            self._at += _SIZE + len(batch)
        return counted

    @contextmanager
    def _stored(self) -> Iterator[BinaryIO]:
        """Lock the file of reports, count what is new in it, and return it for one more batch."""
        descriptor = os.open(self._folder / "reports", os.O_RDWR | os.O_CREAT, 0o600)
        with open(descriptor, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # closing the file frees it, also if the process is killed
            file.seek(self._at)
            while len(head := file.read(_SIZE)) == _SIZE:
                size = int.from_bytes(head, "big")
                if len(batch := file.read(size)) < size:
                    break
                self.server.update(batch)
                self._at += _SIZE + size
            file.seek(self._at)
            file.truncate()  # half a batch is of a server that was killed: its client was told nothing
            yield file


def passes_of(headers: Mapping[str, str]) -> dict[str, str | None]:
    """Return the code and the ticket that the headers of a request have."""
    return {"code": headers.get("discreet-code"), "ticket": headers.get("discreet-ticket")}


def _refusal() -> NotPermitted:
    return NotPermitted("This invitation is unknown or was used.", fix="Each invitation is for one answer.")


def lines(path: Path) -> list[str]:
    """Return the lines of a file; none if there is no file."""
    return path.read_text().split() if path.exists() else []
