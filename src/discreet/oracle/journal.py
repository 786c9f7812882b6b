"""The durable state of an oracle: what it is about to spend is on the disk before it is spent.

A journal is a file of lines, each a JSON record with its checksum, for its owner's eyes only (it holds the secret
lines of the sentry). Every step that touches data is two lines:

    begin   what is about to be done, and the ρ that it costs        written and synced, then the noise is drawn
    end     what came of it                                          written and synced, then it may be seen

Whatever has begun is spent, ended or not: killed anywhere, an oracle may lose what it paid for, and can never
spend it twice. A last line that was torn is a line that was not written: nothing had been drawn for a torn
`begin`, and a torn `end` was seen by nobody. One process holds the file at a time; the lock goes with the process.
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

from discreet.errors import BudgetExceeded, DiscreetError, NotForRelease, ParameterError
from discreet.noise.testing import test_bits as bits_in_use
from discreet.schema.metadata import persist

FORMAT = "discreet oracle 1"

_UNWRITTEN = "The journal of the oracle could not be written ({}). Make room, then open the oracle again."


class Journal:
    """The records of one oracle, and the file they are in, made by `create` and found again by `open`.

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
        """Take a new file, before anything is charged for what it is to hold, and give what makes it a journal.

        If it becomes none, because the charge is refused, the file is gone again.
        """
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as error:
            raise ParameterError(
                f"the state of the oracle cannot be kept in {path}: {error.strerror}. Name a new file in a "
                'directory that can be written: path="people.oracle".'
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
        """Make a new journal. Whatever is at that place already is refused."""
        with cls.place(path) as make:
            return make(rho, facts)

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Open a journal, and hold it."""
        try:
            handle = os.open(path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise ParameterError(
                f"the state of this oracle, {path}, is gone, and whatever it had left counts as spent. "
                'Restore the file from a copy, or make another oracle, at its own cost: oracle(…, name="second").'
            ) from None
        try:
            _lock(handle, path)
            return cls(path, handle, _read(handle, path))
        except BaseException:
            os.close(handle)
            raise

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.rho - self.spent

    def begin(self, kind: str, rho: Fraction, **facts: Any) -> int:
        """Set aside what a step costs, on the disk, before it is taken. Refuse what is more than is left."""
        if rho > self.left:
            raise BudgetExceeded(
                f"This step costs ρ = {float(rho):.3g}, and {float(self.left):.3g} of {float(self.rho):.3g} is "
                "left of the oracle."
            )
        record = {"n": len(self.begun), "begin": kind, "rho": str(rho), **facts}
        self._append(record)
        return int(record["n"])

    def end(self, number: int, sync: bool = True, /, **facts: Any) -> None:
        """Write down what came of a step, before anyone sees it."""
        self._append({"n": number, "end": True, **facts}, sync=sync)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, record: dict[str, Any], *, sync: bool = True) -> None:
        if bits_in_use() is not None and not self.header.get("test_bits"):
            raise NotForRelease(
                "What test bits decide may not become part of a real oracle. Make one for tests, inside of "
                "noise.deterministic(…)."
            )
        if self._handle < 0:
            raise DiscreetError("This oracle is closed. Open it again: vault.oracle(…) with the same parameters.")
        try:
            _write(self._handle, record, sync=sync)
        except BaseException:
            self.close()  # what is on the disk now is known only to whoever opens it again
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
            f"The oracle {path} is in use by another process, or was not closed by this one. Close it there "
            "first: oracle.close()."
        ) from None


def _write(handle: int, record: Mapping[str, Any], *, sync: bool = True) -> None:
    text = json.dumps(record, separators=(",", ":"), sort_keys=True)
    line = f"{_sum(text)} {text}\n".encode()
    try:
        written = os.write(handle, line)
        if sync:
            os.fsync(handle)
    except OSError as error:
        raise DiscreetError(_UNWRITTEN.format(error.strerror)) from error
    if written != len(line):
        raise DiscreetError(_UNWRITTEN.format("the disk may be full"))


def _read(handle: int, path: Path) -> list[dict[str, Any]]:
    """Return the records, without a torn last line, which is cut off so that the next one begins a line."""
    content = b""
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, 1 << 20):
        content += part
    lines, sound, records = content.split(b"\n"), 0, []
    for place, line in enumerate(lines[:-1]):
        text = line[17:].decode("utf-8", "replace")
        if line[:16].decode("ascii", "replace") != _sum(text):
            if place == len(lines) - 2:
                break
            raise DiscreetError(f"The journal {path} was changed in line {place + 1}. Restore it from a copy.")
        records.append(json.loads(text))
        sound += len(line) + 1
    if not records or records[0].get("format") != FORMAT:
        raise ParameterError(f"{path} is no journal of an oracle.")
    if sound < len(content):
        os.ftruncate(handle, sound)
    return records


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
