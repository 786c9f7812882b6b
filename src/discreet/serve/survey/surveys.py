"""Keep surveys and other local collections: signed, the reports that arrived, and the hashes of invitation codes.

A collection is a folder of the service. Either the service designs it: its key signs it once, and is then
forgotten, so that no one can sign another collection for the same link. Or it was signed elsewhere, by a key that
the service never has. Reports are appended to a file as they arrive, and counted in memory. The file is what is
durable: a server that starts again counts it again, and report ids keep each report from counting twice. A report
is randomised before it leaves its device, so the file is as public as its estimates.

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
from discreet.local import Aggregator, Answer, Collection, signing
from discreet.local.device.wire import unpacked
from discreet.serve.accounts import Actor, Role
from discreet.serve.accounts.secrets import digest, new_id
from discreet.serve.service import Service

FOLDER = "surveys"
MOST_CHOICES, MOST_LABELS, MOST_CODES = 50, 10_000, 100_000
MOST_CELLS = 1 << 20
LARGEST = 1 << 20
"""The most bytes of a batch of reports."""
_LABELS = "labels.json"


@dataclass(frozen=True)
class Survey:
    """What is known about a survey, or about another local collection.

    Args:
        id: The name in its link.
        owner: The account that made it.
        question: The question, as respondents read it: the name of the collection.
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


class Counter:
    """The reports of one survey that were counted, and the codes that were not used yet."""

    def __init__(self, folder: Path, survey: Survey):
        self.lock, self.folder, self.invited = threading.Lock(), folder, survey.invited
        self.envelope = (folder / "collection.json").read_bytes()
        opened = signing.opened(self.envelope, bytes.fromhex(survey.key), today=date(1970, 1, 1))
        labels = folder / _LABELS  # a long list of labels is in the signed text as a hash only
        self.collection = opened.with_labels(json.loads(labels.read_text())) if labels.exists() else opened
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

    def estimate(self, candidates: list[str] | None = None) -> Answer:
        """Return the estimates; of texts, those of the candidates."""
        with self.lock:  # reports of other requests are counted meanwhile
            return self.server.frequencies(candidates) if candidates else self.server.estimate()

    @property
    def has_form(self) -> bool:
        """Whether the respondent's page can ask it: a choice of labels, randomised by one coin."""
        return self.collection.randomiser.name == "grr" and bool(self.collection.labels)

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
        self._folder, self._open, self._lock = folder / FOLDER, dict[str, Counter](), threading.Lock()

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
        protocol: str | None = "grr",
    ) -> tuple[Survey, list[str]]:
        """Design, sign and store a survey. Return it with its invitation codes, which are shown once.

        Args:
            owner: The account that makes it.
            question: The question.
            choices: The answers to choose from.
            epsilon: What one report may cost.
            days: How many days it lasts, from today on.
            cohort: How many reports to wait for before anything is estimated.
            codes: How many invitation codes to draw; 0 for an open link.
            protocol: The protocol: "grr" by default, for which there is a page; None for the best one.
        """
        most = MOST_CHOICES if protocol == "grr" else MOST_LABELS
        if not question.strip() or not 2 <= len(choices) <= most or not 0 <= codes <= MOST_CODES:
            raise ParameterError(f"A survey has a question and 2 to {most:,} different answers.")
        if not 1 <= days <= 366:
            raise ParameterError("A survey lasts 1 to 366 days.", found=days)
        today = datetime.now(UTC).date()
        collection = Collection.design(
            question.strip()[:200],
            domain=choices,
            epsilon=epsilon,
            protocol=protocol,
            window=(today, today + timedelta(days - 1)),
            minimum_cohort=cohort,
        )
        private, public = signing.new_key()
        drawn = [secrets.token_hex(16) for _ in range(codes)]
        made = self._keep(owner, collection, signing.signed(collection, private), public, drawn)
        return made, drawn

    def adopt(self, owner: str, envelope: bytes, key: bytes, labels: list[str] | None = None) -> Survey:
        """Store a collection that was signed elsewhere, if its signature is by this key."""
        collection = signing.opened(envelope, key)
        if labels is not None:
            collection = collection.with_labels(labels)
        return self._keep(owner, collection, envelope, key, [])

    def _keep(
        self, owner: str, collection: Collection, envelope: bytes, public: bytes, codes: list[str]
    ) -> Survey:
        _expect_small(collection)
        today = datetime.now(UTC).date().isoformat()
        made = Survey(new_id(), owner, collection.name, public.hex(), bool(codes), today)
        place = self._folder / made.id
        place.mkdir(mode=0o700, parents=True)
        (place / "collection.json").write_bytes(envelope)
        if collection.digest is not None and collection.labels is not None:
            (place / _LABELS).write_text(json.dumps(list(collection.labels)))
        (place / "codes").write_text("".join(f"{digest(code)}\n" for code in codes))
        (place / "about.json").write_text(json.dumps(asdict(made)))
        return made

    def all(self) -> list[Survey]:
        """Return all surveys, the newest first."""
        found = [_read(path) for path in self._folder.glob("*/about.json")] if self._folder.is_dir() else []
        return sorted(found, key=lambda survey: (survey.created, survey.id), reverse=True)

    def of(self, actor: Actor) -> list[Survey]:
        """Return the surveys that an account may watch: its own, or to a curator all."""
        return [one for one in self.all() if _watched_by(actor, one)]

    def find_for(self, actor: Actor, id_: str) -> Survey:
        """Return a survey to an account that may watch it; to others it is not there."""
        found = self.find(id_)
        if not _watched_by(actor, found):
            raise NotFound("There is no such survey of yours.", fix="Check the link.")
        return found

    def find(self, id_: str) -> Survey:
        """Return a survey."""
        path = self._folder / id_ / "about.json"
        if not id_.isalnum() or not path.exists():
            raise NotFound("There is no such survey.", fix="Check the link.")
        return _read(path)

    def counter(self, survey: Survey) -> Counter:
        """Return what counts the reports of a survey."""
        with self._lock:
            if survey.id not in self._open:
                self._open[survey.id] = Counter(self._folder / survey.id, survey)
            return self._open[survey.id]


def surveys_of(service: Service) -> Surveys:
    """Return the surveys of a service: one object for each folder, because it counts."""
    return _SURVEYS.setdefault(str(service.settings.folder.resolve()), Surveys(service.settings.folder))


_SURVEYS: dict[str, Surveys] = {}


def _expect_small(collection: Collection) -> None:
    """Refuse a collection whose counts would fill the memory of the server: its author chose their number."""
    try:
        cells = len(collection.randomiser.state())  # zeros that are not written to take no memory
    except MemoryError:
        cells = MOST_CELLS + 1
    if cells > MOST_CELLS:
        raise ParameterError(
            f"The service counts at most {MOST_CELLS:,} numbers of a collection.",
            fix="Take a smaller domain, or a protocol with a sketch.",
        )


def _watched_by(actor: Actor, survey: Survey) -> bool:
    return actor.role is Role.CURATOR or survey.owner == actor.name


def _read(path: Path) -> Survey:
    about: dict[str, Any] = json.loads(path.read_text())
    return Survey(**about)


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _append(path: Path, text: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
        file.write(text)
