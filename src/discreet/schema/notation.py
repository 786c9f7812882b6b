"""Read numbers and dates that are written in another notation: 71,86 and 1.234,50; 26.12.2025 and 12/26/2025.

A notation is declared with a column: `decimal` and `thousands` for numbers, `format` for dates and times. It is
used for texts only; numbers and dates that a source declares as such are read as they are. A text that is not in
the notation is unreadable, and never guessed: with decimal="," the text 71.86 is no number.

A text in the notation is rewritten as the casts read it (`discreet.schema.casts`), by regular expressions that all
engines read alike: classes of characters, counts, and groups. So all engines read the same value from a text.

    %d day   %m month   %Y year, four digits   %y year, two digits (69 is 1969, 68 is 2068)
    %b month by its English name, short or long   %H hour   %M minute   %S second   %f fraction of a second
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.engines import nodes, sql_writer
from discreet.errors import Fix, ParameterError
from discreet.schema.casts import Family, choose

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

SPACES = " \u00a0\u202f"
"""What thousands=" " stands for: blanks that do not break a line are common between digits."""

_BLANKS = "[ \t\r\n]*"
_DIGITS = {"d": 2, "m": 2, "Y": 4, "y": 2, "H": 2, "M": 2, "S": 2, "f": 6}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TOKEN = re.compile(r"%(.)|( +)|(.)", re.DOTALL)
_KNOWN = "%d, %m, %Y, %y, %b, %H, %M, %S and %f"


def check_format(written: str | None) -> None:
    """Refuse a format that does not name a day, a month and a year, each once.

    >>> check_format("%d.%m.%Y")
    """
    if written is None:
        return
    example = Fix("format", "%d.%m.%Y")
    if not isinstance(written, str):
        raise ParameterError("The format of a date must be a text.", found=repr(written), fix=example)
    found = ["b" if token == "B" else token for token, _, _ in _TOKEN.findall(written) if token not in ("", "%")]
    unknown = [token for token in found if token not in (*_DIGITS, "b")]
    if unknown:
        raise ParameterError(
            f"The format of a date knows {_KNOWN}.", found=f"%{unknown[0]} in {written!r}", fix=example
        )
    kinds = ["m" if token == "b" else token.replace("y", "Y") for token in found]
    if any(kinds.count(part) != 1 for part in "dmY") or len(set(kinds)) < len(kinds):
        raise ParameterError(
            "The format of a date must name the day, the month and the year, each once.",
            found=repr(written),
            fix=example,
        )


def check_marks(decimal: str | None, thousands: str | None) -> None:
    """Refuse marks that could not be told from digits, signs or each other.

    >>> check_marks(",", ".")
    """
    for name, mark in (("decimal", decimal), ("thousands", thousands)):
        if mark is not None and not (_is_mark(mark)):
            raise ParameterError(
                f"The {name} mark of numbers must be one character, and no digit, letter or sign.",
                found=repr(mark),
                fix=Fix(name, "," if name == "decimal" else "."),
            )
    if decimal is not None and decimal == thousands:
        raise ParameterError(
            "The decimal mark and the thousands mark must differ.",
            found=f"{decimal!r} and {thousands!r}",
            fix=[Fix("decimal", ","), Fix("thousands", None)],
        )


def number(value: Expression, decimal: str | None, thousands: str | None) -> Expression:
    """Return a text in a notation as a text with a decimal point alone; NULL if it is not in the notation."""
    decimal = decimal or ("," if thousands == "." else ".")
    point = _class(decimal)
    whole = "[0-9]+"
    if thousands is not None:
        group = f"[{SPACES}]" if thousands == " " else _class(thousands)
        whole = f"([0-9]+|[0-9]{{1,3}}({group}[0-9]{{3}})+)"
    digits = f"({whole}({point}[0-9]*)?|{point}[0-9]+)"
    pattern = f"^{_BLANKS}[-+]?{digits}([eE][-+]?[0-9]{{1,4}})?{_BLANKS}$"
    plain = value
    for mark in "" if thousands is None else SPACES if thousands == " " else thousands:
        plain = sql_writer.function("REPLACED", plain, sql_writer.text(mark), sql_writer.text(""))
    if decimal != ".":
        plain = sql_writer.function("REPLACED", plain, sql_writer.text(decimal), sql_writer.text("."))
    return choose([(_matches(value, pattern), plain)], nodes.Null())


def moment(value: Expression, written: str) -> Expression:
    """Return a text in the format as 2025-12-26 or 2025-12-26 13:45:00; NULL if it is not in the format."""
    branches = [(_matches(value, pattern), _iso(value, pattern, parts)) for pattern, parts in _ways(written)]
    return choose(branches, nodes.Null())


def is_text(family: Family) -> bool:
    """Return whether values of a family are read by a notation.

    >>> is_text("text"), is_text("float")
    (True, False)
    """
    return family in ("text", "other")


def as_text(value: Expression, family: Family) -> Expression:
    """Return the value as text, compared by its characters."""
    written = sql_writer.cast(value, "TEXT", gently=True, of=family)
    return sql_writer.function("BINARY", value if family == "text" else written)


def _ways(written: str) -> Iterator[tuple[str, dict[str, int | str]]]:
    """Yield patterns for a format, and for each the group, or the text, of every part of a date.

    A year of two digits is one of two centuries, and a month by name is one of twelve.
    """
    tokens = _TOKEN.findall(written)
    named = any(token in ("b", "B") for token, _, _ in tokens)
    short = any(token == "y" for token, _, _ in tokens)
    for month in range(1, 13) if named else (0,):
        for century in ("19", "20") if short else ("",):
            pattern, parts, group = "", dict[str, int | str](), 0
            for i, (token, blanks, other) in enumerate(tokens):
                if token in ("b", "B"):
                    pattern, parts["m"] = pattern + _name(_MONTHS[month - 1]), f"{month:02}"
                    group += "(" in _name(_MONTHS[month - 1])  # the end of a long name is a group, too
                elif token == "y":
                    group, parts["century"] = group + 1, century
                    pattern += "(69|[7-9][0-9])" if century == "19" else "([0-5][0-9]|6[0-8])"
                    parts["Y"] = group
                elif token in _DIGITS:
                    group += 1
                    pattern += f"([0-9]{_count(tokens, i)})"
                    parts[token] = group
                else:
                    pattern += " +" if blanks else _class(other or token)
            yield f"^{_BLANKS}{pattern}{_BLANKS}$", parts


def _count(tokens: list[tuple[str, str, str]], at: int) -> str:
    """Return how many digits a part has: exactly so many where no other character separates it from the next."""
    digits = _DIGITS[tokens[at][0]]
    beside = [tokens[i][0] for i in (at - 1, at + 1) if 0 <= i < len(tokens)]
    fixed = digits == 4 or any(token in (*_DIGITS, "y") for token in beside)
    return f"{{{digits}}}" if fixed else f"{{1,{digits}}}"


def _iso(value: Expression, pattern: str, parts: dict[str, int | str]) -> Expression:
    def part(name: str) -> Expression:
        found = parts[name]
        if isinstance(found, str):
            return sql_writer.text(found)
        return sql_writer.function("GROUP", value, sql_writer.text(pattern), nodes.Int(found))

    pieces = [sql_writer.text(str(parts.get("century", ""))), part("Y")]
    for mark, name in (("-", "m"), ("-", "d"), (" ", "H"), (":", "M"), (":", "S"), (".", "f")):
        if name in parts:
            pieces += [sql_writer.text(mark), part(name)]
        elif name in "HMS" and any(later in parts for later in "HMSf"):
            pieces.append(sql_writer.text(f"{mark}00"))
    return sql_writer.function("JOINED", *pieces)


def _is_mark(mark: object) -> bool:
    return isinstance(mark, str) and len(mark) == 1 and not mark.isalnum() and mark not in '+-"\n\r'


def _matches(value: Expression, pattern: str) -> Expression:
    return sql_writer.function("MATCHES", value, sql_writer.text(pattern))


def _class(char: str) -> str:
    """Return a pattern for one character, which no engine reads as anything else."""
    return f"\\{char}" if char in "^\\]" else char if char.isalnum() else f"[{char}]"


def _name(month: str) -> str:
    """Return a pattern for the name of a month, short or long, in any capitals."""
    spelled = [f"[{char.upper()}{char}]" for char in month]
    return f"{''.join(spelled[:3])}({''.join(spelled[3:])})?[.]?" if len(month) > 3 else "".join(spelled)
