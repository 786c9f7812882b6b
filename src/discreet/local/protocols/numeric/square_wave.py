"""Run Square Wave: estimate the distribution and the quantiles of a number, on an integer grid.

Li, Wang, Lopuhaä-Zwakenberg, Skoric and Li (2020): a number is reported as one nearby likelier than as one far
away, so the reports have its distribution, smoothed. The range is cut into d cells; cell j is reported as one of
d − 1 + w answers by the law of `piecewise`, with the width that keeps most information,

    w/d = 2b,   b = (ε·e^ε − e^ε + 1)/(2e^ε(e^ε − 1 − ε)).

On the grid the law is exact, and its loss too; a number is known only up to its cell.

**Two estimators.** `estimate` inverts the smoothing by least squares: unbiased, with the standard errors of a
multinomial histogram, and with wide intervals, because it assumes nothing about the shape. `distribution` finds
the maximum likelihood (expectation maximisation), smoothed by (1, 2, 1)/4 in every step, which assumes that
neighbouring cells are similar: much closer for smooth distributions, and biased. `quantile` reads it off.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.fixed_point import (
    budget,
    epsilon_above,
    from_bytes,
    to_bytes,
    width_of,
)
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.numeric.piecewise import Window, window
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.local.server.estimate import Estimate, Floats
from discreet.privacy import Pure
from discreet.rational import Rational, rational, whole

_MOST = 2**12  # the most cells: least squares take the cube of them
_SMOOTHER = np.array([0.25, 0.5, 0.25])


@dataclass(frozen=True)
class SquareWave:
    """Reports on the cell of a number, of `domain` cells of a range.

    >>> randomiser = SquareWave.for_epsilon(64, 1)
    >>> float(randomiser.loss.epsilon), randomiser.payload_bytes, randomiser.width
    (1.0, 1, 33)
    >>> from discreet import noise
    >>> with noise.deterministic(1):
    ...     reports = randomiser.encode(np.arange(200_000) % 32)  # all in the lower half, all as likely
    >>> state = randomiser.state()
    >>> randomiser.add(state, reports)
    >>> round(randomiser.quantile(state, "0.5"), 2)
    0.25
    """

    domain: int
    width: int
    heads: int
    name: ClassVar[str] = "square-wave"

    def __post_init__(self) -> None:
        if self.domain > _MOST:
            raise ParameterError(
                f"A range may have at most {_MOST} cells.", found=self.domain, fix=Fix("domain", _MOST)
            )
        _ = self._window

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> SquareWave:
        """Return the one that costs a device at most ε."""
        exact = budget(epsilon)
        law = window(
            domain, max(1, round(2 * _half_width(float(exact)) * whole(domain, "domain", least=2))), exact
        )
        return cls(law.domain, law.width, law.heads)

    @property
    def _window(self) -> Window:
        return Window(self.domain, self.width, self.heads)

    @property
    def loss(self) -> Pure:
        """The cost of one report."""
        return Pure(epsilon_above(self._window.ratio))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: that of the number of an answer."""
        return width_of(self._window.answers)

    @property
    def influence(self) -> float:
        """The largest shift of n times an unbiased frequency, by one answer instead of another."""
        back = _undo(self.domain, self.width) / self._gap
        return float((back.max(1) - back.min(1)).max())

    @property
    def _gap(self) -> float:
        """The probability of an answer inside the window minus that of one outside."""
        chances = self._window.law(0)
        return float(chances[0] - chances[-1])

    def parameters(self) -> dict[str, int]:
        """Return the cells, the width of the window and its probability."""
        return asdict(self)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return an answer for each value."""
        return to_bytes(self._window.draw(checked(values, self.domain), draws), self.payload_bytes)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the law of the bytes."""
        (code,) = checked(np.array([value]), self.domain).tolist()
        return {i.to_bytes(self.payload_bytes, "little"): p for i, p in enumerate(self._window.law(code))}

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which are numbers of answers."""
        return from_bytes(payloads) < self._window.answers

    def state(self) -> Values:
        """Return how often each answer was given."""
        return np.zeros(self._window.answers, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count reports."""
        state += np.bincount(from_bytes(payloads), minlength=len(state))

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return unbiased frequencies of the cells by least squares, with their standard errors."""
        seen = state / whole(n, "n")
        back = _undo(self.domain, self.width) / self._gap
        outside = (1 - self.heads / SCALE) / (self.domain - 1)
        variance = back**2 @ seen - (back @ seen) ** 2
        return Estimate(back @ (seen - outside), np.sqrt(np.maximum(variance, 1 / n) / n), n)

    def distribution(self, state: Values, *, smooth: bool = True, tolerance: float = 1e-3) -> Floats:
        """Return the likeliest frequencies of the cells: biased, none below zero, with a sum of 1."""
        outside = (1 - self.heads / SCALE) / (self.domain - 1)
        found, before = np.full(self.domain, 1 / self.domain), -math.inf
        for _ in range(10_000):
            expected = outside + self._gap * _spread(found, self.width)
            likelihood = float(state @ np.log(expected))
            if likelihood - before < tolerance:
                break
            before, ratio = likelihood, state / expected
            found = found * (outside * ratio.sum() + self._gap * _gathered(ratio, self.width))
            if smooth:
                found = np.convolve(np.pad(found, 1, mode="edge"), _SMOOTHER, mode="valid")
            found /= found.sum()
        return found

    def quantile(self, state: Values, probability: Rational) -> float:
        """Return the quantile as a share of the range, from 0 to 1.

        It is read off `distribution`, as if numbers were uniform within their cells.
        """
        share = float(rational(probability, "probability", floats="exact"))
        if not 0 < share < 1:
            raise ParameterError(
                "The probability must be between 0 and 1.", found=repr(probability), fix=Fix("probability", "0.5")
            )
        below = np.concatenate([[0.0], np.cumsum(self.distribution(state))])
        return float(np.interp(share, below, np.arange(self.domain + 1) / self.domain))


def _half_width(epsilon: float) -> float:
    """Return half the width b of the best window on a range of 1."""
    e = math.exp(epsilon)
    if epsilon < 1e-3:  # the formula loses its digits here, and its limit is 1/2
        return 0.5
    return (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))


def _spread(cells: Floats, width: int) -> Floats:
    """Return the sum of the cells that have each answer in their window."""
    total = np.concatenate([[0.0], np.cumsum(cells)])
    answers = np.arange(len(cells) - 1 + width)
    spread: Floats = total[np.minimum(answers + 1, len(cells))] - total[np.maximum(answers + 1 - width, 0)]
    return spread


def _gathered(answers: Floats, width: int) -> Floats:
    """Return the sum of the answers in each window."""
    total = np.concatenate([[0.0], np.cumsum(answers)])
    gathered: Floats = total[width:] - total[:-width]
    return gathered


@lru_cache(maxsize=8)
def _undo(domain: int, width: int) -> Floats:
    """Return the least-squares inverse of `_spread`, as a matrix."""
    return np.linalg.pinv(np.array([_spread(row, width) for row in np.eye(domain)]).T)
