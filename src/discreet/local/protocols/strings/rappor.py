"""Run RAPPOR, as in Chrome: a Bloom filter with permanent noise, drawn once, and fresh noise in every report.

Erlingsson, Pihur and Korolova (2014). A device belongs to one of c cohorts for ever. A value sets h of m bits, by
the hashes of its cohort (`hash_family`, rows cohort·h … cohort·h + h − 1). Then

- *permanent*: each bit is replaced by a fair coin with probability f, once for each value and device;
- *instantaneous*: in every report a bit of 1 is reported as 1 with probability q, one of 0 with probability p.

All over 2⁶⁴. One report has a 1 where the value has one with q* = f(p + q)/2 + (1 − f)q, elsewhere with
p* = f(p + q)/2 + (1 − f)p. Two values differ in at most 2h bits, h each way, and the cohort says nothing, so

    one report:   e^ε₁ = (q*(1 − p*)/(p*(1 − q*)))^h        `loss`
    any number:   e^ε∞ = ((1 − f/2)/(f/2))^{2h}             `lifetime`, if the permanent bits are kept

(for a pair of values with common bits it is less). The second holds because reports are drawn from permanent bits
alone. It is a guarantee for one value that stays; each further value of the same device costs as much again.

**Estimate.** With H_j the m × d matrix of the bits of all d values in cohort j, N_j devices and c_j their sums of
bits, f̂ = G⁻¹·Σ_j H_jᵀ(c_j − N_j·p*)/(q* − p*), G = Σ_j N_j·H_jᵀH_j: least squares, unbiased given the cohorts if
devices fell into them at random. Standard errors are those of devices drawn from a population:

    Cov = G⁻¹·Σ_j N_j·H_jᵀ[H_j·diag(f)·H_jᵀ − (H_j f)(H_j f)ᵀ + diag(v_j)]H_j·G⁻¹,

v_j the variance of a reported bit over (q* − p*)². `nonnegative` is NNLS on the same equations. Any list of
candidates can be decoded, not only the domain; values that are not on the list bias the rest.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from math import inf, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.bitmaps import blocks, count_bits, pack_bits, tidy
from discreet.local.primitives.fixed_point import (
    budget,
    chance,
    epsilon_above,
    from_bytes,
    odds_below,
    to_bytes,
)
from discreet.local.primitives.hash_family import Fingerprints, items_of, of_codes, places, rows
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import domain_of, refuse_endless
from discreet.local.protocols.longitudinal import ordered
from discreet.local.protocols.protocol import Coded, Payloads, Values, checked
from discreet.local.protocols.strings.rappor_decoding import (
    Equations,
    decoded,
    influence_of,
    nonnegative_of,
)
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, whole


@dataclass(frozen=True)
class Rappor:
    """A Bloom filter of `bits` bits and `hashes` hashes in each of `cohorts`, with noise f, p, q over 2⁶⁴.

    >>> chrome = Rappor(100, bits=128, hashes=2, cohorts=64, f=SCALE // 2, p=SCALE // 2, q=SCALE // 4 * 3)
    >>> round(float(chrome.loss.epsilon), 2), round(float(chrome.lifetime.epsilon), 2)
    (1.07, 4.39)
    """

    domain: int
    bits: int
    hashes: int
    cohorts: int
    f: int
    p: int
    q: int
    seed: int = 0
    name: ClassVar[str] = "rappor"

    def __post_init__(self) -> None:
        if whole(self.domain, "domain", least=0):  # 0 is an open dictionary: values are fingerprints
            domain_of(self.domain)
        for count, name, most in (
            (self.bits, "bits", 2**14),
            (self.hashes, "hashes", 64),
            (self.cohorts, "cohorts", 2**16),
        ):
            if whole(count, name) > most:
                raise ParameterError(f"{name} must be at most {most}.", found=count, fix=Fix(name, most))
        chance(self.f, "f")
        chance(self.p, "p", least=0)
        if chance(self.q, "q", most=SCALE) <= self.p:
            raise ParameterError(
                "q must be above p: a bit of 1 must be reported as 1 more often than a bit of 0.",
                found=f"q={self.q}, p={self.p}",
                fix="Take the parameters from for_losses.",
            )
        if whole(self.seed, "seed", least=0) >= 2**63:
            raise ParameterError("A seed must be below 2^63.", found=self.seed, fix=Fix("seed", 0))

    @classmethod
    def for_losses(
        cls,
        domain: int,
        *,
        lifetime: Rational,
        each: Rational,
        bits: int = 128,
        hashes: int = 2,
        cohorts: int = 64,
    ) -> Rappor:
        """Return the one with p = 1 − q whose reports together cost at most `lifetime`, and one of them `each`.

        Args:
            domain: The number of values; 0 for an open dictionary.
            lifetime: What all reports on one value may cost together.
            each: What one report may cost; below `lifetime`.
            bits: The bits of the Bloom filter; 128 by default.
            hashes: The hashes of the Bloom filter; 2 by default.
            cohorts: The number of cohorts; 64 by default.

        >>> private = Rappor.for_losses(50, lifetime=4, each=1)
        >>> round(float(private.lifetime.epsilon), 9), round(float(private.loss.epsilon), 9)
        (4.0, 1.0)
        """
        losses = ordered(lifetime, each)
        kept, reported = (Fraction(odds_below(loss / (2 * hashes)), SCALE) for loss in losses)
        f = 2 * (1 - kept)
        q = int((reported - f / 2) / (1 - f) * SCALE)  # rounded down, so no loss is above the given one
        return cls(domain, bits, hashes, cohorts, int(f * SCALE), SCALE - q, q)

    @classmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Rappor:
        """Return the one whose reports cost ε each, and twice that together."""
        return cls.for_losses(domain, lifetime=2 * budget(epsilon), each=epsilon)

    @property
    def reported(self) -> tuple[Fraction, Fraction]:
        """The probabilities q* and p* that a report has a 1 where the value has one, and where it has none."""
        f, p, q = (Fraction(each, SCALE) for each in (self.f, self.p, self.q))
        return f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p

    @property
    def loss(self) -> Pure:
        """The cost of one report."""
        q, p = self.reported
        return Pure(epsilon_above((q * (1 - p) / (p * (1 - q))) ** self.hashes))

    @property
    def lifetime(self) -> Pure:
        """The cost of all reports on one value together, if the permanent bits are kept."""
        return Pure(epsilon_above(Fraction(2 * SCALE - self.f, self.f) ** (2 * self.hashes)))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: two for the cohort, then the bits."""
        return 2 + -(-self.bits // 8)

    @property
    def influence(self) -> float:
        """The largest shift of a frequency by one malicious report, times n, in cohorts of equal size.

        It depends on the list that is decoded (`influence_on`): without a list it has no bound.
        """
        return self.influence_on(of_codes(self.domain)) if self.domain else inf

    def influence_on(self, items: Fingerprints) -> float:
        """Return the same for a list of candidates."""
        return influence_of(self._equations(items))

    def parameters(self) -> dict[str, int]:
        """Return the filter, the cohorts, the three probabilities and the seed of the hashes."""
        return asdict(self)

    def encode(self, values: Coded, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value, of a device that makes no other report."""
        return self.instant(self.permanent(values, draws), draws)

    def cohort(self, size: int, draws: Draws) -> Values:
        """Return the cohorts of devices, which they keep for ever and for all values."""
        return draws.below(self.cohorts, size)

    def permanent(self, values: Coded, draws: Draws, cohorts: Values | None = None) -> Payloads:
        """Return the permanent bits of each value, in given cohorts; by default cohorts are drawn first."""
        return self.permanent_items(items_of(values, self.domain), draws, cohorts)

    def permanent_items(self, items: Fingerprints, draws: Draws, cohorts: Values | None = None) -> Payloads:
        """Return the permanent bits of each item, given by its fingerprint."""
        groups = self.cohort(len(items), draws) if cohorts is None else checked(cohorts, self.cohorts)
        kept = np.empty((len(items), self.payload_bytes), np.uint8)
        kept[:, :2] = to_bytes(groups, 2)
        for part in blocks(len(items), self.bits):
            bits = np.zeros((len(groups[part]), self.bits), np.bool_)
            np.put_along_axis(bits, self._set(groups[part, None], items[part, None, :]), True, axis=1)
            replaced = draws.coins(self.f, bits.size).reshape(bits.shape)
            fair = draws.coins(SCALE // 2, bits.size).reshape(bits.shape)
            kept[part, 2:] = pack_bits(np.where(replaced, fair, bits))
        return kept

    def instant(self, answers: Payloads, draws: Draws = FRESH) -> Payloads:
        """Return a report of permanent bits: coins for all bits as if 1, then as if 0, whatever they are."""
        reported = answers.copy()
        for part in blocks(len(answers), self.bits):
            kept = np.unpackbits(answers[part, 2:], axis=1, count=self.bits, bitorder="little").astype(np.bool_)
            ones = draws.coins(self.q, kept.size).reshape(kept.shape)
            zeros = draws.coins(self.p, kept.size).reshape(kept.shape)
            reported[part, 2:] = pack_bits(np.where(kept, ones, zeros))
        return reported

    def _set(self, cohorts: Values, items: Fingerprints) -> Values:
        """Return the bits that items set in cohorts."""
        return places(
            rows(self.seed, self.cohorts * self.hashes)[cohorts * self.hashes + np.arange(self.hashes)],
            items,
            self.bits,
        )

    def law(self, value: int | Fingerprints) -> dict[bytes, Fraction]:
        """Return the law of the bytes of one report, for a very small filter."""
        refuse_endless(self.cohorts << min(self.bits, 60))
        item = items_of(np.array([value]) if isinstance(value, int) else value, self.domain)
        (q, p), law = self.reported, {}
        for cohort in range(self.cohorts):
            mine = set(self._set(np.array([[cohort]]), item[:, None, :])[0].tolist())
            ones = [q if i in mine else p for i in range(self.bits)]
            for bits in product((0, 1), repeat=self.bits):
                weights = (one if bit else 1 - one for bit, one in zip(bits, ones, strict=True))
                packed = pack_bits(np.array([bits], np.bool_)).tobytes()
                law[cohort.to_bytes(2, "little") + packed] = prod(weights, start=Fraction(1, self.cohorts))
        return law

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which name a cohort and have only zeros after their bits."""
        return (from_bytes(payloads[:, :2]) < self.cohorts) & tidy(payloads, self.bits)

    def state(self) -> Values:
        """Return how often each bit of each cohort was reported as 1, then the reports of each cohort."""
        return np.zeros(self.cohorts * (self.bits + 1), np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count reports, cohort by cohort."""
        group, cells = from_bytes(payloads[:, :2]), self.cohorts * self.bits
        made = np.bincount(group, minlength=self.cohorts)
        state[cells:] += made
        order, ends = np.argsort(group, kind="stable"), np.cumsum(made)
        table = state[:cells].reshape(self.cohorts, self.bits)
        for j in np.flatnonzero(made):
            table[j] += count_bits(payloads[order[ends[j] - made[j] : ends[j]], 2:], self.bits)

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return unbiased frequencies of the domain by least squares, with their standard errors."""
        return self.frequencies(state, n, of_codes(self.domain))

    def frequencies(self, state: Values, n: int, items: Fingerprints) -> Estimate:
        """Return the same for a list of candidates."""
        return decoded(self._equations(items), state, whole(n, "n"))

    def nonnegative(self, state: Values, n: int, items: Fingerprints | None = None) -> Estimate:
        """Return frequencies by nonnegative least squares: biased, and sparse where candidates are many."""
        given = of_codes(self.domain) if items is None else items
        return nonnegative_of(self._equations(given), state, whole(n, "n"))

    def _equations(self, items: Fingerprints) -> Equations:
        cohorts = np.arange(self.cohorts)[:, None, None]
        q, p = self.reported
        return Equations(self._set(cohorts, items[None, :, None, :]), self.bits, float(q), float(p))
