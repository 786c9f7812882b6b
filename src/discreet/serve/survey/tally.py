"""Keep counts, and what was used once, in a file whose bytes do not tell in which order anything arrived.

    header   "DSTL" · version · secret (16) · reports · entries · bits · cells (8 each, lowest byte first)
    counts   the sum of the states of all reports: cells of eight bytes
    table    an entry of 32 bytes in each place: a keyed hash of a pass or report id (16), and of its use (16)

**Claim: the bytes are a function of the secret, of the counts, and of the set of entries.** Counts are sums of
integers. The table of 2^bits places and some more is sorted: entry i, in the order of keys, is at the place
p_i = max(h_i, p_{i−1} + 1), where h_i is the number that its key's first bits are. That is one place for each
entry of a set. `bits` follows from the number of entries. An entry that is added takes its place, and those of its
run that are larger move by one, which is the same rule again. So two orders of the same arrivals leave the same
file: there is no journal, no row number and no time in it (tested in `tests/serve/survey/test_tally.py`).

A change is written to `….redo` first, then to its places, and then the redo is overwritten: a server that is
killed in between has made all of it or nothing. Zeros fill a new file, so that its blocks do not tell when they
were first used. Servers take turns by a lock of `….lock`, which ends with its process.

What the file cannot hide: a copy that was made before (the difference is what arrived since), the time of its last
change, and whatever a disk or a file system keeps of old bytes.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import secrets
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]

_HEADER = struct.Struct("<5s16sQQQQ")
_MAGIC = b"DSTL\x01"
_ENTRY, _KEY = 32, 16
_EMPTY = bytes(_KEY)
_FEWEST = 6  # bits of an empty table
_BEYOND = 4096
"""The most places behind the last home. A table is at most ¾ full and its keys are random, so runs longer than q
have probability about exp(−0.5·q): e^(−2000) here. A smaller table has room for all of its entries behind it."""
_BLOCK = 1 << 16  # places that are moved at once when a table grows


class Tally:
    """Counts and entries, in a file that several servers share.

    Args:
        path: The file. It is made when it is first locked.
        cells: How many numbers the counts have.
    """

    def __init__(self, path: Path, cells: int = 0):
        """Take the place. Nothing is read yet."""
        self._path, self._cells, self._inode = path, cells, -1
        self._lock, self._redo = path.with_name(f"{path.name}.lock"), path.with_name(f"{path.name}.redo")
        self.reports, self.entries, self._bits = 0, 0, _FEWEST

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Have the file for this server alone, as it is now."""
        held = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)  # closing it frees it, also if the process is killed
            self._opened()
            yield
        finally:
            os.close(held)

    def counts(self) -> Cells:
        """Return the sum of the states of all reports. The file must be locked."""
        return np.frombuffer(self._map, "<i8", self._cells, _HEADER.size).astype(np.int64)

    def key(self, name: bytes) -> bytes:
        """Return the key of a pass or a report id: no client can choose where its entry is."""
        found = hashlib.blake2b(name, key=self._secret, digest_size=_KEY).digest()
        return found if found != _EMPTY else b"\1" * _KEY

    def find(self, name: bytes) -> bytes | None:
        """Return what a name was used for, or None. The file must be locked."""
        key = self.key(name)
        place = self._home(key)
        while (there := self._entry(place))[:_KEY] != _EMPTY and there[:_KEY] < key:
            place += 1
        return there[_KEY:] if there[:_KEY] == key else None

    def add(self, uses: Mapping[bytes, bytes], reports: int = 0, state: Cells | None = None) -> None:
        """Add names that are not there yet, with what they were used for, and reports, all at once.

        Args:
            uses: The names, and a hash of 16 bytes of the use of each.
            reports: How many reports were counted with them.
            state: What is added to the counts.
        """
        self._grow(self.entries + len(uses))
        changed: dict[int, bytes] = {}
        for name, use in uses.items():
            self._insert(self.key(name) + use, changed)
        start = _HEADER.size + 8 * self._cells
        patches = [(start + place * _ENTRY, entry) for place, entry in changed.items()]
        if state is not None and len(nonzero := np.flatnonzero(state)):
            first, last = int(nonzero[0]), int(nonzero[-1]) + 1
            sums = self.counts()[first:last] + state[first:last]
            patches.append((_HEADER.size + 8 * first, sums.astype("<i8").tobytes()))
        self.reports, self.entries = self.reports + reports, self.entries + len(uses)
        self._write([(0, self._header()), *patches])

    def _insert(self, entry: bytes, changed: dict[int, bytes]) -> None:
        """Put an entry into its place, and move those of its run that are larger by one."""
        place = self._home(entry[:_KEY])
        while (there := changed.get(place) or self._entry(place))[:_KEY] != _EMPTY:
            if there > entry:
                changed[place], entry = entry, there
            place += 1
        changed[place] = entry

    def _home(self, key: bytes) -> int:
        return int.from_bytes(key[:8], "big") >> (64 - self._bits)

    def _entry(self, place: int) -> bytes:
        start = _HEADER.size + 8 * self._cells + place * _ENTRY
        found = self._map[start : start + _ENTRY]
        if len(found) < _ENTRY:
            raise OSError(f"{self._path} is damaged")
        return found

    # -- the file ---------------------------------------------------------------------------------------------

    def _header(self) -> bytes:
        return _HEADER.pack(_MAGIC, self._secret, self.reports, self.entries, self._bits, self._cells)

    def _opened(self) -> None:
        """Read the header, after another server or the last one that was killed."""
        if not self._path.exists():
            self._secret, self.reports, self.entries, self._bits = secrets.token_bytes(16), 0, 0, _FEWEST
            self._replace(self._header() + bytes(8 * self._cells))
        if self._path.stat().st_ino != self._inode:
            self._mapped()
        self._read()
        self._redone()

    def _mapped(self) -> None:
        with self._path.open("rb") as file:
            self._inode = os.fstat(file.fileno()).st_ino
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _read(self) -> None:
        magic, self._secret, self.reports, self.entries, self._bits, cells = _HEADER.unpack_from(self._map)
        if magic != _MAGIC or cells != self._cells:
            raise OSError(f"{self._path} is damaged")

    def _write(self, patches: list[tuple[int, bytes]]) -> None:
        """Change several places of the file, all of them or none."""
        body = struct.pack("<Q", self._bits) + b"".join(
            struct.pack("<QI", offset, len(data)) + data for offset, data in patches
        )
        whole = struct.pack("<Q", len(body)) + hashlib.sha256(body).digest() + body
        with open(os.open(self._redo, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as redo:
            redo.write(whole)
            redo.flush()
            os.fsync(redo.fileno())
            self._apply(patches)
            redo.seek(0)
            redo.write(bytes(len(whole)))  # before it is shortened: freed blocks keep their bytes
            redo.flush()
            redo.truncate(mmap.PAGESIZE)

    def _apply(self, patches: list[tuple[int, bytes]]) -> None:
        with self._path.open("r+b") as file:
            for offset, data in patches:
                file.seek(offset)
                file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _redone(self) -> None:
        """Finish the change of a server that was killed. To make one again that was made changes nothing."""
        try:
            whole = self._redo.read_bytes()
        except FileNotFoundError:
            return
        size = int.from_bytes(whole[:8], "little")
        check, body = whole[8:40], whole[40 : 40 + size]
        if not size or hashlib.sha256(body).digest() != check:
            return
        (bits,), at, patches = struct.unpack_from("<Q", body), 8, list[tuple[int, bytes]]()
        while at < size:
            offset, length = struct.unpack_from("<QI", body, at)
            patches.append((offset, body[at + 12 : at + 12 + length]))
            at += 12 + length
        if bits == self._bits:  # else the table has grown since, so the change was made
            self._apply(patches)
            self._read()

    def _grow(self, entries: int) -> None:
        """Give the table so many bits that it is at most three quarters full."""
        bits = self._bits
        while 4 * entries > 3 << bits:
            bits += 1
        if bits != self._bits:
            before, self._bits = self._map, bits
            start = _HEADER.size + 8 * self._cells
            self._replace(self._header() + before[_HEADER.size : start], before, start)
            self._mapped()

    def _replace(self, head: bytes, table: mmap.mmap | None = None, start: int = 0) -> None:
        """Write the file anew, with the entries of a table in the places that `bits` gives them, whole or not."""
        draft = self._path.with_name(f"{self._path.name}.new")
        places = (1 << self._bits) + min(1 << self._bits, _BEYOND)
        with open(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "r+b") as file:
            file.write(head)
            for _ in range(0, places, _BLOCK):
                file.write(bytes(min(_BLOCK, places) * _ENTRY))
            file.truncate(len(head) + places * _ENTRY)
            for first, entries in _laid_out(table, start, self._bits):
                file.seek(len(head) + first * _ENTRY)
                file.write(entries)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)


def _laid_out(table: mmap.mmap | None, start: int, bits: int) -> Iterator[tuple[int, bytes]]:
    """Return the entries of a table in the places that so many bits give them, in pieces: first place, bytes."""
    if table is None:
        return
    free, size = 0, (len(table) - start) // _ENTRY
    for at in range(0, size, _BLOCK):
        rows = np.frombuffer(table, np.uint8, min(_BLOCK, size - at) * _ENTRY, start + at * _ENTRY)
        rows = rows.reshape(-1, _ENTRY)
        rows = rows[rows[:, :_KEY].any(axis=1)]
        if not len(rows):
            continue
        homes = np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0].astype(np.uint64) >> np.uint64(64 - bits)
        order = np.arange(len(rows))
        places = np.maximum.accumulate(np.maximum(homes.astype(np.int64), free) - order) + order
        piece = np.zeros((int(places[-1] - places[0]) + 1, _ENTRY), np.uint8)
        piece[places - places[0]] = rows
        free = int(places[-1]) + 1
        yield int(places[0]), piece.tobytes()
