"""Estimate means of numbers by Duchi's mechanism, Piecewise, and the Hybrid of both, on an integer grid.

All take codes 0 … G of a range and return the mean as a share of the range, exactly unbiased; on [−1, 1], which is
where papers state them, n·Var is four times as large.

- **Duchi** (Duchi, Jordan and Wainwright 2013), in one dimension: the law of `OneBitMean`. n·Var for a value x of
  [−1, 1] is ((e^ε + 1)/(e^ε − 1))² − x².
- **Piecewise** (Wang et al. 2019): a window (`piecewise`) of w = G/h answers, h = e^{ε/2}. The variance tends to
  x²/(h − 1) + (h + 3)/(3(h − 1)²) as steps shrink; on a grid of G steps it differs by a relative O(1/G), in either
  direction, and the loss is exact.
- **Hybrid**: Piecewise with probability α = 1 − e^{−ε/2} if ε > 0.61, otherwise Duchi, and the report says which:
  the loss is the larger of the two.

Standard errors come from the spread of the answers. They are those of devices drawn from a population, which are
not below those for the devices that answered.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.fixed_point import (
    budget,
    chance,
    epsilon_above,
    from_bytes,
    odds_below,
    to_bytes,
    width_of,
)
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.numeric.one_bit_mean import MEAN, OneBitMean
from discreet.local.protocols.numeric.piecewise import Window, window
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, whole

_TURN = Fraction(61, 100)  # where Piecewise begins to help (Wang et al. 2019)


class Duchi(OneBitMean):
    """Duchi's mechanism for numbers of a range: one of two answers.

    >>> Duchi.for_epsilon(11, 1).parameters() == OneBitMean.for_epsilon(11, 1).parameters()
    True
    """

    name: ClassVar[str] = "duchi"


@dataclass(frozen=True)
class Hybrid:
    """Piecewise for a share of the reports, Duchi for the others. State: sum, sum of squares, count; ones, count.

    >>> randomiser = Hybrid.for_epsilon(1025, 2)
    >>> float(randomiser.loss.epsilon), randomiser.payload_bytes
    (2.0, 2)
    """

    domain: int
    width: int
    heads: int
    flip: int
    piecewise: int
    name: ClassVar[str] = "hybrid"

    def __post_init__(self) -> None:
        chance(self.piecewise, "piecewise", least=0, most=SCALE)
        if max(self.domain - 1, self.width) > 2**14:  # squares of 2^32 answers add up to less than 2^63
            raise ParameterError(
                "A grid and its window may have at most 2^14 steps each.",
                found=f"{self.domain - 1} and {self.width}",
                fix=Fix("domain", 2**14 + 1),
            )
        _ = self._window, self._duchi

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Hybrid:
        """Return the one for a grid that costs a device at most ε."""
        exact = budget(epsilon)
        law = _piecewise_window(domain, exact)
        share = math.floor(SCALE * -math.expm1(-float(exact) / 2)) if exact > _TURN else 0
        return cls(domain, law.width, law.heads, SCALE - odds_below(exact), share)

    @property
    def _window(self) -> Window:
        return Window(self.domain, self.width, self.heads)

    @property
    def _duchi(self) -> OneBitMean:
        return OneBitMean(self.domain, self.flip)

    @property
    def loss(self) -> Pure:
        """The cost of one report: the larger of the two losses, of those that occur."""
        both = []
        if self.piecewise:
            both.append(self._window.ratio)
        if self.piecewise < SCALE:
            both.append(Fraction(SCALE - self.flip, self.flip))
        return Pure(epsilon_above(max(both)))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: that of the number of an answer."""
        return width_of(self._window.answers + 2)

    @property
    def influence(self) -> float:
        """The distance of the lowest and the highest answer that can occur."""
        law, ends = self._window, []
        if self.piecewise:
            ends += [
                float(end / law.slope) / (self.domain - 1) for end in (-law.offset, law.answers - 1 - law.offset)
            ]
        if self.piecewise < SCALE:
            ends += [0.5 - self._duchi.influence / 2, 0.5 + self._duchi.influence / 2]
        return max(ends) - min(ends)

    def parameters(self) -> dict[str, int]:
        """Return the grid, the window and the three probabilities."""
        return asdict(self)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return the number of an answer for each value: those of the window, then Duchi's two."""
        codes = checked(values, self.domain)
        by_window = draws.coins(self.piecewise, len(codes))
        answer = self._window.draw(codes, draws)
        bit = self._duchi.encode(codes, draws)[:, 0].astype(np.int64)
        return to_bytes(np.where(by_window, answer, self._window.answers + bit), self.payload_bytes)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the law of the bytes."""
        (code,) = checked(np.array([value]), self.domain).tolist()
        share = Fraction(self.piecewise, SCALE)
        chances = [share * p for p in self._window.law(code)]
        chances += [(1 - share) * p for p in self._duchi.law(code).values()]
        return {i.to_bytes(self.payload_bytes, "little"): p for i, p in enumerate(chances) if p}

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which are numbers of answers that occur."""
        codes, answers = from_bytes(payloads), self._window.answers
        least = 0 if self.piecewise else answers
        most = answers + 2 if self.piecewise < SCALE else answers
        return (codes >= least) & (codes < most)

    def state(self) -> Values:
        """Return sum, sum of squares and count of the window's answers, then ones and count of Duchi's."""
        return np.zeros(5, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Add up reports."""
        codes, answers = from_bytes(payloads), self._window.answers
        near, bits = codes[codes < answers], codes[codes >= answers] - answers
        state += np.array([near.sum(), near @ near, len(near), bits.sum(), len(bits)], np.int64)

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return the mean, as a share of the range, and its standard error."""
        total, squares, near, ones, bits = (int(each) for each in state)
        whole(n, "n")
        law, steps, flip = self._window, self.domain - 1, Fraction(self.flip, SCALE)
        # Fractions are exact: sums of squares and squares of sums differ in few of their digits.
        a, s = law.offset, law.slope * steps
        first = (total - near * a) / s
        second = (squares - 2 * a * total + near * a * a) / s**2
        low, step = -flip / (1 - 2 * flip), 1 / (1 - 2 * flip)
        first += bits * low + ones * step
        second += (bits - ones) * low**2 + ones * (low + step) ** 2
        mean = first / n
        variance = max(second / n - mean**2, step**2 / n)
        return Estimate(np.array([float(mean)]), np.array([math.sqrt(variance / n)]), n, MEAN)


class Piecewise(Hybrid):
    """The Piecewise mechanism: the Hybrid that never uses Duchi.

    >>> randomiser = Piecewise.for_epsilon(101, 1)
    >>> randomiser.law(0)[b"\\0"] > randomiser.law(100)[b"\\0"]
    True
    """

    name: ClassVar[str] = "piecewise"

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Piecewise:
        """Return the one for a grid that costs a device at most ε."""
        exact = budget(epsilon)
        law = _piecewise_window(domain, exact)
        return cls(domain, law.width, law.heads, SCALE - odds_below(exact), SCALE)


def _piecewise_window(domain: int, epsilon: Fraction) -> Window:
    return window(domain, max(1, round((whole(domain, "domain", least=2) - 1) / math.exp(epsilon / 2))), epsilon)
