"""Run dBitFlip, as in Windows: estimate histograms from a few bits of each device, with memoised answers.

Ding, Kulkarni and Yekhanin (2017). A device draws d of the k buckets, without looking at its value, and reports
for each whether its value is in it, with every bit flipped with probability φ = flip/2⁶⁴. Two values differ in at
most two of the bits, so the worst ratio is ((1 − φ)/φ)², or (1 − φ)/φ for d = 1; φ = 1/(1 + e^{ε/2}), or 1/(1 +
e^ε).

    f̂_v = (k/(d·n))·Σ (b − φ)/(1 − 2φ)  over those asked about v,
    n·Var f̂_v = (k/d)·(φ(1 − φ)/(1 − 2φ)² + f_v) − f_v:

unbiased, and with d = k it is symmetric unary encoding. A report lists its buckets in rising order, two bytes
each, the lowest first, and then the bits. The d buckets are drawn by Floyd's method: for i = k − d … k − 1 an
integer t of 0 … i is drawn, and t is taken, or i if t was taken before; every subset is equally likely.

**For life.** `remembered` determines the buckets once for each device, and one answer for each case: the value is
in the first bucket, … the d-th, or in none of them. A value that stays costs one ε for all its reports, and values
that are in none of the buckets are never distinguished. When a value changes from one case to another, an attacker
can see the change, and each new case costs another ε, for at most d + 1 cases.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.bitmaps import pack_bits, tidy
from discreet.local.primitives.fixed_point import budget, chance, epsilon_above, odds_below
from discreet.local.primitives.randomness import FRESH, SCALE, Draws, Keyed
from discreet.local.protocols.frequency.frequency_oracle import domain_of, refuse_endless
from discreet.local.protocols.protocol import Payloads, Values, checked
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, whole


@dataclass(frozen=True)
class BitFlip:
    """Bits about `bits` of `domain` buckets.

    >>> randomiser = BitFlip.for_epsilon(100, 1, bits=4)
    >>> float(randomiser.loss.epsilon), randomiser.payload_bytes
    (1.0, 9)
    """

    domain: int
    bits: int
    flip: int
    name: ClassVar[str] = "bit-flip"

    def __post_init__(self) -> None:
        domain_of(self.domain, most=2**16)
        if not 1 <= whole(self.bits, "bits") <= self.domain:
            raise ParameterError(
                f"A device reports from 1 to {self.domain} bits, one for each bucket.",
                found=self.bits,
                fix=Fix("bits", min(4, self.domain)),
            )
        chance(self.flip, "flip", most=SCALE // 2 - 1)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational, *, bits: int = 4) -> BitFlip:
        """Return the one that costs a device at most ε. More bits are more accurate at the same cost."""
        bits = min(bits, domain_of(domain))
        return cls(domain, bits, SCALE - odds_below(budget(epsilon) / min(2, bits)))

    @property
    def loss(self) -> Pure:
        """The cost of one report."""
        return Pure(epsilon_above(Fraction(SCALE - self.flip, self.flip) ** min(2, self.bits)))

    @property
    def payload_bytes(self) -> int:
        """Two for each bucket, and the bits."""
        return 2 * self.bits + -(-self.bits // 8)

    @property
    def influence(self) -> float:
        """The largest shift of n times a frequency, by a malicious report that sets a bit."""
        return self.domain / self.bits * SCALE / (SCALE - 2 * self.flip)

    def parameters(self) -> dict[str, int]:
        """Return the buckets, the bits and the probability of a flip."""
        return asdict(self)

    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        codes = checked(values, self.domain)
        buckets = self.buckets(len(codes), draws)
        return self._flipped(buckets, buckets == codes[:, None], draws)

    def remembered(self, value: int, key: bytes, context: bytes) -> Payloads:
        """Return the one report that a device with this key always makes of this value."""
        case = self.case(value, key, context)
        held = np.arange(self.bits)[None] == case
        return self._flipped(
            self._own(key, context), held, Keyed(key, context + b"|case" + case.to_bytes(4, "big"))
        )

    def case(self, value: int, key: bytes, context: bytes) -> int:
        """Return the number of this device's bucket that a value is in, from 0; `bits` if in none of them."""
        held = self._own(key, context)[0] == checked(np.array([value]), self.domain)
        return int(np.argmax(held)) if held.any() else self.bits

    def _own(self, key: bytes, context: bytes) -> Values:
        return self.buckets(1, Keyed(key, context + b"|buckets"))

    def buckets(self, size: int, draws: Draws) -> Values:
        """Return sets of buckets that do not depend on any value, each in rising order."""
        taken = np.empty((size, self.bits), np.int64)
        for place, last in enumerate(range(self.domain - self.bits, self.domain)):
            drawn = draws.below(last + 1, size)
            again = (taken[:, :place] == drawn[:, None]).any(1)
            taken[:, place] = np.where(again, last, drawn)
        return np.sort(taken, axis=1)

    def _flipped(self, buckets: Values, held: NDArray[np.bool_], draws: Draws) -> Payloads:
        bits = held ^ draws.coins(self.flip, held.size).reshape(held.shape)
        listed = buckets.astype("<u2").view(np.uint8).reshape(len(buckets), 2 * self.bits)
        return np.hstack([listed, pack_bits(bits)])

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the law of the bytes, for few buckets."""
        refuse_endless(comb(self.domain, self.bits) << min(self.bits, 60))
        (code,) = checked(np.array([value]), self.domain).tolist()
        flip, each, law = Fraction(self.flip, SCALE), Fraction(1, comb(self.domain, self.bits)), {}
        for buckets in combinations(range(self.domain), self.bits):
            listed = b"".join(bucket.to_bytes(2, "little") for bucket in buckets)
            for bits in product((0, 1), repeat=self.bits):
                flips = sum(bit != (bucket == code) for bit, bucket in zip(bits, buckets, strict=True))
                packed = pack_bits(np.array([bits], np.bool_)).tobytes()
                law[listed + packed] = each * flip**flips * (1 - flip) ** (self.bits - flips)
        return law

    def _listed(self, payloads: Payloads) -> Values:
        return np.ascontiguousarray(payloads[:, : 2 * self.bits]).view("<u2").astype(np.int64)

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which list buckets in rising order, with only zeros after the bits."""
        listed = self._listed(payloads)
        rising = (np.diff(listed, axis=1) > 0).all(1) & (listed[:, -1] < self.domain)
        good: NDArray[np.bool_] = rising & tidy(payloads, self.bits)
        return good

    def state(self) -> Values:
        """Return how often each bucket was reported on, then how often the answer was 1."""
        return np.zeros(2 * self.domain, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count reports."""
        listed = self._listed(payloads)
        bits = np.unpackbits(payloads[:, 2 * self.bits :], axis=1, count=self.bits, bitorder="little").astype(
            np.bool_
        )
        state[: self.domain] += np.bincount(listed.ravel(), minlength=self.domain)
        state[self.domain :] += np.bincount(listed[bits], minlength=self.domain)

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return unbiased frequencies of the buckets with their standard errors."""
        flip, more = self.flip / SCALE, self.domain / self.bits
        asked, ones = state[: self.domain], state[self.domain :]
        values = more / whole(n, "n") * (ones - flip * asked) / (1 - 2 * flip)
        share = np.clip(values, 0, 1)
        variance = more * (flip * (1 - flip) / (1 - 2 * flip) ** 2 + share) - share
        return Estimate(values, np.sqrt(variance / n), n)
