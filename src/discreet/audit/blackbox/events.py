"""Events that tell two laws apart, learned from samples of both.

An event that P makes likely and Q does not shows a loss of ln(P(E)/Q(E)), or of ln((P(E) − δ)/Q(E)) at δ. By
Neyman and Pearson the best events are the upper sets {s ≥ t} of the likelihood ratio. Nobody knows the ratio, so
many *scores* s stand for it, each learned from one part of the samples; another part chooses the score, the
threshold, the side of it and the direction (P against Q, or Q against P) that promise most. Nothing here needs to
be right for a bound to hold: a poor event, tested on fresh samples, shows less, and never too much.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.audit.attacks.clopper_pearson import lower, upper
from discreet.audit.blackbox.features import Floats
from discreet.audit.blackbox.samples import Integers, Outcomes
from discreet.audit.blackbox.scores import Score

_CLEARLY = 1e-3  # how much more a later score must promise: the first ones are easier to put into words


@dataclass(frozen=True, eq=False)
class Event:
    """One event, and in which direction it is to be tested."""

    score: Score
    at: int
    """Which threshold."""
    above: bool
    """At or above it, or below."""
    swapped: bool
    """Whether it is more likely under Q than under P."""
    choice: int
    """Which of the δ it was chosen for."""

    @property
    def words(self) -> str:
        """The event in words."""
        return self.score.words(float(self.score.thresholds[self.at]), self.above)

    def hits(self, outcomes: Outcomes) -> Integers:
        """Return how many outcomes are in the event, for this and every other threshold of its score."""
        above, known = self.score.above(outcomes)
        return above if self.above else known - above


def choose(
    scores: Iterable[Score],
    P: Iterable[Outcomes],
    Q: Iterable[Outcomes],
    *,
    alpha: float,
    deltas: Floats,
    claimed: Floats,
) -> Event:
    """Return the event whose Clopper–Pearson bound on these samples exceeds the claim most, at the best of the δ.

    Among thousands of events some look good by luck, most of all rare ones. So the bounds compared here are those
    that would hold for all events at once: the doubt is split over them. Samples come in parts, of which one at a
    time is in memory.
    """
    scores = list(scores)
    alpha /= 4 * sum(len(score.thresholds) for score in scores)
    sizes, tallies = zip(*(_tallied(scores, side) for side in (P, Q)), strict=True)
    best, chosen = -np.inf, None
    for score, (above_p, known_p), (above_q, known_q) in zip(scores, *tallies, strict=True):
        for above in (True, False):
            hits = (above_p, above_q) if above else (known_p - above_p, known_q - above_q)
            for swapped in (False, True):
                one, other = (1, 0) if swapped else (0, 1)
                low, high = lower(hits[one], sizes[one], alpha), upper(hits[other], sizes[other], alpha)
                shown = np.log(np.maximum(low[:, None] - deltas, 1e-300) / high[:, None]) - claimed
                at, choice = np.unravel_index(np.argmax(shown), shown.shape)
                if chosen is None or shown[at, choice] > best + _CLEARLY:
                    best, chosen = shown[at, choice], Event(score, int(at), above, swapped, int(choice))
    if chosen is None:
        raise ValueError("At least one score is needed to choose an event.")
    return chosen


def _tallied(scores: list[Score], parts: Iterable[Outcomes]) -> tuple[int, list[tuple[Integers, int]]]:
    """How many outcomes there are, and for each score how many at or above each threshold, and on either side."""
    size, above = 0, [np.zeros(len(score.thresholds), np.int64) for score in scores]
    known = [0] * len(scores)
    for part in parts:
        size += sum(group.total for group in part.values())
        for i, score in enumerate(scores):
            more, sided = score.above(part)
            above[i] += more
            known[i] += sided
    return size, list(zip(above, known, strict=True))
