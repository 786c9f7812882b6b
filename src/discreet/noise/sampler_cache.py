"""Build samplers once per law, and hold single draws in reserve.

A single draw, or a short array, comes from a reserve of its law that is filled by the batch: it is cheap, and the
time it takes (one call in a few hundred refills) has nothing to do with its value. How many are short follows from
the size that is asked for, which is public. Every value leaves the reserve once, in a
step that neither a thread nor a signal can divide. A forked child drops what its parent held, so the two never
release the same noise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.noise.random_bits import Bits, on_fork, single_use_bits, system_bits
from discreet.noise.testing import Asked, marked, test_bits, test_script

_BATCH = 1 << 16  # draws made at a time: large enough for numpy, small enough for the cache of a core
# Few are held for a law that is asked once, more with every refill, but never more than stay in the fastest cache:
# from there a large number is fetched as quickly as a small one, of which Python keeps a single copy at hand.
_FIRST, _MOST = 16, 256
_LAWS = 64  # samplers and reserves kept for each kind of law, mostly of less than half a megabyte
_SHORT = 64  # the largest array from the reserve: from there a batch of its own costs about as much
_EXACT = frozenset((int, Fraction))


Single = TypeVar("Single")
Array = TypeVar("Array")


class Sampler(Protocol):
    """Draws from one law."""

    @property
    def dtype(self) -> type[np.generic]:
        """The type of the draws."""
        ...

    def fill(self, drawn: NDArray[Any], bits: Bits) -> None:
        """Put independent draws into a flat array."""
        ...


def draw(sampler: Sampler, shape: int | tuple[int, ...], bits: Bits) -> NDArray[Any]:
    """Return an array of independent draws."""
    drawn = np.empty(shape, sampler.dtype)
    for batch in in_batches(drawn.reshape(-1)):
        sampler.fill(batch, bits)
    return drawn


def in_batches(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Return views of a flat array, each of a convenient size."""
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))


class Reserve(Generic[Single]):
    """Draws of one law, made in advance."""

    def __init__(self, sampler: Sampler):
        self._sampler, self._next = sampler, _FIRST
        self._drawn: deque[Single] = deque()

    def take(self) -> Single:
        """Return a draw that no other caller gets."""
        try:
            return self._drawn.pop()
        except IndexError:
            return self._refill(1)[0]

    def take_several(self, count: int) -> list[Single]:
        """Return draws that no other caller gets."""
        taken: list[Single] = []
        try:
            while len(taken) < count:
                taken.append(self._drawn.pop())
        except IndexError:
            taken += self._refill(count - len(taken))
        return taken

    def _refill(self, count: int) -> list[Single]:
        """Draw in advance, and return some more that were never in reserve, where others would take them."""
        drawn = draw(self._sampler, max(self._next, count), system_bits()).tolist()
        self._next = min(2 * self._next, _MOST)
        self._drawn.extend(drawn[count:])
        return cast(list[Single], drawn[:count])


def draw_scripted(
    choose: Callable[[Asked], int], asked: Asked, shape: tuple[int, ...] | None, dtype: type[Any]
) -> Any:
    """Return draws that a script decides, one by one: of the very types that real draws have."""
    if shape is None:
        return bool(choose(asked)) if dtype is np.bool_ else int(choose(asked))
    return np.array([choose(asked) for _ in range(math.prod(shape))], dtype).reshape(shape)


class Family(Generic[Single, Array]):
    """The laws of one kind, by their rational parameter."""

    def __init__(self, name: str, build: Callable[[Fraction], Sampler], dtype: type[np.generic]):
        self._name, self._dtype = name, dtype
        self._sampler = lru_cache(maxsize=_LAWS)(build)
        self._reserves: dict[tuple[int, int], Reserve[Single]] = {}
        on_fork(self._reserves.clear)

    def held(self, parameter: object) -> Single | None:
        """Return a draw from the reserve of a law that is already in use, else None.

        Only plain integers and fractions are looked up, which were checked when the reserve was made: True equals
        1, but is not a scale.
        """
        if type(parameter) not in _EXACT or test_bits():
            return None
        system_bits()  # drops the reserves if this is a child process
        reserve = self._reserves.get((parameter.numerator, parameter.denominator))  # type: ignore[attr-defined]
        return reserve.take() if reserve else None

    def draw(self, parameter: Fraction, shape: tuple[int, ...] | None, *, fresh: bool = False) -> Single | Array:
        """Return an array of draws, or a single one for `shape` None.

        Args:
            parameter: The parameter of the law.
            shape: The shape of the array.
            fresh: Whether the draws come from no reserve, and from bits of a key that is used for them alone.
        """
        test = test_bits()
        if fresh and not test:
            drawn = draw(self._sampler(parameter), shape or (), single_use_bits())
            return cast(Single, drawn.item()) if shape is None else cast(Array, drawn)
        if shape is None and not test:
            return self._reserve(parameter).take()
        if shape is not None and not test and (count := math.prod(shape)) <= _SHORT:
            short = np.array(self._reserve(parameter).take_several(count), self._dtype)
            return cast(Array, short.reshape(shape))
        if script := test_script():
            return cast(Array, draw_scripted(script, Asked(self._name, parameter), shape, self._dtype))
        drawn = draw(self._sampler(parameter), shape or (), test or system_bits())
        return cast(Array, marked(drawn) if test else drawn)

    def _reserve(self, parameter: Fraction) -> Reserve[Single]:
        system_bits()  # as above
        key = parameter.numerator, parameter.denominator
        if (reserve := self._reserves.get(key)) is not None:
            return reserve
        if len(self._reserves) >= _LAWS:
            self._reserves.clear()  # the draws that are lost were never returned
        return self._reserves.setdefault(key, Reserve(self._sampler(parameter)))
