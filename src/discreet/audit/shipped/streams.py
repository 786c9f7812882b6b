"""Make small streams as subjects of an attack: every value of every tick is seen, and some look at the state.

Horizons are two or three ticks and noise is small, so that the exact attack enumerates nearly all draws. The grid
of a counter is small as well, which makes rounding as large as it can be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.audit.attacks import exact, pieces
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.inputs.transcripts import followed
from discreet.privacy.losses import Losses, Pure, ZeroConcentrated
from discreet.stream.alert import Alert
from discreet.stream.distinct import Distinct
from discreet.stream.factorisations.running_sums import RunningSums
from discreet.stream.factorisations.toeplitz import ToeplitzSums
from discreet.stream.factorisations.tree import TreeSums

_EVENT = [([1, 0], [2, 0]), ([1, 0], [1, 1])]
_VISITS: list[tuple[list[list[str]], list[list[str]]]] = [([[], [], []], [["a"], ["a"], ["a"]])]
_EVENTS = [([0, 0, 0], [1, 0, 0]), ([0, 0, 0], [0, 1, 0]), ([0, 0, 0], [0, 0, 1])]


def streams() -> dict[str, Subject]:
    """Return every kind of stream as a subject, by name.

    >>> "Counter(rho=4, horizon=3)" in streams()
    True
    """
    found = [
        Subject(
            name="Counter(rho=4, horizon=3)",
            release=correlated(Fraction(4)),
            loss=ZeroConcentrated(4),
            pairs=_EVENTS,
            batch=_batch,
        ),
        _subject("Counter(epsilon=5, horizon=3)", _values(lambda: TreeSums(Pure(5), 3)), Pure(5), _EVENTS),
        _subject("Counter(epsilon=8, pan_private=True)", looked_at(Pure(8)), Pure(8), _EVENT),
        replace(
            _subject("Alert(threshold=4, epsilon=3)", _alarms, Pure(3), [((4, 4), (5, 4))]),
            attacks={"piecewise": pieces.attack, "black box": blackbox.attack},
        ),
        replace(
            _subject("Distinct(slots=2, epsilon=8, releases=2)", _distinct, Pure(8), _VISITS),
            attacks={"exact": partial(exact.attack, unexplored="1e-6", most=4000), "black box": blackbox.attack},
        ),
    ]
    return {subject.name: subject for subject in found}


def correlated(rho: Fraction, *, grid: int = 6) -> Callable[[Sequence[int]], Any]:
    """Return a counter of three ticks with correlated noise, on a coarse grid."""
    return _values(lambda: ToeplitzSums(rho, 3, grid=grid))


def _batch(counts: Sequence[int], count: int) -> Any:
    """Return many counters at once: keys are independent."""
    sums = ToeplitzSums(Fraction(4), 3, grid=6, keys=count)
    return sums.push_many(np.repeat(np.array(counts)[:, None], count, axis=1)).T.round(9)


def looked_at(loss: Pure) -> Callable[[Sequence[int]], Any]:
    """Return a pan-private counter of two ticks that shows its values, and its state after the first tick."""

    def release(counts: Sequence[int]) -> Any:
        sums = TreeSums(loss, 2, pan_private=True)
        sums.push(counts[0])
        look = [*sums.state()["open"], sums.value]
        sums.push(counts[1])
        return [*look, round(float(sums.value), 9)]

    return release


def _values(make: Callable[[], RunningSums]) -> Callable[[Sequence[int]], Any]:
    def release(counts: Sequence[int]) -> Any:
        sums, shown = make(), []
        for count in counts:
            sums.push(count)
            shown.append(round(float(sums.value), 9))
        return shown

    return release


def _alarms(counts: Sequence[int]) -> list[str]:
    """Return whether each tick raises an alarm. An event of the first one is in all counts but the last one's.

    The noise is geometric, which forgets: a count at the threshold tells as much as one that is far above.
    """
    alert = Alert(4, epsilon=3, window=1)
    aims = [False] * (len(counts) - 1) + [True]
    return followed(lambda count: alert.add(count) is not None, counts, aims, middle=0)


def _distinct(batches: Sequence[Sequence[str]]) -> Any:
    """Return a look at the state after the first batch, and a release after each of the others.

    A user who is in all of them draws the bit of a slot three times. With large odds each draw is nearly as good
    as a count that moves by 1, so the look and both releases lose nearly what each is charged.
    """
    count, shown = Distinct(2, epsilon=8, releases=len(batches) - 1), list[Any]()
    for batch in batches:
        count.add(batch)
        shown.append(count.release().value if shown else count.look())
    return shown


def _subject(name: str, release: Callable[[Any], Any], loss: Losses, pairs: Any) -> Subject:
    return Subject(name=name, release=release, loss=loss, pairs=pairs)
