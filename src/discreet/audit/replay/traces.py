"""Run a computation under the recorder, and keep its calls and its result.

Every run gets its own copy of the rows, so that changes by the computation do not reach the next run. Warnings are
silenced, so that a verdict does not depend on filters that turn them into errors.
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
    """The trace of one run: its calls, and what an observer sees of its result."""

    tape: Tape
    result: Hashable

    @property
    def raised(self) -> bool:
        """Whether the run ended in an exception."""
        return isinstance(self.result, Raised)

    def ends_as(self, other: Trace) -> bool:
        """Return whether the two results look the same, including their types."""
        return tagged(self.result) == tagged(other.result)


def record(computation: Callable[[Rows], Any], rows: Rows, seed: int) -> Trace:
    """Run a computation and record it.

    >>> record(len, [{"age": 30}], seed=1).result
    1
    """
    modules = len(sys.modules)
    with recording(seed) as tape:
        trace = Trace(tape, _result(computation, rows))
    if modules == len(sys.modules):
        return trace
    with recording(seed) as tape:  # it may have loaded a mechanism that was not recorded: run again
        return Trace(tape, _result(computation, rows))


def again(computation: Callable[[Rows], Any], rows: Rows, source: Tape) -> Trace:
    """Run a computation with all values that were released on the source held fixed.

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
    """Return a deep copy; immutable values need none."""
    return [
        {name: value if type(value) in _UNCHANGING else copy.deepcopy(value) for name, value in row.items()}
        for row in rows
    ]
