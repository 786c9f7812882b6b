"""Define the domains of questions, and translate values into what a protocol takes.

    Labels    a list of texts, or the whole numbers below a size     the place of the value
    Words     texts of the letters of an alphabet, up to a length    its symbols          prefix-tree, fragments
    Texts     any text: an open dictionary                           its fingerprint      cms, hcms, rappor

Places can be listed, and are estimated all at once. Words are found by the server, from reports on their parts.
Texts are counted for a list of candidates, which the analyst may give after the collection.

Every value also has a key that distinguishes it from all others of its domain: eight bytes of its place, or the
SHA-256 of its symbols or of its UTF-8. A device derives permanent answers from it. Text is not normalised: two
texts that look the same and differ in their characters are two values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.errors import Code, Fix, ParameterError
from discreet.local.collection.canonical_json import labels_digest
from discreet.local.primitives.hash_family import fingerprints
from discreet.local.protocols.protocol import Coded, Randomiser
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle
from discreet.local.protocols.strings.strings import Alphabet

Value: TypeAlias = str | int | np.integer[Any] | None
WORDS, TEXTS = ("prefix-tree", "fragments"), ("cms", "hcms", "rappor")
"""Protocols for words, and those for texts."""
_MOST_LISTED = 4096  # labels in a text: it has only the size and the hash of longer domains
_SILENCE = "and a device that stays silent reveals that."
_DESIGNED = "in the design of the collection"


@dataclass(frozen=True)
class One:
    """A value as a protocol takes it, in a row of one, and its key."""

    row: Coded
    key: bytes


@dataclass(frozen=True)
class Labels:
    """Values that can be listed: by their labels, by the hash of the labels, or by their number alone."""

    size: int
    labels: tuple[str, ...] | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        if self.labels is None:
            return
        texts = all(isinstance(label, str) for label in self.labels)
        if len(self.labels) != self.size or not texts or len(set(self.labels)) != self.size:
            raise ParameterError(
                f"A domain of {self.size} values must have {self.size} labels, all texts and all different.",
                fix="Remove duplicates, and write each label as a text.",
            )

    def shape(self, protocol: str) -> int:
        """Return what `for_epsilon` of a protocol takes."""
        if protocol in WORDS:
            raise ParameterError(
                f"The protocol {protocol} is for words of an alphabet, not for a domain.",
                fix=Fix(
                    "alphabet", Code('Alphabet("abcdefghijklmnopqrstuvwxyz", length=8)'), note="instead of domain"
                ),
            )
        return self.size

    def fit(self, randomiser: Randomiser) -> None:
        """Refuse a protocol for other values."""
        if randomiser.domain != self.size:
            raise ParameterError(
                f"The protocol is for {randomiser.domain} values, and the domain has {self.size}.",
                fix="Make the protocol for as many values as the domain has.",
            )

    def check_null(self, null: object) -> None:
        """Refuse a null that is not a label of the domain, or not one of its numbers in decimals.

        If the text has only the hash of the labels, null is checked when the labels are known.
        """
        if self.labels is None:
            _check_text(null)
            if self.digest is None and number(str(null), self.size) is None:
                raise ParameterError(
                    "null is not a number of the domain.", found=repr(null), fix=Fix("null", str(self.size - 1))
                )
        elif null not in self.labels:
            raise ParameterError(
                "null is not a label of the domain.",
                found=repr(null),
                fix=[Fix("null", self.labels[-1]), "Or add the label to the domain."],
            )

    def written(self) -> list[str] | dict[str, str]:
        """Return what a collection's text states."""
        if self.digest is not None:
            return {"size": str(self.size), "sha256": self.digest}
        return {"size": str(self.size)} if self.labels is None else list(self.labels)

    def one(self, value: Value, null: str | None) -> One:
        """Return the place of a value, or of `null` for a value outside the domain."""
        place = self.place(value, null)
        return One(np.array([place], np.int64), place.to_bytes(8, "big"))

    def place(self, value: Value, null: str | None) -> int:
        """Return the number of a value."""
        if self.labels is None:
            if self.digest is not None:
                raise ParameterError(
                    "The text of the collection has only the hash of the labels.",
                    fix=Fix("labels", Code("labels"), call="collection.with_labels"),
                )
            if isinstance(value, int | np.integer) and 0 <= value < self.size:
                return int(value)
            if null is not None:
                return int(null)
            raise ParameterError(
                f"The value is not a whole number from 0 to {self.size - 1}, {_SILENCE}",
                fix=Fix("null", "0", note=_DESIGNED),
            )
        if value in self.labels:
            return self.labels.index(value)
        if null is not None:
            return self.labels.index(null)
        raise ParameterError(
            f"The value is not in the domain, {_SILENCE}",
            fix=Fix("null", "something else", note=f"a label of the domain, {_DESIGNED}"),
        )


@dataclass(frozen=True)
class Words:
    """Texts of the letters of an alphabet. Longer ones are cut off; one symbol stands for all other letters."""

    alphabet: Alphabet

    def shape(self, protocol: str) -> Alphabet:
        """Return what `for_epsilon` of a protocol takes."""
        if protocol not in WORDS:
            raise ParameterError(
                f"The protocol {protocol} does not find words of an alphabet.",
                fix=[Fix("protocol", each) for each in WORDS],
            )
        return self.alphabet

    def fit(self, randomiser: Randomiser) -> None:
        """Refuse a protocol for other values."""
        self.shape(randomiser.name)
        mine = (self.alphabet.symbols, self.alphabet.length)
        if isinstance(randomiser, PrefixTree | FragmentPuzzle) and (randomiser.symbols, randomiser.length) != mine:
            raise ParameterError(
                f"The protocol is for words of {randomiser.length} out of {randomiser.symbols} symbols; the "
                f"alphabet is for words of {mine[1]} out of {mine[0]}.",
                fix=Fix("protocol", randomiser.name, note="with epsilon"),
            )

    def check_null(self, null: object) -> None:
        """Refuse what is not a text."""
        _check_text(null)

    def written(self) -> dict[str, str]:
        """Return what a collection's text states."""
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
                f"The protocol {protocol} is not for an open dictionary.",
                fix=[Fix("domain", ["yes", "no"]), *(Fix("protocol", each) for each in TEXTS)],
            )
        return 0

    def fit(self, randomiser: Randomiser) -> None:
        """Refuse a protocol for other values."""
        self.shape(randomiser.name)
        if randomiser.domain:
            raise ParameterError(
                f"The protocol is for {randomiser.domain} values, not for an open dictionary.",
                fix=Fix("domain", 0, call=f"{type(randomiser).__name__}.for_epsilon"),
            )

    def check_null(self, null: object) -> None:
        """Refuse what is not a text."""
        _check_text(null)

    def written(self) -> dict[str, str]:
        """Return what a collection's text states."""
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
    """Return the domain for what a designer gave.

    >>> domain_for(["yes", "no"], None).one("no", None).row, domain_for(None, Alphabet("abc", 4)).written()
    (array([1]), {'letters': 'abc', 'length': '4'})
    """
    if alphabet is not None:
        if domain is not None:
            raise ParameterError("Give an alphabet or a domain, not both.", fix="Leave out the domain.")
        return Words(alphabet)
    if domain is None:
        return Texts()
    if isinstance(domain, int | np.integer):
        return Labels(int(domain))
    if isinstance(domain, str):
        raise ParameterError(
            "A domain must be a list of texts.", found=repr(domain), fix=Fix("domain", ["yes", "no"])
        )
    labels = tuple(domain)
    return Labels(len(labels), labels, None if len(labels) <= _MOST_LISTED else labels_digest(labels))


def read_domain(written: list[str] | Mapping[str, Any]) -> Domain:
    """Return the domain that a collection's text states.

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
    """Return the number below a size that a text is in canonical decimals; None if it is not one.

    >>> number("7", 10), number("07", 10), number("10", 10), number("seven", 10)
    (7, None, None, None)
    """
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(size))):
        return None
    found = int(text)
    return found if found < size and str(found) == text else None


def utf8(text: str) -> bytes:
    """Return a text as bytes; half a surrogate pair of UTF-16 becomes the replacement character.

    >>> utf8("é"), utf8("\\ud800")
    (b'\\xc3\\xa9', b'\\xef\\xbf\\xbd')
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _check_text(null: object) -> None:
    if not isinstance(null, str):
        raise ParameterError("null must be a text.", found=repr(null), fix=Fix("null", "something else"))


def _text(value: Value, null: str | None) -> str:
    if isinstance(value, str):
        return value
    if null is not None:
        return null
    raise ParameterError(f"The value is not a text, {_SILENCE}", fix=Fix("null", "something else", note=_DESIGNED))
