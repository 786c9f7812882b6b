"""Strings that many have, found letter by letter: a tree of prefixes, one level for each device.

Nobody can ask for the count of every string of ten letters. But a string that a tenth of the devices have has
prefixes that at least a tenth of them have (Bassily, Nissim, Stemmer and Thakurta 2017; Wang, Li and Jha 2018).
Each device draws one level of the tree, without looking at its word, and reports its prefix of that level with
the whole ε, as an item of a Hadamard count-mean sketch (`sketches.HCMS`): one bit of information, a few bytes.
The loss is that of the sketch: the level is public and independent of the word.

The server walks down. At each level it counts all continuations of the prefixes that it kept, by `step` letters,
and keeps those that are above zero beyond doubt. For L levels, each with n/L devices, a word is found once its
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

from discreet.errors import ParameterError
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
                f"words have up to 255 of up to 252 symbols, not {self.length} of {self.symbols}."
            )
        if self.length % whole(self.step, "step") or self.symbols**self.step > 2**15:
            raise ParameterError(
                f"step={self.step} must divide the length of {self.length}, with at most 2^15 continuations each."
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
        """Return the one that costs a device at most ε."""
        flip = HCMS.for_epsilon(2, epsilon, rows=rows, columns=columns).flip
        return cls(alphabet.symbols, alphabet.length, step, rows, columns, flip, seed)

    @property
    def domain(self) -> int:
        """Nobody lists all words."""
        return 0

    @property
    def sketch(self) -> HCMS:
        """The sketch of one level."""
        return HCMS(2, self.rows, self.columns, self.flip, self.seed)

    @property
    def levels(self) -> int:
        """How many levels the tree has."""
        return self.length // self.step

    @property
    def loss(self) -> Pure:
        """What one report costs."""
        return self.sketch.loss

    @property
    def payload_bytes(self) -> int:
        """A byte for the level, and the report of the sketch."""
        return 1 + self.sketch.payload_bytes

    @property
    def influence(self) -> float:
        """What a lie moves n times the frequency of a word by: all levels' devices are needed for one."""
        return self.levels * self.sketch.influence

    def parameters(self) -> dict[str, int]:
        """Return the words, the sketch, the chance of a flip and the seed of the hashes."""
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
        """Return the frequencies of the domain, which has no values: words are looked for with `find`."""
        return self.frequencies(state, n, np.zeros((0, self.length), np.uint8))

    def frequencies(self, state: Values, n: int, words: Words) -> Estimate:
        """Return the frequencies of any words, from those devices that reported on whole ones."""
        items = self._items(checked_words(words, self.symbols, self.length), self.levels - 1)
        whole_words = int(state[-1])
        if not whole_words:
            raise ParameterError("no device has reported on whole words yet.")
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
        """Return the words that are above zero at every level, and above a share if told, the commonest first.

        At most `most` prefixes are kept at a level. With doubt 1 − confidence, shared by the levels, some word or
        prefix is on the list that nobody has. Up to `reports` of what was counted are of one device (`Estimate`).
        """
        if (alphabet.symbols, alphabet.length) != (self.symbols, self.length):
            raise ParameterError(f"this tree is of words of {self.length} symbols out of {self.symbols}.")
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
