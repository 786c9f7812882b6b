"""Define the losses of linear classifiers: convex, decreasing functions of the margin y·xθ, with slope at most 1.

Claim. For each loss, s(m) = −ℓ′(m) lies in [0, 1], and ℓ″(m) ≤ curvature·q where q = s(1 − s) for the logistic
loss and the smooth hinge, and a constant for the huberised hinge. This is all that the privacy of objective
perturbation uses (docs/theory/objective-perturbation.md). The plain hinge has no second derivative: the minimiser
jumps, and no noise in the objective hides it. It is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.privacy.theorems.learning import margin_loss as theorem
from discreet.rational import rational, shown

Floats = NDArray[np.float64]


class MarginLoss(Protocol):
    """A loss of the margin."""

    @property
    def name(self) -> str:
        """The name of the loss in a label."""

    @property
    def law(self) -> theorem.MarginLoss:
        """What the privacy theorem knows of the loss: how its curvature follows from its slope."""

    def slope(self, margin: Floats) -> Floats:
        """Return s = −ℓ′, between 0 and 1."""

    def curvature(self, margin: Floats) -> Floats:
        """Return ℓ″."""


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp((shift − m)/T))·T: the logistic loss at T = 1, shift 0; the smooth hinge at shift 1.

    Args:
        width: T, above 0; 1 by default.
        shift: The score at which the slope is ½; 0 by default.
        hinge: Whether it is called a smooth hinge; False by default.

    >>> Logistic().slope(np.array([0.0])), Logistic().curvature(np.array([0.0]))
    (array([0.5]), array([0.25]))
    """

    width: float = 1.0
    shift: float = 0.0
    hinge: bool = False

    @property
    def name(self) -> str:
        """The name of the loss in a label."""
        if self.hinge:
            return "smooth hinge"
        return f"logistic loss with margin {self.shift:.6g}" if self.shift else "logistic loss"

    @property
    def margin(self) -> float:
        """The margin of the loss, in units of its width."""
        return self.shift / self.width

    @property
    def law(self) -> theorem.MarginLoss:
        """ℓ″ = s(1 − s)/T, whatever the shift is."""
        return theorem.smooth_hinge(self.width)

    def slope(self, margin: Floats) -> Floats:
        """Return s = 1/(1 + exp((m − shift)/T))."""
        scaled = np.clip((margin - self.shift) / self.width, -700.0, 700.0)
        found: Floats = 1.0 / (1.0 + np.exp(scaled))
        return found

    def curvature(self, margin: Floats) -> Floats:
        """Return s(1 − s)/T."""
        slope = self.slope(margin)
        return slope * (1.0 - slope) / self.width


@dataclass(frozen=True)
class HuberHinge:
    """The hinge whose corner is rounded: a parabola of half width h around m = 1.

    >>> HuberHinge().slope(np.array([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.5, 0.0]
    """

    width: float = 0.5
    name: str = "huberised hinge"

    @property
    def law(self) -> theorem.MarginLoss:
        """ℓ″ ≤ 1/(2h)."""
        return theorem.huberised_hinge(self.width)

    def slope(self, margin: Floats) -> Floats:
        """Return s, which falls from 1 to 0 between 1 − h and 1 + h."""
        found: Floats = np.clip((1.0 + self.width - margin) / (2.0 * self.width), 0.0, 1.0)
        return found

    def curvature(self, margin: Floats) -> Floats:
        """Return 1/(2h) on the parabola, and 0 elsewhere."""
        return np.where(np.abs(margin - 1.0) <= self.width, 1.0 / (2.0 * self.width), 0.0)


def hinge(loss: str, width: float) -> MarginLoss:
    """Return the smooth or the huberised hinge, and refuse the plain one.

    >>> hinge("hinge", 1.0)
    Traceback (most recent call last):
    discreet.errors.ParameterError: The plain hinge has a corner, where its minimiser jumps: noise in the objective
    does not hide a row. Try: loss="smooth_hinge".
    """
    width = float(rational(width, "width", floats="exact"))
    if width <= 0:
        raise ParameterError("The width of a loss must be above 0.", found=shown(width), fix=Fix("width", 1))
    if loss == "smooth_hinge":
        return Logistic(width, shift=1.0, hinge=True)
    if loss == "huber_hinge":
        return HuberHinge(width)
    if loss == "hinge":
        raise ParameterError(
            "The plain hinge has a corner, where its minimiser jumps: noise in the objective does not hide a row.",
            fix=Fix("loss", "smooth_hinge"),
        )
    raise ParameterError("There is no such loss.", found=shown(loss), fix=Fix("loss", "smooth_hinge"))
