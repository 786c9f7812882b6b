"""Keep surveys: their signed collections, the reports that arrived, and the hashes of invitation codes.

A survey is a folder of the service. Its key signs the collection once, and is then forgotten: no one can sign
another collection for the same link. Reports are appended to a file as they arrive, and counted in memory. The
file is what is durable: a server that starts again counts it again, and report ids keep each report from counting
twice. A report is randomised before it leaves its device, so the file is as public as its estimates.

A code links a person to a randomised report, against which the local guarantee holds. What it shows is who took
part.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.errors import NotFound, NotPermitted, ParameterError
from discreet.local import Aggregator, Collection, signing
from discreet.local.device.wire import unpacked
from discreet.serve.accounts.secrets import digest, new_id

FOLDER = "surveys"
MOST_CHOICES, MOST_CODES = 50, 100_000


@dataclass(frozen=True)
class Survey:
    """What is known about a survey.

    Args:
        id: The name in its link.
        owner: The account that made it.
        question: The question, as respondents read it.
        key: The public key of its link, in hexadecimal digits.
        invited: Whether a report needs an invitation code.
        created: The day on which it was made.
    """

    id: str
    owner: str
    question: str
    key: str
    invited: bool
    created: str


class _Counter:
    """The reports of one survey that were counted, and the codes that were not used yet."""

    def __init__(self, folder: Path, survey: Survey):
        self.lock, self.folder = threading.Lock(), folder
        self.envelope = (folder / "collection.json").read_bytes()
        self.collection = signing.opened(self.envelope, bytes.fromhex(survey.key), today=date(1970, 1, 1))
        self.server = Aggregator(self.collection, identified=True)
        self.unused = set(_lines(folder / "codes")) - set(_lines(folder / "used"))
        self._count_again()

    def _count_again(self) -> None:
        path = self.folder / "reports"
        stored = path.read_bytes() if path.exists() else b""
        at = 0
        while at + 4 <= len(stored):
            size = int.from_bytes(stored[at : at + 4], "big")
            self.server.update(stored[at + 4 : at + 4 + size])
            at += 4 + size

    def take(self, batch: bytes, code: str | None, invited: bool) -> int:
        """Count a batch. With invitations it has one report, and uses up its code."""
        rows = unpacked(batch)
        if rows is None or not len(rows):
            raise ParameterError("This is not a batch of reports.", fix="Send what the client made, unchanged.")
        with self.lock:
            hashed = digest(code or "")
            if invited and (len(rows) != 1 or hashed not in self.unused):
                raise NotPermitted(
                    "This invitation is unknown or was used.", fix="Each invitation is for one answer."
                )
            counted = self.server.update(batch, received=datetime.now(UTC).date())
            if counted:
                _append(self.folder / "reports", len(batch).to_bytes(4, "big") + batch)
            if counted and invited:
                self.unused.discard(hashed)
                _append(self.folder / "used", f"{hashed}\n".encode())
            return counted


class Surveys:
    """The surveys of a service.

    Args:
        folder: The folder of the service.
    """

    def __init__(self, folder: Path):
        """Take the folder."""
        self._folder, self._open, self._lock = folder / FOLDER, dict[str, _Counter](), threading.Lock()

    def create(
        self,
        owner: str,
        question: str,
        choices: list[str],
        *,
        epsilon: str,
        days: int,
        cohort: int,
        codes: int = 0,
    ) -> tuple[Survey, list[str]]:
        """Design, sign and store a survey. Return it with its invitation codes, which are shown once."""
        if not question.strip() or not 2 <= len(choices) <= MOST_CHOICES or not 0 <= codes <= MOST_CODES:
            raise ParameterError(f"A survey has a question and 2 to {MOST_CHOICES} different answers.")
        if not 1 <= days <= 366:
            raise ParameterError("A survey lasts 1 to 366 days.", found=days)
        today = datetime.now(UTC).date()
        collection = Collection.design(
            question.strip()[:200],
            domain=choices,
            epsilon=epsilon,
            protocol="grr",
            window=(today, today + timedelta(days - 1)),
            minimum_cohort=cohort,
        )
        private, public = signing.new_key()
        made = Survey(new_id(), owner, question.strip(), public.hex(), codes > 0, today.isoformat())
        drawn = [secrets.token_hex(16) for _ in range(codes)]
        place = self._folder / made.id
        place.mkdir(mode=0o700, parents=True)
        (place / "collection.json").write_bytes(signing.signed(collection, private))
        (place / "codes").write_text("".join(f"{digest(code)}\n" for code in drawn))
        (place / "about.json").write_text(json.dumps(asdict(made)))
        return made, drawn

    def all(self) -> list[Survey]:
        """Return all surveys, the newest first."""
        found = [_read(path) for path in self._folder.glob("*/about.json")] if self._folder.is_dir() else []
        return sorted(found, key=lambda survey: (survey.created, survey.id), reverse=True)

    def find(self, id_: str) -> Survey:
        """Return a survey."""
        path = self._folder / id_ / "about.json"
        if not id_.isalnum() or not path.exists():
            raise NotFound("There is no such survey.", fix="Check the link.")
        return _read(path)

    def counter(self, survey: Survey) -> _Counter:
        """Return what counts the reports of a survey."""
        with self._lock:
            if survey.id not in self._open:
                self._open[survey.id] = _Counter(self._folder / survey.id, survey)
            return self._open[survey.id]


def _read(path: Path) -> Survey:
    about: dict[str, Any] = json.loads(path.read_text())
    return Survey(**about)


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _append(path: Path, text: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
        file.write(text)
