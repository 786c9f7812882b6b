"""Describe a sealed table for people: its columns, and whose privacy it protects. All of it is public.

Names and labels come from outside. In a terminal, control characters are written as escapes; in a page, everything
is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.render import numbers
from discreet.render.html import fragment
from discreet.render.terminal import aligned, wrapped
from discreet.schema import describe

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata

_PAGE = (
    '<p><b>{{ heading | plain }}</b></p><p class="soft">{{ protected | plain }}</p>'
    "<table><thead><tr><th>column</th><th>holds</th></tr></thead><tbody>"
    "{% for name, domain in columns %}<tr><td>{{ name | plain }}</td>"
    '<td class="text">{{ domain | plain }}</td></tr>{% endfor %}</tbody></table>'
)


def text(metadata: TableMetadata, width: int = 80) -> str:
    """Return the metadata in plain text, in lines of this width.

    >>> from discreet.schema import Boolean, Integer
    >>> from discreet.schema.metadata import TableMetadata
    >>> columns = {"age": Integer(0, 110), "member": Boolean()}
    >>> print(text(TableMetadata("people", columns, person="user_id", rows_per_person=8)))
    Table people, version 1
    It protects every person (user_id), with all of their rows. 8 rows of each count in full.
    <BLANKLINE>
    column  holds
    age     whole numbers from 0 to 110
    member  true or false
    """
    names = aligned(["column", *metadata.columns], width // 3)
    holds = [["holds"], *(wrapped(domain, width - len(names[0]) - 2) for domain in _domains(metadata))]
    lines = [*wrapped(_heading(metadata), width), *wrapped(_protected(metadata), width), ""]
    for name, parts in zip(names, holds, strict=True):
        lines.append(f"{name}  {parts[0]}")
        lines += [" " * (len(names[0]) + 2) + part for part in parts[1:]]
    return "\n".join(lines)


def page(metadata: TableMetadata) -> str:
    """Return the metadata as a fragment of HTML, for `framed`."""
    columns = list(zip(metadata.columns, _domains(metadata), strict=True))
    return fragment(_PAGE, heading=_heading(metadata), protected=_protected(metadata), columns=columns)


def _heading(metadata: TableMetadata) -> str:
    sealed = f", sealed {numbers.utc(metadata.sealed_at)}" if metadata.sealed_at else ""
    return f"Table {metadata.name}, version {metadata.version}{sealed}"


def _protected(metadata: TableMetadata) -> str:
    if metadata.person is None:
        return "It protects every row, as a person of its own."
    most = metadata.rows_per_person
    counted = "1 row of each counts" if most == 1 else f"{most:,} rows of each count"
    return f"It protects every person ({metadata.person}), with all of their rows. {counted} in full."


def _domains(metadata: TableMetadata) -> list[str]:
    return [describe.domain(column) for column in metadata.columns.values()]
