"""Square Wave: whole distributions and quantiles of a number, on an integer grid.

Li, Wang, Lopuhaä-Zwakenberg, Skoric and Li (2020): a number is told as one nearby likelier than as one far away,
so what comes back is its distribution, smoothed. The range is cut into d cells; cell j is told as one of d − 1 + w
answers by the law of `windows`, with the width that keeps most information,

    w/d = 2b,   b = (ε·e^ε − e^ε + 1)/(2e^ε(e^ε − 1 − ε)).

On the grid the law is exact, and its loss too; what it costs is that a number is known to a cell.

**Two ways back.** `estimate` undoes the smoothing by least squares: unbiased, with the standard errors of a
multinomial histogram, and wide, because it assumes nothing about the shape. `distribution` looks for what most
likely gave these reports (expectation and maximisation), smoothed by (1, 2, 1)/4 in every step, which says that
neighbouring cells are alike: much closer for the distributions of nature, and biased. `quantile` reads it off.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
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

_MOST = 2**12  # cells: least squares take the cube of them
_SMOOTHER = np.array([0.25, 0.5, 0.25])


@dataclass(frozen=True)
class SquareWave:
    """Reports on which of `domain` cells of a range a number is in.

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
            raise ParameterError(f"a range is cut into at most {_MOST} cells here, not {self.domain}.")
        _ = self._window

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> SquareWave:
        """Return the one that costs a device at most ε."""
        exact = budget(epsilon)
        law = window(domain, max(1, round(2 * _reach(float(exact)) * whole(domain, "domain", least=2))), exact)
        return cls(law.domain, law.width, law.heads)

    @property
    def _window(self) -> Window:
        return Window(self.domain, self.width, self.heads)

    @property
    def loss(self) -> Pure:
        """What one report costs."""
        return Pure(epsilon_above(self._window.ratio))

    @property
    def payload_bytes(self) -> int:
        """As many as the number of the answer needs."""
        return width_of(self._window.answers)

    @property
    def influence(self) -> float:
        """By how much one answer instead of another moves n times an unbiased frequency at most."""
        back = _undo(self.domain, self.width) / self._gap
        return float((back.max(1) - back.min(1)).max())

    @property
    def _gap(self) -> float:
        """How much likelier an answer inside of the window is."""
        chances = self._window.law(0)
        return float(chances[0] - chances[-1])

    def parameters(self) -> dict[str, int]:
        """Return the cells, the width of the window and its chance."""
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
        """Return the likeliest frequencies of the cells: biased, nothing below zero, adding up to 1."""
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
        """Return the place below which a share of the numbers is, from 0 to 1 of the range.

        Read off `distribution`, as if numbers were spread evenly within their cells.
        """
        share = float(rational(probability, "probability", floats="exact"))
        if not 0 < share < 1:
            raise ParameterError(f'probability is between 0 and 1, such as "0.5", not {probability!r}.')
        below = np.concatenate([[0.0], np.cumsum(self.distribution(state))])
        return float(np.interp(share, below, np.arange(self.domain + 1) / self.domain))


def _reach(epsilon: float) -> float:
    """Half the width of the best window on a range of 1."""
    e = math.exp(epsilon)
    if epsilon < 1e-3:  # the formula loses its digits; it tends to 1/2
        return 0.5
    return (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))


def _spread(cells: Floats, width: int) -> Floats:
    """How much of the cells has each answer in its window."""
    total = np.concatenate([[0.0], np.cumsum(cells)])
    answers = np.arange(len(cells) - 1 + width)
    spread: Floats = total[np.minimum(answers + 1, len(cells))] - total[np.maximum(answers + 1 - width, 0)]
    return spread


def _gathered(answers: Floats, width: int) -> Floats:
    """The sum of the answers in each window."""
    total = np.concatenate([[0.0], np.cumsum(answers)])
    gathered: Floats = total[width:] - total[:-width]
    return gathered


@lru_cache(maxsize=8)
def _undo(domain: int, width: int) -> Floats:
    """The least-squares inverse of `_spread`, as a matrix."""
    return np.linalg.pinv(np.array([_spread(row, width) for row in np.eye(domain)]).T)
