"""Recognise a holdout without keeping it: a slow, salted digest of its rows.

A transcript is worth nothing beside other rows, so it names those it belongs to. What the digest leaks: an
attacker who has the transcript's file, which only its owner can read, and a guess at *all* rows, can confirm the
guess. The salt is fresh for each transcript, so two transcripts of one holdout do not show that they are, and
nothing can be computed in advance. scrypt makes each guess cost about 50 ms and 16 MB, so that an attacker who
knows all rows but one tries few values of the last. The digest is in no answer, label or report.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fingerprint(X: Any, y: Any, salt: bytes) -> str:
    """Return the digest of a holdout under a salt.

    >>> one = fingerprint(np.array([[1.0], [2.0]]), np.array([0, 1]), b"salt")
    >>> one == fingerprint(np.array([[1.0], [2.0]]), np.array([0, 1]), b"salt")
    True
    >>> one == fingerprint(np.array([[1.0], [2.0]]), np.array([1, 1]), b"salt")
    False
    """
    digest = hashlib.sha256()
    for part in (*_parts(X), *_parts(y)):
        digest.update(hashlib.sha256(part).digest())
    return hashlib.scrypt(digest.digest(), salt=salt, n=2**14, r=8, p=1, dklen=32).hex()


def _parts(data: Any) -> list[bytes]:
    """Return the content of an array, a frame or a sparse matrix, with its shape and types."""
    if hasattr(data, "tocsr"):
        held = data.tocsr()
        return [str(held.shape).encode(), *(_bytes(part) for part in (held.data, held.indices, held.indptr))]
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        named = [str(list(map(str, data.columns))).encode()]
        return [*named, *(_bytes(np.asarray(data[name])) for name in data.columns)]
    return [_bytes(np.asarray(data))]


def _bytes(array: NDArray[Any]) -> bytes:
    head = f"{array.shape} {array.dtype.str}\n".encode()
    if array.dtype.kind in "biufc":
        return head + np.ascontiguousarray(array).tobytes()
    return head + "\0".join(f"{type(value).__name__} {value!r}" for value in array.ravel().tolist()).encode()
