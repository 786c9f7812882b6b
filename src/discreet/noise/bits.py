"""Random bits: AES-256 in counter mode, keyed by the operating system.

**Claim.** To anyone without the key the words are as good as independent fair bits: under one key at most 2^16
blocks are drawn, so telling them from fair bits has advantage at most 2^(−97) beyond breaking AES itself
(PRP/PRF switching). After 1 MiB the key is replaced by a fresh one from `os.urandom` that does not depend on the
old one: who reads the memory later learns nothing about noise drawn under earlier keys (backtracking
resistance).

A child process never continues its parent's stream. `os.register_at_fork` renews key and lock in the child (the
lock may have been held by a thread that does not exist there); the process id is compared on every draw as well,
for forks made by C code that runs no Python hooks. Generators cannot be copied or pickled, and cannot be seeded:
`testing.deterministic` is a separate generator that marks whatever it makes.

Tested in `tests/noise/test_bits.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, SupportsIndex

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

_ZEROS = memoryview(bytes(1 << 18))
_SLACK = 15  # update_into wants room for one block more than it writes, less one byte
_BYTES_PER_KEY = 1 << 20


class Bits(Protocol):
    """Where samplers take their fair bits from."""

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        """Return `count` independent uniform words of an unsigned type."""
        ...

    def integer(self, bits: int) -> int:
        """Return an integer that is uniform below 2^`bits`."""
        ...


class Keystream:
    """AES-CTR under keys from `new_key`, each used for at most `bytes_per_key` bytes."""

    def __init__(self, new_key: Callable[[], bytes], *, bytes_per_key: int = _BYTES_PER_KEY):
        self._new_key, self._bytes_per_key = new_key, bytes_per_key
        self._lock = threading.Lock()
        self._left = 0
        self._encryptor: CipherContext

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        """Return `count` independent uniform words of an unsigned type."""
        size = count * np.dtype(dtype).itemsize
        buffer = np.empty(size + _SLACK, np.uint8)
        with self._lock:
            self._fill(buffer.data, size)
        return buffer[:size].view(dtype)

    def integer(self, bits: int) -> int:
        """Return an integer that is uniform below 2^`bits`."""
        octets = (bits + 7) // 8
        return int.from_bytes(self.words(octets, np.uint8).tobytes(), "little") >> (8 * octets - bits)

    def _fill(self, buffer: memoryview, size: int) -> None:
        done = 0
        while done < size:
            if not self._left:
                self._rekey()
            step = min(size - done, self._left, len(_ZEROS))
            self._encryptor.update_into(_ZEROS[:step], buffer[done : done + step + _SLACK])
            self._left -= step
            done += step

    def _rekey(self) -> None:
        # A key is never used twice, so the counter may start at zero.
        self._encryptor = Cipher(algorithms.AES(self._new_key()), modes.CTR(bytes(16))).encryptor()
        self._left = self._bytes_per_key

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("Random bits cannot be copied or pickled: two holders of one stream draw the same noise.")


def _system_key() -> bytes:
    return os.urandom(32)


class _Process:
    """The generator of this process, and what to do in a child that inherits it."""

    def __init__(self) -> None:
        self._renewals: list[Callable[[], None]] = []
        self.renew()

    def renew(self) -> None:
        self.id = os.getpid()
        self.bits = Keystream(_system_key)
        for renewal in self._renewals:
            renewal()

    def on_renewal(self, renewal: Callable[[], None]) -> None:
        self._renewals.append(renewal)


_process = _Process()
os.register_at_fork(after_in_child=_process.renew)
on_fork = _process.on_renewal


def system_bits() -> Keystream:
    """Return this process's generator; a forked child gets one of its own.

    >>> system_bits().words(3, np.uint16).dtype
    dtype('uint16')
    """
    if os.getpid() != _process.id:
        _process.renew()
    return _process.bits
