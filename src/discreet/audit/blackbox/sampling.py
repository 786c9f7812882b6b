"""Sample a mechanism, in parts that fit into memory however large an answer is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.audit.attacks.outcomes import outcome, raised
from discreet.audit.blackbox.samples import Outcomes, seen
from discreet.audit.inputs.mutation_check import Unchanged
from discreet.errors import Fix, ParameterError

Mechanism = Callable[[Any], Any]
Batch = Callable[[Any, int], Any]
Progress = Callable[[int, int], object]

_FIRST = (
    61  # answers in the first part, to learn their size; 61 is prime, so periodic changes of data cannot cancel
)
_ROWS, _NUMBERS = 2**20, 2**22  # most answers, and most numbers in them, of a later part
_SINGLE = 2**14  # most answers of a part that is made by single releases
_PLAIN = {type(None), bool, int, float, str, bytes} | {np.dtype(code).type for code in "?bhilqBHILQefdg"}


class BatchFailed(ParameterError):
    """A batch that raised: it is unknown which of its answers was the exception."""


class Sampler:
    """Samples one mechanism on its two neighbours, and counts the releases."""

    def __init__(
        self, mechanism: Mechanism, batch: Batch | None, data: Unchanged, total: int, progress: Progress | None
    ):
        self.mechanism, self.batch, self.data = mechanism, batch, data
        self.total, self.progress = total, progress
        self.done, self.rows = 0, _FIRST

    def answers(self, data: Any, count: int) -> Iterator[Outcomes]:
        """Yield `count` answers, in parts."""
        first = True
        while count > 0:
            size = min(count, self.rows)
            part = self._part(data, size)
            self.done, count = self.done + size, count - size
            if (first and self.done <= self.total // 4) or self.done == self.total:
                self.data.check()
            width = max(group.width for group in part.values())
            self.rows = max(1, min(_ROWS if self.batch else _SINGLE, _NUMBERS // max(1, width)))
            first = False
            if self.progress:
                self.progress(self.done, self.total)
            yield part

    def _part(self, data: Any, size: int) -> Outcomes:
        if self.batch is None:
            return seen([answer(self.mechanism, data) for _ in range(size)])
        with _failing(size):
            made = self.batch(data, size)
        if not hasattr(made, "__len__") or len(made) != size:
            found = f"{len(made)} of them" if hasattr(made, "__len__") else type(made).__name__
            raise ParameterError(
                f"batch(data, {size}) must return {size} releases along its first axis.",
                found=found,
                fix=Fix("batch", None, note="releases are then made one by one"),
            )
        with _failing(size):
            return seen(made)


@contextmanager
def _failing(size: int) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        found = raised(error)
        raise BatchFailed(
            f"batch(data, {size}) raised an exception.",
            found=f"{found.kind}: {found.message}",
            fix=Fix("batch", None, note="an exception of a single release counts as an answer"),
        ) from error


def answer(mechanism: Mechanism, data: Any) -> Any:
    """Return one answer, or what an observer sees of it if it is mutable, so that later changes do not reach it.

    >>> answer(lambda x: 1 / x, 0)
    Raised(kind='ZeroDivisionError', message='division by zero')
    >>> answer(lambda rows: (row + 1 for row in rows), [1, 2])
    (2, 3)
    """
    try:
        made = mechanism(data)
        if type(made) in _PLAIN:
            return made
        if isinstance(made, np.ndarray) and not made.dtype.hasobject:
            return np.array(made)
        if type(made) in (list, tuple) and set(map(type, made)) <= _PLAIN:
            return tuple(made)
        return outcome(made)
    except BaseException as error:
        return raised(error)
