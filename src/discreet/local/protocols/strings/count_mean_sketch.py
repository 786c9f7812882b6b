"""Count items of an open dictionary by Apple's sketches, from a report of bits (CMS) or of one bit (HCMS).

Apple's Differential Privacy Team (2017). The sketch has k rows of m columns, row j with a public hash h_j
(`hash_family`). A device draws a row, and its item x is the unit vector at h_j(x) of that row.

- **CMS** sends all m bits, each flipped with probability φ = flip/2⁶⁴ = 1/(1 + e^{ε/2}). Two items differ in two
  bits: the worst ratio is ((1 − φ)/φ)².
- **HCMS** (m a power of two) sends one coordinate l, drawn evenly, of the Hadamard transform of the vector: the
  sign (−1)^⟨h_j(x), l⟩, turned with probability φ = 1/(1 + e^ε). Worst ratio (1 − φ)/φ, log₂ 2km bits.

**Estimate.** Let M(j, y) be the sum of the unbiased vectors of row j at y. Another item is at the place of x with
probability 1/m, hence f̂ = m/(m − 1)·(Σ_j M(j, h_j(x))/n − 1/m). It is unbiased over the choice of hashes; for the
hashes at hand collisions stay, and their variance does not shrink with n. Over devices, rows and hashes

    n·Var f̂ ≤ (m/(m − 1))²·[σ² + (1/m)(1 − 1/m)·S/n],     S = Σ_j Σ_u N(j, u)²,
    σ² = φ(1 − φ)/(1 − 2φ)² for CMS,  1/(1 − 2φ)² − f_x − (1 − f_x)/m for HCMS,

N(j, u) being the number of devices in row j that hold u; equality would leave out u = x. S is estimated from the
sketch itself:

    E Σ_y M(j, y)² = (1 − 1/m)·Σ_u N(j, u)² + N_j²/m + the noise of m places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

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
    width_of,
)
from discreet.local.primitives.hash_family import Fingerprints, items_of, of_codes, places, rows
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import domain_of, refuse_endless
from discreet.local.protocols.protocol import Coded, Payloads, Values
from discreet.local.server.estimate import Estimate, Floats
from discreet.privacy import Pure
from discreet.rational import Rational, whole

KIND = "unbiased over the choice of hashes"


@dataclass(frozen=True)
class Sketch(ABC):
    """The common part of both sketches. Values 0 … domain − 1 are items of eight bytes.

    A sketch of domain 0 is of an open dictionary: its values are the fingerprints of any items, and `frequencies`
    estimates those of a list.
    """

    name: ClassVar[str]
    domain: int
    rows: int
    columns: int
    flip: int
    seed: int = 0

    def __post_init__(self) -> None:
        if whole(self.domain, "domain", least=0):
            domain_of(self.domain)
        if not 1 <= whole(self.rows, "rows") <= 2**16:
            raise ParameterError("A sketch may have at most 2^16 rows.", found=self.rows, fix=Fix("rows", 1024))
        if not 2 <= whole(self.columns, "columns") <= 2**20:
            raise ParameterError(
                "A row of a sketch must have from 2 to 2^20 columns.", found=self.columns, fix=Fix("columns", 1024)
            )
        chance(self.flip, "flip", most=SCALE // 2 - 1)
        if not 0 <= whole(self.seed, "seed", least=0) < 2**63:
            raise ParameterError("A seed must be below 2^63.", found=self.seed, fix=Fix("seed", 0))

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """The length of every report in bytes."""

    @abstractmethod
    def state(self) -> Values:
        """Return the sketch of no reports."""

    @abstractmethod
    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a sketch."""

    @abstractmethod
    def encode_items(self, items: Fingerprints, draws: Draws = FRESH) -> Payloads:
        """Return a report for each item, given by its fingerprint."""

    @abstractmethod
    def _unbiased(self, state: Values, n: int) -> tuple[Floats, float, float]:
        """Return M, the variance of one place from one report, and Σ_j N_j²."""

    @abstractmethod
    def _noise(self, share: Floats) -> Floats:
        """Return σ² for items of these frequencies."""

    def parameters(self) -> dict[str, int]:
        """Return the size of the sketch, the probability of a flip, and the seed of the hashes."""
        return asdict(self)

    def encode(self, values: Coded, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""
        return self.encode_items(items_of(values, self.domain), draws)

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return the frequencies of the domain, with their standard errors."""
        return self.frequencies(state, n, of_codes(self.domain))

    def frequencies(self, state: Values, n: int, items: Fingerprints) -> Estimate:
        """Return the frequencies of any items, with their standard errors."""
        m = self.columns
        table, each, squared = self._unbiased(state, whole(n, "n"))
        sums = np.concatenate(
            [self._sums(table, items[part]) for part in blocks(len(items), self.rows)] or [np.zeros(0)]
        )
        values = m / (m - 1) * (sums / n - 1 / m)
        together = np.clip(((table**2).sum() - squared / m - n * m * each) / (1 - 1 / m), n, float(n) ** 2)
        share = np.clip(values, 0, 1)
        # This includes the square of the item itself, which can only make the error larger.
        collisions = (1 / m) * (1 - 1 / m) * together / n
        return Estimate(values, m / (m - 1) * np.sqrt((self._noise(share) + collisions) / n), n, KIND)

    def _sums(self, table: Floats, items: Fingerprints) -> Floats:
        where = places(rows(self.seed, self.rows)[:, None, :], items[None, :, :], self.columns)
        found: Floats = np.take_along_axis(table, where, axis=1).sum(0)
        return found

    def _item(self, value: int | Fingerprints) -> Fingerprints:
        return items_of(np.array([value]) if isinstance(value, int) else value, self.domain)

    def _place(self, row: Values, items: Fingerprints) -> Values:
        return places(rows(self.seed, self.rows)[row], items, self.columns)


@dataclass(frozen=True)
class CMS(Sketch):
    """The count-mean sketch: the row in two bytes, then its bits.

    >>> sketch = CMS.for_epsilon(1000, 2, rows=64, columns=256)
    >>> float(sketch.loss.epsilon), sketch.payload_bytes
    (2.0, 34)
    """

    name: ClassVar[str] = "cms"

    @classmethod
    def for_epsilon(
        cls, domain: int, epsilon: Rational, *, rows: int = 1024, columns: int = 1024, seed: int = 0
    ) -> CMS:
        """Return the one that costs a device at most ε."""
        return cls(domain, rows, columns, SCALE - odds_below(budget(epsilon) / 2), seed)

    @property
    def loss(self) -> Pure:
        """The cost of one report: two bits."""
        return Pure(epsilon_above(Fraction(SCALE - self.flip, self.flip) ** 2))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: two for the row, then the bits."""
        return 2 + -(-self.columns // 8)

    @property
    def influence(self) -> float:
        """The largest shift of n times a frequency, by a malicious report that sets a bit."""
        return self.columns / (self.columns - 1) * SCALE / (SCALE - 2 * self.flip)

    def encode_items(self, items: Fingerprints, draws: Draws = FRESH) -> Payloads:
        """Return a report for each item: rows are drawn for all, then the flips."""
        row = draws.below(self.rows, len(items))
        where = self._place(row, items)
        reports = np.empty((len(items), self.payload_bytes), np.uint8)
        reports[:, :2] = to_bytes(row, 2)
        for part in blocks(len(items), self.columns):
            bits = draws.coins(self.flip, self.columns * len(row[part])).reshape(-1, self.columns)
            bits[np.arange(len(bits)), where[part]] ^= True
            reports[part, 2:] = pack_bits(bits)
        return reports

    def law(self, value: int | Fingerprints) -> dict[bytes, Fraction]:
        """Return the law of the bytes, for a very small sketch."""
        refuse_endless(self.rows << min(self.columns, 60))
        item = self._item(value)
        flip, law = Fraction(self.flip, SCALE), {}
        where = [int(self._place(np.array([row]), item)[0]) for row in range(self.rows)]
        for (row, place), bits in product(enumerate(where), product((0, 1), repeat=self.columns)):
            flips = sum(bit != (i == place) for i, bit in enumerate(bits))
            packed = pack_bits(np.array([bits], np.bool_)).tobytes()
            law[row.to_bytes(2, "little") + packed] = (
                flip**flips * (1 - flip) ** (self.columns - flips) / self.rows
            )
        return law

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which name a row and have only zeros after their bits."""
        return (from_bytes(payloads[:, :2]) < self.rows) & tidy(payloads, self.columns)

    def state(self) -> Values:
        """Return how often each bit of each row was set, then how often each row was drawn."""
        return np.zeros(self.rows * (self.columns + 1), np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count reports, row by row."""
        row, cells = from_bytes(payloads[:, :2]), self.rows * self.columns
        drawn = np.bincount(row, minlength=self.rows)
        state[cells:] += drawn
        order, ends = np.argsort(row, kind="stable"), np.cumsum(drawn)
        table = state[:cells].reshape(self.rows, self.columns)
        for j in np.flatnonzero(drawn):
            table[j] += count_bits(payloads[order[ends[j] - drawn[j] : ends[j]], 2:], self.columns)

    def _unbiased(self, state: Values, n: int) -> tuple[Floats, float, float]:
        cells, flip = self.rows * self.columns, self.flip / SCALE
        drawn = state[cells:]
        table = (state[:cells].reshape(self.rows, -1) - drawn[:, None] * flip) / (1 - 2 * flip)
        return table, flip * (1 - flip) / (1 - 2 * flip) ** 2, float(drawn @ drawn)

    def _noise(self, share: Floats) -> Floats:
        flip = self.flip / SCALE
        return np.full(len(share), flip * (1 - flip) / (1 - 2 * flip) ** 2)


@dataclass(frozen=True)
class HCMS(Sketch):
    """The Hadamard count-mean sketch: one number, 2(j·m + l) + sign.

    >>> sketch = HCMS.for_epsilon(1000, 2, rows=64, columns=256)
    >>> float(sketch.loss.epsilon), sketch.payload_bytes
    (2.0, 2)
    """

    name: ClassVar[str] = "hcms"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns & (self.columns - 1):
            raise ParameterError(
                "The Hadamard transform needs a power of two as columns.",
                found=f"columns={self.columns}",
                fix=Fix("columns", 1024),
            )

    @classmethod
    def for_epsilon(
        cls, domain: int, epsilon: Rational, *, rows: int = 1024, columns: int = 1024, seed: int = 0
    ) -> HCMS:
        """Return the one that costs a device at most ε."""
        return cls(domain, rows, columns, SCALE - odds_below(budget(epsilon)), seed)

    @property
    def loss(self) -> Pure:
        """The cost of one report: one sign."""
        return Pure(epsilon_above(Fraction(SCALE - self.flip, self.flip)))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: that of a row, a coordinate and a sign."""
        return width_of(2 * self.rows * self.columns)

    @property
    def influence(self) -> float:
        """The largest shift of n times a frequency, by a malicious report that turns a sign."""
        return 2 * self.columns / (self.columns - 1) * SCALE / (SCALE - 2 * self.flip)

    def encode_items(self, items: Fingerprints, draws: Draws = FRESH) -> Payloads:
        """Return a report for each item: rows are drawn, then coordinates, then flips."""
        row = draws.below(self.rows, len(items))
        coordinate = draws.below(self.columns, len(items))
        sign = np.bitwise_count(self._place(row, items) & coordinate).astype(np.int64) & 1
        turned = sign ^ draws.coins(self.flip, len(items))
        return to_bytes(2 * (row * self.columns + coordinate) + turned, self.payload_bytes)

    def law(self, value: int | Fingerprints) -> dict[bytes, Fraction]:
        """Return the law of the bytes."""
        return self.law_of_item(self._item(value))

    def law_of_item(self, item: Fingerprints) -> dict[bytes, Fraction]:
        """Return the law of the bytes for one item, given by its fingerprint."""
        refuse_endless(2 * self.rows * self.columns)
        law, each = {}, Fraction(1, SCALE * self.rows * self.columns)
        where = [int(self._place(np.array([row]), item)[0]) for row in range(self.rows)]
        for row, coordinate, sign in product(range(self.rows), range(self.columns), (0, 1)):
            true = (where[row] & coordinate).bit_count() % 2 == sign
            report = 2 * (row * self.columns + coordinate) + sign
            law[report.to_bytes(self.payload_bytes, "little")] = each * (SCALE - self.flip if true else self.flip)
        return law

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which are numbers of a row, a coordinate and a sign."""
        return from_bytes(payloads) < 2 * self.rows * self.columns

    def state(self) -> Values:
        """Return the sum of signs of each coordinate of each row."""
        return np.zeros(self.rows * self.columns, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Add up signs."""
        seen = np.bincount(from_bytes(payloads), minlength=2 * len(state)).reshape(-1, 2)
        state += seen[:, 0] - seen[:, 1]

    def _unbiased(self, state: Values, n: int) -> tuple[Floats, float, float]:
        sharper = SCALE / (SCALE - 2 * self.flip)
        table = sharper * _by_rows(state.reshape(self.rows, self.columns)).astype(np.float64)
        return table, sharper**2 - 1 / self.columns, n * n / self.rows + n * (1 - 1 / self.rows)

    def _noise(self, share: Floats) -> Floats:
        sharper = SCALE / (SCALE - 2 * self.flip)
        noise: Floats = sharper**2 - share - (1 - share) / self.columns
        return noise


def _by_rows(table: Values) -> Values:
    """Return the Walsh–Hadamard transform of every row."""
    found: NDArray[Any] = table
    half, m = 1, table.shape[1]
    while half < m:
        pairs = found.reshape(len(table), -1, 2, half)
        found = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return found.reshape(table.shape)
