"""Run 1BitMean, as in Windows: estimate a mean from one bit of each device, with α-point rounding for a life.

**Law.** A number of a range is a code j on the grid 0 … G. The device rounds j to an end of the range, up with
probability j/G, and then reports that end, or with probability φ the other one:

    P[1 | j] = φ + (j/G)·(1 − 2φ),    φ = flip/2⁶⁴ = 1/(e^ε + 1),

which is the bit of Ding, Kulkarni and Yekhanin (2017), exactly, from one uniform integer and one coin. With G = 1
it is Warner's randomised response. The worst ratio is (1 − φ)/φ, between the ends.

**Estimate.** (b̄ − φ)/(1 − 2φ), unbiased for the mean of j/G. Its variance for given numbers is Σ Pᵢ(1 − Pᵢ)/
(n(1 − 2φ))² ≤ P̄(1 − P̄)/(n·(1 − 2φ)²), and the latter is stated: it also holds for devices drawn from a larger
population. At worst it is ((e^ε + 1)/(e^ε − 1))²/4n.

**For life.** Fresh bits every day would add up. A device that draws the point of rounding once (α), and the flip
of either end once, reports the same as long as its number stays on the same side of α: one ε for all its reports.
An attacker also sees *that* the number crossed α, and then the other end's bit, but never a third bit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.fixed_point import budget, chance, epsilon_above, odds_below
from discreet.local.primitives.randomness import FRESH, SCALE, Draws, Keyed
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, whole

_LARGEST = 2**53 - 1  # up to here a double holds every whole number, and JavaScript counts in doubles


@dataclass(frozen=True)
class OneBitMean:
    """One bit about a number on the grid 0 … domain − 1; estimates are means as a share of the range.

    >>> randomiser = OneBitMean.for_epsilon(101, 1)
    >>> float(randomiser.loss.epsilon), randomiser.payload_bytes
    (1.0, 1)
    >>> from discreet import noise
    >>> with noise.deterministic(1):
    ...     reports = randomiser.encode(np.full(100_000, 30))
    >>> state = randomiser.state()
    >>> randomiser.add(state, reports)
    >>> randomiser.estimate(state, 100_000).values.round(2)
    array([0.3])
    """

    domain: int
    flip: int
    name: ClassVar[str] = "one-bit-mean"

    def __post_init__(self) -> None:
        if whole(self.domain, "domain", least=2) > _LARGEST:
            raise ParameterError(
                "A grid may have at most 2^53 - 1 values, which every client can count.",
                found=self.domain,
                fix=Fix("domain", 101),
            )
        chance(self.flip, "flip", most=SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> OneBitMean:
        """Return the one for a grid that costs a device at most ε."""
        return cls(domain, SCALE - odds_below(budget(epsilon)))

    @property
    def loss(self) -> Pure:
        """The cost of one report."""
        return Pure(epsilon_above(Fraction(SCALE - self.flip, self.flip)))

    @property
    def payload_bytes(self) -> int:
        """The length of every report: one byte, 0 or 1."""
        return 1

    @property
    def influence(self) -> float:
        """The largest shift of n times the mean, by a malicious report that turns 0 into 1."""
        return SCALE / (SCALE - 2 * self.flip)

    def parameters(self) -> dict[str, int]:
        """Return the grid and the probability of a flip."""
        return asdict(self)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a bit for each number."""
        codes = checked(values, self.domain)
        ends = draws.below(self.domain - 1, len(codes)) < codes
        return self._flipped(ends, draws)

    def remembered(self, value: int, key: bytes, context: bytes) -> Payloads:
        """Return the one bit that a device with this key always gives for this number: α-point rounding."""
        end = self.case(value, key, context)
        return self._flipped(np.array([bool(end)]), Keyed(key, context + b"|end" + bytes([end])))

    def case(self, value: int, key: bytes, context: bytes) -> int:
        """Return the side of this device's point of rounding that a number is on: 0 below, 1 above."""
        codes = checked(np.array([value]), self.domain)
        return int(Keyed(key, context + b"|alpha").below(self.domain - 1, 1)[0] < codes[0])

    def _flipped(self, ends: NDArray[np.bool_], draws: Draws) -> Payloads:
        return (ends ^ draws.coins(self.flip, len(ends))).astype(np.uint8)[:, None]

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the law of the byte."""
        (code,) = checked(np.array([value]), self.domain).tolist()
        one = Fraction(self.flip, SCALE) + Fraction(code, self.domain - 1) * Fraction(SCALE - 2 * self.flip, SCALE)
        return {b"\0": 1 - one, b"\1": one}

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which are 0 or 1."""
        good: NDArray[np.bool_] = payloads[:, 0] <= 1
        return good

    def state(self) -> Values:
        """Return the number of ones."""
        return np.zeros(1, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count the ones."""
        state[0] += np.count_nonzero(payloads)

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return the mean, as a share of the range, and its standard error."""
        ones, flip = int(state[0]) / whole(n, "n"), self.flip / SCALE
        error = np.sqrt(max(ones * (1 - ones), 1 / n) / n) / (1 - 2 * flip)
        return Estimate(np.array([(ones - flip) / (1 - 2 * flip)]), np.array([error]), n, MEAN)


MEAN = "unbiased mean, as a share of the range"


def to_grid(numbers: NDArray[np.float64], low: float, high: float, domain: int) -> Values:
    """Return the nearest codes on the grid; numbers outside the range count as its ends.

    The error is at most half a step of (high − low)/(domain − 1). Privacy is not affected: it protects the codes.

    Args:
        numbers: The numbers.
        low: The low end of the range.
        high: The high end of the range.
        domain: The number of codes.

    >>> to_grid(np.array([0.0, 12.6, 99.0]), 0, 50, domain=51)
    array([ 0, 13, 50])
    """
    found = np.asarray(numbers, np.float64)
    if not np.isfinite(found).all() or not low < high:
        raise ParameterError("Numbers on a grid must be finite, and its low end must be below its high end.")
    return np.rint((found.clip(low, high) - low) / (high - low) * (domain - 1)).astype(np.int64)


def on_range(share: Estimate, low: float, high: float) -> Estimate:
    """Return a mean, given as a share of a range, in the units of the range.

    >>> half = Estimate(np.array([0.5]), np.array([0.01]), 100, MEAN)
    >>> on_range(half, 0, 50).values
    array([25.])
    """
    width = high - low
    return Estimate(low + width * share.values, width * share.standard_errors, share.n, "unbiased mean")
