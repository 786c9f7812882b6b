"""Pack sets into bytes: a map of bits, bit v in byte v // 8, the lowest first, filled up with zeros.

The form is canonical: one set has one string of bytes, and any other string is not valid. A set has no order, so
no position of a member can give the true one away.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]
Payloads = NDArray[np.uint8]


def pack_bits(bits: NDArray[np.bool_]) -> Payloads:
    """Return rows of bits as rows of bytes, filled up with zeros.

    >>> pack_bits(np.array([[True, False, False, False, False, False, False, False, True]]))
    array([[1, 1]], dtype=uint8)
    """
    return np.packbits(bits, axis=1, bitorder="little")


def tidy(payloads: Payloads, bits: int) -> NDArray[np.bool_]:
    """Return which rows have only zeros after so many bits."""
    if bits % 8 == 0:
        return np.ones(len(payloads), np.bool_)
    tidied: NDArray[np.bool_] = payloads[:, -1] >> (bits % 8) == 0
    return tidied


def count_bits(payloads: Payloads, bits: int) -> Values:
    """Return in how many rows each bit is set.

    >>> count_bits(np.array([[3], [1]], np.uint8), 2)
    array([2, 1])
    """
    total = np.zeros(bits, np.int64)
    for rows in blocks(len(payloads), bits):
        spread = np.unpackbits(payloads[rows], axis=1, count=bits, bitorder="little")
        whole = len(spread) // 255 * 255  # sums of 255 bits fit into a byte, and numpy adds many bytes at once
        total += spread[:whole].reshape(-1, 255, bits).sum(1, dtype=np.uint8).sum(0, dtype=np.int64)
        total += spread[whole:].sum(0, dtype=np.int64)
    return total


def blocks(rows: int, width: int, cells: int = 1 << 22) -> Iterable[slice]:
    """Return slices of rows with at most so many cells each, but at least one row."""
    step = max(1, cells // max(width, 1))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
