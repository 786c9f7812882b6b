"""Find new words of an open dictionary by Apple's sequence fragment puzzle.

Apple's Differential Privacy Team (2017). A word that is in no dictionary cannot be a candidate. A device draws a
position, without looking at its word, and sends two reports, each an item of a Hadamard count-mean sketch
(`count_mean_sketch.HCMS`):

- the *fragment* of `step` letters at that position together with one byte of a hash of the whole word, at ε₁;
- the *word* itself, at ε₂.

One device loses ε₁ + ε₂, the sum of the two, which is `loss`. The server counts, for each position, all fragments
with all 256 bytes, and keeps those significantly above zero. Fragments with the same byte are pieces of one
puzzle: their combinations over the positions are candidates, and the sketch of words, to which every device
contributed, gives the frequency of each.

Compared with a tree of prefixes (`prefix_tree`) it needs fewer devices for long words, because all positions are
reported at the same depth, and spends a part of ε on the puzzle. The work is L·symbols^step·256·rows hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import islice, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.fixed_point import budget, epsilon_above
from discreet.local.primitives.hash_family import Fingerprints
from discreet.local.primitives.randomness import FRESH, SCALE, Draws
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

_TAG, _WORD = b"discreet local puzzle", b"\xff"
_FRAGMENTS = 2**12  # the most fragments of a position
_CANDIDATES = 2**16  # the most combinations of fragments, of one piece and of all


@dataclass(frozen=True)
class FragmentPuzzle:
    """Reports on a fragment, and on the word, of `length` symbols.

    >>> puzzle = FragmentPuzzle.for_epsilons(Alphabet("abcdefghijklmnopqrstuvwxyz", 6), fragment=2, word=1, step=2)
    >>> round(float(puzzle.loss.epsilon), 9), puzzle.positions, puzzle.payload_bytes
    (3.0, 3, 7)
    """

    symbols: int
    length: int
    step: int
    rows: int
    columns: int
    flip_fragment: int
    flip_word: int
    seed: int = 0
    name: ClassVar[str] = "fragments"

    def __post_init__(self) -> None:
        if not 3 <= whole(self.symbols, "symbols") <= 252 or not 1 <= whole(self.length, "length") <= 254:
            raise ParameterError(
                "Words must have up to 254 out of 3 to 252 symbols.",
                found=f"{self.length} of {self.symbols}",
                fix="Take the symbols and the length from an Alphabet.",
            )
        if self.length % whole(self.step, "step") or self.symbols**self.step > _FRAGMENTS:
            raise ParameterError(
                f"step must divide the length of {self.length}, with at most 2^12 fragments.",
                found=f"step={self.step}",
                fix=Fix("step", 1),
            )
        _ = self.of_fragments, self.of_words

    @classmethod
    def for_epsilons(
        cls,
        alphabet: Alphabet,
        *,
        fragment: Rational,
        word: Rational,
        step: int = 2,
        rows: int = 256,
        columns: int = 1024,
        seed: int = 0,
    ) -> FragmentPuzzle:
        """Return the one whose two reports cost a device at most these, together their sum.

        Args:
            alphabet: The letters and the length of words.
            fragment: What the report on a fragment may cost.
            word: What the report on the word may cost.
            step: The letters of a fragment; 2 by default. It must divide the length.
            rows: The rows of the sketches; 256 by default.
            columns: The columns of the sketches, a power of two; 1024 by default.
            seed: The seed of the hashes; 0 by default.
        """
        flips = [HCMS.for_epsilon(2, each, rows=rows, columns=columns).flip for each in (fragment, word)]
        return cls(alphabet.symbols, alphabet.length, step, rows, columns, flips[0], flips[1], seed)

    @classmethod
    def for_epsilon(cls, alphabet: Alphabet, epsilon: Rational) -> FragmentPuzzle:
        """Return the one that costs a device at most ε, half of it for each of its two reports.

        Fragments have two letters if the length is even and there are not too many of them, else one.
        """
        half = budget(epsilon) / 2
        two = alphabet.length % 2 == 0 and alphabet.symbols**2 <= _FRAGMENTS
        return cls.for_epsilons(alphabet, fragment=half, word=half, step=2 if two else 1)

    @property
    def domain(self) -> int:
        """The number of listed values: 0, because words cannot be listed."""
        return 0

    @property
    def of_fragments(self) -> HCMS:
        """The sketch of the fragments of one position."""
        return HCMS(2, self.rows, self.columns, self.flip_fragment, self.seed)

    @property
    def of_words(self) -> HCMS:
        """The sketch of the words."""
        return HCMS(2, self.rows, self.columns, self.flip_word, self.seed)

    @property
    def positions(self) -> int:
        """The number of fragments of a word."""
        return self.length // self.step

    @property
    def loss(self) -> Pure:
        """The cost of both reports of a device together."""
        ratios = (Fraction(SCALE - flip, flip) for flip in (self.flip_fragment, self.flip_word))
        return Pure(epsilon_above(next(ratios) * next(ratios)))

    @property
    def payload_bytes(self) -> int:
        """The length of every report in bytes: one for the position, then those of fragment and word."""
        return 1 + 2 * self.of_words.payload_bytes

    @property
    def influence(self) -> float:
        """The largest shift of n times the frequency of a word by a malicious report."""
        return self.of_words.influence

    def parameters(self) -> dict[str, int]:
        """Return the words, the sketches, the two probabilities and the seed of the hashes."""
        return asdict(self)

    def _fragments(self, words: Words, position: int) -> Fingerprints:
        cut = words[:, position * self.step : (position + 1) * self.step]
        return hashed(np.hstack([cut, pieces(words)[:, None]]), bytes([position]))

    def encode(self, values: Words, draws: Draws = FRESH) -> Payloads:
        """Return a report for each word: positions for all, then what the sketches draw."""
        known = checked_words(values, self.symbols, self.length)
        position = draws.below(self.positions, len(known))
        items = np.zeros((len(known), 2), np.uint64)
        for place in range(self.positions):
            items[position == place] = self._fragments(known[position == place], place)
        fragment = self.of_fragments.encode_items(items, draws)
        word = self.of_words.encode_items(hashed(known, _WORD), draws)
        return np.hstack([position.astype(np.uint8)[:, None], fragment, word])

    def law(self, value: Words) -> dict[bytes, Fraction]:
        """Return the law of the bytes for a word, for very small sketches."""
        known = checked_words(value, self.symbols, self.length)
        of_word = self.of_words.law_of_item(hashed(known, _WORD))
        return {
            bytes([position]) + first + second: p * q / self.positions
            for position in range(self.positions)
            for first, p in self.of_fragments.law_of_item(self._fragments(known, position)).items()
            for second, q in of_word.items()
        }

    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which name a position and are reports of both sketches."""
        end = 1 + self.of_words.payload_bytes
        both = self.of_fragments.valid(payloads[:, 1:end]) & self.of_words.valid(payloads[:, end:])
        good: NDArray[np.bool_] = both & (payloads[:, 0] < self.positions)
        return good

    def state(self) -> Values:
        """Return the sketches of all positions and of the words, then how many reported on each position."""
        return np.zeros((self.positions + 1) * self.rows * self.columns + self.positions, np.int64)

    def add(self, state: Values, payloads: Payloads) -> None:
        """Count reports, position by position, and words."""
        end = 1 + self.of_words.payload_bytes
        for position in range(self.positions):
            mine = payloads[payloads[:, 0] == position]
            self.of_fragments.add(self._part(state, position), mine[:, 1:end])
            state[position - self.positions] += len(mine)
        self.of_words.add(self._part(state, self.positions), payloads[:, end:])

    def _part(self, state: Values, part: int) -> Values:
        cells = self.rows * self.columns
        return state[part * cells : (part + 1) * cells]

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return the frequencies of the domain, which lists no values: use `find` for words."""
        return self.frequencies(state, n, np.zeros((0, self.length), np.uint8))

    def frequencies(self, state: Values, n: int, words: Words) -> Estimate:
        """Return the frequencies of any words."""
        items = hashed(checked_words(words, self.symbols, self.length), _WORD)
        return self.of_words.frequencies(self._part(state, self.positions), n, items)

    def find(
        self,
        state: Values,
        alphabet: Alphabet,
        *,
        confidence: Rational = "0.95",
        most: int = 100,
        reports: float = 1,
    ) -> tuple[Found, ...]:
        """Return the words that are significantly above zero, the most common first.

        Args:
            state: The state of the reports.
            alphabet: The alphabet of the words.
            confidence: That of the whole list; 95 % by default.
            most: The largest number of fragments that are kept at a position, and of words; 100 by default.
            reports: The largest number of counted reports of one device (`Estimate`); 1 by default.
        """
        if (alphabet.symbols, alphabet.length) != (self.symbols, self.length):
            raise ParameterError(
                f"This puzzle is of words of {self.length} out of {self.symbols} symbols.",
                found=f"{alphabet.length} out of {alphabet.symbols}",
                fix="Use the alphabet of the puzzle.",
            )
        each = 1 - (1 - rational(confidence, "confidence")) / (self.positions + 1)
        if not state[-self.positions :].all():
            return ()
        kept = [self._kept(state, position, each, most, reports) for position in range(self.positions)]
        words = np.array(list(islice(_joined(kept), _CANDIDATES)), np.uint8).reshape(-1, self.length)
        if not len(words):
            return ()
        n = int(state[-self.positions :].sum())
        found = self.of_words.frequencies(self._part(state, self.positions), n, hashed(words, _WORD))
        found = found.of_devices_with(reports)
        best = significant(found, each, most)
        shown = zip(words[best], found.values[best], found.standard_errors[best], strict=True)
        return tuple(Found(alphabet.text(word), float(share), float(error)) for word, share, error in shown)

    def _kept(self, state: Values, position: int, confidence: Fraction, most: int, reports: float) -> Words:
        """Return the fragments with their piece that are significantly above zero at a position."""
        tails = extended(np.zeros((1, 0), np.uint8), self.symbols, self.step)
        every = np.hstack(
            [np.repeat(tails, 256, axis=0), np.tile(np.arange(256, dtype=np.uint8), len(tails))[:, None]]
        )
        items = hashed(every, bytes([position]))
        n = int(state[position - self.positions])
        found = self.of_fragments.frequencies(self._part(state, position), n, items).of_devices_with(reports)
        kept: Words = every[significant(found, confidence, most)]
        return kept


def pieces(words: Words) -> NDArray[np.uint8]:
    """Return one byte of a hash for each word.

    >>> pieces(np.array([[1, 2], [1, 2], [2, 1]], np.uint8))
    array([186, 186,   4], dtype=uint8)
    """
    if not len(words):
        return np.zeros(0, np.uint8)
    unique, where = np.unique(words, axis=0, return_inverse=True)
    first = [hashlib.sha256(_TAG + word.tobytes()).digest()[0] for word in unique]
    return np.array(first, np.uint8)[where.reshape(-1)]


def _joined(kept: list[Words]) -> Iterator[tuple[int, ...]]:
    """Return combinations of fragments with the same piece, if it is the piece of the word they make."""
    for piece in sorted(set.intersection(*({int(byte) for byte in some[:, -1]} for some in kept))):
        sides = ([tuple(row[:-1].tolist()) for row in some if row[-1] == piece] for some in kept)
        for parts in islice(product(*sides), _CANDIDATES):
            word = tuple(symbol for part in parts for symbol in part)
            if hashlib.sha256(_TAG + bytes(word)).digest()[0] == piece:
                yield word
