"""Find frequent strings letter by letter: a tree of prefixes, one level for each device.

There are too many strings of ten letters to count each of them. But a string that a tenth of the devices have has
prefixes that at least a tenth of them have (Bassily, Nissim, Stemmer and Thakurta 2017; Wang, Li and Jha 2018).
Each device draws one level of the tree, without looking at its word, and reports its prefix of that level with
the whole ε, as an item of a Hadamard count-mean sketch (`count_mean_sketch.HCMS`): one bit of information, a few
bytes. The loss is that of the sketch: the level is public and independent of the word.

The server walks down. At each level it counts all continuations of the prefixes that it kept, by `step` letters,
and keeps those that are significantly above zero. For L levels, each with n/L devices, a word is found once its
share f is above its standard error times the quantile z for the number of candidates, about

    f ≥ z·√(L/n)·(e^ε + 1)/(e^ε − 1),       with collisions of the sketch included in the error that is used.

With at most M prefixes kept the work is L·M·symbols^step·rows hashes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.hash_family import Fingerprints
from discreet.local.primitives.randomness import FRESH, Draws
from discreet.local.protocols.protocol import Payloads, Values
from discreet.local.protocols.strings.count_mean_sketch import HCMS
from discreet.local.protocols.strings.strings import (
    Alphabet,
    Found,
    Words,
    checked_words,
    extended,
    hashed,
    significant,
)
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, rational, whole


@dataclass(frozen=True)
class PrefixTree:
    """Reports on prefixes of words of `length` symbols, `step` of them longer at each level.

    >>> tree = PrefixTree.for_epsilon(Alphabet("abcdefghijklmnopqrstuvwxyz", length=6), 2, step=2)
    >>> float(tree.loss.epsilon), tree.levels, tree.payload_bytes
    (2.0, 3, 4)
    """

    symbols: int
    length: int
    step: int
    rows: int
    columns: int
    flip: int
    seed: int = 0
    name: ClassVar[str] = "prefix-tree"

    def __post_init__(self) -> None:
        if not 3 <= whole(self.symbols, "symbols") <= 252 or not 1 <= whole(self.length, "length") <= 255:
            raise ParameterError(
                "Words must have up to 255 out of 3 to 252 symbols.",
                found=f"{self.length} of {self.symbols}",
                fix="Take the symbols and the length from an Alphabet.",
            )
        if self.length % whole(self.step, "step") or self.symbols**self.step > 2**15:
            raise ParameterError(
                f"step must divide the length of {self.length}, with at most 2^15 continuations each.",
                found=f"step={self.step}",
                fix=Fix("step", 1),
            )
        _ = self.sketch

    @classmethod
    def for_epsilon(
        cls,
        alphabet: Alphabet,
        epsilon: Rational,
        *,
        step: int = 1,
        rows: int = 256,
        columns: int = 1024,
        seed: int = 0,
    ) -> PrefixTree:
        """Return the one that costs a device at most ε.

        Args:
            alphabet: The letters and the length of words.
            epsilon: What one report may cost.
            step: How many letters a level adds; 1 by default. It must divide the length.
            rows: The rows of the sketches; 256 by default.
            columns: The columns of the sketches, a power of two; 1024 by default.
            seed: The seed of the hashes; 0 by default.
        """
        flip = HCMS.for_epsilon(2, epsilon, rows=rows, columns=columns).flip
        return cls(alphabet.symbols, alphabet.length, step, rows, columns, flip, seed)

    @property
    def domain(self) -> int:
        """The number of listed values: 0, because words cannot be listed."""
        return 0

    @property
    def sketch(self) -> HCMS:
        """The sketch of one level."""
        return HCMS(2, self.rows, self.columns, self.flip, self.seed)

    @property
    def levels(self) -> int:
        """The number of levels of the tree."""
        return self.length // self.step

    @property
    def loss(self) -> Pure:
        """The cost of one report."""
        return self.sketch.loss

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: one for the level, then the report of the sketch."""
        return 1 + self.sketch.payload_bytes

    @property
    def influence(self) -> float:
        """The largest shift of n times the frequency of a word by a malicious report: n counts all levels."""
        return self.levels * self.sketch.influence

    def parameters(self) -> dict[str, int]:
        """Return the words, the sketch, the probability of a flip and the seed of the hashes."""
        return asdict(self)

    def _items(self, words: Words, level: int) -> Fingerprints:
        return hashed(words[:, : (level + 1) * self.step], bytes([level]))

    def encode(self, values: Words, draws: Draws = FRESH) -> Payloads:
        """Return a report for each word: levels are drawn for all, then what the sketch draws."""
        known = checked_words(values, self.symbols, self.length)
        levels = draws.below(self.levels, len(known))
        items = np.zeros((len(known), 2), np.uint64)
        for level in range(self.levels):
            items[levels == level] = self._items(known[levels == level], level)
        return np.hstack([levels.astype(np.uint8)[:, None], self.sketch.encode_items(items, draws)])

    def law(self, value: Words) -> dict[bytes, Fraction]:
        """Return the law of the bytes for a word, for a very small sketch."""
        known = checked_words(value, self.symbols, self.length)
        return {
            bytes([level]) + seen: chance / self.levels
            for level in range(self.levels)
            for seen, chance in self.sketch.law_of_item(self._items(known, level)).items()
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which name a level and are reports of its sketch."""
        good: NDArray[np.bool_] = (payloads[:, 0] < self.levels) & self.sketch.valid(payloads[:, 1:])
        return good

    def state(self) -> Values:
        """Return the sketches of all levels, then how many devices reported on each."""
        return np.zeros(self.levels * (self.rows * self.columns + 1), np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count reports, level by level."""
        for level in range(self.levels):
            mine = payloads[payloads[:, 0] == level]
            self.sketch.add(self._level(state, level), mine[:, 1:])
            state[level - self.levels] += len(mine)

    def _level(self, state: Values, level: int) -> Values:
        cells = self.rows * self.columns
        return state[level * cells : (level + 1) * cells]

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return the frequencies of the domain, which lists no values: use `find` for words."""
        return self.frequencies(state, n, np.zeros((0, self.length), np.uint8))

    def frequencies(self, state: Values, n: int, words: Words) -> Estimate:
        """Return the frequencies of any words, from those devices that reported on whole ones."""
        items = self._items(checked_words(words, self.symbols, self.length), self.levels - 1)
        whole_words = int(state[-1])
        if not whole_words:
            raise ParameterError("No device has reported on whole words yet.", fix="Wait for more reports.")
        found = self.sketch.frequencies(self._level(state, self.levels - 1), whole_words, items)
        return replace(found, n=n)

    def find(
        self,
        state: Values,
        alphabet: Alphabet,
        *,
        confidence: Rational = "0.95",
        most: int = 100,
        least: float = 0.0,
        reports: float = 1,
    ) -> tuple[Found, ...]:
        """Return the words that are significantly above zero at every level, the most common first.

        With probability at most alpha = 1 − confidence, shared by the levels, a word or a prefix is on the list
        that no device has.

        Args:
            state: The state of the reports.
            alphabet: The alphabet of the words.
            confidence: That of the whole list; 95 % by default.
            most: The largest number of prefixes that are kept at a level; 100 by default.
            least: The least share to keep; 0 by default.
            reports: The largest number of counted reports of one device (`Estimate`); 1 by default.
        """
        if (alphabet.symbols, alphabet.length) != (self.symbols, self.length):
            raise ParameterError(
                f"This tree is of words of {self.length} out of {self.symbols} symbols.",
                found=f"{alphabet.length} out of {alphabet.symbols}",
                fix="Use the alphabet of the tree.",
            )
        each = 1 - (1 - rational(confidence, "confidence")) / self.levels
        kept = np.zeros((1, 0), np.uint8)
        for level in range(self.levels):
            kept = extended(kept, self.symbols, self.step)
            n = int(state[level - self.levels])
            if not n or not len(kept):
                return ()
            found = self.sketch.frequencies(self._level(state, level), n, self._items(kept, level))
            found = found.of_devices_with(reports)
            best = significant(found, each, most, least)
            kept = kept[best]
        shown = zip(kept, found.values[best], found.standard_errors[best], strict=True)
        return tuple(Found(alphabet.text(word), float(share), float(error)) for word, share, error in shown)
