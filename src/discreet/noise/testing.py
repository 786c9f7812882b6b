"""Replace random bits in tests by deterministic ones, and mark every result as not for release.

Inside `deterministic(seed)` the public functions draw from a generator of their own, keyed by the seed: the real
one, and what it has in reserve, are not touched. The block holds for one thread and one `contextvars` context,
and ends where it ends, also for tasks that were started inside and run on. A generator suspended inside has not
left it, so its caller is inside as well: do not `yield` there.

Results are `TestNoise`: arrays (for single draws of no dimension) that stay marked through indexing and
arithmetic and refuse to be pickled. The mark is lost where numpy is told to drop it (`np.asarray`, `int()`): it
guards against accidents, not intent. `docs/theory/random-bits.md` lists what keeps it and what does not.

Inside `scripted(choose)` nothing is random at all: the script decides every draw. In this way the auditor walks
through everything that a mechanism might draw (`audit.attacks.exact`). Results have the types of real draws and
bear no mark, because marked results would take other paths through the code. They never leave the auditor.
"""

from __future__ import annotations

import hashlib
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from discreet.errors import NotForRelease
from discreet.noise.random_bits import Generator


@dataclass(frozen=True)
class Asked:
    """One draw that a script decides: the public function that was asked, and its exact parameter.

    For `bernoulli_exp` the parameter is x/over; for `softmax` it is every gap/over. A coin's draw is 0 or 1.
    """

    law: str
    parameter: Fraction | tuple[Fraction, ...]


@dataclass
class _Block:
    """A `with` block: a copy of its context may outlive it, so the block itself says whether it is open."""

    bits: Generator
    thread: int
    open: bool = True
    choose: Callable[[Asked], int] | None = None


_context: ContextVar[_Block | None] = ContextVar("deterministic noise", default=None)


class TestNoise(np.ndarray[Any, np.dtype[Any]]):
    """Noise made from deterministic bits. Not for release."""

    __test__ = False  # not a test case, whatever pytest makes of the name

    def __getitem__(self, key: Any) -> Any:
        return marked(super().__getitem__(key))

    def __array_function__(self, *call: Any) -> Any:
        result = super().__array_function__(*call)
        return marked(result) if isinstance(result, np.ndarray | np.generic) else result

    def __index__(self) -> int:
        return operator.index(self.item())

    def __repr__(self) -> str:
        return f"TestNoise({np.asarray(self).tolist()}, made from deterministic bits: not for release)"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise NotForRelease(
            "Noise made inside noise.deterministic is predictable, so it must not be stored or sent.",
            fix="Draw it again outside the block.",
        )


def marked(value: Any) -> TestNoise:
    """Return `value` as test noise."""
    return np.asarray(value).view(TestNoise)


def is_test_noise(value: object) -> bool:
    """Tell whether `value` was made from deterministic bits.

    >>> from discreet import noise
    >>> with noise.deterministic(7):
    ...     made = noise.discrete_laplace(3)
    >>> is_test_noise(made), is_test_noise(made + 1), is_test_noise(noise.discrete_laplace(3))
    (True, True, False)
    """
    return isinstance(value, TestNoise)


def test_bits() -> Generator | None:
    """Return the deterministic generator if this thread is inside `deterministic` or `scripted`."""
    block = _block()
    return block.bits if block else None


def test_script() -> Callable[[Asked], int] | None:
    """Return what decides the draws if this thread is inside `scripted`."""
    block = _block()
    return block.choose if block else None


def _block() -> _Block | None:
    block = _context.get()
    return block if block and block.open and block.thread == threading.get_ident() else None


test_bits.__test__ = False  # type: ignore[attr-defined]
test_script.__test__ = False  # type: ignore[attr-defined]


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """Draw from bits that follow from `seed`. For tests only: every result is marked as not for release.

    >>> from discreet import noise
    >>> with noise.deterministic(1):
    ...     noise.discrete_laplace(10, size=4)
    TestNoise([...], made from deterministic bits: not for release)
    """
    numbers, name = count(), f"discreet test bits {operator.index(seed)}"
    # Keys are numbered, so that none is used twice here either.
    bits = Generator(lambda: hashlib.sha256(f"{name} key {next(numbers)}".encode()).digest())
    with _inside(_Block(bits, threading.get_ident())):
        yield


@contextmanager
def scripted(choose: Callable[[Asked], int]) -> Iterator[None]:
    """Let `choose` decide every draw, one by one. For auditors: what is made of the draws must not leave them.

    >>> from discreet import noise
    >>> with scripted(lambda asked: 3):
    ...     noise.discrete_laplace("1/2", size=2)
    array([3, 3])
    """
    with _inside(_Block(Generator(_no_bits), threading.get_ident(), choose=choose)):
        yield


def _no_bits() -> NoReturn:
    raise NotForRelease(
        "A draw that takes random bits of its own cannot be scripted.", fix="Use the functions of `noise`."
    )


@contextmanager
def _inside(block: _Block) -> Iterator[None]:
    token = _context.set(block)
    try:
        yield
    finally:
        block.open = False
        _context.reset(token)
