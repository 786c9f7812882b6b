"""Aim whole transcripts at a mechanism: queries and neighbours on which its proof is tight.

A mechanism with a threshold loses most on a transcript that is unlikely: some queries far *above* the threshold
are answered "below", which shows that the noise of the threshold is large, and then a query that is not above is
answered "above". The neighbour raises the first ones and lowers the last, if queries may move both ways. Then the
threshold loses all of its ε, and every comparison all of its own: the loss of the transcript comes near the claim,
at a probability of about 10⁻⁶. A number that comes with an answer is shown as "high" or "low": for Laplace noise
this loses nothing of its ε. The attacker stops at the first answer that is not the one aimed at, so there are few
transcripts.

A number with Laplace noise loses all of its ε if it is shown as "high" or "low", and a selection by noisy maximum
loses most if a candidate that is far behind wins: the transcript is whether it does.

Coarser transcripts are post-processing: what they lose, the mechanism loses at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet import privacy
from discreet.audit.inputs.pairs import sensitivity_of, takes_one
from discreet.audit.inputs.subject import Subject
from discreet.mechanisms import Exact, Mechanism, RestartingSparse, Sensitivity

QUIET = 5
"""The queries that are answered "below" although they are above: more bring the loss no nearer to the claim."""


_ENUMERABLE = 100  # wider noise has too many values to show each


@dataclass(frozen=True)
class Aimed:
    """Transcripts of a mechanism, and the draws with which all others are compared."""

    subject: Subject
    pivots: tuple[int, ...] = (0,)


def aimed(mechanism: Mechanism) -> Aimed | None:
    """Return the mechanism with transcripts on which it loses nearly all of its ε; None if none are known.

    >>> from discreet.mechanisms import AboveThreshold, Laplace
    >>> aimed(AboveThreshold(1, threshold=0)).subject.pairs[0]
    ((11, 11, 11, 11, 11, -3), (12, 12, 12, 12, 12, -4))
    >>> aimed(Laplace(1)) is None, aimed(Laplace(1000)).subject.pairs
    (True, [(0, 1)])
    """
    if privacy.epsilon(mechanism.loss, 0) == math.inf:
        return None
    if hasattr(mechanism, "threshold") and hasattr(mechanism, "start"):
        return _run(mechanism)
    if not takes_one(mechanism) and not hasattr(mechanism, "threshold"):
        return _selection(mechanism)
    return _number(mechanism) if getattr(mechanism, "scale", 0) > _ENUMERABLE and takes_one(mechanism) else None


def _number(mechanism: Any) -> Aimed:
    """Return a single number as "high" or "low", for noise that is too wide to enumerate."""
    change, sensitivity = _each(mechanism), sensitivity_of(mechanism)
    sealed: Callable[[int], Exact] = cache(lambda value: Exact(value, sensitivity))
    subject = Subject(
        name=type(mechanism).__name__,
        release=lambda value: bool(mechanism.release(sealed(value)) >= change),
        loss=mechanism.loss,
        pairs=[(0, change)],
    )
    return Aimed(subject, pivots=())


def followed(ask: Callable[[Any], Any], queries: Sequence[Any], loud: Sequence[bool], *, middle: int) -> list[str]:
    """Return the transcript of an attacker who stops at the first answer that is not the one aimed at.

    Args:
        ask: Returns the answer to a query: nothing or False for "below", True or a number for "above".
        queries: The queries.
        loud: Which of them should be "above".
        middle: From here on a number is "high", which is aimed at.

    >>> followed(lambda query: query > 3, [1, 2, 5, 1, 2], [False, False, True, True, False], middle=0)
    ['below', 'below', 'above', 'below']
    """
    transcript = []
    for query, wanted in zip(queries, loud, strict=True):
        transcript.append(_shown(ask(query), middle))
        if transcript[-1] not in (("above", "high") if wanted else ("below",)):
            break
    return transcript


def _shown(answer: Any, middle: int) -> str:
    """Return an answer as a transcript shows it."""
    if answer is None or answer is False:
        return "below"
    if answer is True:
        return "above"
    return "high" if answer >= middle else "low"


def _run(mechanism: Any) -> Aimed:
    base, rise = mechanism.threshold, _each(mechanism)
    monotonic = bool(getattr(mechanism, "monotonic", False))
    unit = rise / privacy.epsilon(mechanism.loss, 0)
    restarts = isinstance(mechanism, RestartingSparse)
    # Restarts multiply the probabilities of their transcripts, which must not become too small to be added up.
    away = 2.5 if restarts else 4.0
    high = math.ceil(away * float(getattr(mechanism, "threshold_scale", 2.6 * unit)))
    low = math.floor(float(getattr(mechanism, "query_scale", 3 * unit)))
    last, count = base - low, getattr(mechanism, "positives", 1)
    one = Sensitivity(entries=1, each=rise, monotonic="up" if monotonic else None)
    sealed: Callable[[int], Exact] = cache(lambda value: Exact(value, one))

    block = (False,) * (QUIET // 2 if restarts else QUIET) + (True,) * (1 if restarts else count)
    loud = block * (count if restarts else 1)

    def release(values: Sequence[int]) -> list[str]:
        run = mechanism.start()
        return followed(lambda value: _plain(run.ask(sealed(value))), values, loud, middle=last)

    def queries(quiet: int, above: int) -> tuple[int, ...]:
        return tuple(last + above if wanted else base + high + quiet for wanted in loud)

    pairs = [(queries(0, 0), queries(rise, 0 if monotonic else -rise))]
    if monotonic and hasattr(mechanism, "number_scale"):  # a number loses its ε only if its query moves
        pairs.append((queries(0, -rise), queries(0, 0)))
    pivots = (0, len(block) + 1) if restarts else (0,)  # each run has a threshold of its own
    return Aimed(Subject(name=type(mechanism).__name__, release=release, loss=mechanism.loss, pairs=pairs), pivots)


def _plain(answer: Any) -> Any:
    """Return numpy's truth value as Python's."""
    return bool(answer) if getattr(getattr(answer, "dtype", None), "kind", "") == "b" else answer


def _selection(mechanism: Any) -> Aimed:
    """Return the choice among three candidates of which the first is far behind: whether it is chosen."""
    rise, monotonic = _each(mechanism), bool(getattr(mechanism, "monotonic", False))
    behind = math.ceil(12 * rise / privacy.epsilon(mechanism.loss, 0))
    sensitivity = sensitivity_of(mechanism)
    sealed: Callable[[tuple[int, ...]], Exact] = cache(lambda scores: Exact(list(scores), sensitivity))
    scores = (-behind, 0, 0)
    other = _moved(scores[:1], rise) + _moved(scores[1:], 0 if monotonic else -rise)
    subject = Subject(
        name=type(mechanism).__name__,
        release=lambda candidates: int(mechanism.release(sealed(tuple(candidates)))) == 0,
        loss=mechanism.loss,
        pairs=[(scores, other)],
    )
    return Aimed(subject)


def _each(mechanism: Any) -> int:
    return sensitivity_of(mechanism).each or 1


def _moved(values: tuple[int, ...], by: int) -> tuple[int, ...]:
    return tuple(value + by for value in values)
