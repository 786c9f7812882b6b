"""Keep the transcript of a holdout: every question is announced before it is answered, in one journal.

    begin   check, how many questions, their names          on the disk before an answer is computed
    end     the replies                                     on the disk before the analyst sees them

The file can be shared by processes: each takes its turn, reads what the others wrote, and replays it into its
method. A question that was announced and has no reply was lost with its process, or refused: it counts as a
question whose answer the analyst may have seen. Without a path the transcript is in a temporary file, which ends
with the holdout.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

from discreet.errors import DiscreetError, Fix, ParameterError
from discreet.kernel.journal import HOLDOUT, Journal
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.validity.fingerprint import fingerprint
from discreet.validity.methods import Method, Reply

MethodOf: TypeAlias = Callable[[bytes], Method]
"""Makes a method from the seed of a transcript."""


class Transcript:
    """The journal of a holdout, and the method whose state it is.

    Args:
        journal: The journal, shared.
        make: Makes the method, as it is before the first question.
        durable: Whether the journal outlives this process.
    """

    def __init__(self, journal: Journal, make: Callable[[], Method], *, durable: bool):
        self.journal, self._make, self.durable = journal, make, durable
        self._lock, self._generation = RLock(), generation()
        self._restart()

    def _restart(self) -> None:
        """Begin with a new method, and count all that was written."""
        self.method = self._make()
        self.replies: list[tuple[str, Reply]] = []
        self._seen: set[int] = set()
        bind = getattr(self.method, "bind", None)
        if bind is not None:
            bind(self.journal)
        self._replay()

    @contextmanager
    def turn(self) -> Iterator[Method]:
        """Wait for a turn, and yield the method with the state of all questions so far, of every process."""
        if generation() != self._generation:
            raise DiscreetError(
                "This holdout was opened by another process.",
                fix=Fix("path", "guard.holdout", call="ReusableHoldout", note="open it again in this process"),
            )
        with self._lock, self.journal.turn():
            self._replay()
            yield self.method

    def announce(self, names: Sequence[str]) -> int:
        """Write that questions are about to be answered; return the number of the step."""
        facts = self.method.begin(self.journal)
        number = self.journal.begin("check", Fraction(0), self.durable, names=list(names), **facts)
        self._seen.add(number)
        self._seen |= {n for n, record in self.journal.begun.items() if record["begin"] == "run"}
        return number

    def reply(self, number: int, names: Sequence[str], replies: Sequence[Reply]) -> None:
        """Write replies, before the analyst sees them. They are counted already."""
        written = [[*reply[:5], dict(reply.facts)] for reply in replies]
        self.journal.end(number, self.durable, replies=written)
        self.replies += zip(names, replies, strict=False)
        self._seen |= {n for n, record in self.journal.begun.items() if record["begin"] == "run"}

    @contextmanager
    def kept(self, number: int, names: Sequence[str], replies: list[Reply]) -> Iterator[None]:
        """Write the replies at the end of the block. A question without one, also by an interrupt, is refused.

        So this process counts what it announced as every other process does, which finds no reply in the file.
        """
        try:
            yield
            if len(replies) < len(names):
                self.method.refuse(len(names) - len(replies))
            self.reply(number, names, replies)
        except BaseException:
            self._restart()
            raise

    def refuse(self, number: int, questions: int) -> None:
        """Write that questions have no answer, and count them."""
        self.method.refuse(questions, self.journal.begun[number], error=True)
        self.journal.end(number, self.durable, refused=questions)

    def _replay(self) -> None:
        """Count what was written since: by this process before a restart, or by another."""
        for number, record in self.journal.begun.items():
            if number in self._seen:
                continue
            self._seen.add(number)
            if record["begin"] == "run":
                self.method.resume(record)
                continue
            ended, names = self.journal.ended.get(number), record["names"]
            if ended is None or "refused" in ended:
                self.method.refuse(len(names), record, error=ended is not None)
                continue
            for name, written in zip(names, ended["replies"], strict=False):
                reply = Reply(*written)
                self.method.take(reply)
                self.replies.append((name, reply))
            if rest := len(names) - len(ended["replies"]):
                self.method.refuse(rest)

    def close(self) -> None:
        """Close the journal. Nothing is lost."""
        self.journal.close()


def opened(
    path: str | Path | None, X: Any, y: Any, terms: dict[str, Any], method_of: MethodOf, keeper: object
) -> Transcript:
    """Return the transcript of a holdout: a new one, or the one that the file holds.

    Args:
        path: The file; None for a transcript that ends with the holdout.
        X: The rows of the holdout.
        y: Their labels.
        terms: The public terms. A transcript with other terms is refused.
        method_of: Makes the method from the seed of the transcript.
        keeper: The object whose end removes a temporary file.
    """
    if path is None:
        folder = tempfile.mkdtemp(prefix="holdout-")
        weakref.finalize(keeper, shutil.rmtree, folder, ignore_errors=True)
        return _created(Path(folder) / "transcript.holdout", X, y, terms, method_of, durable=False)
    place = Path(path).absolute()
    if not place.parent.is_dir():
        raise ParameterError(
            "The transcript of a holdout needs a directory that exists.",
            found=place.parent,
            fix=Fix("path", f"./{place.name}"),
        )
    if place.is_dir():
        raise ParameterError(
            "The transcript of a holdout is a file.", found=place, fix=Fix("path", f"{place.name}/guard.holdout")
        )
    if not place.exists():
        with suppress(FileExistsError):  # two processes may create it at one moment: the second one opens it
            return _created(place, X, y, terms, method_of, durable=True)
    journal = Journal.share(place, HOLDOUT)
    try:
        _expect_same(journal, X, y, terms)
        seed = bytes.fromhex(journal.header["seed"])
        return Transcript(journal, lambda: method_of(seed), durable=True)
    except BaseException:
        journal.close()
        raise


def _created(
    place: Path, X: Any, y: Any, terms: dict[str, Any], method_of: MethodOf, *, durable: bool
) -> Transcript:
    salt, seed = secrets.token_bytes(16), secrets.token_bytes(16)
    method: Method = method_of(seed)
    facts = {
        "salt": salt.hex(),
        "seed": seed.hex(),
        "mark": fingerprint(X, y, salt) if durable else "",
        "terms": terms,
        "test_bits": bits_in_use() is not None,
    }
    # The file gets its name when its first line is written: no process ever opens half a transcript.
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    journal = Journal.create(draft, rho=Fraction(method.rho), facts=facts, kind=HOLDOUT).shared()
    try:
        os.link(draft, place)
    except BaseException:
        journal.close()
        raise
    finally:
        draft.unlink(missing_ok=True)
    journal.path = place
    return Transcript(journal, lambda: method_of(seed), durable=durable)


def _expect_same(journal: Journal, X: Any, y: Any, terms: dict[str, Any]) -> None:
    header = journal.header
    if fingerprint(X, y, bytes.fromhex(header["salt"])) != header["mark"]:
        raise ParameterError(
            "This transcript belongs to another holdout: the rows or labels differ.",
            found=journal.path,
            fix=[
                Fix("path", "new.holdout", note="a transcript of its own"),
                "Or load the rows that it was made with.",
            ],
        )
    held = header["terms"]
    if other := [name for name in terms if terms[name] != held.get(name)]:
        name = other[0]
        raise ParameterError(
            f"This transcript was begun with another {name}, which cannot change once answers are given.",
            found=terms[name],
            fix=Fix(name, held.get(name)),
        )
