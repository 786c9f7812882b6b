"""Render a release: in a terminal, in a notebook, as a picture.

A number is written with its margin of error, or with the ends of its interval where that is not even about it, to
as many digits as the noise warrants (discreet.render.numbers). Of many groups the first twenty are shown, and how
many more there are. Columns that do not fit side by side go below, under the same keys. Keys and questions come
from outside: in a terminal control characters are written as escapes, and in a page everything is escaped.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.release.released import TEST_BITS
from discreet.render import charts, numbers
from discreet.render.html import fragment, framed
from discreet.render.numbers import Shown
from discreet.render.terminal import Column, blocks, wrapped

if TYPE_CHECKING:
    import altair
    from rich.text import Text

    from discreet.release.release import Release

FIRST = 20
"""The number of groups that are shown."""


class Hints(NamedTuple):
    """What a face calls the label and the whole table, in the sentences below the numbers."""

    label: str
    table: str


PYTHON = Hints(label="release.label", table="release.to_pandas()")
"""The hints for Python. The command line has options instead."""

_PAGE = (
    "<p><code>{{ question }}</code></p><table><thead><tr>"
    "{% for column in columns %}"
    '<th{% if column.number %} class="n" colspan="2"{% endif %}>{{ column.name | plain }}</th>'
    "{% endfor %}</tr></thead><tbody>"
    "{% for row in range(rows) %}<tr>{% for column in columns %}{% set cell = column.cells[row] %}"
    '{% if column.number %}<td class="n">{{ cell.value }}</td><td class="e">{{ cell.rest }}</td>'
    "{% else %}<td>{{ cell.value | plain }}</td>{% endif %}{% endfor %}</tr>{% endfor %}</tbody></table>"
    "{% for remark in remarks %}"
    '<p class="{{ "test" if remark == warning else "soft" }}">{{ remark }}</p>{% endfor %}'
    "<p>{{ cost }}</p><details><summary>Label</summary>{{ label }}</details>"
)


def table(release: Release) -> list[Column]:
    """Return the first groups of a release as texts."""
    columns = []
    for name in release.columns:
        if name in release.keys:
            cells = [Shown(key(value), "") for value in release.keys[name][:FIRST]]
            columns.append(Column(name, cells, number=False))
        else:
            answer = release[name]
            parts = (answer.values[:FIRST], answer.low[:FIRST], answer.high[:FIRST])
            cells = numbers.column(*parts, answer.axis)
            if answer.bounds is not None:
                nothing = numbers.unknown(*answer.bounds, answer.axis)
                cells = [
                    nothing if hidden else cell for cell, hidden in zip(cells, answer.unknown[:FIRST], strict=True)
                ]
            columns.append(Column(name, cells, number=True))
    return columns


def key(value: Any) -> str:
    """Return a key as text.

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


def remarks(release: Release, hints: Hints = PYTHON) -> list[str]:
    """Return the sentences below the numbers: the confidence, and what is special about this release."""
    lines = [TEST_BITS] if release.test_bits else []
    if release.groups > FIRST:
        lines.append(f"… {release.groups - FIRST:,} more groups: {hints.table}")
    if not release.groups:
        found = release.label.groups == 0
        lines.append("No group is shared by enough people." if found else "No group is left to show.")
    intervals = "interval" if len(release.aggregates) * release.groups == 1 else "intervals"
    sure = numbers.percent(float(release.confidence))
    lines.append(
        f"{sure} confidence {intervals} for the noise. The effect of the declared bounds is not included: "
        f"see {hints.label}."
    )
    if any(hidden for answer in release.aggregates for hidden in answer.unknown):
        lines.append("Unknown: too few rows for this noise. Spend more on the question, or use larger groups.")
    lines += [f"{answer.name}: {answer.note}" for answer in release.aggregates if answer.note]
    return lines


def cost(release: Release) -> str:
    """Return how much of the budget a release used, and how much is left."""
    receipt = release.receipt
    if release.free:
        when = numbers.utc(release.at)
        return f"Free: answered from the record of {when}, when it used {receipt.used}. Now {receipt.remaining}."
    return f"This used {receipt.used}; {receipt.remaining}."


# -- terminals --------------------------------------------------------------------------------------------------


def text(release: Release, width: int = 80, hints: Hints = PYTHON) -> str:
    """Return a release in plain text, in lines of this width."""
    return "\n".join(line for line, _ in _lines(release, width, hints))


def styled(release: Release, width: int, hints: Hints = PYTHON) -> Text:
    """Return the same lines with styles, for rich."""
    from rich.text import Text

    lines = [
        Text(line, style=style, no_wrap=True, overflow="crop") for line, style in _lines(release, width, hints)
    ]
    return Text("\n", no_wrap=True, overflow="crop").join(lines)


def _lines(release: Release, width: int, hints: Hints) -> list[tuple[str, str]]:
    lines = [(line, "dim") for line in wrapped(release.question, width)]
    for block in blocks(table(release), width):
        head, *rows = block
        lines += [("", ""), (head, "bold"), *((row, "") for row in rows)]
    lines.append(("", ""))
    for remark in remarks(release, hints):
        lines += [(line, "bold red" if remark == TEST_BITS else "dim") for line in wrapped(remark, width)]
    return [*lines, *((line, "") for line in wrapped(cost(release), width))]


# -- pages ------------------------------------------------------------------------------------------------------


def page(release: Release) -> str:
    """Return a release in HTML: the numbers, the cost, and the label in a part that opens."""
    return framed(
        fragment(
            _PAGE,
            question=release.question,
            columns=table(release),
            rows=min(FIRST, release.groups),
            remarks=remarks(release),
            warning=TEST_BITS,
            cost=cost(release),
            label=release.label.as_html(),
        )
    )


# -- pictures ---------------------------------------------------------------------------------------------------


def picture(release: Release) -> altair.TopLevelMixin:
    """Draw a release: one picture for every aggregate."""
    about = f"{numbers.percent(float(release.confidence))} intervals, for {release.receipt.used}"
    return charts.intervals(
        {name: release.keys[name] for name in release.keys},
        [
            charts.Estimated(answer.name, answer.values, answer.low, answer.high, answer.added_up, answer.axis)
            for answer in release.aggregates
        ],
        title=TEST_BITS if release.test_bits else release.label.table,
        subtitle=about,
    )
