"""Guess the type and the bounds of a column from its name, for the curator to confirm.

A guess uses the name of a column and nothing else, so it tells nothing about the rows: an age is 0 to 110 in every
table. The words are those of common English and German tables; a name that holds none of them is left open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Guess:
    """A guessed type, with the bounds and the step that it needs."""

    type: str
    bounds: tuple[Any, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a schema file.

        >>> Guess("real", (0, 1000, "0.01")).fields
        {'type': 'real', 'lo': 0, 'hi': 1000, 'step': '0.01'}
        """
        return {"type": self.type, **dict(zip(("lo", "hi", "step"), self.bounds, strict=False))}


_DAYS = ("2000-01-01", "2039-12-31")
_WORDS: dict[str, Guess] = {
    "age alter alder": Guess("integer", (0, 110)),
    "year jahr baujahr yr": Guess("integer", (1900, 2100)),
    "month monat": Guess("integer", (1, 12)),
    "weekday wochentag dow": Guess("integer", (0, 7)),
    "hour stunde": Guess("integer", (0, 23)),
    "percent percentage pct prozent anteil": Guess("real", (0, 100, "0.1")),
    "latitude lat": Guess("real", (-90, 90, "0.01")),
    "longitude lon lng": Guess("real", (-180, 180, "0.01")),
    "temperature temperatur": Guess("real", (-50, 60, "0.1")),
    "salary income wage wages gehalt einkommen lohn": Guess("real", (0, 200_000, 10)),
    "price amount cost costs paid payment fee fare betrag preis kosten summe umsatz spend": Guess(
        "real", (0, 1000, "0.01")
    ),
    "minutes minuten duration dauer": Guess("real", (0, 240, "0.5")),
    "count anzahl quantity qty menge visits children kinder": Guess("integer", (0, 100)),
    "height groesse": Guess("real", (0, 250, 1)),
    "weight gewicht": Guess("real", (0, 300, "0.5")),
    "birthday birthdate birth dob geburtsdatum geburtstag": Guess("date", ("1900-01-01", "2039-12-31")),
    "date datum day tag": Guess("date", _DAYS),
    "timestamp datetime zeitpunkt created updated": Guess("datetime", (*_DAYS, "1h")),
    "is has active aktiv flag member mitglied": Guess("boolean"),
}
_BY_WORD = {word: guess for words, guess in _WORDS.items() for word in words.split()}
_PERSON = {
    *("id", "uuid", "user", "person", "customer", "patient", "client", "member", "email", "mail", "phone"),
    *("kunde", "kundin", "kundennummer", "nutzer", "telefon"),
}


_ENDS = ("datum", "betrag", "preis", "kosten", "jahr", "anzahl", "menge", "dauer", "gehalt")  # of German words


def words(name: str) -> list[str]:
    """Return the words of a column name.

    >>> words("birthYear"), words("total_amount (EUR)")
    (['birth', 'year'], ['total', 'amount', 'eur'])
    """
    parted = re.sub(r"([a-zäöüß])([A-ZÄÖÜ])", r"\1 \2", name)
    return [word.lower() for word in re.split(r"[\W_]+", parted) if word]


def guess(name: str) -> Guess | None:
    """Return a guess for a column; None if its name says nothing.

    The last word counts most: a birth year is a year.

    >>> guess("birth_year"), guess("hour of day"), guess("colour")
    (Guess(type='integer', bounds=(1900, 2100)), Guess(type='integer', bounds=(0, 23)), None)
    """
    found = [_BY_WORD[word] for word in words(name) if word in _BY_WORD]
    if not found:
        return next((_BY_WORD[end] for word in words(name) for end in _ENDS if word.endswith(end)), None)
    if "of" in words(name):  # the hour of the day is an hour
        return found[0]
    return found[-1]


def may_identify(name: str) -> bool:
    """Return whether a name is usual for a column that identifies a person.

    >>> may_identify("user_id"), may_identify("age")
    (True, False)
    """
    return bool(_PERSON & set(words(name)))
