"""Run unary encoding: report the value as a row of bits of which one is set, each with independent noise.

A bit of 1 stays 1 with probability p = one/2⁶⁴, and a bit of 0 becomes 1 with probability q = zero/2⁶⁴.
Two values differ in two bits, so the worst ratio is p(1 − q)/(q(1 − p)).

- **SUE** (Erlingsson, Pihur and Korolova 2014, basic RAPPOR): symmetric, q = 1 − p, p = e^{ε/2}/(e^{ε/2} + 1).
- **OUE** (Wang, Blocki, Li and Jha 2017): p = 1/2 and q = 1/(e^ε + 1), rounded up, which has the least variance,
  4e^ε/(e^ε − 1)² for every domain. That is the optimum of all protocols for a large domain.

A report is a map of d bits, so it suits domains of some hundred values. Draws: d coins (zero), one for each place,
then a coin (one), which takes the place of the value.
Theory: docs/theory/local.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.primitives.bitmaps import blocks, count_bits, pack_bits, tidy
from discreet.local.primitives.fixed_point import budget, chance, odds_below
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import (
    FrequencyOracle,
    domain_of,
    refuse_endless,
    refuse_useless,
)
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.rational import Rational

_MOST = 2**20  # the most bits of a report


class Unary(FrequencyOracle):
    """The common part of SUE and OUE, which differ in how their two probabilities are chosen."""

    @property
    @abstractmethod
    def coins(self) -> tuple[int, int]:
        """The probabilities over 2⁶⁴ that a bit is reported as 1, if it is 1 and if it is 0."""

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return 1 << self.domain

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the bit of the value held is set, and that another one is."""
        one, zero = self.coins
        return Fraction(one, SCALE), Fraction(zero, SCALE)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        p, q = self.support
        return p * (1 - q) / (q * (1 - p))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return -(-self.domain // 8)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        truth, (one, zero) = checked(values, self.domain), self.coins
        reports = [np.zeros((0, self.payload_bytes), np.uint8)]
        for rows in blocks(len(truth), self.domain):
            held = truth[rows]
            bits = draws.coins(zero, len(held) * self.domain).reshape(len(held), self.domain)
            bits[np.arange(len(held)), held] = draws.coins(one, len(held))
            reports.append(pack_bits(bits))
        return np.concatenate(reports)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value."""
        refuse_endless(self.outputs)
        chances = [self.support[0 if place == value else 1] for place in range(self.domain)]
        return {
            pack_bits(np.array([bits], np.bool_)).tobytes(): math.prod(
                (c if bit else 1 - c for bit, c in zip(bits, chances, strict=True)), start=Fraction(1)
            )
            for bits in product((False, True), repeat=self.domain)
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these have no bit beyond the domain."""
        return tidy(payloads, self.domain)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        state += count_bits(payloads, self.domain)


@dataclass(frozen=True)
class SUE(Unary):
    """Symmetric unary encoding: every bit is reported as it is with probability keep/2⁶⁴.

    >>> SUE.for_epsilon(20, 1).loss
    Pure(epsilon=Fraction(1, 1))
    """

    name: ClassVar[str] = "sue"
    domain: int
    keep: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, _MOST))
        object.__setattr__(self, "keep", chance(self.keep, "keep"))
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> SUE:
        """Return the one that costs a device at most ε."""
        return cls(domain, odds_below(budget(epsilon) / 2))

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "keep": self.keep}

    @property
    def coins(self) -> tuple[int, int]:
        """The probabilities over 2⁶⁴ that a bit is reported as 1, if it is 1 and if it is 0."""
        return self.keep, SCALE - self.keep


@dataclass(frozen=True)
class OUE(Unary):
    """Optimised unary encoding: the bit of the value is a fair coin, other bits are 1 with probability zero/2⁶⁴.

    >>> protocol = OUE.for_epsilon(20, 1)
    >>> protocol.loss, round(protocol.variance(0), 3)
    (Pure(epsilon=Fraction(1, 1)), 3.683)
    """

    name: ClassVar[str] = "oue"
    domain: int
    zero: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, _MOST))
        object.__setattr__(self, "zero", chance(self.zero, "zero"))
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> OUE:
        """Return the one that costs a device at most ε."""
        return cls(domain, SCALE - odds_below(budget(epsilon)))

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "zero": self.zero}

    @property
    def coins(self) -> tuple[int, int]:
        """The probabilities over 2⁶⁴ that a bit is reported as 1, if it is 1 and if it is 0."""
        return SCALE // 2, self.zero
