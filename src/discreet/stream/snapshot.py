"""Keep the state of a stream in a file: written whole, renamed into place, checked when it is read.

A write goes to a new file, is synced, and is renamed over the old one, so that a reader finds the state before or
the state after, never a mixture. The file has one line: a checksum, and JSON with the version of its format. Only
its owner can read it. One process holds a stream at a time; a lock beside the file ends with the process.

**Crashes.** A stream shows a value only after the state that has this value is in the file (`session`). So if the
process is killed, what was seen is in the file, with its noise, and is not drawn again; what was drawn later was
never seen. Counts since the last write are lost with the process: `tick` says where a source has to start again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, Fix, ParameterError
from discreet.schema.metadata import persist

FORMAT = "discreet stream 1"
"""The version of the file: the only one that is written and read."""


class Snapshot:
    """The file of one stream, held by one process.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> held = Snapshot(Path(folder.name) / "visits.stream")
    >>> held.read() is None
    True
    >>> held.write({"tick": 3})
    >>> held.read()["tick"]
    3
    >>> held.close(); folder.cleanup()
    """

    def __init__(self, path: str | Path):
        self.path = Path(path).absolute()
        try:
            self._handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ParameterError(
                f"The state of the stream cannot be kept in this file: {error.strerror}.",
                found=self.path,
                fix=Fix("path", "visits.stream", note="in a directory that can be written"),
            ) from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            self._handle = -1
            raise DiscreetError(
                "The stream is in use by another process, or was not closed by this one.",
                found=self.path,
                fix="Close it there first.",
            ) from None

    def read(self) -> dict[str, Any] | None:
        """Return the state, None if there is none yet."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        mark, _, text = content.partition(b" ")
        if mark.decode("ascii", "replace") != _sum(text):
            raise DiscreetError(
                "The state of the stream was changed or cut off.",
                found=self.path,
                fix="Restore it from a backup; without one its budget is spent.",
            )
        record: dict[str, Any] = json.loads(text)
        if record.get("format") != FORMAT:
            raise ParameterError(
                f'This version of discreet reads "{FORMAT}".', found=record.get("format"), fix="Update discreet."
            )
        return record

    def write(self, record: dict[str, Any]) -> None:
        """Put a state into the place of the one before."""
        if self._handle < 0:
            raise DiscreetError("This stream is closed.", fix="Open it again, with the same parameters.")
        text = json.dumps({**record, "format": FORMAT}, separators=(",", ":"), sort_keys=True).encode() + b"\n"
        new = self.path.with_name(self.path.name + ".new")
        try:
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(_sum(text).encode() + b" " + text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, self.path)
            persist(self.path.parent)
        except OSError as error:
            raise DiscreetError(
                "The state of the stream could not be written, so its value is not shown.",
                found=error.strerror,
                fix="Make room on the disk, and ask again. Nothing was lost.",
            ) from error

    def close(self) -> None:
        """Give the file back."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            self.close()


def _sum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:32]
