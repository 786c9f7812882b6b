"""Generate random bits: AES-256 in counter mode, keyed by the operating system.

**Claim.** To an attacker without the key the words are as good as independent fair bits: under one key at most
2^16 blocks are drawn, so telling them from fair bits has advantage at most 2^(−97) beyond breaking AES itself
(PRP/PRF switching). After 1 MiB the key is replaced by a fresh one from `os.urandom` that does not depend on the
old one: an attacker who reads the memory later learns nothing about noise drawn under earlier keys (backtracking
resistance). An attacker who reads the memory once knows the key in use, and with it up to 1 MiB of bits before and
after. `single_use_bits` has a key that no look at the memory finds, before the draw or after it: pan privacy needs
that.

A stream has one user at a time. A caller that needs words takes an idle stream, or a new one, and puts it back
afterwards. No caller waits, so a draw may interrupt another one of the same thread (in a signal handler, in
`__del__`).

A child process never continues its parent's stream. `os.register_at_fork` gives it a generator of its own, and
begins a new `generation`; the process id is compared as well, for forks made by C code that runs no Python hooks.
A draw during which a fork happens goes on with the old generator in both processes, so streams compare the
generation before each step. Generators cannot be copied or pickled, and cannot be seeded: `testing.deterministic`
has a separate generator, and marks whatever it makes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, SupportsIndex

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

_ZEROS = memoryview(bytes(1 << 18))
_SLACK = 15  # update_into wants room for one block more than it writes, less one byte
_BYTES_PER_KEY = 1 << 20


class Bits(Protocol):
    """A source of fair bits for samplers."""

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        """Return `count` independent uniform words of an unsigned type."""
        ...

    def integer(self, bits: int) -> int:
        """Return an integer that is uniform below 2^`bits`."""
        ...


class Keystream:
    """AES-CTR under keys from `new_key`, each used for at most `bytes_per_key` bytes. For one user at a time."""

    def __init__(self, new_key: Callable[[], bytes], bytes_per_key: int):
        self._new_key, self._bytes_per_key = new_key, bytes_per_key
        self._left = self._generation = 0
        self._encryptor: CipherContext

    def fill(self, buffer: memoryview, size: int) -> None:
        """Write `size` bytes into a buffer that has `_SLACK` more."""
        done = 0
        while done < size:
            if not self._left or self._generation != generation():
                self._rekey()
            step = min(size - done, self._left, len(_ZEROS))
            self._encryptor.update_into(_ZEROS[:step], buffer[done : done + step + _SLACK])
            self._left -= step
            done += step

    def _rekey(self) -> None:
        self._generation = generation()
        # A key is never used twice, so the counter may start at zero.
        self._encryptor = Cipher(algorithms.AES(self._new_key()), modes.CTR(bytes(16))).encryptor()
        self._left = self._bytes_per_key


class Generator:
    """A source of words, with as many streams as are in use at once."""

    def __init__(self, new_key: Callable[[], bytes], *, bytes_per_key: int = _BYTES_PER_KEY):
        self._new_key, self._bytes_per_key = new_key, bytes_per_key
        self._idle: deque[Keystream] = deque()

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        """Return `count` independent uniform words of an unsigned type."""
        size = count * np.dtype(dtype).itemsize
        buffer = np.empty(size + _SLACK, np.uint8)
        stream = self._stream()
        stream.fill(buffer.data, size)
        self._idle.append(stream)  # not after an error: it may have come before the stream counted its words
        return buffer[:size].view(dtype)

    def integer(self, bits: int) -> int:
        """Return an integer that is uniform below 2^`bits`."""
        octets = (bits + 7) // 8
        return int.from_bytes(self.words(octets, np.uint8).tobytes(), "little") >> (8 * octets - bits)

    def _stream(self) -> Keystream:
        try:
            return self._idle.pop()  # one step, which neither a thread nor a signal can divide
        except IndexError:
            return Keystream(self._new_key, self._bytes_per_key)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("Random bits cannot be copied or pickled: two holders of one stream draw the same noise.")


def _system_key() -> bytes:
    return os.urandom(32)


class _Process:
    """The generator of this process, and what to do in a child that inherits it."""

    def __init__(self) -> None:
        self._renewals: list[Callable[[], None]] = []
        self.generation = 0
        self.renew()

    def renew(self) -> None:
        self.generation += 1
        self.bits = Generator(_system_key)
        for renewal in self._renewals:
            renewal()
        self.id = os.getpid()  # last: until then every thread that looks renews for itself

    def on_renewal(self, renewal: Callable[[], None]) -> None:
        self._renewals.append(renewal)


_process = _Process()
os.register_at_fork(after_in_child=_process.renew)
on_fork = _process.on_renewal


def system_bits() -> Generator:
    """Return this process's generator; a forked child gets one of its own.

    >>> system_bits().words(3, np.uint16).dtype
    dtype('uint16')
    """
    generation()
    return _process.bits


def single_use_bits() -> Generator:
    """Return a generator with a key of its own, which ends with it.

    >>> single_use_bits().words(3, np.uint16).dtype
    dtype('uint16')
    """
    return Generator(_system_key)


def generation() -> int:
    """Return a number that every forked child has anew: larger than that of its parent, whatever its process id.

    What must not go on in two processes remembers it and compares.

    >>> generation() == generation()
    True
    """
    if os.getpid() != _process.id:
        _process.renew()
    return _process.generation
