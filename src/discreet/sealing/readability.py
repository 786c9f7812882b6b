"""Judge how each cell of a source was read: as a value, as missing, as unreadable, or outside its bounds.

Every row of what a pass stored carries `states`: one character for each column, or nothing if all cells were read.
Behind them, if a cell is unreadable, follow the number of the row in its source and the texts of its unreadable
cells. The sealed rows do not have it: it is counted once, for the curator (`discreet.sealing.report`), and dropped
with the pass. One short text, mostly empty, is stored in half the time of three columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines import nodes, sql_writer
from discreet.engines.dialects import DIALECTS
from discreet.schema import Boolean, Category, Column, Integer, Learned, Text, casts
from discreet.schema.casts import Family

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

Declared: TypeAlias = "Column | Learned"

READ, MISSING, UNREADABLE, BELOW, ABOVE, OTHER = "012345"
"""The states of a cell. OTHER is a value that is not listed and becomes the `other` of its category."""

_MOST = 50  # arguments of one call: PostgreSQL takes 100 at most
_MOST_TESTED = 100  # columns whose conditions are joined by AND: engines limit the depth of an expression
_SHOWN = 80  # characters of an unreadable text
_DIGITS = 19  # of the number of a row, which is below 2^63
_PART, _BETWEEN, _AFTER = "\x1d", "\x1e", "\x1f"  # before each part, between texts, after the position of a column


def state(value: Expression, column: Declared, family: Family) -> Expression:
    """Return the state of a source's value, as an expression."""
    if family == "null":
        return sql_writer.text(MISSING)
    return casts.choose(_other_states(value, column, family), sql_writer.text(READ))


def _other_states(value: Expression, column: Declared, family: Family) -> list[nodes.Branch]:
    """Return the conditions of all states but READ, in the order in which they are tested."""
    return [(nodes.IsNull(value), sql_writer.text(MISSING)), *_branches(value, column, family)]


def _branches(value: Expression, column: Declared, family: Family) -> Sequence[nodes.Branch]:
    match column:
        case Text():
            return []
        case Category():
            listed = Category(column.labels).encode(value, family)
            return [(nodes.IsNull(listed), sql_writer.text(UNREADABLE if column.other is None else OTHER))]
        case Boolean():
            return [(nodes.IsNull(Boolean().encode(value, family)), sql_writer.text(UNREADABLE))]
        case Integer() if not column.reading(family):  # the source has integers, which need no parsing
            return _outside(value, *column.limits())
    read = casts.taken(column.parsing(family), value)
    branches: list[nodes.Branch] = [(nodes.IsNull(read), sql_writer.text(UNREADABLE))]
    if column.kind == "number":
        branches.append((sql_writer.function("IS_NAN", read), sql_writer.text(MISSING)))
    if isinstance(column, Learned):  # its bounds are not known yet
        return branches
    lo, hi = column.limits()
    if isinstance(column, Integer):  # rounding brings these within the bounds
        lo, hi = casts.literal(column.lo - 0.5), casts.literal(column.hi + 0.5)
    return [*branches, *_outside(read, lo, hi)]


def _outside(read: Expression, lo: Expression, hi: Expression) -> list[nodes.Branch]:
    return [
        (nodes.Compare("<", read, lo), sql_writer.text(BELOW)),
        (nodes.Compare(">", read, hi), sql_writer.text(ABOVE)),
    ]


def states(columns: Sequence[tuple[str, Declared, Family]], dialect: str) -> str:
    """Return SQL for the states of a row, one character for each column: its name, declaration and family.

    Most rows have only cells that were read. They are told by conditions alone, and their text is empty: ten
    characters for each of five million rows took a tenth of the time of reading them.
    """

    def written(tree: Expression) -> str:
        return sql_writer.sql(tree, dialect, limits=None)

    each = _called(
        "CONCAT(", [written(state(nodes.Column(name), column, family)) for name, column, family in columns]
    )
    if len(columns) > _MOST_TESTED or any(family == "null" for _, _, family in columns):
        return each
    conditions = [
        written(nodes.Not(condition))
        for name, column, family in columns
        for condition, _ in _other_states(nodes.Column(name), column, family)
    ]
    return f"CASE WHEN {' AND '.join(conditions)} THEN '' ELSE {each} END" if conditions else each


def noted(columns: Mapping[int, tuple[str, Family]], dialect: str) -> str:
    """Return SQL for the states of a row with its number and its unreadable texts, from its columns."""
    kind = DIALECTS[dialect].types["TEXT"]
    found = []
    for position, (name, family) in columns.items():
        text = sql_writer.sql(
            sql_writer.cast(nodes.Column(name), "TEXT", gently=True, of=family), dialect, limits=None
        )
        shown = f"CONCAT('{position}{_AFTER}', SUBSTR({text}, 1, {_SHOWN}))"
        found.append(f"CASE WHEN {at(position)} = '{UNREADABLE}' THEN {shown} END")
    texts = _called(f"CONCAT_WS('{_BETWEEN}', ", found)
    # All numbers have one width, so that texts are in the order of rows; a source may have none.
    number = f"COALESCE(LPAD(CAST(number AS {kind}), {_DIGITS}, '0'), '')"
    # Most rows have no such cell, and an engine computes a branch for the rows that take it.
    written = f"CONCAT(states, '{_PART}', {number}, '{_PART}', {texts})"
    return f"CASE WHEN states LIKE '%{UNREADABLE}%' THEN {written} ELSE states END"


def at(position: int, states: str = "states") -> str:
    """Return SQL for the state of the column at a position; an empty text if all columns were read.

    >>> at(3)
    'SUBSTR(states, 4, 1)'
    """
    return f"SUBSTR({states}, {position + 1}, 1)"


def unreadable(noted: str, position: int) -> tuple[int | None, str]:
    """Return the number of a row, if its source has numbers, and the unreadable text of a column.

    >>> unreadable("202\\x1d0000000000000000007\\x1d0\\x1fn/a\\x1e2\\x1f71,86", 2)
    (7, '71,86')
    """
    _, number, texts = noted.split(_PART, 2)
    pairs = (text.partition(_AFTER) for text in texts.split(_BETWEEN))
    return int(number) if number else None, next((text for at, _, text in pairs if at == str(position)), "")


def _called(call: str, arguments: Sequence[str]) -> str:
    """Return a call with any number of arguments, as calls of calls with few."""
    while len(arguments) > _MOST:
        parts = [arguments[i : i + _MOST] for i in range(0, len(arguments), _MOST)]
        arguments = [f"{call}{', '.join(part)})" for part in parts]
    return f"{call}{', '.join(arguments) or chr(39) * 2})"
