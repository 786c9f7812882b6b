"""What a question is about: its values, and what a protocol is given for each.

    Labels    a list of texts, or the whole numbers below a size     the place of the value
    Words     texts of the letters of an alphabet, up to a length    its symbols          prefix-tree, fragments
    Texts     any text: an open dictionary                           its fingerprint      cms, hcms, rappor

Places can be listed, and are estimated all at once. Words are found by the server, out of reports on their parts.
Texts are counted for those on a list that is given afterwards: nobody has to know it before.

Every value also has a key, by which it is told from all others of its domain: eight bytes of its place, or the
SHA-256 of its symbols or of its UTF-8. A device settles permanent answers with it. Text is taken as it is: what
looks the same and is spelt otherwise is another text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.errors import ParameterError
from discreet.local.collection.canonical_json import labels_digest
from discreet.local.primitives.hash_family import fingerprints
from discreet.local.protocols.protocol import Coded, Randomiser
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle
from discreet.local.protocols.strings.strings import Alphabet

Value: TypeAlias = str | int | np.integer[Any] | None
WORDS, TEXTS = ("prefix-tree", "fragments"), ("cms", "hcms", "rappor")
"""Protocols for words, and those for texts."""
_SPELT_OUT = 4096  # labels: longer domains are named by their size and hash


@dataclass(frozen=True)
class One:
    """A value as a protocol takes it, in a row of one, and its key."""

    row: Coded
    key: bytes


@dataclass(frozen=True)
class Labels:
    """Values that can be listed: by their labels, by the hash of these, or by nothing but their number."""

    size: int
    labels: tuple[str, ...] | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        if self.labels is None:
            return
        texts = all(isinstance(label, str) for label in self.labels)
        if len(self.labels) != self.size or not texts or len(set(self.labels)) != self.size:
            raise ParameterError(
                f"a domain of {self.size} values has as many labels, all of them text and all different."
            )

    def shape(self, protocol: str) -> int:
        """Return what `for_epsilon` of a protocol takes."""
        if protocol in WORDS:
            raise ParameterError(
                f'{protocol} is for words: leave out domain, and give alphabet=Alphabet("abc…", 8).'
            )
        return self.size

    def fit(self, randomiser: Randomiser) -> None:
        """Refuse a protocol for other values."""
        if randomiser.domain != self.size:
            raise ParameterError(
                f"the protocol is for {randomiser.domain} values, and the domain has {self.size}."
            )

    def check_null(self, null: object) -> None:
        """Refuse a label for what is no value that is none of the labels; of numbers, what is none in decimals.

        Labels that are only named by their hash are looked at when they are known.
        """
        if self.labels is None:
            _check_text(null)
            if self.digest is None and number(str(null), self.size) is None:
                raise ParameterError(
                    f'null={null!r} is no number of the domain: give null="{self.size - 1}", say.'
                )
        elif null not in self.labels:
            raise ParameterError(f"null={null!r} is no label of the domain: add it to the domain.")

    def written(self) -> list[str] | dict[str, str]:
        """Return what a collection's text says."""
        if self.digest is not None:
            return {"size": str(self.size), "sha256": self.digest}
        return {"size": str(self.size)} if self.labels is None else list(self.labels)

    def one(self, value: Value, null: str | None) -> One:
        """Return the place of a value. What is no value is `null`, if there is one."""
        place = self.place(value, null)
        return One(np.array([place], np.int64), place.to_bytes(8, "big"))

    def place(self, value: Value, null: str | None) -> int:
        """Return the number of a value."""
        if self.labels is None:
            if self.digest is not None:
                raise ParameterError("the labels are not in the collection's text: use collection.with_labels(…).")
            if isinstance(value, int | np.integer) and 0 <= value < self.size:
                return int(value)
            if null is not None:
                return int(null)
            raise ParameterError(
                f"values of this domain are whole numbers from 0 to {self.size - 1}. A device that stays silent "
                f'tells that its value is none, so design the collection with a number for it: null="0".'
            )
        if value in self.labels:
            return self.labels.index(value)
        if null is not None:
            return self.labels.index(null)
        raise ParameterError(
            "the value is not in the domain. A device that stays silent tells that, so design the collection with "
            'a label for it: null="something else".'
        )


@dataclass(frozen=True)
class Words:
    """Texts of the letters of an alphabet. Longer ones are cut off, and other letters are one letter more."""

    alphabet: Alphabet

    def shape(self, protocol: str) -> Alphabet:
        """Return what `for_epsilon` of a protocol takes."""
        if protocol not in WORDS:
            raise ParameterError(f"words are found by {' or '.join(WORDS)}, not by {protocol}.")
        return self.alphabet

    def fit(self, randomiser: Randomiser) -> None:
        """Refuse a protocol for other values."""
        self.shape(randomiser.name)
        mine = (self.alphabet.symbols, self.alphabet.length)
        if isinstance(randomiser, PrefixTree | FragmentPuzzle) and (randomiser.symbols, randomiser.length) != mine:
            raise ParameterError(
                f"the protocol is for words of {randomiser.length} out of {randomiser.symbols} symbols, and the "
                f"alphabet has {mine[0]} symbols for {mine[1]}."
            )

    def check_null(self, null: object) -> None:
        """Refuse what is no text."""
        _check_text(null)

    def written(self) -> dict[str, str]:
        """Return what a collection's text says."""
        return {"letters": self.alphabet.letters, "length": str(self.alphabet.length)}

    def one(self, value: Value, null: str | None) -> One:
        """Return the symbols of a word."""
        row = self.alphabet.words([_text(value, null)])
        return One(row, hashlib.sha256(row.tobytes()).digest())

    def coded(self, texts: Sequence[str]) -> Coded:
        """Return the symbols of many words."""
        return self.alphabet.words(texts)


@dataclass(frozen=True)
class Texts:
    """Any texts at all."""

    def shape(self, protocol: str) -> int:
        """Return what `for_epsilon` of a protocol takes."""
        if protocol not in TEXTS:
            raise ParameterError(
                f"{protocol} is not for an open dictionary: give domain=[…] or a size, or name one of "
                f"{', '.join(TEXTS)}."
            )
        return 0

    def fit(self, randomiser: Randomiser) -> None:
        """Refuse a protocol for other values."""
        self.shape(randomiser.name)
        if randomiser.domain:
            raise ParameterError(
                f"the protocol is for {randomiser.domain} values: for an open dictionary take for_epsilon(0, …)."
            )

    def check_null(self, null: object) -> None:
        """Refuse what is no text."""
        _check_text(null)

    def written(self) -> dict[str, str]:
        """Return what a collection's text says."""
        return {"texts": "utf-8"}

    def one(self, value: Value, null: str | None) -> One:
        """Return the fingerprint of a text."""
        data = utf8(_text(value, null))
        return One(fingerprints([data]), hashlib.sha256(data).digest())

    def coded(self, texts: Sequence[str]) -> Coded:
        """Return the fingerprints of many texts."""
        return fingerprints(utf8(text) for text in texts)


Domain: TypeAlias = Labels | Words | Texts


def domain_for(domain: Sequence[str] | int | None, alphabet: Alphabet | None) -> Domain:
    """Return the domain that a designer means.

    >>> domain_for(["yes", "no"], None).one("no", None).row, domain_for(None, Alphabet("abc", 4)).written()
    (array([1]), {'letters': 'abc', 'length': '4'})
    """
    if alphabet is not None:
        if domain is not None:
            raise ParameterError("words of an alphabet are the domain: leave out domain=….")
        return Words(alphabet)
    if domain is None:
        return Texts()
    if isinstance(domain, int | np.integer):
        return Labels(int(domain))
    if isinstance(domain, str):
        raise ParameterError(f'a domain is a list of texts, such as ["yes", "no"], not {domain!r}.')
    labels = tuple(domain)
    return Labels(len(labels), labels, None if len(labels) <= _SPELT_OUT else labels_digest(labels))


def read_domain(written: list[str] | Mapping[str, Any]) -> Domain:
    """Return the domain that a collection's text says.

    >>> read_domain({"size": "10"})
    Labels(size=10, labels=None, digest=None)
    """
    if isinstance(written, list):
        return Labels(len(written), tuple(written))
    if "letters" in written:
        return Words(Alphabet(written["letters"], int(written["length"])))
    if "texts" in written:
        return Texts()
    return Labels(int(written["size"]), None, written.get("sha256"))


def number(text: str, size: int) -> int | None:
    """Return the whole number below a size that a text is in decimals, with nothing before it; None if it is none.

    >>> number("7", 10), number("07", 10), number("10", 10), number("seven", 10)
    (7, None, None, None)
    """
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(size))):
        return None
    found = int(text)
    return found if found < size and str(found) == text else None


def utf8(text: str) -> bytes:
    """Return a text as bytes; half a pair of UTF-16, which is no letter, as the mark for what cannot be read.

    >>> utf8("é"), utf8("\\ud800")
    (b'\\xc3\\xa9', b'\\xef\\xbf\\xbd')
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _check_text(null: object) -> None:
    if not isinstance(null, str):
        raise ParameterError(f'null is a text, such as "something else", not {null!r}.')


def _text(value: Value, null: str | None) -> str:
    if isinstance(value, str):
        return value
    if null is not None:
        return null
    raise ParameterError(
        "the value is no text. A device that stays silent tells that, so design the collection with a text for "
        'it: null="something else".'
    )
