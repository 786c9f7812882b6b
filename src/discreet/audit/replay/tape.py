"""Keep a tape: the calls that code made to mechanisms, in order, each with its answer.

A tape with a `source` compares each call with the one at the same position of that other tape, returns what was
released then, and stops the code at the first call that differs in anything that may not depend on the data: which
mechanism, its parameters, the declared sensitivity, the shape of the value. Values are kept, and compared later.
A value by key (`ExactByKey`) has no shape: its keys are part of what it holds.

Noise comes from bits that follow from the tape's seed. Every call that is executed has its own bits, so that other
draws of the code from `discreet.noise`, such as a secret sample, are the same when calls are answered from the
source. Such draws are coupled by their order: where a table with one row more draws one coin more, later draws
differ.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from discreet import noise
from discreet.audit.attacks.outcomes import glimpse, raised, written
from discreet.audit.replay.sensitivity import Bound, shape
from discreet.mechanisms import Sensitivity
from discreet.privacy import Loss

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")

running: ContextVar[Tape | None] = ContextVar("tape of an audit", default=None)
"""The tape that records this context, if any."""


class Diverged(BaseException):
    """Ends a replay that no longer follows its tape. Not an `Exception`: the audited code must not catch it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Call:
    """One call: what was called with which parameters, the exact value that it was given, and its answer."""

    what: str
    parameters: dict[str, Any]
    value: Any = None
    declared: Sensitivity | Bound | None = None
    owner: int | None = None
    """The run or session that it belongs to, numbered in the order of their first calls."""
    losses: tuple[Loss, ...] = ()
    """What the call costs; several losses are charged together."""
    answer: Any = field(default=None, repr=False)
    error: BaseException | None = None

    def departure(self, other: Call) -> str | None:
        """Describe how `other` differs from this call in what may not depend on the data; None if it does not."""
        if self.what != other.what:
            return f"is {other.what} instead of {self.what}"
        if self.owner != other.owner:
            return f"({self.what}) belongs to another run or session"
        for name in {**self.parameters, **other.parameters}:
            before, after = self.parameters.get(name), other.parameters.get(name)
            if _differ(before, after):
                return f"({self.what}) has other parameters: {name}={_shown(after)} instead of {_shown(before)}"
        if self.declared != other.declared:
            return f"({self.what}) declares {other.declared} instead of {self.declared}"
        if shape(self.value) != shape(other.value):
            return f"({self.what}) has a value of shape {shape(other.value)} instead of {shape(self.value)}"
        return None


@dataclass(eq=False)
class Tape:
    """The recorded calls. With `source`, another tape, calls are compared with it and answered from it."""

    seed: int
    source: Tape | None = None
    calls: list[Call] = field(default_factory=list)
    departure: str | None = None
    _owners: list[object] = field(default_factory=list)

    def number(self, owner: object) -> int:
        """Return the number of a run or session. The object is kept, so that its address is not used again."""
        if not any(known is owner for known in self._owners):
            self._owners.append(owner)
        return next(number for number, known in enumerate(self._owners) if known is owner)

    def meet(self, call: Call, make: Callable[[], Any], *, live: bool = False) -> Any:
        """Record a call and answer it: by making it, or (unless it is `live`) from the source."""
        frozen = self._expected(call)
        done = self._made(call, make) if frozen is None or live else replace(call, **_answer_of(frozen))
        self.calls.append(done)
        if done.error is not None:
            raise done.error.with_traceback(None)  # its frames would keep every table in memory
        return copied(done.answer)

    def _expected(self, call: Call) -> Call | None:
        if self.source is None:
            return None
        position = len(self.calls)
        if self.departure is not None:
            raise Diverged(self.departure)
        if position == len(self.source.calls):
            self._diverge(f"there is one more call, {position + 1}, {call.what}")
        expected = self.source.calls[position]
        departure = expected.departure(call)
        if departure is not None:
            self._diverge(f"call {position + 1} {departure}")
        return expected

    def _diverge(self, departure: str) -> NoReturn:
        self.departure = departure  # recorded even if the code catches every exception
        raise Diverged(departure)

    def _made(self, call: Call, make: Callable[[], Any]) -> Call:
        own_bits = noise.deterministic((self.seed << 64) + len(self.calls) + 1)
        token = running.set(None)
        try:
            with own_bits:
                return replace(call, answer=_unmarked(make()))
        except BaseException as error:
            raised(error)  # raises again what is not an answer, such as Ctrl-C
            return replace(call, error=error)
        finally:
            running.reset(token)


def _differ(before: Any, after: Any) -> bool:
    try:
        return bool(before != after)
    except Exception:  # comparing arrays does not give one truth value
        return glimpse(before) != glimpse(after)


def _shown(parameter: Any) -> str:
    return parameter if isinstance(parameter, str) else written(parameter)


def _answer_of(call: Call) -> dict[str, Any]:
    return {"answer": call.answer, "error": call.error}


# -- answers ----------------------------------------------------------------------------------------------------


def _unmarked(answer: Any) -> Any:
    """Return what code would get outside an audit: test noise cannot be hashed or written as JSON."""
    if isinstance(answer, noise.TestNoise):
        plain = np.asarray(answer)
        return plain if plain.ndim else plain.item()
    if type(answer) in (list, tuple):
        return type(answer)(_unmarked(part) for part in answer)
    if type(answer) is dict:
        return {key: _unmarked(part) for key, part in answer.items()}
    return answer


def copied(value: Any) -> Any:
    """Return a copy, so that the code cannot change what is on the tape; a value without a copy is returned
    itself.

    >>> copied([1, [2]])
    [1, [2]]
    """
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def without_addresses(value: Hashable) -> Hashable:
    """Return an outcome without the addresses in memory that its strings contain.

    >>> without_addresses("<thing at 0x7f00>")
    '<thing>'
    """
    match value:
        case str():
            return _ADDRESS.sub("", value)
        case tuple() | frozenset():
            return type(value)(without_addresses(part) for part in value)
    return value
