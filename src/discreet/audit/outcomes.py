"""What an onlooker sees of an answer, as a value that can be compared and counted.

Two answers are the same if nobody could tell them apart: −0.0 is not 0.0, every NaN is the same NaN, the order of
a dictionary is seen, and an exception is an answer too, with its text. True, 1 and 1.0 are taken for the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Raised:
    """An exception, as an onlooker sees it."""

    kind: str
    message: str


def observed(release: Callable[[Any], Any], data: Any) -> Hashable:
    """Return what is seen of `release(data)`.

    >>> observed(lambda x: 1 / x, 0)
    Raised(kind='ZeroDivisionError', message='division by zero')
    """
    try:
        return outcome(release(data))
    except Exception as error:
        return Raised(type(error).__name__, str(error))


def outcome(answer: Any) -> Hashable:
    """Return `answer` as a hashable value that equals another one only if nobody can tell the two apart.

    >>> outcome([1, np.int64(2)]) == outcome((1, 2))
    True
    >>> outcome(0.0) == outcome(-0.0)
    False
    """
    match answer:
        case None | bool() | int() | str() | bytes() | Raised():
            return answer
        case float():
            return _float(answer)
        case np.ndarray():
            return outcome(answer.tolist())
        case np.generic():
            plain = answer.item()
            return repr(plain) if isinstance(plain, np.generic) else outcome(plain)  # a long double stays one
        case Mapping():
            return tuple((outcome(key), outcome(value)) for key, value in answer.items())
        case list() | tuple():
            return tuple(outcome(part) for part in answer)
        case set() | frozenset():
            return frozenset(outcome(part) for part in answer)
    if hasattr(answer, "to_pydict"):  # tables of Arrow
        return outcome(answer.to_pydict())
    if hasattr(answer, "to_dict"):  # frames
        return outcome(answer.to_dict())
    if is_dataclass(answer) or _shows_nothing(answer):
        return outcome(opened(answer))
    return repr(answer)


def opened(answer: Any, inside: tuple[int, ...] = ()) -> Any:
    """Return an answer with its records, and objects that do not show themselves, as what they hold.

    Python writes the first as a text that leaves out the middle of a long array, and the second as an address.

    >>> opened([Raised("ValueError", "no")])
    [{'Raised': {'kind': 'ValueError', 'message': 'no'}}]
    """
    if id(answer) in inside:
        return "…"
    inside = (*inside, id(answer))
    if type(answer) in (list, tuple):
        return [opened(part, inside) for part in answer]
    if isinstance(answer, dict):
        return {key: opened(part, inside) for key, part in answer.items()}
    kind: Any = type(answer)
    if is_dataclass(kind):
        held = {f.name: getattr(answer, f.name, None) for f in fields(kind)}
    elif kind.__repr__ is object.__repr__:
        held = dict(getattr(answer, "__dict__", {}))
    else:
        return answer
    return {kind.__name__: {name: opened(part, inside) for name, part in held.items()}}


def _shows_nothing(answer: Any) -> bool:
    kind: Any = type(answer)
    return kind.__repr__ is object.__repr__


def _float(x: float) -> Hashable:
    if math.isnan(x):
        return "NaN"
    return x if x else f"{x:+}"
