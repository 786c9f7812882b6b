"""Choose the event that tells two laws apart best, from samples of both.

An event that P makes likely and Q does not shows a loss of ln(P(E)/Q(E)), or of ln((P(E) − δ)/Q(E)) at δ. By
Neyman and Pearson the best events are the upper sets {s ≥ t} of the likelihood ratio. The ratio is unknown, so
many *scores* s estimate it, each learned from one part of the samples; another part chooses the score, the
threshold, its side and the direction (P against Q, or Q against P) that promise the largest loss. The bound holds
however the event was chosen: a poor event, tested on fresh samples, shows a smaller loss, and never too large a
one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.audit.attacks.clopper_pearson import lower, upper
from discreet.audit.blackbox.features import Floats
from discreet.audit.blackbox.samples import Integers, Outcomes
from discreet.audit.blackbox.scores import Score

_CLEARLY = 1e-3  # a later score must promise this much more: the first ones are easier to describe


@dataclass(frozen=True, eq=False)
class Event:
    """One event, and the direction in which it is tested."""

    score: Score
    at: int
    """The index of the threshold."""
    above: bool
    """Whether the event is at or above the threshold, or below it."""
    swapped: bool
    """Whether it is more likely under Q than under P."""
    choice: int
    """The index of the δ that it was chosen for."""

    @property
    def words(self) -> str:
        """The event, described as text."""
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

    Among thousands of events some look good by chance, rare ones most of all. So the bounds compared here are
    those that would hold for all events at once: alpha is split over them. Samples come in parts, of which one at
    a time is in memory.

    Args:
        scores: The scores to choose from, with their thresholds.
        P: Samples of the first law, in parts.
        Q: Samples of the second law, in parts.
        alpha: 1 − confidence of the comparison.
        deltas: The δ to try.
        claimed: The ε that is claimed at each of them.
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
    """Return the number of outcomes, and for each score those at or above each threshold, and on any side."""
    size, above = 0, [np.zeros(len(score.thresholds), np.int64) for score in scores]
    known = [0] * len(scores)
    for part in parts:
        size += sum(group.total for group in part.values())
        for i, score in enumerate(scores):
            more, sided = score.above(part)
            above[i] += more
            known[i] += sided
    return size, list(zip(above, known, strict=True))
