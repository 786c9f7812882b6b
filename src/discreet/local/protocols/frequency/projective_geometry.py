"""Run projective geometry response: report a point that likely lies on the hyperplane of the value.

Feldman, Nelson, Nguyen and Talwar (2022). Points of the projective space of t coordinates over GF(q) are the
vectors but zero, up to factors: K = (q^t − 1)/(q − 1) of them. Value v has the v-th point u, and a report y ⟂ u
supports v: s = (q^{t−1} − 1)/(q − 1) of all points are, and i = (q^{t−2} − 1)/(q − 1) are for two values at once.
With probability p = keep/2⁶⁴ a report is one of the s that support v, otherwise one of the q^{t−1} others, all
equally likely:

    worst ratio  p/s : (1 − p)/q^{t−1},     q* = p·i/s + (1 − p)·(s − i)/q^{t−1},     n·Var ≈ 4e^ε/(e^ε − 1)².

That is the optimum for a large domain, reached with log₂ d bits if q ≈ e^ε + 1, and prime powers are dense
enough to come near. Points are counted so: a vector is Σ xⱼ·q^j; each point is the one of its vectors whose
highest nonzero coordinate is 1; and points are in the order of these numbers.

**Decoding.** With h the histogram of reports, and χ a character, the number of reports that support u is
(n + Σ_{a≠0} Σ_y h(y)·χ(a⟨u, y⟩))/q, so that all follow from Fourier transforms over GF(q)^{t−1}: see
`projective_space`.

Draws: a coin (keep), an integer a below s, an integer b below q^{t−1}. Let m be the place of the highest
coordinate of u, which is 1. If the coin shows heads, the a-th point of t − 1 coordinates gives all coordinates of
y but that of place m, which makes ⟨u, y⟩ zero; else b gives them, and ⟨u, y⟩ is made one. Both are one to one.
Theory: docs/theory/local.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives import galois_fields, projective_space
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
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import (
    FrequencyOracle,
    domain_of,
    refuse_endless,
    refuse_useless,
)
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.rational import Rational, whole

_MOST = 2**24  # the most points, which a server counts one by one
_NEAR = 1.005  # within this factor of the variance, the smaller space is taken
_BLOCK = 1 << 15  # reports made at a time, to stay in the cache


@dataclass(frozen=True)
class Projective(FrequencyOracle):
    """Points of `dimension` coordinates over GF(`order`), which support the value with probability keep/2⁶⁴.

    >>> protocol = Projective.for_epsilon(1024, 1)
    >>> protocol.order, protocol.dimension, protocol.outputs, round(protocol.variance(0), 3)
    (4, 6, 1365, 3.685)
    """

    name: ClassVar[str] = "projective"
    domain: int
    order: int
    dimension: int
    keep: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", domain_of(self.domain, _MOST))
        object.__setattr__(self, "dimension", whole(self.dimension, "dimension", least=2))
        if self.order not in galois_fields.orders():
            raise ParameterError(
                f"order must be a power of a prime from 2 to {galois_fields.MOST_ELEMENTS}.",
                found=repr(self.order),
                fix=Fix("order", 4),
            )
        if self.dimension > 26 or not self.domain <= self.outputs <= _MOST:
            raise ParameterError(
                f"A space of order {self.order} and dimension {self.dimension} must have a point for each of "
                f"{self.domain} values, and at most {_MOST:,} points.",
                fix=FROM_EPSILON,
            )
        object.__setattr__(self, "keep", chance(self.keep, "keep"))
        refuse_useless(*self.support)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Projective:
        """Return the most accurate one that costs a device at most ε; of several, that of fewest points."""
        values, cost = domain_of(domain, _MOST // 2), budget(epsilon)
        most = min(max(16 * values, 1 << 12), _MOST)
        fitting = (
            q
            for q in galois_fields.orders()
            if projective_space.points(q, projective_space.dimension(q, values)) <= most
        )
        made = [cls._of(values, q, cost) for q in fitting]
        best = min(protocol.variance() for protocol in made)
        return min((p for p in made if p.variance() <= _NEAR * best), key=lambda p: p.outputs)

    @classmethod
    def _of(cls, domain: int, order: int, cost: Fraction) -> Projective:
        dimension = projective_space.dimension(order, domain)
        inside = projective_space.points(order, dimension - 1)
        return cls(domain, order, dimension, odds_below(cost, Fraction(inside, order ** (dimension - 1))))

    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""
        return {"domain": self.domain, "order": self.order, "dimension": self.dimension, "keep": self.keep}

    @property
    def outputs(self) -> int:
        """The number of different reports: K."""
        return projective_space.points(self.order, self.dimension)

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report supports the value held, and another one."""
        p, inside = Fraction(self.keep, SCALE), projective_space.points(self.order, self.dimension - 1)
        both, outside = projective_space.points(self.order, self.dimension - 2), self.order ** (self.dimension - 1)
        return p, p * Fraction(both, inside) + (1 - p) * Fraction(inside - both, outside)

    @property
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""
        inside, outside = (
            projective_space.points(self.order, self.dimension - 1),
            self.order ** (self.dimension - 1),
        )
        return Fraction(self.keep * outside, (SCALE - self.keep) * inside)

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""
        return width_of(self.outputs)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        truth, space = checked(values, self.domain), projective_space.space(self.order, self.dimension)
        reports = [np.zeros((0, self.payload_bytes), np.uint8)]
        for rows in blocks(len(truth), 1, _BLOCK):
            held = truth[rows]
            inside = draws.coins(self.keep, len(held))
            among = draws.below(projective_space.points(self.order, self.dimension - 1), len(held))
            beside = draws.below(self.order ** (self.dimension - 1), len(held))
            reports.append(to_bytes(space.related(held, inside, among, beside), self.payload_bytes))
        return np.concatenate(reports)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value."""
        refuse_endless(self.outputs)
        p = Fraction(self.keep, SCALE)
        inside = p / projective_space.points(self.order, self.dimension - 1)
        outside = (1 - p) / self.order ** (self.dimension - 1)
        met = projective_space.space(self.order, self.dimension).orthogonal(value)
        return {
            y.to_bytes(self.payload_bytes, "little"): inside if met[y] else outside for y in range(self.outputs)
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are points."""
        return from_bytes(payloads) < self.outputs

    def state(self) -> Values:
        """Return the histogram of no reports."""
        return np.zeros(self.outputs, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""
        state += np.bincount(from_bytes(payloads), minlength=self.outputs)

    def supported(self, state: Values) -> Values:
        """Return how many reports support each value."""
        return projective_space.space(self.order, self.dimension).incidences(state, self.domain)
