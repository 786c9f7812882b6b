"""Detect repeated report ids: a growing set of 64-bit integers, kept in sorted rows.

A row is at least twice as long as the one after it, so n ids lie in at most log₂ n rows; a new row is merged with
the one before it until that holds again, and each id is moved log₂ n times in its life. Of an id of 16 random
bytes the first eight are kept: an honest report is taken for a repetition with probability n/2⁶⁴.

A merged set holds every id once for each part that has counted it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint64]


class Seen:
    """A set of ids for lookups and additions of many at a time.

    >>> seen = Seen()
    >>> seen.first_time(np.array([5, 7, 5], np.uint64))
    array([ True,  True, False])
    >>> seen.first_time(np.array([7, 8], np.uint64))
    array([False,  True])
    """

    def __init__(self, ids: Ids | None = None):
        """Begin with these ids; an id occurs once for each part that has counted it."""
        self._rows: list[Ids] = [] if ids is None or not len(ids) else [np.sort(ids, kind="stable")]

    def first_time(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which of these are new, and remember them."""
        fresh = np.zeros(len(ids), np.bool_)
        fresh[np.unique(ids, return_index=True)[1]] = True
        for row in self._rows:
            fresh &= ~_among(ids, row)
        self._add(np.sort(ids[fresh]))
        return fresh

    def all(self) -> Ids:
        """Return all ids, sorted."""
        if not self._rows:
            return np.zeros(0, np.uint64)
        if len(self._rows) > 1:
            self._rows = [np.sort(np.concatenate(self._rows), kind="stable")]
        return self._rows[0]

    def times(self) -> NDArray[np.int64]:
        """Return how many parts have counted each id.

        >>> Seen(np.array([5, 7, 5], np.uint64)).times()
        array([2, 1])
        """
        return np.unique(self.all(), return_counts=True)[1]

    def _add(self, row: Ids) -> None:
        if len(row):
            self._rows.append(row)
        while len(self._rows) > 1 and len(self._rows[-2]) < 2 * len(self._rows[-1]):
            last, before = self._rows.pop(), self._rows.pop()
            self._rows.append(
                np.sort(np.concatenate([before, last]), kind="stable")
            )  # the stable sort merges two sorted runs


def starts(ids: NDArray[np.uint8]) -> Ids:
    """Return the first eight bytes of ids in rows, as integers.

    >>> starts(np.array([[1, 2, 0, 0, 0, 0, 0, 0, 9, 9]], np.uint8))
    array([513], dtype=uint64)
    """
    return np.ascontiguousarray(ids[:, :8]).view("<u8")[:, 0].astype(np.uint64)


def _among(ids: Ids, known: Ids) -> NDArray[np.bool_]:
    """Return which ids are in a sorted row."""
    if not len(known):
        return np.zeros(len(ids), np.bool_)
    at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    met: NDArray[np.bool_] = known[at] == ids
    return met
