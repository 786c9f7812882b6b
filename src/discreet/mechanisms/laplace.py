"""Release integers with discrete Laplace noise.

Claim. Adding to each entry of an integer vector an independent Z with P(Z = z) ∝ e^{−|z|/t} is
Δ/t-differentially private, where Δ is the l1 sensitivity; and no test can tell two neighbours apart better than
it tells Z from Z + Δ. Neighbours are those that the sensitivity was computed for. Theory: docs/theory/laplace.md
(the second half of the claim is what `loss` states, and what composes tightly).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet import noise
from discreet.mechanisms import tails
from discreet.mechanisms.exact import Exact, Integers, added, admit
from discreet.privacy import losses
from discreet.rational import Exactly, Rational, positive, whole


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise of rational scale, for integers of l1 sensitivity at most `sensitivity`.

    >>> mechanism = Laplace.for_epsilon("0.1")
    >>> mechanism.loss
    DiscreteLaplace(scale=Fraction(10, 1), sensitivity=1)
    >>> mechanism.error(confidence="0.95")
    30
    >>> noisy = mechanism.release(Exact(1234, sensitivity=1))
    """

    scale: Exactly = Exactly(above=0, floats="warn")
    sensitivity: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", whole(self.sensitivity, "sensitivity"))
        tails.refuse_too_wide("scale", self.scale)

    @classmethod
    def for_epsilon(cls, epsilon: Rational, sensitivity: int = 1) -> Laplace:
        """Return the least noise that is ε-differentially private.

        >>> Laplace.for_epsilon("1/2", sensitivity=3).scale
        Fraction(6, 1)
        """
        return cls(Fraction(whole(sensitivity, "sensitivity")) / positive(epsilon, "epsilon"), sensitivity)

    @property
    def loss(self) -> losses.Loss:
        """The shift of one integer by the l1 sensitivity: no vector of moves is easier to see."""
        return losses.DiscreteLaplace(self.scale, self.sensitivity)

    def release(self, exact: Exact) -> int | Integers:
        """Return the exact value with fresh noise on every entry."""
        admit(exact, l1=self.sensitivity)
        return added(exact, noise.discrete_laplace(self.scale, exact.size))

    def error(self, confidence: Rational = "0.95", *, dimension: int = 1) -> int:
        """Return the smallest a such that all `dimension` entries are within ±a, with this confidence.

        >>> Laplace(scale=10).error("0.95", dimension=100)
        76
        """
        return tails.laplace_bound(self.scale, tails.alpha(confidence, dimension))

    def theorem(self, confidence: Rational = "0.95") -> float:
        """Return the textbook's bound scale·ln(1/β) for one entry, which holds for real-valued noise.

        >>> round(Laplace(scale=10).theorem("0.95"), 2)
        29.96
        """
        return float(-self.scale * tails.log(tails.alpha(confidence)))
