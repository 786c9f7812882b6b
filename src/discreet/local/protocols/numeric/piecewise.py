"""Define the law that Piecewise and Square Wave share: a window of answers that moves with the value.

Values are 0 … G, answers 0 … G + w − 1. Value j is reported as one of the w answers j … j + w − 1 with probability
τ = heads/2⁶⁴, equally likely, and otherwise as one of the G others, equally likely:

    P[o | j] = τ/w inside,  (1 − τ)/G outside,

so that the worst ratio is τ·G/((1 − τ)·w), exactly, and attained. The continuous mechanisms are the limit of small
steps; the grid differs from them only by the rounding of w. The mean of o is affine in j:

    E[o | j] = τ·(j + (w − 1)/2) + (1 − τ)·(N(N − 1)/2 − w·(j + (w − 1)/2))/G = a + s·j,   N = G + w,

so (o − a)/s is exactly unbiased for j.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.fixed_point import FROM_EPSILON, chance, odds_below
from discreet.local.primitives.randomness import SCALE, Draws
from discreet.local.protocols.protocol import Values
from discreet.rational import whole


@dataclass(frozen=True)
class Window:
    """The law for values 0 … domain − 1, with the width of the window and its probability.

    >>> window = Window(domain=3, width=2, heads=SCALE // 4 * 3)
    >>> [str(p) for p in window.law(1)]
    ['1/8', '3/8', '3/8', '1/8']
    """

    domain: int
    width: int
    heads: int

    def __post_init__(self) -> None:
        whole(self.domain, "domain", least=2)
        whole(self.width, "width")
        chance(self.heads, "heads")
        if self.answers > 2**31:
            raise ParameterError(
                f"A grid of {self.domain} values needs {self.answers} answers, more than 2^31.",
                fix=Fix("domain", 101),
            )
        if self.ratio < 1:
            raise ParameterError(
                "The window must not be less likely than the answers outside it.",
                found=f"heads={self.heads}",
                fix=FROM_EPSILON,
            )

    @property
    def answers(self) -> int:
        """The number of answers."""
        return self.domain - 1 + self.width

    @property
    def ratio(self) -> Fraction:
        """The ratio of the probabilities of an answer inside the window and one outside."""
        return Fraction(self.heads * (self.domain - 1), (SCALE - self.heads) * self.width)

    @property
    def slope(self) -> Fraction:
        """The slope of the mean answer in the value."""
        tau = Fraction(self.heads, SCALE)
        return tau - (1 - tau) * Fraction(self.width, self.domain - 1)

    @property
    def offset(self) -> Fraction:
        """The mean answer to 0."""
        tau, width, answers = Fraction(self.heads, SCALE), self.width, self.answers
        outside = Fraction(answers * (answers - 1) - width * (width - 1), 2 * (self.domain - 1))
        return tau * Fraction(width - 1, 2) + (1 - tau) * outside

    def draw(self, codes: Values, draws: Draws) -> Values:
        """Return an answer for each value. The draws do not depend on the values."""
        inside = draws.coins(self.heads, len(codes))
        near = draws.below(self.width, len(codes))
        far = draws.below(self.domain - 1, len(codes))
        return np.where(inside, codes + near, far + np.where(far >= codes, self.width, 0))

    def law(self, code: int) -> list[Fraction]:
        """Return the probability of each answer."""
        inside = Fraction(self.heads, SCALE * self.width)
        outside = Fraction(SCALE - self.heads, SCALE * (self.domain - 1))
        return [inside if code <= o < code + self.width else outside for o in range(self.answers)]


def window(domain: int, width: int, epsilon: Fraction) -> Window:
    """Return the window whose worst ratio is e^ε, rounded down.

    >>> float(window(101, 61, Fraction(1)).ratio) <= 2.718281828459046
    True
    """
    domain = whole(domain, "domain", least=2)
    return Window(domain, width, odds_below(epsilon, Fraction(width, domain - 1)))
