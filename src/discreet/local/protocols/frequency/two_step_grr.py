"""Randomise twice: permanent noise that a device draws once, and fresh noise on top of it in every report.

A device that answers the same question every day must not draw its noise anew: the average of its reports would be
its answer. One that repeats the same noisy report is safe but can be recognised by it. So RAPPOR draws twice: a
*permanent* answer, determined for ever by the device's secret, and in each report a fresh, *instantaneous* answer
to the permanent one. There are two alphabets, the second in `two_step_unary`:

    two-step-grr      permanent: the value, or (each equally likely) another one; fresh: the same again
    two-step-unary    permanent: one bit for each value of the domain; fresh: each bit again

With keep a (permanent), b (fresh) and the probabilities a', b' of what is not held, a report supports a value with

    p = a·b + (1 − a)·b'   if the device holds it,     q = a'·b + (1 − a')·b'   if it does not

for bits; for values of a domain of size d, a' = (1 − a)/(d − 1), b' = (1 − b)/(d − 1), p as above, and
q = (1 − p)/(d − 1).

Claims. However many reports are made of one value, and whatever is done with them, they cost ε∞ = `lifetime`, the
loss of the permanent answer: reports are drawn from it alone. One report costs ε₁ = `loss`, from p and q. Both are
the worst ratios with the integers in use, rounded up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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
from discreet.local.protocols.frequency.frequency_oracle import (
    FrequencyOracle,
    domain_of,
    refuse_endless,
    refuse_useless,
)
from discreet.local.protocols.frequency.grr import GRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.longitudinal import ordered
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.privacy import Pure
from discreet.rational import Rational

__all__ = ["TwoStepGRR", "TwoStepUnary"]  # the registry names both by this module


@dataclass(frozen=True)
class TwoStepGRR(FrequencyOracle):
    """Generalised randomised response twice. `keep` and `keep_fresh` are over 2⁶⁴.

    >>> twice = TwoStepGRR.for_losses(4, lifetime="2", each="1")
    >>> float(twice.lifetime.epsilon), float(twice.loss.epsilon)
    (2.0, 1.0)
    """

    name: ClassVar[str] = "two-step-grr"
    domain: int
    keep: int
    keep_fresh: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain))
        for name in ("keep", "keep_fresh"):
            kept = Fraction(chance(getattr(self, name), name), SCALE)
            refuse_useless(kept, (1 - kept) / (self.domain - 1))

    @classmethod
    def for_losses(cls, domain: int, *, lifetime: Rational, each: Rational) -> TwoStepGRR:
        """Return the one whose reports together cost at most `lifetime`, and one of them `each`."""
        others = domain_of(domain) - 1
        keep, whole = (odds_below(loss, Fraction(1, others)) for loss in ordered(lifetime, each))
        a, p = Fraction(keep, SCALE), Fraction(whole, SCALE)
        return cls(domain, keep, math.floor(SCALE * (p * others - (1 - a)) / (a * domain - 1)))

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> TwoStepGRR:
        """Return the one whose reports cost ε each, and twice that together."""
        return cls.for_losses(domain, lifetime=2 * budget(epsilon), each=epsilon)

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "keep": self.keep, "keep_fresh": self.keep_fresh}

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return self.domain

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report names the value held, and that it names another one."""
        a, b = Fraction(self.keep, SCALE), Fraction(self.keep_fresh, SCALE)
        p = a * b + (1 - a) * (1 - b) / (self.domain - 1)
        return p, (1 - p) / (self.domain - 1)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        p, q = self.support
        return p / q

    @property
    def lifetime(self) -> Pure:
        """The cost of all reports on one value together, rounded up."""
        a = Fraction(self.keep, SCALE)
        return Pure(epsilon_above(a * (self.domain - 1) / (1 - a)))

    @property
    def second(self) -> GRR:
        """The second step by itself: a protocol on permanent answers."""
        return GRR(self.domain, self.keep_fresh)

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return width_of(self.domain)

    def permanent(self, values: Values, draws: Draws) -> Payloads:
        """Return the permanent answer to each value."""
        return self._respond(checked(values, self.domain), self.keep, draws)

    def instant(self, answers: Payloads, draws: Draws = FRESH) -> Payloads:
        """Return a report of each permanent answer."""
        return self._respond(from_bytes(answers), self.keep_fresh, draws)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value, with a permanent answer that is forgotten."""
        return self.instant(self.permanent(values, draws), draws)

    def _respond(self, values: Values, keep: int, draws: Draws) -> Payloads:
        kept, other = draws.coins(keep, len(values)), draws.below(self.domain - 1, len(values))
        return to_bytes(np.where(kept, values, other + (other >= values)), self.payload_bytes)

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
