"""Suggest the notation of a column from texts that could not be read: a format for dates, marks for numbers.

The suggestion is shown to the curator with those texts, and is never applied by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DATES = {
    "%d.%m.%Y": r"(\d{1,2})\.(\d{1,2})\.\d{4}",
    "%d.%m.%y": r"(\d{1,2})\.(\d{1,2})\.\d{2}",
    "%d/%m/%Y": r"(\d{1,2})/(\d{1,2})/\d{4}",
    "%d-%m-%Y": r"(\d{1,2})-(\d{1,2})-\d{4}",
    "%m/%d/%Y": r"(\d{1,2})/(\d{1,2})/\d{4}",
    "%m-%d-%Y": r"(\d{1,2})-(\d{1,2})-\d{4}",
    "%d %b %Y": r"(\d{1,2}) +[A-Za-z]{3,9}\.? +\d{4}",
    "%b %d, %Y": r"[A-Za-z]{3,9}\.? +(\d{1,2}), +\d{4}",
    "%Y%m%d": r"\d{4}(\d{2})(\d{2})",
}
_CLOCKS = {"": "", " %H:%M": r" +\d{1,2}:\d{2}", " %H:%M:%S": r" +\d{1,2}:\d{2}:\d{2}"}
_NUMBERS = {
    'decimal = ","': r"[-+]?\d+,\d+",
    'decimal = "," and thousands = "."': r"[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d*)?",
    'thousands = ","': r"[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d*)?",
    'decimal = "," and thousands = " "': r"[-+]?(\d+|\d{1,3}([ \u00a0\u202f]\d{3})+)(,\d*)?",
}


def suggestion(kind: str, texts: Sequence[str]) -> str:
    """Return the notation that fits most texts, as a line of a schema file; an empty text if there is none.

    >>> suggestion("date", ["26.12.2025", "1.2.2025"]), suggestion("number", ["71,86"])
    ('format = "%d.%m.%Y"', 'decimal = ","')
    >>> suggestion("date", ["12/26/2025"]), suggestion("number", ["n/a"])
    ('format = "%m/%d/%Y"', '')
    """
    trimmed = [text.strip() for text in texts]
    fitting: dict[str, int] = {}
    if kind == "number":
        fitting = {words: _fitting(pattern, trimmed) for words, pattern in _NUMBERS.items()}
    elif kind in ("date", "datetime"):
        fitting = {
            f'format = "{day}{clock}"': _fitting(pattern + more, trimmed)
            for day, pattern in _DATES.items()
            for clock, more in _CLOCKS.items()
            if _possible(day, pattern + more, trimmed)
        }
    best = max(fitting, key=lambda words: fitting[words], default="")
    return best if 2 * fitting.get(best, 0) > len(trimmed) else ""


def other_dates(kind: str, texts: Sequence[str]) -> bool:
    """Return whether unreadable texts of a column of dates are dates, in notations that it does not declare.

    >>> other_dates("date", ["11/30/2025", "2025-12-14"]), other_dates("date", ["n/a", "2025-12-14"])
    (True, False)
    """
    if kind not in ("date", "datetime") or not texts:
        return False
    days = "|".join([*_DATES.values(), r"\d{4}-\d{1,2}-\d{1,2}"])
    return _fitting(rf"({days})([ T]+\d{{1,2}}:\d{{2}}(:\d{{2}})?)?", [text.strip() for text in texts]) == len(
        texts
    )


def _fitting(pattern: str, texts: Sequence[str]) -> int:
    """Return how many texts are written so."""
    return sum(re.fullmatch(pattern, text) is not None for text in texts)


def _possible(day: str, pattern: str, texts: Sequence[str]) -> bool:
    """Return whether no text has a month above 12, where the format has days and months in digits."""
    order = re.findall(r"%([dm])", day)
    if "m" not in order:
        return True
    found = (re.fullmatch(pattern, text) for text in texts)
    return all(int(match[order.index("m") + 1]) <= 12 for match in found if match)
