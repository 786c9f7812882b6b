"""Write and read the wire format: a report in a frame, and frames in a batch.

    frame    version and flags (1 byte) · first of the collection's id (8) · [day (2)] · [report id (16)] · payload
    batch    "DLPB" · version (1) · how many (4) · how long each (2) · the frames

Numbers have their highest byte first. The version is 1, in the lower half of its byte; 0x10 says that there is a
day (days since 1970-01-01), 0x20 that there is a report id: 16 random bytes by which a server counts a report once
although it was sent twice. All frames of a collection have one length. A frame has no device id, and no time but
the day. numpy reads the bytes in place.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection

VERSION, DAY, IDENTIFIED = 0x01, 0x10, 0x20
MAGIC = b"DLPB"
HEADER = 11  # bytes of a batch before its frames
_PREFIX, _DAYS, _IDS = 8, 2, 16
_EPOCH = date(1970, 1, 1).toordinal()

Rows = NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """The offsets of the parts of a frame, as its first byte says.

    >>> Layout.of(VERSION | DAY)
    Layout(day=9, identity=None, payload=11)
    """

    day: int | None
    identity: int | None
    payload: int

    @classmethod
    def of(cls, first: int) -> Layout | None:
        """Return the layout of frames with this first byte; None if it is not valid."""
        if first & ~(DAY | IDENTIFIED) != VERSION:
            return None
        day = 1 + _PREFIX if first & DAY else None
        after = 1 + _PREFIX + (_DAYS if first & DAY else 0)
        return cls(day, after if first & IDENTIFIED else None, after + (_IDS if first & IDENTIFIED else 0))


def day_number(day: date) -> int:
    """Return how many days after 1970-01-01 a day is. A frame has two bytes for it.

    >>> day_number(date(2026, 1, 1))
    20454
    """
    number = day.toordinal() - _EPOCH
    if not 0 <= number < 2**16:
        raise ParameterError("A day must be from 1970-01-01 to 2149-06-06 to fit into a frame.", found=day)
    return number


def frame(collection: Collection, payload: bytes, *, day: date | None = None, identified: bool = True) -> bytes:
    """Return a report of one device, ready to leave.

    `identified=False` saves 16 bytes, for channels that deliver once.
    """
    if len(payload) != collection.randomiser.payload_bytes:
        raise ParameterError(
            f"The reports of {collection.name!r} have {collection.randomiser.payload_bytes} bytes each.",
            found=f"{len(payload)} bytes",
            fix="Frame a report that the protocol of the collection encoded.",
        )
    first = VERSION | (DAY if day else 0) | (IDENTIFIED if identified else 0)
    when = day_number(day).to_bytes(_DAYS, "big") if day else b""
    return bytes([first]) + collection.id[:_PREFIX] + when + secrets.token_bytes(_IDS * identified) + payload


def frames(collection: Collection, payloads: Rows, *, identified: bool = False) -> Rows:
    """Return a frame in each row for payloads in each row, without days; with ids if `identified`."""
    first = VERSION | (IDENTIFIED if identified else 0)
    start = np.frombuffer(bytes([first]) + collection.id[:_PREFIX], np.uint8)
    each = _IDS * identified
    ids = np.frombuffer(secrets.token_bytes(each * len(payloads)), np.uint8).reshape(len(payloads), each)
    return np.hstack([np.broadcast_to(start, (len(payloads), len(start))), ids, payloads])


def batch(reports: Sequence[bytes] | Rows) -> bytes:
    """Return one batch of frames, which must all have one length.

    >>> batch([b"abc", b"def"])
    b'DLPB\\x01\\x00\\x00\\x00\\x02\\x00\\x03abcdef'
    """
    rows = len(reports)
    lengths = {len(report) for report in reports} if isinstance(reports, Sequence) else {reports.shape[1]}
    if len(lengths) > 1:
        raise ParameterError(
            "The frames of a batch must all have one length.",
            found=f"{len(lengths)} lengths",
            fix="Make a batch for each length.",
        )
    body = b"".join(reports) if isinstance(reports, Sequence) else np.ascontiguousarray(reports).tobytes()
    length = max(lengths, default=0)
    return MAGIC + bytes([VERSION]) + rows.to_bytes(4, "big") + length.to_bytes(2, "big") + body


def unpacked(data: bytes) -> Rows | None:
    """Return the frames of a batch, one in each row; None if it is not a batch. Nothing is copied.

    >>> unpacked(b'DLPB\\x01\\x00\\x00\\x00\\x02\\x00\\x03abcdef').tobytes()
    b'abcdef'
    >>> unpacked(b'DLPB\\x01\\x00\\x00\\x00\\x03\\x00\\x03abcdef') is None
    True
    """
    size = _size(data, 0)
    if size is None or size != len(data):
        return None
    count = int.from_bytes(data[5:9], "big")
    return np.frombuffer(data, np.uint8, offset=HEADER).reshape(count, -1) if count else np.zeros((0, 0), np.uint8)


def batches(data: bytes) -> Iterator[bytes]:
    """Return the batches in a file of batches. Bytes at the end that are not a batch are returned unchanged."""
    at = 0
    while at < len(data):
        size = _size(data, at)
        end = len(data) if size is None else at + size
        yield data[at:end]
        at = end


def _size(data: bytes, at: int) -> int | None:
    if data[at : at + 5] != MAGIC + bytes([VERSION]) or len(data) < at + HEADER:
        return None
    count = int.from_bytes(data[at + 5 : at + 9], "big")
    length = int.from_bytes(data[at + 9 : at + 11], "big")
    return None if count and not length else HEADER + count * length
