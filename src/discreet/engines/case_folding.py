"""Fold upper and lower case in the same way for every engine.

Engines disagree about which letters differ only in case (ς and σ, ß and ẞ, İ and i, K and the Kelvin sign), and a
database also depends on its locale. So engines do not fold. Characters are folded here one by one, by Unicode's
simple case folding: a character that would fold to several (ﬁ, İ) stays as it is, so a string keeps its length. An
engine only replaces single characters.
"""

from __future__ import annotations

from functools import lru_cache

_LAST = 0x1E922  # no character from here on has a case; a test checks all of them


def folded(text: str) -> str:
    """Return a string in which letters that differ only in case are equal.

    >>> folded("STRAẞE ΣΑΣ ﬁ") == "straße σασ ﬁ"
    True
    """
    return "".join(map(_folded, text))


def capitals(text: str) -> dict[str, str]:
    """Return the other characters that fold to a character of a folded string, with what they fold to.

    >>> capitals("on 7 %")
    {'N': 'n', 'O': 'o'}
    """
    return {character: small for small in sorted(set(text)) for character in _capitals().get(small, ())}


def _folded(character: str) -> str:
    for small in (character.casefold(), character.lower()):
        if len(small) == 1:
            return small
    return character


@lru_cache(1)
def _capitals() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for character in map(chr, range(_LAST)):
        small = _folded(character)
        if small != character:
            found.setdefault(small, []).append(character)
    return found
