"""Turn an answer into what an observer sees of it: a value that can be compared and counted.

Two answers are the same if an observer cannot tell them apart: −0.0 is not 0.0, every NaN is the same NaN (and not
the string "NaN"), the order of a dictionary is seen, what a generator yields is seen and not the generator, and an
exception is an answer too, with its text and its notes, as is `sys.exit`. Three differences are ignored, although
code could see them: between True, 1 and 1.0 (unless compared by `tagged`), between a list and a tuple, and between
a dictionary and the list of its pairs.

Records, and objects without a repr of their own, are seen as the values that they hold. An answer without a
visible form, such as a function or a coroutine, is refused: comparing two addresses in memory says nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from discreet.errors import Code, DiscreetError, Fix, ParameterError

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_ITEMS = 10**6  # most items of an iterator: one that has more may have no end
_OBJECTS = 10**5  # most objects that are opened: a few can refer to each other along very many paths


class NotVisible(ParameterError):
    """An answer without a visible form."""


@dataclass(frozen=True)
class Raised:
    """An exception, as an observer sees it."""

    kind: str
    message: str


@dataclass(frozen=True)
class Double:
    """One of the three doubles for which == does not mean identity: nan, 0.0 and -0.0."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Shown:
    """Any other value, by its repr; with a double close to it, if it is a number."""

    kind: str
    text: str
    near: float | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return self.text


def observed(release: Callable[[Any], Any], data: Any) -> Hashable:
    """Return what an observer sees of `release(data)`.

    >>> observed(lambda x: 1 / x, 0)
    Raised(kind='ZeroDivisionError', message='division by zero')
    """
    try:
        return outcome(release(data))
    except BaseException as error:
        return raised(error)


def raised(error: BaseException) -> Raised:
    """Return an exception as an observer sees it; raise Ctrl-C, and exceptions that end a run of the auditor.

    >>> raised(SystemExit(3))
    Raised(kind='SystemExit', message='3')
    """
    if isinstance(error, KeyboardInterrupt | NotVisible) or _is_ours(error):
        raise error
    text = _text(error)
    # Our own errors render their one argument, the problem, with the value found before its full stop.
    ours = type(error).__str__ is DiscreetError.__str__
    hidden = [shown for shown in map(_text, error.args[1:] if ours else error.args) if shown not in text]
    notes = getattr(error, "__notes__", None)
    noted = [_text(note) for note in notes] if isinstance(notes, list) else []
    return Raised(type(error).__name__, "\n".join([text, *hidden, *noted]))


def outcome(answer: Any) -> Hashable:
    """Return `answer` as a hashable value that equals another one only if an observer cannot tell the two apart.

    This uses up an iterator.

    >>> outcome([1, np.int64(2)]) == outcome((1, 2))
    True
    >>> outcome(0.0) == outcome(-0.0)
    False
    >>> outcome(n + 1 for n in [1, 2])
    (2, 3)
    """
    return _Look().at(answer)


def glimpse(value: Any) -> Hashable:
    """Return what is seen of a value that must not change: no iterator is used up, and no value is refused.

    Addresses in memory are left out.

    >>> glimpse([1, object(), len]) == glimpse((1, object(), len))
    True
    """
    return _Look(gently=True).at(value)


def tagged(seen: Hashable) -> Hashable:
    """Return an outcome such that True, 1 and 1.0 in it differ.

    >>> tagged((True, 1.0)) == tagged((1, 1.0))
    False
    """
    match seen:
        case bool() | int() | float():
            kind = bool if isinstance(seen, bool) else int if isinstance(seen, int) else float
            return kind.__name__, seen
        case tuple() | frozenset():
            return type(seen).__name__, type(seen)(tagged(part) for part in seen)
    return seen


def written(value: object) -> str:
    """Return the repr if there is one: Python does not print very long integers, and a repr may raise.

    >>> written(10**5000)
    '(an int that cannot be written)'
    """
    try:
        return repr(value)
    except Exception:
        return f"({_a(type(value).__name__)} that cannot be written)"


class _Look:
    """One look at one answer."""

    def __init__(self, *, gently: bool = False):
        self.gently, self.left = gently, _OBJECTS

    def at(self, answer: Any) -> Hashable:
        try:
            return self._seen(answer, ())
        except RecursionError:
            return self._hidden(answer, "is nested too deeply")

    def _seen(self, answer: Any, inside: tuple[int, ...]) -> Hashable:
        match answer:
            case None | bool() | int() | str() | bytes() | Raised() | Double() | Shown():
                return answer
            case float():
                return _float(answer)
            case np.generic():
                plain = answer.item()
                return _shown(plain) if isinstance(plain, np.generic) else self._seen(plain, inside)
            case Fraction() | Decimal():
                return _shown(answer)
            case bytearray() | memoryview():
                return bytes(answer)
        if id(answer) in inside:
            return Shown("circle", "…")
        return self._held(answer, (*inside, id(answer)))

    def _held(self, answer: Any, inside: tuple[int, ...]) -> Hashable:
        match answer:
            case np.ndarray():
                return self._seen(answer.tolist(), inside)
            case Mapping():
                return tuple((self._seen(k, inside), self._seen(v, inside)) for k, v in answer.items())
            case list() | tuple():
                return tuple([self._seen(part, inside) for part in answer])
            case set() | frozenset():
                return frozenset(self._seen(part, inside) for part in answer)
            case Iterator() if not self.gently:
                items = list(islice(answer, _ITEMS + 1))
                return self._seen(items, inside) if len(items) <= _ITEMS else self._hidden(answer, "has no end")
            case Iterator() | Awaitable() | AsyncIterator():
                return self._hidden(answer, "is not awaited")
        table = None if isinstance(answer, type) else _as_table(answer)
        return self._thing(answer, inside) if table is None else self._seen(table, inside)

    def _thing(self, answer: Any, inside: tuple[int, ...]) -> Hashable:
        kind: Any = type(answer)
        if not is_dataclass(kind) and kind.__repr__ is not object.__repr__:
            try:
                text = repr(answer)
            except Exception:
                text = None  # then only the values that it holds are seen
            if text is not None:
                return self._hidden(answer, "shows nothing") if _ADDRESS.search(text) else _shown(answer)
        self.left -= 1
        if self.left < 0:
            return self._hidden(answer, "holds too many objects")
        held = {name: self._seen(part, inside) for name, part in _attributes(answer).items()}
        return ((kind.__name__, tuple(held.items())),)

    def _hidden(self, answer: Any, why: str) -> Hashable:
        kind = type(answer).__name__
        if self.gently:
            return Shown(kind, _ADDRESS.sub("", written(answer)))
        if isinstance(answer, Awaitable):
            if hasattr(answer, "close"):
                answer.close()  # or Python would warn that it was never awaited
            raise NotVisible(
                f"The answer holds {_a(kind)}, which is not awaited, so there is nothing to compare.",
                fix=Fix("release", Code("lambda data: asyncio.run(mechanism(data))")),
            )
        raise NotVisible(
            f"The answer holds {_a(kind)} that {why}, so there is nothing to compare.",
            fix="Return what an observer sees: numbers, strings, lists or records.",
        )


def _attributes(answer: Any) -> dict[str, Any]:
    """Return the values that a record or an object holds: its fields, or its slots and its dictionary."""
    if is_dataclass(answer):
        return {f.name: getattr(answer, f.name, None) for f in fields(answer)}
    found: dict[str, Any] = {}
    for kind in reversed(type(answer).__mro__):
        slots = vars(kind).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            full = f"_{kind.__name__.lstrip('_')}{name}" if name[:2] == "__" != name[-2:] else name
            if name not in ("__dict__", "__weakref__") and hasattr(answer, full):
                found[full] = getattr(answer, full)
    return found | dict(getattr(answer, "__dict__", {}))


def _as_table(answer: Any) -> Any:
    """Return the columns of an Arrow table or a data frame, or the entries of a column; None for other values."""
    for method in ("to_pydict", "to_dict", "to_list"):
        try:
            return getattr(answer, method)()
        except Exception:  # the answer has no such method, or one with another meaning
            continue
    return None


def _is_ours(error: BaseException) -> bool:
    """Tell whether the auditor itself ended the run: it uses exceptions that no `except Exception` catches."""
    return not isinstance(error, Exception) and type(error).__module__.split(".")[0] == "discreet"


def _shown(answer: Any) -> Shown:
    number = isinstance(answer, Fraction | Decimal | np.floating)
    return Shown(type(answer).__name__, repr(answer), _near(answer) if number else None)


def _near(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return math.nan


def _text(said: object) -> str:
    try:
        return _ADDRESS.sub("", str(said))
    except Exception as error:
        return f"(its text raises {type(error).__name__})"


def _float(x: float) -> Hashable:
    if math.isnan(x):
        return Double("nan")
    return x if x else Double(f"{x:.1f}")


def _a(name: str) -> str:
    return f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"
