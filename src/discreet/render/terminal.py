"""Lay out text for a terminal: safe characters, wrapped lines, aligned columns, tables.

Names and labels come from outside. Characters that move the cursor or turn the direction of the line are written
as escapes. Widths are counted in terminal cells: a wide character takes two.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from discreet.render.numbers import NOTHING, UNKNOWN, Shown

_LONGEST = 28  # cells of a key
_GAP = "  "


def plain(text: str) -> str:
    """Return text that a terminal shows as it is: control characters are written as escapes.

    >>> plain("a\\x1b[2Jb\\u202ec")
    'a\\\\x1b[2Jb\\\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def wrapped(text: str, width: int) -> list[str]:
    """Return text in lines of at most this width, safe for a terminal. An amount is never split.

    >>> wrapped("it cost ε = 0.1", 12)
    ['it cost', 'ε = 0.1']
    """
    whole = re.sub(r"([εδρ]) = ([^ ;,]+)", "\\1\x1f=\x1f\\2", plain(" ".join(text.split())))
    return [line.replace("\x1f", " ") for line in textwrap.wrap(whole, width)] or [""]


def width(text: str) -> int:
    """Return the number of terminal cells that a text takes.

    >>> width("Oslo"), width("東京")
    (4, 4)
    """
    from rich.cells import cell_len

    return cell_len(text)


def aligned(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts flush left, all of one width and safe for a terminal; longer ones are cut.

    >>> aligned(["Oslo", "Kristiansand"], 8)
    ['Oslo    ', 'Kristia…']
    """
    shown = [_cut(text, longest) for text in texts]
    widest = max(map(width, shown))
    return [text + " " * (widest - width(text)) for text in shown]


def right_aligned(texts: Sequence[str], *, points: bool = False) -> list[str]:
    """Return texts flush right; with `points`, units stand below units.

    >>> right_aligned(["1.5", "20"], points=True)
    [' 1.5', '20  ']
    """
    if points:
        tails = [len(text.partition(".")[2]) + ("." in text) for text in texts]
        texts = [text + " " * (max(tails) - tail) for text, tail in zip(texts, tails, strict=True)]
    widest = max(map(width, texts), default=0)
    return [" " * (widest - width(text)) + text for text in texts]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of text as lines with columns flush left, two blanks apart.

    >>> table([("city", "rows"), ("Oslo", "12")])
    ['city  rows', 'Oslo  12']
    """
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def paragraph(name: str, text: str, indent: int, total: int) -> list[str]:
    """Return a name and, beside it, a text that is wrapped.

    Args:
        name: The name, cut to fit its column.
        text: The text.
        indent: The width of the column of names.
        total: The width of a line.

    >>> paragraph("Unit", "one person: all rows with the same id", 6, 34)
    ['  Unit    one person: all rows', '          with the same id']
    """
    label = f"  {textwrap.shorten(plain(name), indent, placeholder='…')}"
    first, *rest = wrapped(text, max(20, total - indent - 4))
    return [f"{label:<{indent + 4}}{first}", *(" " * (indent + 4) + line for line in rest)]


# -- columns of numbers -----------------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column to show: its heading, its cells, and whether they are numbers or keys."""

    name: str
    cells: list[Shown]
    number: bool


def blocks(columns: Sequence[Column], room: int) -> list[list[str]]:
    """Lay columns out side by side in this width. Columns that do not fit go below, under the same keys.

    >>> cities = Column("city", [Shown("Oslo", "")], number=False)
    >>> blocks([cities, Column("count(*)", [Shown("42", "± 17")], number=True)], 80)
    [['city  count(*)', 'Oslo   42 ± 17']]
    """
    names = [column for column in columns if not column.number]
    keys = [_keys(column, _LONGEST) for column in names]
    if sum(map(_wide, keys)) > room // 2:
        keys = [_keys(column, max(4, room // 2 // len(names) - len(_GAP))) for column in names]
    rest = room - sum(_wide(lines) + len(_GAP) for lines in keys)
    numbers = [_numbers(column, min(_LONGEST, max(4, rest))) for column in columns if column.number]
    if len(keys) + len(numbers) < 2 or sum(_wide(lines) + len(_GAP) for lines in numbers) - len(_GAP) <= rest:
        left, right = iter(keys), iter(numbers)
        return [_beside([next(right if column.number else left) for column in columns])]
    found: list[list[list[str]]] = []
    used = room
    for lines in numbers:
        if not found or used + len(_GAP) + _wide(lines) > rest:
            found.append([])
            used = -len(_GAP)
        found[-1].append(lines)
        used += len(_GAP) + _wide(lines)
    return [_beside([*keys, *block]) for block in found]


def _keys(column: Column, longest: int) -> list[str]:
    """Return the lines of a column of keys, the heading first, all of one width."""
    return aligned([column.name, *(cell.value for cell in column.cells)], longest)


def _numbers(column: Column, longest: int) -> list[str]:
    """Return the lines of a column of numbers, the heading first: units below units, and ± below ±."""
    known = [cell if cell.value != UNKNOWN else NOTHING for cell in column.cells]
    parts = [(cell.value, *cell.rest.removeprefix("± ").partition(" to ")) for cell in known]
    values, first, second = (right_aligned([part[i] for part in parts], points=True) for i in (0, 1, 3))
    sign = " ± " if any(cell.rest.startswith("±") for cell in column.cells) else "  "
    cells = [
        value
        + (f"{sign}{low}{to}{high}" if cell.rest else "").ljust(len(sign + low + high) + 4 * any(map(len, second)))
        for value, low, to, high, cell in zip(
            values, first, [p[2] for p in parts], second, column.cells, strict=True
        )
    ]
    shown = [
        " ".join(cell) if cell.value == UNKNOWN else text for cell, text in zip(column.cells, cells, strict=True)
    ]
    return right_aligned([_cut(column.name, longest), *shown])


def _beside(columns: Sequence[Sequence[str]]) -> list[str]:
    return [_GAP.join(line).rstrip() for line in zip(*columns, strict=True)]


def _wide(lines: Sequence[str]) -> int:
    return width(lines[0])


def _cut(text: str, longest: int) -> str:
    from rich.cells import set_cell_size

    shown = plain(text)
    return shown if width(shown) <= longest else set_cell_size(shown, longest - 1).rstrip() + "…"
