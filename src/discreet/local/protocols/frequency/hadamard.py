"""Run Hadamard response: report a column of the Hadamard matrix in which the row of the value likely has a plus.

Acharya, Sun and Zhang (2019), with halves. Let K be the least power of two above d, and let value v have the row
v + 1 of the K×K matrix with entries (−1)^⟨v + 1, y⟩, where ⟨·,·⟩ is the parity of the bits that both have. Half of
all y have a plus in the row, and two rows agree in half of their places. A report is a y of those with probability
p = keep/2⁶⁴ = e^ε/(e^ε + 1), otherwise one of the other half:

    P[y | v] = 2p/K or 2(1 − p)/K,     worst ratio p/(1 − p),     q = 1/2,     n·Var = ((e^ε + 1)/(e^ε − 1))².

All supports at once are the Walsh–Hadamard transform of the histogram of reports, in integers. Near the optimum
for ε below 1, and the shortest report that a device can make with a few instructions.

Draws: a coin (keep), then an integer z below K. If the parity of z and v + 1 is not what the coin says, the lowest
bit of v + 1 is flipped in z. Theory: docs/theory/local.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.primitives.fixed_point import (
    budget,
    chance,
    from_bytes,
    odds_below,
    to_bytes,
    width_of,
)
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import (
    FrequencyOracle,
    domain_of,
    refuse_endless,
    refuse_useless,
)
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.rational import Rational

_MOST = 2**26 - 1


@dataclass(frozen=True)
class Hadamard(FrequencyOracle):
    """Hadamard response over `domain` values, in the right half with probability keep/2⁶⁴.

    >>> protocol = Hadamard.for_epsilon(1000, 1)
    >>> protocol.outputs, protocol.payload_bytes, round(protocol.variance(0), 3)
    (1024, 2, 4.683)
    """

    name: ClassVar[str] = "hadamard"
    domain: int
    keep: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, _MOST))
        object.__setattr__(self, "keep", chance(self.keep, "keep"))
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Hadamard:
        """Return the one that costs a device at most ε."""
        return cls(domain, odds_below(budget(epsilon)))

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "keep": self.keep}

    @property
    def outputs(self) -> int:
        """The number of different reports: K."""
        return 1 << self.domain.bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report has a plus in the row of the value held, and in another row."""
        return Fraction(self.keep, SCALE), Fraction(1, 2)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        return Fraction(self.keep, SCALE - self.keep)

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return width_of(self.outputs)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        row = checked(values, self.domain) + 1
        minus = ~draws.coins(self.keep, len(row))
        column = draws.below(self.outputs, len(row))
        wrong = (np.bitwise_count(column & row) & 1).astype(np.bool_) != minus
        return to_bytes(column ^ np.where(wrong, row & -row, 0), self.payload_bytes)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value."""
        refuse_endless(self.outputs)
        plus, minus = (2 * chance / self.outputs for chance in (self.support[0], 1 - self.support[0]))
        return {
            y.to_bytes(self.payload_bytes, "little"): minus if (y & value + 1).bit_count() % 2 else plus
            for y in range(self.outputs)
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are columns of the matrix."""
        return from_bytes(payloads) < self.outputs

    def state(self) -> Values:
        """Return the histogram of no reports."""
        return np.zeros(self.outputs, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        state += np.bincount(from_bytes(payloads), minlength=self.outputs)

    def supported(self, state: Values) -> Values:
        """Return how many reports have a plus in the row of each value."""
        rows = walsh_hadamard(state)[1 : self.domain + 1]
        return (int(state.sum()) + rows) // 2


def walsh_hadamard(values: Values) -> Values:
    """Return Σ_y (−1)^⟨x, y⟩·values[y] for every x; the length is a power of two.

    >>> walsh_hadamard(np.array([1, 2, 3, 4]))
    array([10, -2, -4,  0])
    """
    found, half = values.copy(), 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        found = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return found
