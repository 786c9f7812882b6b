"""Keep the durable state of an oracle: each cost is on the disk before it is spent.

A journal is a file of lines, each a JSON record with its checksum. Only its owner can read it, because it holds
the secret thresholds. Every step that touches data is two lines:

    begin   what is about to be done, and the ρ that it costs        written and synced, then the noise is drawn
    end     the result                                               written and synced, then it may be seen

A step that has begun is spent, ended or not. If the process is killed at any point, the oracle may lose an answer
that it was charged for, but it can never spend the same budget twice. A torn last line counts as not written: no
noise was drawn for a torn `begin`, and the analyst did not see the result of a torn `end`. One process holds the
file at a time; the lock ends with the process.
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
from typing import Any

from discreet.errors import BudgetExceeded, DiscreetError, Fix, NotForRelease, ParameterError
from discreet.ledger.balance import share_left
from discreet.noise.testing import test_bits as bits_in_use
from discreet.render import numbers
from discreet.schema.metadata import persist

FORMAT = "discreet oracle 1"


class Journal:
    """The records of one oracle and their file. `create` makes it, `open` opens it again.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> journal = Journal.create(Path(folder.name) / "a.oracle", rho=Fraction(1), facts={})
    >>> number = journal.begin("payment", Fraction(1, 4), question="how many?")
    >>> journal.end(number, noisy=12)
    >>> journal.left
    Fraction(3, 4)
    >>> journal.close(); folder.cleanup()
    """

    def __init__(self, path: Path, handle: int, records: list[dict[str, Any]]):
        self.path, self._handle = path, handle
        self.header = records[0]
        self.rho = Fraction(self.header["rho"])
        self.begun: dict[int, dict[str, Any]] = {}
        self.ended: dict[int, dict[str, Any]] = {}
        self.spent = Fraction(0)
        for record in records[1:]:
            self._take(record)

    @classmethod
    @contextmanager
    def place(cls, path: Path) -> Iterator[Callable[..., Journal]]:
        """Create the file before the charge, and yield the function that makes it a journal after the charge.

        If that function is not called, because the charge was refused, the file is removed again.
        """
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as error:
            raise ParameterError(
                f"The state of the oracle cannot be kept in this file: {error.strerror}.",
                found=path,
                fix=Fix("path", "people.oracle", note="a new file, in a directory that can be written"),
            ) from None
        made: list[Journal] = []

        def create(rho: Fraction, facts: Mapping[str, Any]) -> Journal:
            header = {"format": FORMAT, "rho": str(rho), **facts}
            _write(handle, header)
            persist(path.parent)
            made.append(cls(path, handle, [header]))
            return made[0]

        try:
            _lock(handle, path)
            yield create
        finally:
            if not made:
                os.close(handle)
                path.unlink(missing_ok=True)

    @classmethod
    def create(cls, path: Path, *, rho: Fraction, facts: Mapping[str, Any]) -> Journal:
        """Make a new journal. A path that exists already is refused."""
        with cls.place(path) as make:
            return make(rho, facts)

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Open a journal, and hold it."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise ParameterError(
                "The state of this oracle is gone, and its whole budget counts as spent.",
                found=path,
                fix=[
                    Fix("name", "second", note="another oracle, at its own cost"),
                    "Or restore the file from a backup.",
                ],
            ) from None
        try:
            _lock(handle, path)
            return cls(path, handle, _read(handle, path))
        except BaseException:
            os.close(handle)
            raise

    @property
    def left(self) -> Fraction:
        """The ρ that may still be spent."""
        return self.rho - self.spent

    def begin(self, kind: str, rho: Fraction, **facts: Any) -> int:
        """Set aside the cost of a step, on the disk, before it is taken. Refuse a cost above what is left."""
        if rho > self.left:
            raise BudgetExceeded(
                f"This step costs {numbers.share(rho, self.rho)} of the oracle's budget, and "
                f"{share_left(self.left, self.rho)} is left.",
                fix="Make another oracle, at its own cost.",
            )
        record = {"n": len(self.begun), "begin": kind, "rho": str(rho), **facts}
        self._append(record)
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
                "A real oracle takes no noise from test bits.",
                fix="Make an oracle for tests, from test bits, inside of noise.deterministic(…).",
            )
        if self._handle < 0:
            raise DiscreetError("This oracle is closed.", fix="Open it again, with the same parameters.")
        try:
            _write(self._handle, record, sync=sync)
        except BaseException:
            self.close()  # only a process that opens the file again knows what is on the disk now
            raise
        self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        if "begin" in record:
            self.begun[record["n"]] = record
            self.spent += Fraction(record["rho"])
        else:
            self.ended[record["n"]] = record


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise DiscreetError(
            "The oracle is in use by another process, or was not closed by this one.",
            found=path,
            fix="Close it there first.",
        ) from None


def _write(handle: int, record: Mapping[str, Any], *, sync: bool = True) -> None:
    text = json.dumps(record, separators=(",", ":"), sort_keys=True)
    line = f"{_sum(text)} {text}\n".encode()
    try:
        written = os.write(handle, line)
        if sync:
            os.fsync(handle)
    except OSError as error:
        raise _unwritten(error.strerror) from error
    if written != len(line):
        raise _unwritten("the disk may be full")


def _unwritten(reason: str | None) -> DiscreetError:
    return DiscreetError(
        "The journal of the oracle could not be written.",
        found=reason,
        fix="Make room on the disk, then open the oracle again.",
    )


def _read(handle: int, path: Path) -> list[dict[str, Any]]:
    """Return the records, without a torn last line, which is cut off so that the next one begins a line."""
    content = b""
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, 1 << 20):
        content += part
    lines, sound, records = content.split(b"\n"), 0, []
    for number, line in enumerate(lines[:-1], 1):
        text = line[17:].decode("utf-8", "replace")
        if line[:16].decode("ascii", "replace") != _sum(text):
            if number == len(lines) - 1:
                break
            raise DiscreetError(
                f"The journal was changed in line {number}.", found=path, fix="Restore it from a backup."
            )
        records.append(json.loads(text))
        sound += len(line) + 1
    if not records or records[0].get("format") != FORMAT:
        raise ParameterError(
            "This file is not the journal of an oracle.", found=path, fix="Restore it from a backup."
        )
    if sound < len(content):
        os.ftruncate(handle, sound)
    return records


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
