"""Define the hash functions of sketches: public, pairwise independent, the same in Python and JavaScript.

An item (any bytes) has a fingerprint: two numbers x₁, x₂ below P = 2³¹ − 1, the first two words of eight bytes of
SHA-256(item), the lowest byte first, modulo P. Row r has three numbers a, b, c below P, made in the same way from
SHA-256("discreet local row", seed, r), seed and r as eight bytes, the lowest first, and sends an item to

    ((a·x₁ + b·x₂ + c) mod P) mod m.

Over the choice of a, b, c two items with different fingerprints are sent to two independent uniform places below
P, and to the same one below m with probability at most 1/m + m/P. Fingerprints of two items are the same with
probability about 2⁻⁶². Sums stay below 2⁶⁴ − 1, so 64-bit integers, or doubles in halves, are enough everywhere.
Hashes are not secret and protect no device: the noise does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.local.protocols.protocol import Coded, checked

P = 2**31 - 1
_TAG = b"discreet local row"

Fingerprints = NDArray[np.uint64]
"""Two numbers below P for each item, in rows."""


def fingerprints(items: Iterable[bytes]) -> Fingerprints:
    """Return the fingerprint of each item.

    >>> fingerprints([b"blue", b"green"])
    array([[ 981731481, 2009676989],
           [ 933469194, 1449283580]], dtype=uint64)
    """
    digests = b"".join(hashlib.sha256(item).digest()[:16] for item in items)
    return np.frombuffer(digests, "<u8").reshape(-1, 2).astype(np.uint64) % np.uint64(P)


@lru_cache(maxsize=8)
def of_codes(domain: int) -> Fingerprints:
    """Return the fingerprints of the values 0 … domain − 1, each as eight bytes, the lowest first."""
    found = fingerprints(code.to_bytes(8, "little") for code in range(domain))
    found.setflags(write=False)
    return found


def items_of(values: Coded, domain: int) -> Fingerprints:
    """Return the fingerprints of values of a domain; in domain 0, values are fingerprints of texts already.

    >>> bool((items_of(np.array([2]), domain=3) == of_codes(3)[2:]).all())
    True
    >>> items_of(fingerprints([b"blue"]), domain=0).tolist()
    [[981731481, 2009676989]]
    """
    if domain:
        codes = checked(values, domain)
        if len(codes) < domain:  # a device hashes only its own value
            return fingerprints(code.to_bytes(8, "little") for code in codes.tolist())
        return of_codes(domain)[codes]
    found = np.asarray(values)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype != np.uint64 or (found >= P).any():
        raise ParameterError(
            "The values of an open dictionary must be fingerprints.",
            fix=Fix("values", Code("fingerprints(items)")),
        )
    return found


@lru_cache(maxsize=32)
def rows(seed: int, count: int) -> NDArray[np.uint64]:
    """Return the three numbers of each row."""
    named = (_TAG + seed.to_bytes(8, "little") + row.to_bytes(8, "little") for row in range(count))
    digests = b"".join(hashlib.sha256(name).digest()[:24] for name in named)
    found = np.frombuffer(digests, "<u8").reshape(-1, 3).astype(np.uint64) % np.uint64(P)
    found.setflags(write=False)
    return found


def places(row: NDArray[np.uint64], items: Fingerprints, m: int) -> NDArray[np.int64]:
    """Return the columns to which rows hash items: one of each, or all combinations by broadcasting.

    >>> places(rows(seed=0, count=3)[:, None, :], fingerprints([b"blue", b"green"])[None, :, :], 100).shape
    (3, 2)
    """
    mixed = row[..., 0] * items[..., 0] + row[..., 1] * items[..., 1] + row[..., 2]
    return (mixed % np.uint64(P) % np.uint64(m)).astype(np.int64)
