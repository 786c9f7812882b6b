"""Run generalised randomised response: the truth with probability p, or one of the other values, equally likely.

Warner (1965) for two values; Kairouz, Bonawitz and Ramage (2016) for d. With keep = ⌊2⁶⁴·e^ε/(e^ε + d − 1)⌋,

    P[report v | v] = keep/2⁶⁴ = p,     P[report u | v] = (1 − p)/(d − 1) = q   for u ≠ v,

and the worst ratio is p/q. n·Var ≈ (e^ε + d − 2)/(e^ε − 1)²: the best for d < 3e^ε + 2, and bad for a large
domain. A report is the value, of as many bytes as the domain needs.

Draws: a coin (keep), then an integer below d − 1, which is the place among the other values. Both are always
drawn.
Theory: docs/theory/local.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
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
from discreet.rational import Rational, rational


@dataclass(frozen=True)
class GRR(FrequencyOracle):
    """Generalised randomised response over `domain` values, true with probability keep/2⁶⁴.

    >>> yes_or_no = GRR.for_epsilon(2, "1.0")
    >>> yes_or_no.loss
    Pure(epsilon=Fraction(1, 1))
    >>> yes_or_no.encode(np.array([0, 1, 1])).shape
    (3, 1)
    """

    name: ClassVar[str] = "grr"
    domain: int
    keep: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain))
        object.__setattr__(self, "keep", chance(self.keep, "keep"))
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> GRR:
        """Return the one that costs a device at most ε."""
        return cls(domain, odds_below(budget(epsilon), Fraction(1, domain_of(domain) - 1)))

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "keep": self.keep}

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return self.domain

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report names the value held, and that it names another one."""
        p = Fraction(self.keep, SCALE)
        return p, (1 - p) / (self.domain - 1)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        p, q = self.support
        return p / q

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return width_of(self.domain)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        truth = checked(values, self.domain)
        kept = draws.coins(self.keep, len(truth))
        other = draws.below(self.domain - 1, len(truth))
        return to_bytes(np.where(kept, truth, other + (other >= truth)), self.payload_bytes)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value."""
        refuse_endless(self.outputs)
        p, q = self.support
        return {y.to_bytes(self.payload_bytes, "little"): p if y == value else q for y in range(self.domain)}

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these name a value."""
        return from_bytes(payloads) < self.domain

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        state += np.bincount(from_bytes(payloads), minlength=self.domain)


def warner(truth: Rational) -> GRR:
    """Return Warner's survey of a yes or no question, answered truthfully with a given probability.

    With 55 % the students of the lecture notes give away ln(11/9), and the share of yes is 10·(X − 0.45).

    >>> survey = warner("0.55")
    >>> round(float(survey.loss.epsilon), 6), round(math.log(11 / 9), 6)
    (0.200671, 0.200671)
    >>> survey.estimate(np.array([470, 530]), n=1000).values.round(6)
    array([0.2, 0.8])
    """
    likely = rational(truth, "truth", floats="exact")
    if not Fraction(1, 2) < likely < 1:
        raise ParameterError(
            "The truth must have a probability above 1/2 and below 1.", found=repr(truth), fix=Fix("truth", "0.55")
        )
    return GRR(2, math.floor(SCALE * likely))
