"""Sources of bits for tests: one that says what it is told, one that counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.noise.random_bits import system_bits


class Scripted:
    """Answers `integer` from a list, and `words` always with the same."""

    def __init__(self, integers: Iterable[int], word: int = 0):
        self.integers, self.word = list(integers), word

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        return np.full(count, self.word, dtype)

    def integer(self, bits: int) -> int:
        return self.integers.pop(0)


class Counting:
    """Real bits, counted."""

    def __init__(self) -> None:
        self.drawn = self.lazily = 0

    def words(self, count: int, dtype: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
        self.drawn += count * np.dtype(dtype).itemsize
        return system_bits().words(count, dtype)

    def integer(self, bits: int) -> int:
        self.lazily += 1
        return system_bits().integer(bits)
