"""Release integers with discrete Gaussian noise.

Claim. Adding to each entry of an integer vector an independent X with P(X = x) ∝ e^{−x²/2v} is Δ₂²/(2v)-zCDP,
where Δ₂ is the l2 sensitivity (Canonne–Kamath–Steinke 2020). Where one person changes at most k entries by at most
d each, no test tells neighbours apart better than it tells k such X from k copies of X + d, which is what `loss`
then states. Calibration starts from the analytic Gaussian mechanism (Balle–Wang 2018), valid at every ε, and is
then certified for the discrete law itself. Theory: docs/theory/gaussian.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet import noise
from discreet.errors import Code, Fix, ParameterError
from discreet.mechanisms import tails
from discreet.mechanisms.exact import Exact, Integers, added, admit
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.privacy import losses, plan
from discreet.privacy.pld.normal import gaussian_delta
from discreet.rational import Exactly, Rational, positive, shown

_FUTILE = 1000  # an ε that gives no protection
_DIGITS = 4  # of a calibrated variance: a short fraction, at most 0.1 % above the least one


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian noise of rational variance parameter, for integers of bounded l2 sensitivity.

    A plain integer as sensitivity means that one person changes one entry, by at most so much.

    >>> mechanism = Gaussian(variance=100, sensitivity=Sensitivity(entries=3, each=1))
    >>> mechanism.loss
    Repeated(loss=DiscreteGaussian(variance=Fraction(100, 1), sensitivity=1), count=3)
    >>> mechanism.error(confidence="0.95")
    20
    >>> noisy = mechanism.release(Exact([5, 0, 7], Sensitivity(entries=3, each=1)))
    """

    variance: Exactly = Exactly(above=0, floats="warn")
    sensitivity: Sensitivity | int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", Sensitivity.of(self.sensitivity))
        if self._sensitivity.l2_squared is None:
            raise ParameterError(
                "Gaussian noise needs an l2 sensitivity.",
                fix=Fix("sensitivity", Code("Sensitivity(entries=1, each=1)")),
            )
        tails.refuse_too_wide("variance", self.variance, tails.WIDEST**2)

    @classmethod
    def for_rho(cls, rho: Rational, sensitivity: Sensitivity | int = 1) -> Gaussian:
        """Return the least noise that is ρ-zCDP.

        >>> Gaussian.for_rho("0.005").variance
        Fraction(100, 1)
        """
        unit = cls(variance=1, sensitivity=sensitivity)
        return cls(unit._l2_squared / (2 * positive(rho, "rho")), sensitivity)

    @classmethod
    def for_budget(cls, epsilon: Rational, delta: Rational, sensitivity: Sensitivity | int = 1) -> Gaussian:
        """Return nearly the least noise that is (ε, δ)-differentially private, certified for the discrete law.

        >>> mechanism = Gaussian.for_budget(epsilon=1, delta="1e-6")
        >>> plan.delta(mechanism.loss, 1) <= 1e-6
        True
        """
        exact_epsilon, exact_delta = positive(epsilon, "epsilon"), positive(delta, "delta")
        if exact_epsilon > _FUTILE:
            raise ParameterError(
                f"An epsilon above {_FUTILE:,} gives no protection.", found=shown(epsilon), fix=Fix("epsilon", 1)
            )
        if not Fraction(1, 10**300) <= exact_delta < 1:
            raise ParameterError(
                "delta must be below 1 and not below 1e-300.", found=shown(delta), fix=Fix("delta", "1e-6")
            )
        unit = cls(variance=1, sensitivity=sensitivity)
        guess = float(unit._l2_squared) * analytic_variance(float(exact_epsilon), float(exact_delta))
        step = Fraction(10) ** (math.floor(math.log10(guess)) - _DIGITS + 1)

        def private(steps: int) -> bool:
            return plan.delta(cls(steps * step, sensitivity).loss, exact_epsilon) <= exact_delta

        return cls(_least(private, near=math.floor(Fraction(guess) / step)) * step, sensitivity)

    @property
    def loss(self) -> losses.Loss:
        """Independent shifts of single entries if that is all that moves, else the zCDP of the whole vector."""
        entries, each = self._sensitivity.entries, self._sensitivity.each
        if entries is not None and each is not None and entries * each**2 == self._l2_squared:
            single = losses.DiscreteGaussian(self.variance, each)
            return single if entries == 1 else single * entries
        return losses.ZeroConcentrated(self._l2_squared / (2 * self.variance))

    def release(self, exact: Exact) -> int | Integers:
        """Return the exact value with fresh noise on every entry."""
        if isinstance(self.loss, losses.ZeroConcentrated):
            admit(exact, l2_squared=int(self._l2_squared))
        else:
            admit(exact, entries=cast(int, self._sensitivity.entries), each=cast(int, self._sensitivity.each))
        return added(exact, noise.discrete_gaussian(self.variance, exact.size))

    def error(self, confidence: Rational = "0.95", *, dimension: int = 1) -> int:
        """Return the smallest a such that all `dimension` entries are within ±a, with this confidence.

        >>> Gaussian(variance=100).error("0.95", dimension=100)
        35
        """
        return tails.gaussian_bound(self.variance, tails.alpha(confidence, dimension))

    def theorem(self, confidence: Rational = "0.95") -> float:
        """Return the textbook's bound σ·√(2·ln(2/β)) for one entry, from the subgaussian tail.

        >>> round(Gaussian(variance=100).theorem("0.95"), 2)
        27.16
        """
        return math.sqrt(2 * self.variance * tails.log(2 / tails.alpha(confidence)))

    @property
    def _sensitivity(self) -> Sensitivity:
        return cast(Sensitivity, self.sensitivity)

    @property
    def _l2_squared(self) -> Fraction:
        return Fraction(cast(int, self._sensitivity.l2_squared))


def _least(private: Callable[[int], bool], near: int) -> int:
    """Return the least integer that is private, from `near` outwards; whatever is returned has been tried."""
    low = high = near
    stride = max(1, near // 100)
    while not private(high):
        low, high, stride = high, high + stride, 2 * stride
    while low > 1 and private(low):
        low, high, stride = max(1, low - stride), low, 2 * stride
    return low + bisect_left(range(low, high), True, key=private)


def analytic_variance(epsilon: float, delta: float) -> float:
    """Return the least variance at which real Gaussian noise is (ε, δ)-DP at sensitivity 1 (Balle–Wang).

    >>> round(analytic_variance(1.0, 1e-6), 3)
    17.848
    """
    low, high = 1e-12, 1e40
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if gaussian_delta(1 / math.sqrt(middle), epsilon)[1] <= delta else (middle, high)
    return high
