"""Sort many answers by kind, and store the answers of each kind as a table of numbers.

The kind of an answer is its structure (a number, a list of three, an exception of some class); the numbers in all
answers of a kind are the rows of one array, so that features are computed on columns. The kind of an answer does
not depend on the other answers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attacks.outcomes import Double, Raised, Shown, outcome

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Group:
    """Outcomes of one kind: the numbers of each (a row), its count, and the outcome itself if it holds more."""

    numbers: NDArray[Any]
    counts: Integers
    whole: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """The number of outcomes."""
        return int(self.counts.sum())

    @property
    def width(self) -> int:
        """The number of numbers in each outcome."""
        return int(self.numbers.shape[1])

    def at(self, rows: Any) -> Group:
        """Return some of the rows."""
        return Group(self.numbers[rows], self.counts[rows], None if self.whole is None else self.whole[rows])


Outcomes = Mapping[Hashable, Group]
"""Outcomes, sorted by kind."""


def seen(answers: Any) -> Outcomes:
    """Return answers, an array or a list, sorted by kind; equal integers in a narrow range are counted.

    >>> {kind: group.counts.tolist() for kind, group in seen([3, 3, None, 4, (1.5, 2.0)]).items()}
    {'int': [2, 1], 'None': [1], ('float', 'float'): [1]}
    """
    listed = answers if isinstance(answers, np.ndarray) else list(answers)
    array = listed if isinstance(listed, np.ndarray) else _stacked(listed)
    numbers = None if array is None else _numbers(np.asarray(array))
    if numbers is None:
        items = listed.tolist() if isinstance(listed, np.ndarray) else listed
        return _sorted_by_kind(map(outcome, items))
    group = counted(Group(numbers.reshape(len(listed), -1), np.broadcast_to(np.int64(1), len(listed))))
    return {_kind_of_rows(np.asarray(array).shape[1:], np.asarray(array).dtype.kind): group}


def merged(parts: Iterable[Outcomes]) -> Outcomes:
    """Return all parts as one.

    >>> {kind: group.counts.tolist() for kind, group in merged([seen([3, None]), seen([3])]).items()}
    {'int': [2], 'None': [1]}
    """
    kinds: dict[Hashable, list[Group]] = {}
    for part in parts:
        for kind, group in part.items():
            kinds.setdefault(kind, []).append(group)
    return {kind: counted(joined(groups)) for kind, groups in kinds.items()}


def joined(groups: list[Group]) -> Group:
    """Return groups of one kind as one."""
    itself = [group.whole for group in groups if group.whole is not None]
    return Group(
        np.concatenate([group.numbers for group in groups]),
        np.concatenate([group.counts for group in groups]),
        np.concatenate(itself) if itself else None,
    )


def counted(group: Group) -> Group:
    """Return single integers in a narrow range with their counts: ten million answers become a few rows."""
    if group.width != 1 or group.numbers.dtype.kind == "f" or group.whole is not None:
        return group
    x = group.numbers[:, 0]
    low, high = int(x.min()), int(x.max())
    if high - low > 4 * len(x) + 1000:
        return group
    counts = np.bincount(x.astype(np.int64) - low, None if group.counts.strides == (0,) else group.counts)
    found = np.flatnonzero(counts)
    return Group((found + low).astype(x.dtype)[:, None], counts[found].astype(np.int64))


def kind_in_words(kind: Hashable) -> str:
    """Describe a kind of answer.

    >>> kind_in_words(("float", "float")), kind_in_words("raised ValueError")
    ('a list of 2', 'raised ValueError')
    """
    return f"a list of {len(kind)}" if isinstance(kind, tuple) else str(kind)


# -- arrays -----------------------------------------------------------------------------------------------------


def _numbers(array: NDArray[Any]) -> NDArray[Any] | None:
    """Return the array as int8, int64 or float64, or None if its values do not fit."""
    if array.dtype.itemsize > 8 or (array.dtype == np.uint64 and array.size and array.max() >= 2**63):
        return None
    wanted = {"b": np.int8, "i": np.int64, "u": np.int64, "f": np.float64}.get(array.dtype.kind)
    return array.astype(wanted, copy=False) if wanted else None


def _stacked(answers: list[Any]) -> NDArray[Any] | None:
    types = set(map(type, answers))
    if types <= {list, tuple} and len(set(map(len, answers))) == 1:
        types = {type(part) for answer in answers for part in answer}
    if len(types) != 1:
        return None
    (only,) = types
    if issubclass(only, np.ndarray) and isinstance(answers[0], np.ndarray):
        same = len({(answer.shape, answer.dtype) for answer in answers}) == 1
        return np.stack([np.asarray(answer) for answer in answers]) if same else None
    if not issubclass(only, bool | int | float | np.number | np.bool_):
        return None
    try:
        return np.array(answers, dtype=np.int64 if only is int else None)
    except OverflowError:
        return None


@lru_cache(maxsize=16)  # wide answers arrive in many parts
def _kind_of_rows(shape: tuple[int, ...], dtype: str) -> Hashable:
    zero: Any = {"b": False, "f": 0.0}.get(dtype, 0)
    return _taken_apart(outcome(np.full(shape, zero)), [])


# -- anything else ----------------------------------------------------------------------------------------------


def _sorted_by_kind(answers: Iterable[Hashable]) -> Outcomes:
    # Counts are kept within each kind, because True, 1 and 1.0 are equal in Python, and the kind of an answer must
    # not depend on the other answers.
    kinds: dict[Hashable, dict[Hashable, tuple[list[float], int]]] = {}
    for answer in answers:
        numbers: list[float] = []
        rows = kinds.setdefault(_taken_apart(answer, numbers), {})
        rows[answer] = (numbers, rows.get(answer, (numbers, 0))[1] + 1)
    return {kind: _group(kind, rows) for kind, rows in kinds.items()}


def _group(kind: Hashable, rows: dict[Hashable, tuple[list[float], int]]) -> Group:
    leaves = set(_leaves(kind))
    dtype: Any = np.int8 if leaves <= {"bool"} else np.int64 if leaves <= {"bool", "int"} else np.float64
    numbers = np.array([found for found, _ in rows.values()], dtype=dtype).reshape(len(rows), -1)
    itself = None
    if not leaves <= {"bool", "int", "float"}:
        itself = np.empty(len(rows), dtype=object)
        for row, answer in enumerate(rows):  # numpy would turn tuples into more dimensions
            itself[row] = answer
    return Group(numbers, np.array([count for _, count in rows.values()], np.int64), itself)


def _taken_apart(answer: Hashable, numbers: list[float]) -> Hashable:
    """Return the kind of an outcome, and add the numbers in it to `numbers`."""
    match answer:
        case tuple():
            return tuple(_taken_apart(part, numbers) for part in answer)
        case int() if not -(2**63) <= answer < 2**63:
            numbers.append(float(answer) if abs(answer) < 2**1023 else math.inf if answer > 0 else -math.inf)
            return "huge int"
        case bool() | int() | float():  # and numpy's float64, which is a float
            numbers.append(answer)
            return "bool" if isinstance(answer, bool) else "int" if isinstance(answer, int) else "float"
        case Double(text):
            numbers.append(float(text))
            return "float"
        case Shown(kind, _, near):
            numbers += [] if near is None else [near]
            return f"of type {kind}"
        case Raised(kind):
            return f"raised {kind}"
        case None:
            return "None"
    return type(answer).__name__


def _leaves(kind: Hashable) -> Iterator[Hashable]:
    if isinstance(kind, tuple):
        for part in kind:
            yield from _leaves(part)
    else:
        yield kind
