"""Choose one of n candidates by its score: the part that three mechanisms share.

One person changes every score by at most Δ. A choice that prefers a score u over the best one by e^{−(best − u)/t}
is ε-differentially private at t = 2Δ/ε, or at t = Δ/ε if the scores are monotonic: adding a person moves them
all the same way, up or down. Each mechanism's page proves it for its own law; Δ, t and the scores are what they
have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.mechanisms import tails
from discreet.mechanisms.exact import Exact, Integers, admit, opened
from discreet.mechanisms.sensitivity import one_way
from discreet.rational import Exactly, Rational, whole


@dataclass(frozen=True)
class Selection:
    """A choice among candidates whose scores have at most this `sensitivity` each.

    >>> Selection(epsilon="0.5", sensitivity=3).scale
    Fraction(12, 1)
    """

    epsilon: Exactly = Exactly(above=0, floats="decimal")
    sensitivity: int = 1
    monotonic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", whole(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "monotonic", one_way(self.monotonic))
        tails.refuse_too_wide("scale", self.scale)

    @cached_property
    def scale(self) -> Fraction:
        """The distance between scores that the choice tells apart by a factor e."""
        return (1 if self.monotonic else 2) * self.sensitivity / self.epsilon

    def theorem(self, confidence: Rational = "0.95", *, candidates: int) -> float:
        """Return the textbook's bound scale·(ln n + ln 1/β) on how far the choice is below the best.

        >>> round(Selection(epsilon=1).theorem("0.95", candidates=100), 2)
        15.2
        """
        return float(self.scale) * float(
            tails.log(tails.count(candidates, "candidates") / tails.alpha(confidence))
        )

    def _admit(self, exact: Exact) -> None:
        admit(exact, vector=True, monotonic=self.monotonic, each=self.sensitivity)


def gaps(exact: Exact) -> Integers:
    """Return how far each score is below the best. Opens the exact value: for mechanisms only.

    >>> gaps(Exact([3, 7], sensitivity=1)).tolist()
    [4, 0]
    """
    scores = opened(exact)
    return np.max(scores) - scores
