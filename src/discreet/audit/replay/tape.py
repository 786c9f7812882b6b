"""A tape: the calls that code made to mechanisms, in order, and what came of each.

A tape with a `source` compares each call with the one in the same place of that other tape, gives what was
released then, and stops the code at the first call that departs from it in anything that may not depend on the
data: which mechanism, its parameters, the declared sensitivity, the shape of the value. Values are kept, and
compared later.

Noise comes from bits that follow from the tape's seed. Every call that is made has bits of its own, so that
whatever else the code draws from `discreet.noise`, a secret sample say, comes out the same when calls are answered
from the source. Such draws are coupled by their order: where a table with one row more draws one coin more, later
draws come apart.
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
"""The tape that listens to this context, if any."""


class Diverged(BaseException):
    """Ends a replay that no longer follows its tape. No `Exception`, so that the code under audit lets it pass."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Call:
    """One call: what was called with which parameters, the exact value it was given, and what came of it."""

    what: str
    parameters: dict[str, Any]
    value: Any = None
    declared: Sensitivity | Bound | None = None
    owner: int | None = None
    """Which run or session it belongs to, in the order of their first calls."""
    loss: Loss | None = None
    answer: Any = field(default=None, repr=False)
    error: BaseException | None = None

    def departure(self, other: Call) -> str | None:
        """Say how `other` departs from this call in what may not depend on the data, or None if it does not."""
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
    """What is recorded. With `source`, another tape, calls are compared with it and answered from it."""

    seed: int
    source: Tape | None = None
    calls: list[Call] = field(default_factory=list)
    departure: str | None = None
    _owners: list[object] = field(default_factory=list)

    def number(self, owner: object) -> int:
        """Return the number of a run or session. It is kept, so that no other can take its place in memory."""
        if not any(known is owner for known in self._owners):
            self._owners.append(owner)
        return next(number for number, known in enumerate(self._owners) if known is owner)

    def meet(self, call: Call, make: Callable[[], Any], *, live: bool = False) -> Any:
        """Take note of a call and answer it: by making it, or (unless it is `live`) from the source."""
        frozen = self._expected(call)
        done = self._made(call, make) if frozen is None or live else replace(call, **_answer_of(frozen))
        self.calls.append(done)
        if done.error is not None:
            raise done.error.with_traceback(None)  # whose frames would keep every table alive
        return copied(done.answer)

    def _expected(self, call: Call) -> Call | None:
        if self.source is None:
            return None
        position = len(self.calls)
        if self.departure is not None:
            raise Diverged(self.departure)
        if position == len(self.source.calls):
            self._diverge(f"there is a call {position + 1} more, {call.what}")
        expected = self.source.calls[position]
        departure = expected.departure(call)
        if departure is not None:
            self._diverge(f"call {position + 1} {departure}")
        return expected

    def _diverge(self, departure: str) -> NoReturn:
        self.departure = departure  # it stands even if the code catches everything
        raise Diverged(departure)

    def _made(self, call: Call, make: Callable[[], Any]) -> Call:
        own_bits = noise.deterministic((self.seed << 64) + len(self.calls) + 1)
        token = running.set(None)
        try:
            with own_bits:
                return replace(call, answer=_unmarked(make()))
        except BaseException as error:
            raised(error)  # which lets pass what is no answer
            return replace(call, error=error)
        finally:
            running.reset(token)


def _differ(before: Any, after: Any) -> bool:
    try:
        return bool(before != after)
    except Exception:  # arrays inside say neither yes nor no
        return glimpse(before) != glimpse(after)


def _shown(parameter: Any) -> str:
    return parameter if isinstance(parameter, str) else written(parameter)


def _answer_of(call: Call) -> dict[str, Any]:
    return {"answer": call.answer, "error": call.error}


# -- answers ----------------------------------------------------------------------------------------------------


def _unmarked(answer: Any) -> Any:
    """Return what code would see outside an audit: test noise cannot be hashed, or written as JSON."""
    if isinstance(answer, noise.TestNoise):
        plain = np.asarray(answer)
        return plain if plain.ndim else plain.item()
    if type(answer) in (list, tuple):
        return type(answer)(_unmarked(part) for part in answer)
    if type(answer) is dict:
        return {key: _unmarked(part) for key, part in answer.items()}
    return answer


def copied(value: Any) -> Any:
    """Return a copy, so that nobody changes what is on tape; what refuses to be copied stays itself.

    >>> copied([1, [2]])
    [1, [2]]
    """
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def without_addresses(value: Hashable) -> Hashable:
    """Return an outcome without what its texts say of where in memory things happen to lie.

    >>> without_addresses("<thing at 0x7f00>")
    '<thing>'
    """
    match value:
        case str():
            return _ADDRESS.sub("", value)
        case tuple() | frozenset():
            return type(value)(without_addresses(part) for part in value)
    return value
