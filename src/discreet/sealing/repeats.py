"""Tell which persons have no text twice, so that questions about texts need not gather their rows by person.

Claim. If `differ` is true for a person with at most K rows and for a column, no two of these rows have the same
text there. The reverse does not hold: such a person is counted the long way
(`discreet.engines.statement.Rows.persons`). A missing text is a text like others. Every row notes some bits of the
hashes of its texts, and the numbers that these bits are are added up for each person:

    K = 2    every second bit of a part of the hash. The sum of two such numbers has these bits of their XOR, which
             are 0 for equal texts.
    K > 2    the one bit that the hash chooses. A sum of n powers of 2 has n bits only if they are all different.

For K = 2 four columns share a word of 64 bits: one word is added up in less time than four. No sum of two numbers
leaves the part of its column. Sums of more rows do, but then the person has more than K.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.engines.dialects import DIALECTS
from discreet.schema.metadata import TableMetadata

if TYPE_CHECKING:
    from discreet.sealing.backends import Backend

_WORD = 64
_SHARED = 4  # columns, in one word
_HALF = 0x5555  # every second bit of their parts


@dataclass(frozen=True)
class Repeats:
    """The text columns of which rows note bits, and the number of rows that a person may have (K).

    >>> Repeats(("c0", "c2"), 3).differ("c2")
    'COALESCE(bit_count(bits1) = n, false)'
    """

    texts: tuple[str, ...] = ()
    allowed: int = 1

    @classmethod
    def of(cls, metadata: TableMetadata, dialect: str) -> Repeats:
        """Return what is noted of a table: nothing if a person has one row, or if the engine cannot tell."""
        texts = tuple(f"c{i}" for i, column in enumerate(metadata.columns.values()) if column.kind == "text")
        allowed = metadata.rows_per_person
        if metadata.person is None or allowed == 1 or not DIALECTS[dialect].columnar:
            return cls()
        return cls(texts, allowed)

    def noted(self, query: str) -> str:
        """Return the query for rows of codes, with the bits of their texts."""
        if not self.texts:
            return query
        words: dict[str, list[str]] = {word: [] for word in self.words}
        for code in self.texts:
            word, first = self._place(code)
            words[word].append(self._bits(code, first))
        bits = (f"{' | '.join(each)} AS {word}" for word, each in words.items())
        return f"SELECT coded.*, {', '.join(bits)} FROM ({query}) AS coded"

    @property
    def gathered(self) -> list[str]:
        """What SQL gathers of the rows of a person: XOR and OR tell of single bits what a sum does."""
        return [f"bit_{'xor' if self.allowed == 2 else 'or'}({word}) AS {word}" for word in self.words]

    @property
    def words(self) -> list[str]:
        """The columns of bits."""
        return list(dict.fromkeys(self._place(code)[0] for code in self.texts))

    def differ(self, code: str) -> str:
        """Return SQL that is true only for persons, with at most K rows, whose texts are all different."""
        word, first = self._place(code)
        proven = (
            f"n = 1 OR (({word} >> {first}) & {_HALF}) <> 0" if self.allowed == 2 else f"bit_count({word}) = n"
        )
        return f"COALESCE({proven}, false)"

    def chosen(self, backend: Backend, persons: str) -> dict[str, int]:
        """Return columns in which few persons may have a text twice, and how many: at most half, of all columns.

        The rows of such persons are stored apart from those of the others, which most rows should be among.

        Args:
            backend: The engine that holds the persons.
            persons: Their name after FROM. Those with more than K rows are left out.
        """
        if not self.texts:
            return {}
        differ = ", ".join(f"COUNT(*) FILTER ({self.differ(code)})" for code in self.texts)
        ((size, *counts),) = backend.answer(f"SELECT COUNT(*), {differ} FROM {persons} WHERE n <= {self.allowed}")
        failing = sorted((size - count, code) for count, code in zip(counts, self.texts, strict=True))
        sums = accumulate(count for count, _ in failing)
        return {code: count for (count, code), together in zip(failing, sums, strict=True) if 2 * together <= size}

    def _bits(self, code: str, first: int) -> str:
        """Return what a row notes of a text. A hash is never NULL, not even that of NULL."""
        if self.allowed == 2:
            return f"((hash({code}) & {_HALF}) << {first})"
        return f"(CAST(1 AS UBIGINT) << (hash({code}) & {_WORD - 1}))"

    def _place(self, code: str) -> tuple[str, int]:
        """Return the word of a column, and its first bit there."""
        place = self.texts.index(code)
        if self.allowed > 2:
            return f"bits{place}", 0
        return f"bits{place // _SHARED}", place % _SHARED * (_WORD // _SHARED)
