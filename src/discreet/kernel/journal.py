"""Keep the durable state of an oracle, a holdout or a stream: each cost is on the disk before it is spent.

A journal is a file of lines, each a JSON record with its checksum. Only its owner can read it, because it holds
the secret thresholds. Every step that touches data is two lines:

    begin   what is about to be done, and the ρ that it costs        written and synced, then the noise is drawn
    end     the result                                               written and synced, then it may be seen

A step that has begun is spent, ended or not. If the process is killed at any point, an answer that was charged for
may be lost, but the same budget is never spent twice. A torn last line counts as not written: no
noise was drawn for a torn `begin`, and the analyst did not see the result of a torn `end`.

There are two ways to hold the file. An oracle holds it from `open` to `close`: one process at a time, and the
lock ends with the process. A holdout shares it (`share`): any number of processes have it open, and each takes
its turns (`with journal.turn()`). A turn waits for the lock, reads what the others wrote since, and gives the
lock back, so that every step is decided from all steps before it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import BudgetExceeded, DiscreetError, Fix, NotForRelease, ParameterError
from discreet.ledger.balance import share_left
from discreet.noise.testing import test_bits as bits_in_use
from discreet.render import numbers
from discreet.schema.metadata import persist


class Kind(NamedTuple):
    """What a journal belongs to.

    Args:
        name: Its name in messages, such as "oracle".
        format: The first fact of the file, such as "discreet oracle 1".
    """

    name: str
    format: str


ORACLE = Kind("oracle", "discreet oracle 1")
"""The journal of an oracle."""

HOLDOUT = Kind("holdout", "discreet holdout 1")
"""The journal of a holdout: its transcript."""

RESTORE = "Restore its newest copy. An older one has forgotten answers, and would spend their budget twice."
"""The way out where the file is gone or damaged, and what an old backup would do."""


class Journal:
    """The records of one run and their file. `create` makes it, `open` opens it again.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> journal = Journal.create(Path(folder.name) / "a.oracle", rho=Fraction(1), facts={})
    >>> number = journal.begin("payment", Fraction(1, 4), question="how many?")
    >>> journal.end(number, noisy=12)
    >>> journal.left
    Fraction(3, 4)
    >>> journal.close(); folder.cleanup()
    """

    def __init__(self, path: Path, handle: int, records: list[dict[str, Any]], kind: Kind = ORACLE):
        self.path, self._handle, self.kind = path, handle, kind
        self._end = os.lseek(handle, 0, os.SEEK_END)  # of what was read: others may write more
        self._shared = self._in_turn = False
        self.header = records[0]
        self.rho = Fraction(self.header["rho"])
        self.begun: dict[int, dict[str, Any]] = {}
        self.ended: dict[int, dict[str, Any]] = {}
        self.spent = Fraction(0)
        for record in records[1:]:
            self._take(record)

    @classmethod
    @contextmanager
    def place(cls, path: Path, kind: Kind = ORACLE) -> Iterator[Callable[..., Journal]]:
        """Create the file before the charge, and yield the function that makes it a journal after the charge.

        If that function is not called, because the charge was refused, the file is removed again.
        """
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as error:
            raise ParameterError(
                f"The state of the {kind.name} cannot be kept in this file: {error.strerror}.",
                found=path,
                fix=Fix("path", f"people.{kind.name}", note="a new file, in a directory that can be written"),
            ) from None
        made: list[Journal] = []

        def create(rho: Fraction, facts: Mapping[str, Any]) -> Journal:
            header = {"format": kind.format, "rho": str(rho), **facts}
            _write(handle, header, kind=kind)
            persist(path.parent)
            made.append(cls(path, handle, [header], kind))
            return made[0]

        try:
            _lock(handle, path, kind)
            yield create
        finally:
            if not made:
                os.close(handle)
                path.unlink(missing_ok=True)

    @classmethod
    def create(cls, path: Path, *, rho: Fraction, facts: Mapping[str, Any], kind: Kind = ORACLE) -> Journal:
        """Make a new journal. A path that exists already is refused."""
        with cls.place(path, kind) as make:
            return make(rho, facts)

    @classmethod
    def open(cls, path: Path, kind: Kind = ORACLE, *, wait: bool = False) -> Journal:
        """Open a journal, and hold it. If another process holds it, refuse, or wait for it."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise ParameterError(
                f"The state of this {kind.name} is gone, and its whole budget counts as spent.",
                found=path,
                fix=[
                    Fix("name", "second", note=f"another {kind.name}, at its own cost"),
                    RESTORE,
                ],
            ) from None
        try:
            _lock(handle, path, kind, wait=wait)
            return cls(path, handle, _read(handle, path, kind), kind)
        except BaseException:
            os.close(handle)
            raise

    @classmethod
    def share(cls, path: Path, kind: Kind = HOLDOUT) -> Journal:
        """Open a journal that other processes may have open too. Its steps are taken in turns."""
        journal = cls.open(path, kind, wait=True)
        journal.shared()
        return journal

    def shared(self) -> Journal:
        """Share this journal from now on: give the lock back, and take it for each turn."""
        self._shared = True
        fcntl.flock(self._handle, fcntl.LOCK_UN)
        return self

    @contextmanager
    def turn(self) -> Iterator[list[dict[str, Any]]]:
        """Wait for the lock, and yield the records that other processes wrote since the last turn.

        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> place = Path(folder.name) / "a.holdout"
        >>> here = Journal.create(place, rho=Fraction(0), facts={}, kind=HOLDOUT).shared()
        >>> there = Journal.share(here.path)
        >>> with there.turn():
        ...     there.end(there.begin("check", Fraction(0)), value=1)
        >>> with here.turn() as news:
        ...     [sorted(record) for record in news]
        [['begin', 'n', 'rho'], ['end', 'n', 'value']]
        >>> here.close(); there.close(); folder.cleanup()
        """
        self._expect_open()
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        try:
            if os.fstat(self._handle).st_nlink == 0:
                raise DiscreetError(
                    f"The file of this {self.kind.name} was removed while it was open.",
                    found=self.path,
                    fix=f"{RESTORE} Then open it again.",
                )
            news = _read(self._handle, self.path, self.kind, self._end)
            self._end = os.lseek(self._handle, 0, os.SEEK_END)
            for record in news:
                self._take(record)
            self._in_turn = True
            yield news
        finally:
            self._in_turn = False
            if self._handle >= 0:
                fcntl.flock(self._handle, fcntl.LOCK_UN)

    @property
    def left(self) -> Fraction:
        """The ρ that may still be spent."""
        return self.rho - self.spent

    def begin(self, kind: str, rho: Fraction, sync: bool = True, /, **facts: Any) -> int:
        """Set aside the cost of a step, on the disk, before it is taken. Refuse a cost above what is left."""
        if rho > self.left:
            raise BudgetExceeded(
                f"This step costs {numbers.share(rho, self.rho)} of the {self.kind.name}'s budget, and "
                f"{share_left(self.left, self.rho)} is left.",
                fix=f"Make another {self.kind.name}, at its own cost.",
            )
        record = {"n": len(self.begun), "begin": kind, "rho": str(rho), **facts}
        self._append(record, sync=sync)
        return int(record["n"])

    def end(self, number: int, sync: bool = True, /, **facts: Any) -> None:
        """Write the result of a step, before the analyst sees it."""
        self._append({"n": number, "end": True, **facts}, sync=sync)

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, record: dict[str, Any], *, sync: bool = True) -> None:
        if bits_in_use() is not None and not self.header.get("test_bits"):
            raise NotForRelease(
                f"A real {self.kind.name} takes no noise from test bits.",
                fix=f"Make one {self.kind.name} for tests, from test bits, inside of noise.deterministic(…).",
            )
        self._expect_open()
        if self._shared and not self._in_turn:
            raise DiscreetError(
                "A shared journal is written in turns only.", fix="Write inside of: with journal.turn()."
            )
        try:
            self._end += _write(self._handle, record, sync=sync, kind=self.kind)
        except BaseException:
            self.close()  # only a process that opens the file again knows what is on the disk now
            raise
        self._take(record)

    def _expect_open(self) -> None:
        if self._handle < 0:
            raise DiscreetError(
                f"This {self.kind.name} is closed.", fix="Open it again, with the same parameters."
            )

    def _take(self, record: dict[str, Any]) -> None:
        if "begin" in record:
            self.begun[record["n"]] = record
            self.spent += Fraction(record["rho"])
        else:
            self.ended[record["n"]] = record


def _lock(handle: int, path: Path, kind: Kind, *, wait: bool = False) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        raise DiscreetError(
            f"The {kind.name} is in use by another process, or was not closed by this one.",
            found=path,
            fix="Close it there first.",
        ) from None


def _write(handle: int, record: Mapping[str, Any], *, sync: bool = True, kind: Kind = ORACLE) -> int:
    text = json.dumps(record, separators=(",", ":"), sort_keys=True)
    line = f"{_sum(text)} {text}\n".encode()
    try:
        written = os.write(handle, line)
        if sync:
            os.fsync(handle)
    except OSError as error:
        raise _unwritten(error.strerror, kind) from error
    if written != len(line):
        raise _unwritten("the disk may be full", kind)
    return written


def _unwritten(reason: str | None, kind: Kind) -> DiscreetError:
    return DiscreetError(
        f"The journal of the {kind.name} could not be written.",
        found=reason,
        fix=f"Make room on the disk, then open the {kind.name} again.",
    )


def _read(handle: int, path: Path, kind: Kind, start: int = 0) -> list[dict[str, Any]]:
    """Return the records from an offset on, without a torn last line, which is cut off: the next begins a line."""
    content = b""
    os.lseek(handle, start, os.SEEK_SET)
    while part := os.read(handle, 1 << 20):
        content += part
    lines, sound, records = content.split(b"\n"), 0, []
    for number, line in enumerate(lines[:-1], 1):
        text = line[17:].decode("utf-8", "replace")
        if line[:16].decode("ascii", "replace") != _sum(text):
            if number == len(lines) - 1:
                break
            raise DiscreetError(
                f"The journal was changed in line {number}{' of what is new' if start else ''}.",
                found=path,
                fix=RESTORE,
            )
        records.append(json.loads(text))
        sound += len(line) + 1
    if not start and (not records or records[0].get("format") != kind.format):
        raise ParameterError(
            f"This file is not the journal of one {kind.name}.", found=path, fix="Restore it from a backup."
        )
    if sound < len(content):
        os.ftruncate(handle, start + sound)
    return records


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
