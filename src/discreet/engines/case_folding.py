"""Small and capital letters, the same for every engine.

Engines disagree about which letters are one but for their case (ς and σ, ß and ẞ, İ and i, K and the Kelvin sign),
and a database in addition goes by the locale it was made with. So none of them is asked. Signs are folded here one
by one, as Unicode's simple case folding has it: what would fold to several signs (ﬁ, İ) stays as it is, and a text
stays as long as it was. An engine only puts one sign for another.
"""

from __future__ import annotations

from functools import lru_cache

_LAST = 0x1E922  # no sign from here on has a case; a test looks at them all


def folded(text: str) -> str:
    """Return a text in which letters that differ in case only are the same.

    >>> folded("STRAẞE ΣΑΣ ﬁ") == "straße σασ ﬁ"
    True
    """
    return "".join(map(_folded, text))


def capitals(text: str) -> dict[str, str]:
    """Return the signs other than itself that fold to a sign of a folded text, with what they fold to.

    >>> capitals("on 7 %")
    {'N': 'n', 'O': 'o'}
    """
    return {sign: small for small in sorted(set(text)) for sign in _capitals().get(small, ())}


def _folded(sign: str) -> str:
    for small in (sign.casefold(), sign.lower()):
        if len(small) == 1:
            return small
    return sign


@lru_cache(1)
def _capitals() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for sign in map(chr, range(_LAST)):
        small = _folded(sign)
        if small != sign:
            found.setdefault(small, []).append(sign)
    return found
