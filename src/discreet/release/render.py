"""A release to the eye: in a terminal, in a notebook, as a picture.

A number is written with its half-width, or with the ends of its interval where that is not even about it, to as
many digits as the noise warrants (discreet.render.numbers). Of many groups the first twenty are shown, and how
many more there are. What does not fit beside each other is put below, under the same keys. Keys and questions come
from outside: in a terminal whatever moves the cursor is spelt out, and in a page everything is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet import plots
from discreet.release.label import plain, wrapped
from discreet.render import numbers as digits
from discreet.render.numbers import Shown

if TYPE_CHECKING:
    import altair
    from rich.text import Text

    from discreet.release.release import Release

FIRST = 20
"""How many groups are shown."""

_LONGEST = 28  # columns of a key
_GAP = "  "
_NUMBER = ' class="n" colspan="2"'
TEST_BITS = "Made from test bits: not for release."
_STYLE = (
    "<style>.discreet table{border-collapse:collapse;margin:.4em 0}.discreet th,.discreet td{text-align:left;"
    "padding:.15em .9em .15em 0;border-bottom:1px solid #8884;white-space:nowrap}.discreet .n{text-align:right;"
    "font-variant-numeric:tabular-nums}.discreet .e{opacity:.65;padding-right:1.6em}.discreet p{margin:.3em 0;"
    "max-width:46em}.discreet .soft{opacity:.75}.discreet code{white-space:pre-wrap}"
    ".discreet h4{margin:.8em 0 .2em}.discreet dl{display:grid;grid-template-columns:minmax(8em,14em) 1fr;"
    "gap:.15em 1em;margin:0;max-width:56em}"
    ".discreet dt{opacity:.65}.discreet dd{margin:0}.discreet .test{font-weight:700;color:#b3261e}</style>"
)


class Column(NamedTuple):
    """A column of what is shown: its heading, and per group a text, and for a number what follows it."""

    name: str
    cells: list[Shown]
    number: bool


def table(release: Release) -> list[Column]:
    """Return the first groups of a release, in words."""
    columns = []
    for name in release.columns:
        if name in release.keys:
            cells = [Shown(key(value), "") for value in release.keys[name][:FIRST]]
            columns.append(Column(name, cells, number=False))
        else:
            answer = release[name]
            parts = (answer.values[:FIRST], answer.low[:FIRST], answer.high[:FIRST])
            columns.append(Column(name, digits.column(*parts, answer.axis), number=True))
    return columns


def key(value: Any) -> str:
    """Return a key in words.

    >>> key(None), key(True), key("Oslo"), key(0.5)
    ('null', 'true', 'Oslo', '0.5')
    """
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.12g}"
        case datetime():
            return value.isoformat(" ")
    return str(value)


def remarks(release: Release) -> list[str]:
    """Return what is said below the numbers: how sure, what is different, what it cost."""
    sure = digits.percent(float(release.confidence))
    lines = [TEST_BITS] if release.test_bits else []
    if release.groups > FIRST:
        lines.append(f"… {release.groups - FIRST:,} more groups: release.to_pandas()")
    if not release.groups:
        found = release.label.groups == 0
        lines.append("No group was found that enough people share." if found else "No group is left to show.")
    each = "The interval holds" if len(release.aggregates) * release.groups == 1 else "Each interval holds"
    lines.append(f"{each} with {sure}. It covers noise, not bounding (release.label).")
    lines += [f"{answer.name}: {answer.note}" for answer in release.aggregates if answer.note]
    return lines


def cost(release: Release) -> str:
    """Return what a release cost, and what is left."""
    receipt = release.cost
    if release.free:
        when = digits.utc(release.at)
        return f"Free: answered from the record of {when}, when it cost {receipt.spent}. Now {receipt.left}."
    return f"Cost {receipt.spent}; {receipt.left}."


# -- terminals --------------------------------------------------------------------------------------------------


def text(release: Release, width: int = 80) -> str:
    """Return a release in plain text of so many columns."""
    return "\n".join(line for line, _ in _lines(release, width))


def styled(release: Release, width: int) -> Text:
    """Return the same with styles, for rich."""
    from rich.text import Text

    lines = [Text(line, style=style, no_wrap=True, overflow="crop") for line, style in _lines(release, width)]
    return Text("\n", no_wrap=True, overflow="crop").join(lines)


def _lines(release: Release, width: int) -> list[tuple[str, str]]:
    lines = [(line, "dim") for line in wrapped(release.question, width)]
    for block in _blocks(table(release), width):
        head, *rows = block
        lines += [("", ""), (head, "bold"), *((row, "") for row in rows)]
    lines.append(("", ""))
    for remark in remarks(release):
        lines += [(line, "bold red" if remark == TEST_BITS else "dim") for line in wrapped(remark, width)]
    return [*lines, *((line, "") for line in wrapped(cost(release), width))]


def _blocks(columns: list[Column], width: int) -> list[list[str]]:
    """Lay columns out beside each other, and below under the same keys where there is no more room."""
    names = [column for column in columns if not column.number]
    keys = [_left(column, _LONGEST) for column in names]
    if sum(map(_wide, keys)) > width // 2:
        keys = [_left(column, max(4, width // 2 // len(names) - len(_GAP))) for column in names]
    room = width - sum(_wide(lines) + len(_GAP) for lines in keys)
    numbers = [_numbers(column, min(_LONGEST, max(4, room))) for column in columns if column.number]
    if len(keys) + len(numbers) < 2 or sum(_wide(lines) + len(_GAP) for lines in numbers) - len(_GAP) <= room:
        left, right = iter(keys), iter(numbers)
        return [_beside([next(right if column.number else left) for column in columns])]
    blocks: list[list[list[str]]] = []
    used = width
    for lines in numbers:
        if not blocks or used + len(_GAP) + _wide(lines) > room:
            blocks.append([])
            used = -len(_GAP)
        blocks[-1].append(lines)
        used += len(_GAP) + _wide(lines)
    return [_beside([*keys, *block]) for block in blocks]


def _left(column: Column, longest: int) -> list[str]:
    """The lines of a column of keys, the heading first, all of one width."""
    return aligned([column.name, *(cell.value for cell in column.cells)], longest)


def aligned(texts: Sequence[str], longest: int) -> list[str]:
    """Return texts that a terminal shows as they are, flush left and all of one width; longer ones are cut.

    >>> aligned(["Oslo", "Kristiansand"], 8)
    ['Oslo    ', 'Kristia…']
    """
    shown = [_cut(words, longest) for words in texts]
    widest = max(map(_width, shown))
    return [text + " " * (widest - _width(text)) for text in shown]


def _numbers(column: Column, longest: int) -> list[str]:
    """The lines of a column of numbers, the heading first: units below units, and ± below ±."""
    parts = [(cell.value, *cell.rest.removeprefix("± ").partition(" to ")) for cell in column.cells]
    values, first, second = (_right([part[i] for part in parts], points=True) for i in (0, 1, 3))
    sign = " ± " if any(cell.rest.startswith("±") for cell in column.cells) else "  "
    cells = [
        value
        + (f"{sign}{low}{to}{high}" if cell.rest else "").ljust(len(sign + low + high) + 4 * any(map(len, second)))
        for value, low, to, high, cell in zip(
            values, first, [p[2] for p in parts], second, column.cells, strict=True
        )
    ]
    return _right([_cut(column.name, longest), *cells])


def _right(texts: Sequence[str], *, points: bool = False) -> list[str]:
    """Texts flush right; with `points` so that units stand below units."""
    if points:
        tails = [len(text.partition(".")[2]) + ("." in text) for text in texts]
        texts = [text + " " * (max(tails) - tail) for text, tail in zip(texts, tails, strict=True)]
    widest = max(map(_width, texts), default=0)
    return [" " * (widest - _width(text)) + text for text in texts]


def _beside(columns: list[list[str]]) -> list[str]:
    return [_GAP.join(line).rstrip() for line in zip(*columns, strict=True)]


def _wide(lines: list[str]) -> int:
    return _width(lines[0])


def _cut(words: str, longest: int) -> str:
    from rich.cells import set_cell_size

    shown = plain(words)
    return shown if _width(shown) <= longest else set_cell_size(shown, longest - 1).rstrip() + "…"


def _width(words: str) -> int:
    from rich.cells import cell_len

    return cell_len(words)


# -- pages ------------------------------------------------------------------------------------------------------


def page(release: Release) -> str:
    """Return a release in HTML: numbers, cost, and the label to be opened."""
    columns = table(release)
    head = "".join(
        f"<th{_NUMBER if column.number else ''}>{escape(plain(column.name))}</th>" for column in columns
    )
    rows = "".join(
        "<tr>" + "".join(_cell(column, column.cells[row]) for column in columns) + "</tr>"
        for row in range(min(FIRST, release.groups))
    )
    said = "".join(
        f'<p class="{"test" if remark == TEST_BITS else "soft"}">{escape(remark)}</p>'
        for remark in remarks(release)
    )
    return framed(
        f"<p><code>{escape(release.question)}</code></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"{said}<p>{escape(cost(release))}</p>"
        f"<details><summary>Label</summary>{release.label.as_html()}</details>"
    )


def framed(inner: str) -> str:
    """Return what a notebook shows of anything: HTML, already escaped, in the look of a release."""
    return f'{_STYLE}<div class="discreet">{inner}</div>'


def _cell(column: Column, cell: Shown) -> str:
    if not column.number:
        return f"<td>{escape(plain(cell.value))}</td>"
    return f'<td class="n">{escape(cell.value)}</td><td class="e">{escape(cell.rest)}</td>'


# -- pictures ---------------------------------------------------------------------------------------------------


def picture(release: Release) -> altair.TopLevelMixin:
    """Draw a release: one picture for every aggregate."""
    about = f"{digits.percent(float(release.confidence))} intervals, for {release.cost.spent}"
    return plots.intervals(
        {name: release.keys[name] for name in release.keys},
        [
            plots.Estimated(answer.name, answer.values, answer.low, answer.high, answer.added_up, answer.axis)
            for answer in release.aggregates
        ],
        title=TEST_BITS if release.test_bits else release.label.table,
        subtitle=about,
    )
