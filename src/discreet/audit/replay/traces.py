"""Runs of a computation under the recorder: what each left behind.

Every run gets rows of its own, so that what a computation does to them stays with it. Warnings are silenced, lest
a verdict depend on who turned them into errors.
"""

from __future__ import annotations

import copy
import datetime as dt
import sys
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from discreet.audit.attacks.outcomes import Raised, observed, tagged
from discreet.audit.inputs.extremes import Rows
from discreet.audit.replay.recorder import recording, replaying
from discreet.audit.replay.tape import Diverged, Tape, without_addresses

_UNCHANGING = {type(None), bool, int, float, str, bytes, dt.date, dt.datetime}


@dataclass(frozen=True)
class Trace:
    """What one run left: its calls, and what is seen of it in the end."""

    tape: Tape
    result: Hashable

    @property
    def raised(self) -> bool:
        """Whether it ended in an exception."""
        return isinstance(self.result, Raised)

    def ends_as(self, other: Trace) -> bool:
        """Whether nobody can tell the two results apart, by their types either."""
        return tagged(self.result) == tagged(other.result)


def record(computation: Callable[[Rows], Any], rows: Rows, seed: int) -> Trace:
    """Run a computation, and record it.

    >>> record(len, [{"age": 30}], seed=1).result
    1
    """
    modules = len(sys.modules)
    with recording(seed) as tape:
        trace = Trace(tape, _result(computation, rows))
    if modules == len(sys.modules):
        return trace
    with recording(seed) as tape:  # it may have loaded a mechanism that nobody listened to: once more
        return Trace(tape, _result(computation, rows))


def again(computation: Callable[[Rows], Any], rows: Rows, source: Tape) -> Trace:
    """Run a computation with all that was released on the source held fixed.

    >>> again(len, [], record(len, [{"age": 30}], seed=1).tape).result
    0
    """
    with replaying(source) as tape:
        return Trace(tape, _result(computation, rows))


def _result(computation: Callable[[Rows], Any], rows: Rows) -> Hashable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return without_addresses(observed(computation, _fresh(rows)))
        except Diverged:
            return None


def _fresh(rows: Rows) -> Rows:
    """Return a deep copy; most values cannot be changed, and need none."""
    return [
        {name: value if type(value) in _UNCHANGING else copy.deepcopy(value) for name, value in row.items()}
        for row in rows
    ]
