"""Shuffle reports between devices and server, so that the server cannot tell who sent what.

A shuffler takes frames as they arrive, forgets who sent them and when, and passes them on in batches, each of one
collection, in an order that is uniformly random. It drops repeated report ids and then removes the ids, and the
days too unless `keep_days` is set. A batch leaves when there are `threshold` frames or more; at the end (`flush`)
frames below the threshold are dropped, because a small crowd hides no device. It does not read payloads.

An attacker can name collections that do not exist, and those frames would wait for ever. So a shuffler may be
given the known collections, and the numbers of crowds and of frames that wait are limited. A frame beyond these
limits is refused and counted by its reason in `dropped`. Its report id is not remembered, so that the device may
send it again.

The order: every frame is given an integer below 2⁶³ and frames are sorted by them; if two are equal, all are drawn
again. Given that all differ, each order is as likely as any other, by symmetry. The privacy that follows is
computed in `discreet.local.design.shuffle_amplification`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import Fix, ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.device.wire import DAY, IDENTIFIED, Layout, Rows, batch, unpacked
from discreet.local.server.deduplicate import Ids, Seen, starts
from discreet.rational import whole


class Shuffler:
    """A shuffler that collects frames and releases them in crowds.

    >>> from discreet.local.device.wire import batch
    >>> crowd = Shuffler(threshold=3)
    >>> report = bytes([1]) + b"whatever" + b"A"
    >>> crowd.take(batch([report, report])), crowd.take(batch([report]))
    ([], [b'DLPB...'])
    """

    def __init__(
        self,
        threshold: int,
        *,
        keep_days: bool = False,
        collections: Iterable[Collection] | None = None,
        most_crowds: int = 1_000,
        most_waiting: int = 10_000_000,
    ):
        """Release frames of a collection when there are `threshold` or more.

        Args:
            threshold: The least number of frames in a batch.
            keep_days: Whether frames keep their day; no by default.
            collections: The known collections; by default frames of any collection are taken.
            most_crowds: The limit of crowds that wait; 1,000 by default.
            most_waiting: The limit of frames that wait; 10,000,000 by default.
        """
        self.threshold, self.most_crowds = whole(threshold, "threshold"), whole(most_crowds, "most_crowds")
        self.most_waiting = whole(most_waiting, "most_waiting")
        if self.most_waiting < self.threshold:
            raise ParameterError(
                f"No crowd of {self.threshold} can wait: the limit of waiting frames is smaller.",
                found=f"most_waiting={most_waiting}",
                fix=Fix("most_waiting", self.threshold),
            )
        self._known = None if collections is None else {each.id[:8] for each in collections}
        self.keep_days = keep_days
        self.dropped: Counter[str] = Counter()
        self._waiting: dict[tuple[bytes, int], list[Rows]] = {}
        self._seen = Seen()

    def take(self, data: bytes) -> list[bytes]:
        """Take a batch, and return the batches that are large enough to leave."""
        rows = unpacked(data)
        if rows is None:
            self.dropped["malformed"] += 1
            return []
        for first in np.unique(rows[:, 0]) if rows.size else ():
            self._wait(rows[rows[:, 0] == first], Layout.of(int(first)))
        ready = [crowd for crowd, parts in self._waiting.items() if sum(map(len, parts)) >= self.threshold]
        return [self._leave(crowd) for crowd in ready]

    @property
    def waiting(self) -> int:
        """The number of frames that wait."""
        return sum(len(part) for parts in self._waiting.values() for part in parts)

    def flush(self) -> None:
        """Drop what is still waiting, and forget all report ids."""
        self.dropped["small crowd"] += self.waiting
        self._waiting.clear()
        self._seen = Seen()

    def _wait(self, rows: Rows, layout: Layout | None) -> None:
        if layout is None or rows.shape[1] < layout.payload:
            self.dropped["malformed"] += len(rows)
            return
        dated = self.keep_days and layout.day is not None
        start = rows[:, : 11 if dated else 9].copy()
        start[:, 0] &= ~np.uint8(IDENTIFIED) if dated else ~np.uint8(IDENTIFIED | DAY)
        # frames of one crowd agree in collection, day and length, and differ only in the payload
        stripped = np.hstack([start, rows[:, layout.payload :]])
        for crowd, members in _equal_rows(start):
            ids = None if layout.identity is None else starts(rows[members, layout.identity :])
            self._join((crowd, stripped.shape[1]), stripped[members], ids)

    def _join(self, crowd: tuple[bytes, int], frames: Rows, ids: Ids | None) -> None:
        if self._known is not None and crowd[0][1:9] not in self._known:
            self.dropped["unknown collection"] += len(frames)
            return
        if crowd not in self._waiting and len(self._waiting) >= self.most_crowds:
            self.dropped["too many crowds"] += len(frames)
            return
        room = self.most_waiting - self.waiting
        if len(frames) > room:
            self.dropped["too many waiting"] += len(frames) - room
        frames = frames[:room]
        if ids is not None:
            fresh = self._seen.first_time(ids[:room])
            if not fresh.all():
                self.dropped["replayed"] += int(np.count_nonzero(~fresh))
            frames = frames[fresh]
        if len(frames):
            self._waiting.setdefault(crowd, []).append(frames)

    def _leave(self, crowd: tuple[bytes, int]) -> bytes:
        rows = np.concatenate(self._waiting.pop(crowd))
        return batch(rows[permutation(len(rows))])


def _equal_rows(start: Rows) -> Iterator[tuple[bytes, NDArray[np.int64]]]:
    """Return each distinct row with the indices of its copies. Mostly all are equal: that is checked first."""
    if not len(start):
        return
    if (start == start[0]).all():
        yield start[0].tobytes(), np.arange(len(start))
        return
    kinds, which, counts = np.unique(start, axis=0, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(which.reshape(-1), kind="stable"), np.cumsum(counts)[:-1])
    for kind, some in zip(kinds, members, strict=True):
        yield kind.tobytes(), some


def permutation(size: int) -> NDArray[np.int64]:
    """Return 0 … size − 1 in an order that is uniformly random, from the kernel's bits.

    >>> sorted(permutation(5).tolist())
    [0, 1, 2, 3, 4]
    """
    while True:
        keys = np.asarray(noise.uniform_below(2**63, size=size))
        order = np.argsort(keys)
        if size < 2 or np.diff(keys[order]).min() > 0:
            return order
