"""Report to the curator what sealing made of their rows.

The report is private: it counts rows, and it quotes some. It exists in the memory of the process that sealed, for
the curator who already has the rows. It is not part of the vault: not of its metadata, its ledger or its files. It
cannot be pickled, its repr shows nothing, and no function of this package writes it to a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from discreet.errors import Code, Fix, SealingFailed
from discreet.render.html import fragment, framed
from discreet.render.terminal import plain
from discreet.sealing.notations import other_dates, suggestion
from discreet.sealing.sources.csv import FILE, Lines

_PAGE = (
    "<p>{{ heading }}</p><table><thead><tr>{% for head in heads %}<th>{{ head }}</th>{% endfor %}</tr></thead>"
    "<tbody>{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>{% endfor %}</tbody>"
    "</table>{% for line in notes %}<p>{{ line }}</p>{% endfor %}"
)
_HEADS = ("column", "read", "clamped below", "clamped above", "missing", "unreadable")


@dataclass(frozen=True)
class Example:
    """An unreadable cell: the number of its row in the source, or None, and its text."""

    number: int | None
    text: str = field(repr=False)

    def where(self, what: str) -> str:
        """Name the row, such as "line 7"."""
        if self.number is None:
            return ""
        file, line = divmod(self.number, 1 << FILE)
        return f"{what} {line:,}" + (f" of file {file + 1}" if file else "")


@dataclass(frozen=True, repr=False)
class ColumnReport:
    """How the cells of one column were read.

    Args:
        read: Cells that became a value as they are.
        below: Cells below the lower bound.
        above: Cells above the upper bound.
        missing: Cells without a value.
        unreadable: Cells with a text that is no value of the column.
        other: Cells whose value is not listed and became the `other` of a category.
        outside: What happens to cells outside the bounds: "clamp" or "missing".
        examples: Up to three unreadable cells.
        kind: The kind of the column in a question.
    """

    read: int
    below: int
    above: int
    missing: int
    unreadable: int
    other: int
    outside: str
    examples: tuple[Example, ...]
    kind: str

    @property
    def mostly_unreadable(self) -> bool:
        """Whether more than half of the cells that hold something are unreadable."""
        held = self.read + self.below + self.above + self.unreadable + self.other
        return 2 * self.unreadable > held

    def __repr__(self) -> str:
        return "<report on a column, private>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A sealing report is private and cannot be pickled or copied.")


@dataclass(frozen=True, repr=False)
class SealingReport:
    """What sealing made of the rows. It is private, for the curator alone: it counts rows and quotes some of them.

    Args:
        rows: The number of rows.
        columns: How the cells of each column were read.
        persons: The number of persons; None if every row is a person.
        over_bound: The number of persons with more rows than count in full.
        without_person: The number of rows without a person, which are one person together.
        rows_per_person: How many rows of a person count in full.
        lines: The lines of a CSV file that were blank, too short or too long; None for other sources.

    >>> import pyarrow
    >>> import discreet as dp
    >>> rows = pyarrow.table({"age": ["31", "n/a", "240", None]})
    >>> report = dp.Vault.check(rows, person=None, columns={"age": dp.Integer(0, 110)})
    >>> print(report)
    4 rows; every row is a person.
    <BLANKLINE>
    column  read  clamped below  clamped above  missing  unreadable
    age        1              0              1        1           1
    <BLANKLINE>
    age: unreadable, and therefore missing: 'n/a' (row 2).
    <BLANKLINE>
    This report is private: it is shown here and stored nowhere.
    >>> report
    <sealing report, private>
    """

    rows: int
    columns: Mapping[str, ColumnReport]
    persons: int | None
    over_bound: int
    without_person: int
    rows_per_person: int
    lines: Lines | None = None

    def expect_readable(self) -> None:
        """Refuse to seal if more than half of a column is unreadable."""
        names = [name for name, column in self.columns.items() if column.mostly_unreadable]
        if names:
            which = ", ".join(map(repr, names))
            columns = "column" if len(names) == 1 else "the columns"
            raise Unreadable(
                f"More than half of {columns} {which} cannot be read, and would be missing. Nothing was sealed.",
                fix=[
                    *(fix for name in names if (fix := self._fix(name))),
                    Fix("source", Code("…"), call="Vault.check", note="shows which cells"),
                    Fix("anyway", True, note="seals it as it is"),
                ],
                report=self,
            )

    def _fix(self, name: str) -> str:
        column = self.columns[name]
        if column.kind == "boolean":
            return f"Declare column {name!r} as a category, and list its values." if column.examples else ""
        texts = [example.text for example in column.examples]
        if column.read > column.unreadable and other_dates(column.kind, texts):
            return (
                f"Column {name!r} holds dates in several notations, and only one can be declared. Rewrite the "
                "others in the source before sealing."
            )
        found = suggestion(column.kind, texts)
        return "" if not found else f"Declare column {name!r} with {found}."

    @property
    def heading(self) -> str:
        """Rows and persons, in one sentence or two."""
        if self.persons is None:
            return f"{self.rows:,} rows; every row is a person."
        whole = "1 row" if self.rows_per_person == 1 else f"{self.rows_per_person:,} rows"
        over = (
            f" {self.over_bound:,} of them have more than {whole}, and their rows are scaled down."
            if self.over_bound
            else f" None has more than {whole}."
        )
        alone = (
            f" {self.without_person:,} rows have no person, and count as one person together."
            if self.without_person
            else ""
        )
        return f"{self.rows:,} rows of {self.persons:,} persons.{over}{alone}"

    @property
    def notes(self) -> list[str]:
        """What the curator should look at, one sentence each."""
        found = []
        what = "row" if self.lines is None else "line"
        for name, column in self.columns.items():
            if column.examples:
                cells = "; ".join(
                    " ".join(filter(None, (repr(plain(e.text)), f"({e.where(what)})" if e.number else "")))
                    for e in column.examples
                )
                more = column.unreadable - len(column.examples)
                rest = f" and {more:,} more" if more > 0 else ""
                found.append(f"{name}: unreadable, and therefore missing: {cells}{rest}.")
                if fix := self._fix(name):
                    found.append(f"  {fix}")
            if column.other:
                found.append(
                    f"{name}: cells that are not listed, and become the declared other value: {column.other:,}."
                )
            if column.outside == "missing" and column.below + column.above:
                found.append(f"{name}: cells outside the bounds are missing, as declared.")
        return [*found, *self._of_lines()]

    def _of_lines(self) -> list[str]:
        if self.lines is None:
            return []
        found = []
        if self.lines.blank:
            found.append(f"Blank lines, which are not rows: {self.lines.blank:,}.")
        for kind, words in (("short", "fewer cells than the header"), ("long", "more cells than the header")):
            if count := getattr(self.lines, kind):
                where = ", ".join(Example(n, "").where("line") for n in self.lines.examples[kind])
                fate = "the rest is missing" if kind == "short" else "the last ones are left out"
                lines = "1 line has" if count == 1 else f"{count:,} lines have"
                found.append(f"{lines} {words}, and {fate}: {where}{' …' if count > 3 else ''}.")
        return found

    @property
    def _table(self) -> list[tuple[str, ...]]:
        return [
            (name, *(f"{n:,}" for n in (c.read + c.other, c.below, c.above, c.missing, c.unreadable)))
            for name, c in self.columns.items()
        ]

    def __str__(self) -> str:
        rows = [_HEADS, *((plain(name), *cells) for name, *cells in self._table)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
        lines = [_aligned(row, widths) for row in rows]
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([self.heading, "", *lines, *notes, "", _PRIVATE])

    def _repr_html_(self) -> str:
        return framed(
            fragment(_PAGE, heading=self.heading, heads=_HEADS, rows=self._table, notes=[*self.notes, _PRIVATE])
        )

    def __repr__(self) -> str:
        return "<sealing report, private>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A sealing report is private and cannot be pickled or copied.")


class Seen:
    """Receives the report of a sealing, keeps it in memory, and refuses rows that are mostly unreadable.

    Args:
        anyway: Whether to accept them.
    """

    def __init__(self, anyway: bool = False):
        self.anyway = anyway
        self.report: SealingReport | None = None

    def __call__(self, report: SealingReport) -> None:
        """Keep a report, and refuse if most of a column is unreadable."""
        self.report = report
        if not self.anyway:
            report.expect_readable()


class Unreadable(SealingFailed):
    """Most of a column could not be read. `report` has the private report, for the curator's screen."""

    def __init__(self, problem: str, *, fix: Sequence[Fix | str], report: SealingReport):
        super().__init__(problem, fix=list(fix))
        self.report = report


_PRIVATE = "This report is private: it is shown here and stored nowhere."


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()
