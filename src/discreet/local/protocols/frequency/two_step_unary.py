"""Randomise a row of bits twice, one bit for each value: RAPPOR without its Bloom filter.

The theory, of this and of the other alphabet, is in `two_step_grr`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.primitives.bitmaps import count_bits, pack_bits, tidy
from discreet.local.primitives.fixed_point import budget, chance, epsilon_above, odds_below
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import (
    FrequencyOracle,
    domain_of,
    refuse_endless,
    refuse_useless,
)
from discreet.local.protocols.longitudinal import ordered
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.privacy import Pure
from discreet.rational import Rational


@dataclass(frozen=True)
class TwoStepUnary(FrequencyOracle):
    """A bit for each value of the domain, answered twice: RAPPOR without its Bloom filter. All over 2⁶⁴.

    A bit of 1 stays 1 with probability `one`, and a bit of 0 becomes 1 with `zero`; in each report again with
    `one_fresh` and `zero_fresh`. Each step tosses two coins for each bit, whatever it is: first for all bits one
    for the case that it is 1, then for all bits one for the case that it is 0.

    >>> twice = TwoStepUnary.for_losses(4, lifetime="2", each="1")
    >>> float(twice.lifetime.epsilon), float(twice.loss.epsilon)
    (2.0, 1.0)
    """

    name: ClassVar[str] = "two-step-unary"
    domain: int
    one: int
    zero: int
    one_fresh: int
    zero_fresh: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, 2**20))
        for one, zero in (("one", "zero"), ("one_fresh", "zero_fresh")):
            chances = (chance(getattr(self, name), name) for name in (one, zero))
            refuse_useless(*(Fraction(each, SCALE) for each in chances))

    @classmethod
    def for_losses(cls, domain: int, *, lifetime: Rational, each: Rational) -> TwoStepUnary:
        """Return the symmetric one whose reports together cost at most `lifetime`, and one of them `each`."""
        one, whole = (odds_below(loss / 2) for loss in ordered(lifetime, each))
        a, p = Fraction(one, SCALE), Fraction(whole, SCALE)
        fresh = math.floor(SCALE * (p + a - 1) / (2 * a - 1))
        return cls(domain, one, SCALE - one, fresh, SCALE - fresh)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> TwoStepUnary:
        """Return the one whose reports cost ε each, and twice that together."""
        return cls.for_losses(domain, lifetime=2 * budget(epsilon), each=epsilon)

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        permanent = {"domain": self.domain, "one": self.one, "zero": self.zero}
        return permanent | {"one_fresh": self.one_fresh, "zero_fresh": self.zero_fresh}

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return 1 << self.domain

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the bit of the value held is set, and that another one is."""
        a, c, b, d = (Fraction(t, SCALE) for t in (self.one, self.zero, self.one_fresh, self.zero_fresh))
        return a * b + (1 - a) * d, c * b + (1 - c) * d

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        p, q = self.support
        return p * (1 - q) / (q * (1 - p))

    @property
    def lifetime(self) -> Pure:
        """The cost of all reports on one value together, rounded up."""
        a, c = Fraction(self.one, SCALE), Fraction(self.zero, SCALE)
        return Pure(epsilon_above(a * (1 - c) / (c * (1 - a))))

    @property
    def second_loss(self) -> Pure:
        """The loss of one report on the permanent answer, rounded up: two such answers may differ in all bits."""
        b, d = Fraction(self.one_fresh, SCALE), Fraction(self.zero_fresh, SCALE)
        return Pure(self.domain * epsilon_above(max(b / d, (1 - d) / (1 - b))))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return -(-self.domain // 8)

    def permanent(self, values: Values, draws: Draws) -> Payloads:
        """Return the permanent answer to each value."""
        places = checked(values, self.domain)
        held = np.zeros((len(places), self.domain), np.bool_)
        held[np.arange(len(places)), places] = True
        return self._respond(held, self.one, self.zero, draws)

    def instant(self, answers: Payloads, draws: Draws = FRESH) -> Payloads:
        """Return a report of each permanent answer."""
        held = np.unpackbits(answers, axis=1, count=self.domain, bitorder="little").astype(np.bool_)
        return self._respond(held, self.one_fresh, self.zero_fresh, draws)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value, with a permanent answer that is forgotten."""
        return self.instant(self.permanent(values, draws), draws)

    def _respond(self, held: NDArray[np.bool_], one: int, zero: int, draws: Draws) -> Payloads:
        ones, zeros = draws.coins(one, held.size), draws.coins(zero, held.size)
        return pack_bits(np.where(held, ones.reshape(held.shape), zeros.reshape(held.shape)))

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value."""
        refuse_endless(self.outputs)
        p, q = self.support
        chances = [p if place == value else q for place in range(self.domain)]
        law = {}
        for bits in itertools.product((False, True), repeat=self.domain):
            each = [c if bit else 1 - c for bit, c in zip(bits, chances, strict=True)]
            law[pack_bits(np.array([bits])).tobytes()] = math.prod(each, start=Fraction(1))
        return law

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are reports: no bit is set beyond the domain."""
        return tidy(payloads, self.domain)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        state += count_bits(payloads, self.domain)
