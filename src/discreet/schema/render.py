"""A vault to the eye: what its columns may hold and whom it protects. All of it was declared, and is public.

Names and labels come from outside: in a terminal whatever moves the cursor is spelt out, and in a page everything
is escaped.
"""

from __future__ import annotations

from html import escape

from discreet.release.label import plain, wrapped
from discreet.release.render import aligned
from discreet.render import numbers
from discreet.schema import describe
from discreet.schema.metadata import TableMetadata


def text(metadata: TableMetadata, width: int = 80) -> str:
    """Return a description in plain text of so many columns.

    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 110), "member": Boolean()}
    >>> print(text(TableMetadata("people", columns, person="user_id", rows_per_person=8)))
    Table people, version 1
    It protects every user_id, with all of their rows. 8 rows of each count in full.
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
    """Return a description in HTML, to be put into a frame."""
    rows = "".join(
        f"<tr><td>{escape(plain(name))}</td><td>{escape(plain(domain))}</td></tr>"
        for name, domain in zip(metadata.columns, _domains(metadata), strict=True)
    )
    return (
        f"<p><b>{escape(plain(_heading(metadata)))}</b></p>"
        f'<p class="soft">{escape(plain(_protected(metadata)))}</p>'
        f"<table><thead><tr><th>column</th><th>holds</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _heading(metadata: TableMetadata) -> str:
    sealed = f", sealed {numbers.utc(metadata.sealed_at)}" if metadata.sealed_at else ""
    return f"Table {metadata.name}, version {metadata.version}{sealed}"


def _protected(metadata: TableMetadata) -> str:
    if metadata.person is None:
        return "It protects every row, as a person of its own."
    most = metadata.rows_per_person
    counted = "1 row of each counts" if most == 1 else f"{most:,} rows of each count"
    return f"It protects every {metadata.person}, with all of their rows. {counted} in full."


def _domains(metadata: TableMetadata) -> list[str]:
    return [describe.domain(column) for column in metadata.columns.values()]
