"""Report noisy max: add discrete Laplace noise to every score, and return the index of the largest.

Claim. With noise of scale 2Δ/ε (Δ/ε for monotonic scores) the index of the largest noisy score, the lowest index
among equals, is ε-differentially private. Discrete noise makes ties possible, and a fixed rule for them costs
nothing: with the noise of the others held, "r wins" is still the event Z_r ≥ k for one integer k, and k moves by
at most 2Δ (or Δ). Theory: docs/theory/report-noisy-max.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet import noise
from discreet.mechanisms import tails
from discreet.mechanisms.exact import Exact, added, with_mark
from discreet.mechanisms.selection import Selection
from discreet.privacy import losses
from discreet.rational import Rational


@dataclass(frozen=True)
class ReportNoisyMax(Selection):
    """The index of the largest score after discrete Laplace noise; only the index is released.

    >>> votes = Exact([120, 340, 310], sensitivity=1)
    >>> ReportNoisyMax(epsilon=1).release(votes) in {0, 1, 2}
    True
    """

    @property
    def loss(self) -> losses.Loss:
        """Pure ε."""
        return losses.Pure(self.epsilon)

    def release(self, exact: Exact) -> int:
        """Return the index that wins; the lowest index wins a tie."""
        self._admit(exact)
        noisy = added(exact, noise.discrete_laplace(self.scale, exact.size))
        return with_mark(int(np.argmax(noisy)), of=noisy)

    def error(self, confidence: Rational = "0.95", *, candidates: int) -> int:
        """Return the smallest d such that the choice is at most d below the best score, with this confidence.

        The worst scores are one best candidate, last in order, and all others d + 1 below it.

        >>> ReportNoisyMax(epsilon=1).error("0.95", candidates=100)
        15
        """
        chance, rivals = tails.alpha(confidence), tails.count(candidates, "candidates") - 1
        law = tails.laplace_pieces(self.scale, chance)

        def holds(d: int) -> bool:
            overtaken = tails.any_of(tails.laplace_above(self.scale, law.first + d), rivals)
            return tails.at_most(float(law.mass @ overtaken) + law.beyond, chance)

        return tails.smallest(holds)

    def theorem(self, confidence: Rational = "0.95", *, candidates: int) -> float:
        """Return the textbook's bound 2·scale·(ln n + ln 1/β): no noise beyond half of that.

        >>> round(ReportNoisyMax(epsilon=1).theorem("0.95", candidates=100), 2)
        30.4
        """
        return 2 * super().theorem(confidence, candidates=candidates)
