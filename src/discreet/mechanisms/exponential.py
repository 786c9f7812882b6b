"""Choose by the exponential mechanism (McSherry–Talwar 2007) over integer scores.

Claim. Choosing r with probability ∝ e^{ε·u(r)/(2Δ)} is ε-differentially private where one person changes every
score u(r) by at most Δ; for monotonic scores ∝ e^{ε·u(r)/Δ} is. In both cases the privacy loss lies in an
interval of width ε (bounded range), which composes better than ε-DP. The index is drawn exactly, by inversion
with lazy bits: no softmax in floats, no rejection whose rounds depend on the scores. Theory:
docs/theory/exponential.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet import noise
from discreet.mechanisms import tails
from discreet.mechanisms.exact import Exact
from discreet.mechanisms.selection import Selection, gaps
from discreet.privacy import losses
from discreet.rational import Rational


@dataclass(frozen=True)
class Exponential(Selection):
    """The index of a good score, chosen with probability ∝ e^{ε·u/(2Δ)}.

    A seller chooses one of three prices. Each buyer names the most that they would pay, and one buyer changes the
    revenue at any price by at most the highest price.

    >>> from discreet.mechanisms import Sensitivity
    >>> prices = [5, 10, 15]
    >>> would_pay = [4, 6, 10, 11, 12, 12, 14, 15, 15, 20] * 100
    >>> revenue = [price * sum(limit >= price for limit in would_pay) for price in prices]
    >>> mechanism = Exponential(epsilon=1, sensitivity=15, monotonic=True)
    >>> prices[mechanism.release(Exact(revenue, Sensitivity(each=15, monotonic="up")))]
    10
    """

    @property
    def loss(self) -> losses.Loss:
        """Bounded range: the loss lies in an interval of width ε."""
        return losses.Exponential(self.epsilon)

    def release(self, exact: Exact) -> int:
        """Return the index chosen."""
        self._admit(exact)
        return noise.softmax(gaps(exact), over=self.scale)

    def error(self, confidence: Rational = "0.95", *, candidates: int) -> int:
        """Return the smallest d such that the choice is at most d below the best score, with this confidence.

        The worst scores are one best candidate and all others d + 1 below it, weighing e^{−(d+1)/t} each. The
        best is missed with probability at most β when (n − 1)·e^{−(d+1)/t} ≤ β/(1 − β).

        >>> Exponential(epsilon=1).error("0.95", candidates=100)
        15
        """
        chance, rivals = tails.alpha(confidence), tails.count(candidates, "candidates") - 1
        odds = rivals * (1 - chance) / chance
        return max(0, tails.ceiling(self.scale * tails.log(odds)) - 1) if odds > 1 else 0
