"""Represent words as rows of symbols, which the protocols over strings count and find.

Symbol 0 is the end of a word, filled up to a fixed length; 1 … are the letters of an alphabet; the last one stands
for every other letter. All words have the same length, so the length reveals nothing about a device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.hash_family import Fingerprints, fingerprints
from discreet.local.server.estimate import Estimate
from discreet.rational import Rational, rational

Words = NDArray[np.uint8]
"""Words, one in each row, one symbol in each column."""

OTHER = "�"


@dataclass(frozen=True)
class Alphabet:
    """The letters of words, and their length.

    >>> alphabet = Alphabet("abc", length=4)
    >>> alphabet.symbols, alphabet.words(["cab", "xa", "abcabc"])
    (5, array([[3, 1, 2, 0], [4, 1, 0, 0], [1, 2, 3, 1]], dtype=uint8))
    >>> alphabet.text(np.array([4, 1, 0, 0]))
    '�a'
    """

    letters: str
    length: int

    def __post_init__(self) -> None:
        _check_letters(self.letters)
        if not 1 <= self.length <= 255:
            raise ParameterError("Words must have from 1 to 255 letters.", found=self.length, fix=Fix("length", 8))

    @property
    def symbols(self) -> int:
        """The number of symbols, with the end and the one for other letters."""
        return len(self.letters) + 2

    def words(self, texts: Iterable[str]) -> Words:
        """Return texts as rows of symbols. Longer texts are cut off."""
        code = {letter: i for i, letter in enumerate(self.letters, start=1)}
        listed = list(texts)
        found = np.zeros((len(listed), self.length), np.uint8)
        for row, text in zip(found, listed, strict=True):
            symbols = [code.get(letter, len(code) + 1) for letter in text[: self.length]]
            row[: len(symbols)] = symbols
        return found

    def text(self, word: Sequence[int] | NDArray[np.integer]) -> str:
        """Return a row of symbols as text."""
        shown = "\0" + self.letters + OTHER
        return "".join(shown[int(symbol)] for symbol in word).rstrip("\0")


def _check_letters(letters: object) -> None:
    if isinstance(letters, str) and 1 <= len(set(letters)) == len(letters) <= 250 and "\0" not in letters:
        return
    raise ParameterError(
        "An alphabet must be a text of 1 to 250 letters, each once, without the zero character.",
        fix=Fix("letters", "abcdefghijklmnopqrstuvwxyz"),
    )


@dataclass(frozen=True)
class Found:
    """A word that was found, with its frequency."""

    text: str
    frequency: float
    standard_error: float


def checked_words(words: Words, symbols: int, length: int) -> Words:
    """Return words, or refuse those of other symbols or of another length before anything is drawn.

    >>> checked_words(np.array([[1, 0]]), symbols=3, length=2).dtype
    dtype('uint8')
    """
    found = np.asarray(words)
    if found.ndim != 2 or found.shape[1] != length or found.dtype.kind not in "iu":
        raise ParameterError(f"Words must be rows of {length} symbols.", fix="Make them with Alphabet.words.")
    if found.size and (int(found.min()) < 0 or int(found.max()) >= symbols):
        raise ParameterError(f"Symbols must be from 0 to {symbols - 1}.", fix="Make words with Alphabet.words.")
    return found.astype(np.uint8)


def hashed(rows: Words, prefix: bytes) -> Fingerprints:
    """Return the fingerprints of rows of symbols after a prefix; equal rows are hashed once."""
    if not len(rows):
        return np.zeros((0, 2), np.uint64)
    unique, where = np.unique(rows, axis=0, return_inverse=True)
    return fingerprints(prefix + row.tobytes() for row in unique)[where.reshape(-1)]


def extended(starts: Words, symbols: int, step: int) -> Words:
    """Return every start with every continuation of so many symbols. Only the end follows the end."""
    tails = np.stack(np.unravel_index(np.arange(symbols**step), (symbols,) * step), axis=1).astype(np.uint8)
    tails = tails[((tails[:, :-1] > 0) | (tails[:, 1:] == 0)).all(1)]
    longer = np.hstack([np.repeat(starts, len(tails), axis=0), np.tile(tails, (len(starts), 1))])
    width = starts.shape[1]
    if width == 0:
        return longer
    ended = longer[:, width - 1] == 0
    kept: Words = longer[~ended | (longer[:, width:] == 0).all(1)]
    return kept


def significant(found: Estimate, confidence: Rational, most: int, least: float = 0.0) -> NDArray[np.int64]:
    """Return which values are above zero with this confidence for all of them, the largest first.

    By the normal law and Bonferroni's bound, a value that no device holds is among them with probability at most
    alpha = 1 − confidence.

    Args:
        found: The estimates of the candidates.
        confidence: That of the whole list.
        most: The largest number of values to return.
        least: The least share to return; 0 by default.
    """
    alpha = 1 - float(rational(confidence, "confidence", floats="exact"))
    if not 0 < alpha < 1:
        raise ParameterError(
            "The confidence must be between 0 and 1.", found=repr(confidence), fix=Fix("confidence", "0.95")
        )
    threshold = -NormalDist().inv_cdf(alpha / max(len(found.values), 1)) * found.standard_errors
    above = np.flatnonzero(found.values > np.maximum(threshold, least))
    return above[np.argsort(-found.values[above], kind="stable")][:most]
