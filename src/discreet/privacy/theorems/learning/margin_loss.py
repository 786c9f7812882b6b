"""Define the losses of linear classifiers that objective perturbation can account for.

A margin loss is ℓ(m), m = y·(x·θ), convex and non-increasing with slope s = −ℓ′ in [0, 1]. All that a privacy
theorem needs to know of it is how its curvature is bounded by its slope:

    logistic          ln(1 + e^{−m})             ℓ″ = s·(1 − s)
    smooth hinge      T·ln(1 + e^{(1−m)/T})      ℓ″ = s·(1 − s)/T
    huberised hinge   half width h               ℓ″ ≤ 1/(2h), whatever s is

The first two bend only where the slope is neither 0 nor 1, which makes the determinant almost free. Not covered:
the hinge itself (its minimiser has no density), the squared loss and Poisson regression (their slope has no
fixed sign and no bound).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.rounding import float_above, upward
from discreet.rational import Exactly, Rational, positive


@dataclass(frozen=True)
class MarginLoss:
    """A non-increasing convex margin loss with slopes in [0, 1], by what bounds its curvature.

    Args:
        name: The name for labels.
        curvature: ℓ″ is at most this, times s·(1 − s) if `saturates`.
        saturates: Whether the curvature vanishes where the slope is 0 or 1, as s·(1 − s) does.
    """

    name: str
    curvature: Exactly = Exactly(above=0)
    saturates: bool = True


LOGISTIC = MarginLoss("logistic", 1)
"""The logistic loss ln(1 + e^{−m})."""


def smooth_hinge(temperature: Rational = 1) -> MarginLoss:
    """Return the smooth hinge T·ln(1 + e^{(1−m)/T}).

    >>> smooth_hinge("0.5").curvature
    Fraction(2, 1)
    """
    return MarginLoss("smooth hinge", 1 / positive(temperature, "temperature", floats="exact"))


def huberised_hinge(half_width: Rational = "0.5") -> MarginLoss:
    """Return the huberised hinge: 0 from 1 + h on, 1 − m below 1 − h, a parabola between.

    >>> huberised_hinge("0.5").curvature
    Fraction(1, 1)
    """
    width = positive(half_width, "half_width", floats="exact")
    return MarginLoss("huberised hinge", 1 / (2 * width), saturates=False)


@dataclass(frozen=True)
class Objective:
    """A perturbed objective Σ wᵢ·ℓ(yᵢ·xᵢ·θ) + λ/2·‖θ‖² + b·θ over all of Rᵈ, without its data and its noise.

    Args:
        lam: λ, the strength of the regulariser; the intercept is regularised as well.
        R: The largest norm of a row, constant column included.
        K: The largest total weight of one person's rows.
        loss: The margin loss.
    """

    lam: Exactly = Exactly(above=0)
    R: Exactly = Exactly(above=0, default=1)
    K: Exactly = Exactly(above=0, default=1)
    loss: MarginLoss = LOGISTIC

    @property
    def determinant(self) -> Fraction:
        """A = K·R²·curvature/λ: the most that the log-determinant moves, before s·(1 − s).

        >>> Objective(lam=4, R=2).determinant
        Fraction(1, 1)
        """
        return self.K * self.R**2 * self.loss.curvature / self.lam

    def shift(self, sigma: Fraction) -> float:
        """Return M = K·R/σ rounded up: how far one person moves the noise, in its standard deviations.

        >>> Objective(lam=1).shift(Fraction(4))
        0.25
        """
        return float_above(self.K * self.R / sigma)

    def determinant_above(self) -> float:
        """Return A rounded up by more than `shift` rounds up, squared: both are then those of a larger R.

        >>> Objective(lam=1).determinant_above() > 1
        True
        """
        return upward(float_above(self.determinant), 4)
