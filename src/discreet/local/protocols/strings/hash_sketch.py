"""What count-mean sketches have in common: rows of hashed places, and frequencies of any items out of them.

The theory is in `sketches`, which has the two of Apple.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.local.primitives.bitmaps import blocks
from discreet.local.primitives.fixed_point import chance
from discreet.local.primitives.hash_family import Fingerprints, items_of, of_codes, places, rows
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
from discreet.local.protocols.frequency.frequency_oracle import domain_of
from discreet.local.protocols.protocol import Coded, Payloads, Values
from discreet.local.server.estimate import Estimate, Floats
from discreet.rational import whole

KIND = "unbiased over the choice of hashes"


@dataclass(frozen=True)
class Sketch(ABC):
    """What both have in common. Values 0 … domain − 1 are items of eight bytes.

    A sketch of domain 0 is of an open dictionary: its values are the fingerprints of any items, and `frequencies`
    says how many have those on a list.
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
            raise ParameterError(f"a sketch has at most 2^16 rows, not {self.rows}.")
        if not 2 <= whole(self.columns, "columns") <= 2**20:
            raise ParameterError(f"a row of a sketch has from 2 to 2^20 columns, not {self.columns}.")
        chance(self.flip, "flip", most=SCALE // 2 - 1)
        if not 0 <= whole(self.seed, "seed", least=0) < 2**63:
            raise ParameterError(f"a seed is below 2^63, not {self.seed}.")

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """How long every report is."""

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
        """Return the size of the sketch, the chance of a flip, and the seed of the hashes."""
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
        # With its own square too, not to take a collision for the item itself.
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
