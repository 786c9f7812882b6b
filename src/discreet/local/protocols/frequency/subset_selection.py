"""Run subset selection: report a set of w values that contains the true one more likely than any other.

Ye and Barg (2018); Wang and others (2016). With probability p = keep/2⁶⁴ a report is a set of w values that has
the true one, otherwise a set of w that has not; in both cases all such sets are equally likely. So

    P[S | v] = p/C(d − 1, w − 1) if v ∈ S, else (1 − p)/C(d − 1, w),      worst ratio  p/(1 − p)·(d − w)/w,

and with w ≈ d/(e^ε + 1) no protocol has a smaller sum of squared errors. w = 1 is randomised response. A set is
reported as a map of d bits, which has no order: a list of the members with the true one first would give it away.

Draws: a coin (keep); then w members among the other d − 1 values by Floyd's method: for j = d − 1 − w … d − 2 an
integer r below j + 1, and r is taken, or j where r is taken already; then an integer i below w: the member taken
in step i leaves for the true value, if the set is to contain it. All of them are always drawn. Every set of w
others is equally likely, and so is each of its members to leave. Theory: docs/theory/local.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
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
from discreet.rational import Rational, whole

_MOST = 2**16  # the most values, of which a share is drawn one by one


@dataclass(frozen=True)
class Subset(FrequencyOracle):
    """A set of `size` values out of `domain`, which has the true one with probability keep/2⁶⁴.

    >>> protocol = Subset.for_epsilon(128, 1)
    >>> protocol.size, protocol.loss, round(protocol.variance(0), 3)
    (34, Pure(epsilon=Fraction(1, 1)), 3.61)
    """

    name: ClassVar[str] = "subset"
    domain: int
    size: int
    keep: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, _MOST))
        object.__setattr__(self, "size", whole(self.size, "size"))
        if self.size >= self.domain:
            raise ParameterError(
                f"A set must leave out at least one value of a domain of {self.domain}.",
                found=f"size={self.size}",
                fix=Fix("size", self.domain - 1),
            )
        object.__setattr__(self, "keep", chance(self.keep, "keep"))
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Subset:
        """Return the one that costs a device at most ε, with the size that is most accurate."""
        values, cost = domain_of(domain, _MOST), budget(epsilon)
        near = int(values / (math.exp(cost) + 1))
        sizes = {min(max(size, 1), values - 1) for size in range(near - 1, near + 3)}
        made = (cls(values, size, odds_below(cost, Fraction(size, values - size))) for size in sorted(sizes))
        return min(made, key=lambda protocol: protocol.variance())

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "size": self.size, "keep": self.keep}

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return math.comb(self.domain, self.size)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the set has the value held, and that it has another one."""
        p = Fraction(self.keep, SCALE)
        return p, (p * (self.size - 1) + (1 - p) * self.size) / (self.domain - 1)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        return Fraction(self.keep * (self.domain - self.size), (SCALE - self.keep) * self.size)

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return -(-self.domain // 8)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        truth = checked(values, self.domain)
        parts = [self._sets(truth[rows], draws) for rows in blocks(len(truth), self.domain, cells=1 << 21)]
        return pack_bits(np.concatenate([np.zeros((0, self.domain), np.bool_), *parts]))

    def _sets(self, truth: Values, draws: Draws) -> NDArray[np.bool_]:
        count, others = len(truth), self.domain - 1
        rows, inside = np.arange(count) * others, draws.coins(self.keep, count)
        taken = np.zeros(count * others, np.bool_)
        members = np.empty((self.size, count), np.int64)
        for step, last in enumerate(range(others - self.size, others)):
            drawn = rows + draws.below(last + 1, count)
            member = np.where(taken[drawn], rows + last, drawn)
            taken[member] = True
            members[step] = member
        leaving = members[draws.below(self.size, count), np.arange(count)]
        taken[leaving[inside]] = False
        bits = np.zeros((count, self.domain), np.bool_)
        places = np.arange(self.domain)
        bits[places != truth[:, None]] = taken  # the other values, in their order
        bits[np.arange(count), truth] = inside
        return bits

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value."""
        refuse_endless(self.outputs)
        p = Fraction(self.keep, SCALE)
        with_it = p / math.comb(self.domain - 1, self.size - 1)
        without = (1 - p) / math.comb(self.domain - 1, self.size)
        sets = combinations(range(self.domain), self.size)
        return {
            sum(1 << member for member in s).to_bytes(self.payload_bytes, "little"): with_it
            if value in s
            else without
            for s in sets
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are sets of the right size within the domain."""
        members = np.bitwise_count(payloads).sum(1, dtype=np.int64)
        valid: NDArray[np.bool_] = tidy(payloads, self.domain) & (members == self.size)
        return valid

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        state += count_bits(payloads, self.domain)
