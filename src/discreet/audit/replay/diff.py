"""Compare two runs: which calls were made, how much their values changed, and the results.

All comparisons are symmetric in the two tables, except for the sign of a change. An exception on one side only is
reported before the calls that it cut short, and a call that differs is reported before the result, which it
explains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from discreet.audit.attacks.outcomes import Raised
from discreet.audit.inputs.extremes import shown
from discreet.audit.replay.exposure import Overspent
from discreet.audit.replay.sensitivity import Number, differences, excesses
from discreet.audit.replay.tape import Call
from discreet.audit.replay.traces import Trace

Kind: TypeAlias = Literal["unrecorded", "result", "flow", "exception", "distance", "loss"]
"""The kind of a finding, the worst first."""

_UNRECORDED = (
    "run twice: {} although every release is held fixed. It draws noise that is not recorded (mark its function "
    "with @primitive, and stay in one thread), or keeps state from one run to the next."
)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One way in which a computation is not private: on which neighbour, at which call, and by how much."""

    kind: Kind
    words: str
    call: int = 0
    excess: float = 0.0
    spent: Overspent | None = None


def unrecorded(first: Trace, second: Trace, place: str) -> Finding | None:
    """Compare two runs on the same table: nothing may differ."""
    if second.tape.departure:
        changed = second.tape.departure
    elif changed_calls(first, second):
        changed = "an exact value changes"
    elif len(second.tape.calls) < len(first.tape.calls):
        changed = "a call does not happen"
    elif not first.ends_as(second):
        changed = "the result changes"
    else:
        return None
    return Finding(kind="unrecorded", words=f"{place}, {_UNRECORDED.format(changed)}")


def departures(first: Trace, again: Trace, place: str) -> Iterator[Finding]:
    """Compare the course of two runs: exceptions, then calls, then the result."""
    made, expected = again.tape.calls, first.tape.calls
    call = len(made) + 1
    if (first.raised or again.raised) and not first.ends_as(again):
        words = f"{place}: {_ending(again)}; on the table itself {_ending(first)}."
        yield Finding(kind="exception", words=words, call=call)
    elif again.tape.departure:
        yield Finding(kind="flow", words=f"{place}: {again.tape.departure}.", call=call)
    elif len(made) < len(expected):
        missing = f"call {call}, {expected[len(made)].what}, does not happen"
        yield Finding(kind="flow", words=f"{place}: {missing}.", call=call)
    elif not first.ends_as(again):
        change = f"{shown(first.result)} becomes {shown(again.result)}"
        words = f"{place}: the result changes although every release is held fixed: {change}."
        yield Finding(kind="result", words=words)


def distances(first: Trace, again: Trace, place: str, *, joins: bool) -> Iterator[Finding]:
    """Compare the exact values: yield each call whose value changed by more than its declared sensitivity."""
    for number, (then, now) in enumerate(_pairs(first, again), start=1):
        if then.declared is None:
            continue
        found = list(excesses(then.declared, _changes(then, now), joins=joins))
        if found:
            worst = max(found, key=lambda excess: excess.ratio)
            words = f"{place}: call {number}, {then.what}, {worst}."
            yield Finding(kind="distance", words=words, call=number, excess=worst.ratio)


def changed_calls(first: Trace, again: Trace) -> list[Call]:
    """Return the calls whose exact values changed."""
    return [now for then, now in _pairs(first, again) if _changes(then, now)]


def _pairs(first: Trace, again: Trace) -> list[tuple[Call, Call]]:
    return list(zip(first.tape.calls, again.tape.calls, strict=False))


def _changes(then: Call, now: Call) -> list[Number]:
    return [] if then.declared is None else differences(then.value, now.value)


def _ending(trace: Trace) -> str:
    if isinstance(trace.result, Raised):
        return f"it raises {trace.result.kind}: {trace.result.message}".rstrip(": ")
    return "it continues" if trace.tape.departure else f"it returns {shown(trace.result)}"
