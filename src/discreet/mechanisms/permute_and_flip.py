"""Choose by permute-and-flip (McKenna–Sheldon 2020): random order, acceptance with probability e^{−gap/t}.

Claim. With t = 2Δ/ε (Δ/ε for monotonic scores) the first candidate accepted is ε-differentially private, and
never further below the best, in distribution, than the exponential mechanism's. All coins are flipped at once:
the first success in a random order is uniform among the successes, and the best candidate always succeeds. So
the work, and the bits it takes, are the same whatever the scores are. Unlike the exponential mechanism it is no
better than ε-DP when composed. Theory: docs/theory/permute-and-flip.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet import noise
from discreet.mechanisms import tails
from discreet.mechanisms.exact import Exact, with_mark
from discreet.mechanisms.selection import Selection, gaps
from discreet.privacy import losses
from discreet.rational import Rational


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """The index of a good score, at least as good as the exponential mechanism's for the same ε.

    >>> votes = Exact([120, 340, 310], sensitivity=1)
    >>> PermuteAndFlip(epsilon=1).release(votes) in {0, 1, 2}
    True
    """

    @property
    def loss(self) -> losses.Loss:
        """ε-DP, and no better when composed."""
        return losses.PermuteAndFlip(self.epsilon)

    def release(self, exact: Exact) -> int:
        """Return the index that is accepted first."""
        self._admit(exact)
        accepted = np.flatnonzero(noise.bernoulli_exp(gaps(exact), over=self.scale))
        first = noise.uniform_below(len(accepted))  # of a secret number: single draws take the same time for all
        return with_mark(int(accepted[first]), of=first)

    def error(self, confidence: Rational = "0.95", *, candidates: int) -> int:
        """Return the smallest d such that the choice is at most d below the best score, with this confidence.

        The worst scores are one best candidate and all others d + 1 below it.

        >>> PermuteAndFlip(epsilon=1).error("0.95", candidates=100)
        13
        """
        chance, n = tails.alpha(confidence), tails.count(candidates, "candidates")

        def holds(d: int) -> bool:
            return tails.at_most(float(_missed(tails.exp(-(d + 1) / self.scale), n)), chance)

        return tails.smallest(holds) if n > 1 else 0


def _missed(p: Fraction, n: int) -> Fraction:
    """Return the chance to miss the best of n if each of the others is accepted with probability p.

    It is E[B/(1 + B)] for B binomial(n − 1, p), which is 1 − (1 − (1 − p)^n)/(n·p), and at most E[B]/2.
    """
    if n * p < Fraction(1, 10**40):  # where the difference of the two is lost
        return (n - 1) * p / 2
    none = tails.exp(n * tails.log(1 - p)) if p < 1 else 0
    return 1 - (1 - none) / (n * p)
