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
from discreet.schema.metadata import Description


def text(description: Description, width: int = 80) -> str:
    """Return a description in plain text of so many columns.

    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 110), "member": Boolean()}
    >>> print(text(Description("people", columns, person="user_id", rows_per_person=8)))
    Table people, version 1
    It protects every user_id, with all of their rows. 8 rows of each count in full.
    <BLANKLINE>
    column  holds
    age     whole numbers from 0 to 110
    member  true or false
    """
    names = aligned(["column", *description.columns], width // 3)
    holds = [["holds"], *(wrapped(domain, width - len(names[0]) - 2) for domain in _domains(description))]
    lines = [*wrapped(_heading(description), width), *wrapped(_protected(description), width), ""]
    for name, parts in zip(names, holds, strict=True):
        lines.append(f"{name}  {parts[0]}")
        lines += [" " * (len(names[0]) + 2) + part for part in parts[1:]]
    return "\n".join(lines)


def page(description: Description) -> str:
    """Return a description in HTML, to be put into a frame."""
    rows = "".join(
        f"<tr><td>{escape(plain(name))}</td><td>{escape(plain(domain))}</td></tr>"
        for name, domain in zip(description.columns, _domains(description), strict=True)
    )
    return (
        f"<p><b>{escape(plain(_heading(description)))}</b></p>"
        f'<p class="soft">{escape(plain(_protected(description)))}</p>'
        f"<table><thead><tr><th>column</th><th>holds</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _heading(description: Description) -> str:
    sealed = f", sealed {numbers.utc(description.sealed_at)}" if description.sealed_at else ""
    return f"Table {description.name}, version {description.version}{sealed}"


def _protected(description: Description) -> str:
    if description.person is None:
        return "It protects every row, as a person of its own."
    most = description.rows_per_person
    counted = "1 row of each counts" if most == 1 else f"{most:,} rows of each count"
    return f"It protects every {description.person}, with all of their rows. {counted} in full."


def _domains(description: Description) -> list[str]:
    return [describe.domain(column) for column in description.columns.values()]
