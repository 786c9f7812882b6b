"""Run optimised local hashing: draw a hash function, and apply randomised response to the hashed value.

Wang, Blocki, Li and Jha (2017). A report is a hash function h and an answer y among g buckets, which is h(v) with
probability p = keep/2⁶⁴ and any other bucket equally likely. The function is drawn without looking at v, so the
worst ratio is p(g − 1)/(1 − p), whatever the functions are. A report supports all values with h(u) = y. With
g ≈ e^ε + 1 the variance is 4e^ε/(e^ε − 1)², like that of OUE, at 9 bytes for every domain. There is no small
state: a server hashes the whole domain for every report, and keeps the supports, which add up.

**Functions.** h(v) = ⌊g·((a·v + b) mod P)/P⌋ with a and b below a prime P. For u ≠ v the pair of remainders is
uniform on all P² pairs, so the chance of a collision is exactly c = Σ_r (n_r/P)², with n_r the remainders in
bucket r: not 1/g, but known, and so is q = c·p + (1 − c)·(1 − p)/(g − 1). Estimates are exactly unbiased.
P is 2³¹ − 1 by default.

Draws: an integer a below P, an integer b below P, a coin (keep), an integer below g − 1, which is the place among
the other buckets. A report is a and b of four bytes each, then y. Theory: docs/theory/local.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.bitmaps import blocks
from discreet.local.primitives.fixed_point import (
    FROM_EPSILON,
    budget,
    chance,
    from_bytes,
    odds_below,
    to_bytes,
    width_of,
)
from discreet.local.primitives.galois_fields import prime_power
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import (
    FrequencyOracle,
    domain_of,
    refuse_endless,
    refuse_useless,
)
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.rational import Rational, whole

PRIME = 2**31 - 1
_MOST = 2**20  # the most values, which a server hashes for each report
_BUCKETS = 2**16
_BLOCK = 1 << 13  # reports counted together: four rows of them stay in the fastest cache


@dataclass(frozen=True)
class OLH(FrequencyOracle):
    """Hashing of `domain` values into `buckets`, modulo `prime`, true with probability keep/2⁶⁴.

    >>> protocol = OLH.for_epsilon(1000, 1)
    >>> protocol.buckets, protocol.payload_bytes, round(protocol.variance(0), 3)
    (4, 9, 3.692)
    """

    name: ClassVar[str] = "olh"
    domain: int
    buckets: int
    keep: int
    prime: int = PRIME

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, _MOST))
        object.__setattr__(self, "buckets", whole(self.buckets, "buckets", least=2))
        object.__setattr__(self, "keep", chance(self.keep, "keep"))
        object.__setattr__(self, "prime", whole(self.prime, "prime", least=2))
        if self.prime > PRIME or prime_power(self.prime) != (self.prime, 1):
            raise ParameterError(
                "prime must be a prime number up to 2^31 − 1.", found=self.prime, fix=Fix("prime", PRIME)
            )
        if self.domain > self.prime or self.buckets > min(self.prime, _BUCKETS):
            raise ParameterError(
                "The prime is too small for the domain, or there are too many buckets.",
                found=f"prime={self.prime}, domain={self.domain}, buckets={self.buckets}",
                fix=FROM_EPSILON,
            )
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> OLH:
        """Return the one that costs a device at most ε, with as many buckets as are most accurate."""
        values, cost = domain_of(domain, _MOST), budget(epsilon)
        near = min(int(math.exp(cost)) + 1, _BUCKETS - 1)
        made = (cls(values, g, odds_below(cost, Fraction(1, g - 1))) for g in (max(2, near), near + 1))
        return min(made, key=lambda protocol: protocol.variance())

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "buckets": self.buckets, "keep": self.keep, "prime": self.prime}

    @property
    def outputs(self) -> int:
        """The number of different reports."""
        return self.prime**2 * self.buckets

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the answer is the bucket of the value held, and that of another one."""
        more = self.prime % self.buckets  # so many buckets have one remainder more than the others
        few = self.prime // self.buckets
        collide = Fraction(more * (few + 1) ** 2 + (self.buckets - more) * few**2, self.prime**2)
        p = Fraction(self.keep, SCALE)
        return p, collide * p + (1 - collide) * (1 - p) / (self.buckets - 1)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        return Fraction(self.keep * (self.buckets - 1), SCALE - self.keep)

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return 8 + width_of(self.buckets)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        truth = checked(values, self.domain)
        a, b = draws.below(self.prime, len(truth)), draws.below(self.prime, len(truth))
        kept, other = draws.coins(self.keep, len(truth)), draws.below(self.buckets - 1, len(truth))
        bucket = (a * truth + b) % self.prime * self.buckets // self.prime
        answer = np.where(kept, bucket, other + (other >= bucket))
        return np.hstack([to_bytes(a, 4), to_bytes(b, 4), to_bytes(answer, self.payload_bytes - 8)])

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value: for a small prime."""
        refuse_endless(self.outputs)
        p = Fraction(self.keep, SCALE)
        kept, other = p / self.prime**2, (1 - p) / (self.buckets - 1) / self.prime**2
        return {
            a.to_bytes(4, "little") + b.to_bytes(4, "little") + y.to_bytes(self.payload_bytes - 8, "little"): kept
            if (a * value + b) % self.prime * self.buckets // self.prime == y
            else other
            for a, b, y in product(range(self.prime), range(self.prime), range(self.buckets))
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are functions and buckets."""
        a, b, y = self._parts(payloads)
        valid: NDArray[np.bool_] = (a < self.prime) & (b < self.prime) & (y < self.buckets)
        return valid

    def _parts(self, payloads: Payloads) -> tuple[Values, Values, Values]:
        return from_bytes(payloads[:, :4]), from_bytes(payloads[:, 4:8]), from_bytes(payloads[:, 8:])

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state: every value of the domain is hashed for each of them."""
        prime = np.uint32(self.prime)
        for rows in blocks(len(payloads), 1, _BLOCK):
            a, b, y = self._parts(payloads[rows])
            start, end = (-(-bucket * self.prime // self.buckets) for bucket in (y, y + 1))
            # h(v) = y if the remainder of v is one of start … end − 1, that is, if it is below the width after
            # `start` was taken off modulo P. From one value to the next the remainder grows by a modulo P.
            step, width = a.astype(np.uint32), (end - start).astype(np.uint32)
            remainder = ((b - start) % self.prime).astype(np.uint32)
            wrapped, met = np.empty_like(remainder), np.empty(len(remainder), np.bool_)
            for value in range(self.domain):
                np.less(remainder, width, out=met)
                state[value] += np.count_nonzero(met)
                np.add(remainder, step, out=remainder)
                np.subtract(remainder, prime, out=wrapped)  # far above P if the remainder was below it
                np.minimum(remainder, wrapped, out=remainder)
