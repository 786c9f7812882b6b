"""Keep surveys and other local collections: signed, with the hashes of invitation codes and the key of tickets.

A collection is a folder of the service. Either the service designs it: its key signs it once, and is then
forgotten, so that no one can sign another collection for the same link. Or it was signed elsewhere, by a key that
the service never has.

A code links a person to a randomised report, against which the local guarantee holds. What it shows is who took
part. With tickets it shows who asked for a ticket, and no one can tell which report a ticket brought
(`discreet.local.tickets`).

A request that makes a collection may have a key: the same key makes one collection, and shows the same codes. They
follow from the key and from a secret of the collection, so that they are not stored, and are not guessed from a
key that was badly chosen.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.errors import AlreadyRunning, Fix, NotFound, ParameterError
from discreet.local import Collection, signing
from discreet.local.tickets import Issuer
from discreet.serve.accounts import Actor, Passes, Role
from discreet.serve.accounts.passes import KEY
from discreet.serve.accounts.secrets import digest, new_id
from discreet.serve.survey.counter import CODES, ENVELOPE, ISSUER, LABELS, Counter, lines

FOLDER = "surveys"
MOST_CHOICES, MOST_LABELS, MOST_CODES = 50, 10_000, 100_000
MOST_COHORT = 10**9
MOST_CELLS = 1 << 20
MOST_OPEN = 64
"""The most surveys whose counts are in memory. Others are counted from their files again."""
LARGEST = 1 << 20
"""The most bytes of a batch of reports."""
_ABOUT, _SEED, _MAKING = "about.json", "seed", ".making"


@dataclass(frozen=True)
class Survey:
    """What is known about a survey, or about another local collection.

    Args:
        id: The name in its link.
        owner: The account that made it.
        question: The question, as respondents read it: the name of the collection.
        key: The public key of its link, in hexadecimal digits.
        invited: Whether a report needs an invitation code, or a ticket that was issued for one.
        created: The day on which it was made.
        tickets: Whether codes are exchanged for tickets, and reports need tickets.
    """

    id: str
    owner: str
    question: str
    key: str
    invited: bool
    created: str
    tickets: bool = False


@dataclass(frozen=True)
class _Made:
    """A collection that is about to be stored."""

    collection: Collection
    envelope: bytes
    public: bytes
    codes: int = 0
    issuer: Issuer | None = None


class Surveys:
    """The surveys of a service.

    Args:
        folder: The folder of the service.
        passes: The keys that were used.
    """

    def __init__(self, folder: Path, passes: Passes):
        """Take the folder, and the store of what is used once."""
        self._folder, self._open, self._lock = folder / FOLDER, OrderedDict[str, Counter](), threading.Lock()
        self._passes = passes

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
        tickets: bool = False,
        protocol: str | None = "grr",
        key: str = "",
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
            tickets: Whether codes are exchanged for blind tickets; by default a report comes with its code.
            protocol: The protocol: "grr" by default, for which there is a page; None for the best one.
            key: The idempotency key of the request; none by default.
        """
        most = MOST_CHOICES if protocol == "grr" else MOST_LABELS
        if not question.strip() or not 2 <= len(choices) <= most or not 0 <= codes <= MOST_CODES:
            raise ParameterError(f"A survey has a question and 2 to {most:,} different answers.")
        if not 1 <= days <= 366 or not 1 <= cohort <= MOST_COHORT:
            raise ParameterError("A survey lasts 1 to 366 days, and waits for 1 to 1,000,000,000 answers.")
        if tickets and not codes:
            raise ParameterError(
                "Tickets are issued for invitation codes.", found="codes=0", fix=Fix("codes", 100)
            )

        def designed() -> _Made:
            today, issuer = datetime.now(UTC).date(), Issuer.new() if tickets else None
            collection = Collection.design(
                question.strip()[:200],
                domain=choices,
                epsilon=epsilon,
                protocol=protocol,
                window=(today, today + timedelta(days - 1)),
                minimum_cohort=cohort,
                tickets=None if issuer is None else issuer.key,
            )
            private, public = signing.new_key()
            return _Made(collection, signing.signed(collection, private), public, codes, issuer)

        terms = [question, choices, epsilon, days, cohort, codes, tickets, protocol]
        return self._made(owner, key, terms, designed)

    def adopt(
        self, owner: str, envelope: bytes, public: bytes, labels: list[str] | None = None, *, key: str = ""
    ) -> Survey:
        """Store a collection that was signed elsewhere, if its signature is by this key.

        Args:
            owner: The account that registers it.
            envelope: The signed collection.
            public: The public key that verifies it.
            labels: Its labels, if its text has only their hash; none by default.
            key: The idempotency key of the request; none by default.
        """

        def taken() -> _Made:
            collection = signing.opened(envelope, public)
            return _Made(collection if labels is None else collection.with_labels(labels), envelope, public)

        return self._made(owner, key, [envelope.hex(), public.hex(), labels], taken)[0]

    def _made(
        self, owner: str, key: str, terms: list[Any], maker: Callable[[], _Made]
    ) -> tuple[Survey, list[str]]:
        """Make a collection, or return the one that the same request with the same key made before."""
        made = maker()  # before the key is bound: a request that is refused leaves its key as it was
        _expect_small(made.collection)
        id_ = self._reserved(owner, key, terms) if key else new_id()
        place, seed = self._folder / id_, secrets.token_bytes(32)
        if not (place / _ABOUT).exists():
            codes = _codes(seed, key, made.codes)
            self._store(place, owner, made, codes, seed if key else None)
            if not key:
                return _read(place / _ABOUT), codes
        return _read(place / _ABOUT), _codes((place / _SEED).read_bytes(), key, len(lines(place / CODES)))

    def _reserved(self, owner: str, key: str, terms: list[Any]) -> str:
        """Return the id that belongs to a key, of this request and no other one."""
        print_ = digest(json.dumps(terms))
        known, _, id_ = self._passes.use(
            "", KEY, digest(f"{owner}\n{key}"), f"{print_} {new_id()}"
        ).what.partition(" ")
        if known != print_:
            raise AlreadyRunning(
                "This idempotency key belongs to another request. Nothing was made.",
                found=key[:64],
                fix="Send a new key with a new request.",
            )
        return id_

    def _store(self, place: Path, owner: str, made: _Made, codes: list[str], seed: bytes | None) -> None:
        """Write the folder of a collection, which appears whole. If another request was first, its one stays."""
        collection, today = made.collection, datetime.now(UTC).date().isoformat()
        tickets = collection.tickets is not None
        about = Survey(
            place.name, owner, collection.name, made.public.hex(), bool(codes) or tickets, today, tickets
        )
        draft = self._folder / _MAKING / new_id()
        draft.mkdir(mode=0o700, parents=True)
        files = {
            ENVELOPE: made.envelope,
            CODES: "".join(sorted(f"{digest(code)}\n" for code in codes)).encode(),
            _ABOUT: json.dumps(asdict(about)).encode(),
        }
        if collection.digest is not None and collection.labels is not None:
            files[LABELS] = json.dumps(list(collection.labels)).encode()
        if made.issuer is not None:
            files[ISSUER] = made.issuer.written().encode()
        if seed is not None:
            files[_SEED] = seed
        for name, content in files.items():
            with open(os.open(draft / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
        try:
            draft.rename(place)
        except OSError:
            shutil.rmtree(draft)
            if not (place / _ABOUT).exists():
                raise

    def all(self) -> list[Survey]:
        """Return all surveys, the newest first."""
        found = [_read(path) for path in self._folder.glob(f"*/{_ABOUT}")] if self._folder.is_dir() else []
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
        path = self._folder / id_[:64] / _ABOUT  # a file system refuses longer names in its own words
        if not id_.isalnum() or not path.exists():
            raise NotFound("There is no such survey.", fix="Check the link.")
        return _read(path)

    def counter(self, survey: Survey) -> Counter:
        """Return what counts the reports of a survey."""
        with self._lock:
            if survey.id not in self._open:
                place = self._folder / survey.id
                self._open[survey.id] = Counter(place, survey.key, survey.invited, self._passes)
            self._open.move_to_end(survey.id)
            while len(self._open) > MOST_OPEN:  # a request that still has it shares the file, as two servers do
                self._open.popitem(last=False)
            return self._open[survey.id]


def _codes(seed: bytes, key: str, number: int) -> list[str]:
    """Return codes of 128 bits that follow from a secret and the key of a request."""
    return [hmac.digest(seed, f"{i}\n{key}".encode(), "sha256")[:16].hex() for i in range(number)]


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
