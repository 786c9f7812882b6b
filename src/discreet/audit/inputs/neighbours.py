"""Search the neighbours of a table for people whose joining or leaving breaks private code.

Two tables are neighbours if one is the other without one person: one row if no column has person ids, else all
rows with that person's id. Ids that are equal in Python (1, 1.0) are one person, as are all NaN. These are tried:

* every person removed, or, if there are many, some of them: those with the most rows, with extreme or missing
  values, the first and the last, and others evenly spaced;
* a person added: a copy of a row, at the end, at the start or in the middle; with an extreme value in one column,
  on rows chosen to have every common value of the other columns, so that some pass a filter; extreme in all
  columns; with very many rows; without an id, or with an id that careless code confuses with another one.

`bases` are tables to start from: some code fails only on an empty table, at a certain size, or on a table that
holds extreme values already. Each pair (table, neighbour) is tried in one order only. With releases held fixed
each comparison of the two (calls, distances, results) is symmetric, and the other order would only draw other
releases, which other bases do as well.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np

from discreet.audit.attacks.outcomes import glimpse, tagged, written
from discreet.audit.inputs.extremes import (
    Row,
    Rows,
    columns_of,
    extreme_everywhere,
    extreme_rows,
    extreme_values,
    identity,
    pattern_rows,
    shown,
)

MANY = 1000
"""The number of rows of a person with very many rows."""

_REMOVED = 40  # most people who are removed, one at a time
_GROWN = 12  # every size of a table up to this number of people is tried
_FEW = 8  # most neighbours of each of these tables


@dataclass(frozen=True)
class Table:
    """A table to start from; at most `most` of its neighbours are tried, all by default."""

    name: str
    rows: Rows
    most: int | None = None


@dataclass(frozen=True)
class Neighbour:
    """A neighbour of a table: one person more (`added`) or one less."""

    name: str
    rows: Rows
    added: bool


def bases(rows: Iterable[Mapping[str, Any]], person: str | None = None) -> Iterator[Table]:
    """Yield the table itself and hostile variants of it, all different.

    >>> [table.name for table in bases([{"age": 30}])]
    ['the table as given', 'the empty table', 'a table of 2 people', ..., 'the table with extreme rows']
    """
    given = [dict(row) for row in rows]
    distinct: set[Hashable] = set()
    for table in _bases(given, person):
        kept = tagged(glimpse(table.rows))  # by type too: 1 and 1.0 differ
        if kept not in distinct:
            distinct.add(kept)
            yield table


def neighbours(
    rows: Iterable[Mapping[str, Any]],
    person: str | None = None,
    *,
    like: Iterable[Mapping[str, Any]] | None = None,
) -> Iterator[Neighbour]:
    """Yield neighbours of a table, with the columns and types of the table `like`, by default the table itself.

    >>> found = list(neighbours([{"id": 1, "age": 30}], person="id"))
    >>> found[0].name, found[0].rows
    ('with a copy of row 0 at the end', [{'id': 1, 'age': 30}, {'id': 2, 'age': 30}])
    >>> found[-1].name, found[-1].rows
    ('without id 1', [])
    """
    table = [dict(row) for row in rows]
    pattern_table = table if like is None else [dict(row) for row in like]
    if pattern_table:
        yield from _added(table, pattern_table, person)
    for key, removed in _leaving(table, person):
        gone = set(removed)
        who = f"row {key}" if person is None else f"{person} {written(table[removed[0]].get(person))}"
        yield Neighbour(f"without {who}", [row for i, row in enumerate(table) if i not in gone], added=False)


# -- tables to start from ---------------------------------------------------------------------------------------


def _bases(given: Rows, person: str | None) -> Iterator[Table]:
    yield Table("the table as given", given)
    yield Table("the empty table", [])
    if not given:
        return
    yield Table("a table of one row", given[:1])
    if person is not None:
        heaviest = max(people(given, person).values(), key=len)
        yield Table("a table of one person", [given[i] for i in heaviest])
    yield Table("the table in reverse", given[::-1])
    for size in range(2, _GROWN + 1):
        yield Table(f"a table of {size} people", _grown(given, person, size), most=_FEW)
    extreme: Rows = []
    for values in extreme_everywhere(given, person):
        extreme.append({**given[0], **_stranger(given + extreme, person), **values})
    yield Table("the table with extreme rows", given + extreme)
    if person is not None:
        yield Table("the table with ids written in two ways", _retyped(given, person))


def _grown(given: Rows, person: str | None, size: int) -> Rows:
    """Return a table of `size` people with one row each: code with a special case for small groups fails then."""
    rows: Rows = []
    for row in islice(cycle(given), size):
        rows.append({**row, **_stranger(given + rows, person)})
    return rows


def _retyped(rows: Rows, person: str) -> Rows:
    """Write integer ids as floats in every second row of each person: Python and databases see equal ids."""
    again = {i for places in people(rows, person).values() for i in places[1::2]}
    return [
        {**row, person: float(row[person])} if i in again and _is_short(row.get(person)) else row
        for i, row in enumerate(rows)
    ]


def _is_short(value: Any) -> bool:
    """Return whether a value is an integer that a float represents exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


# -- a person joins ---------------------------------------------------------------------------------------------


def _added(table: Rows, like: Rows, person: str | None) -> Iterator[Neighbour]:
    stranger, patterns = _stranger(table + like, person), pattern_rows(like, person)
    places = {len(table) // 2: "in the middle", 0: "at the start", len(table): "at the end"}
    for i in patterns:
        for place in sorted(places, reverse=True):
            yield _joined(table, [{**like[i], **stranger}], f"with a copy of row {i} {places[place]}", place)
    for column in columns_of(like, person):
        for value in extreme_values(row.get(column) for row in like):
            for i in patterns:
                name = f"with a copy of row {i} whose {column} is {shown(value)}"
                yield _joined(table, [{**like[i], **stranger, column: value}], name)
    for values in extreme_everywhere(like, person):
        listed = ", ".join(f"{column} {shown(value)}" for column, value in values.items())
        yield _joined(table, [{**like[0], **stranger, **values}], f"with a row of {listed}")
    if person is not None:
        yield from _strange_people(table, like, patterns, person)


def _strange_people(table: Rows, like: Rows, patterns: list[int], person: str) -> Iterator[Neighbour]:
    stranger = _stranger(table + like, person)
    for i in patterns:
        yield _joined(table, [{**like[i], **stranger}] * MANY, f"with a person of {MANY:,} rows like row {i}")
    mixed = list(islice(cycle([{**row, **stranger} for row in like[:MANY]]), MANY))
    yield _joined(table, mixed, f"with a person of {MANY:,} rows like all others")
    yield _joined(table, mixed, f"with a person of {MANY:,} rows like all others at the start", place=0)
    taken = people(table, person)
    for i in patterns:
        for value in _lookalikes(like[i].get(person)):
            if identity(value) not in taken:
                name = f"with a copy of row {i} whose {person} is {shown(value)}"
                yield _joined(table, [{**like[i], person: value}], name)


def _joined(table: Rows, rows: Rows, name: str, place: int | None = None) -> Neighbour:
    where = len(table) if place is None else place
    return Neighbour(name, table[:where] + rows + table[where:], added=True)


def _stranger(table: Rows, person: str | None) -> Row:
    """Return an id that no row has, of the type of the other ids."""
    if person is None:
        return {}
    ids = [row[person] for row in table if row.get(person) is not None]
    numbers = [value for value in ids if isinstance(value, int | float | np.number) and -(2**52) < value < 2**52]
    if numbers or not ids:
        return {person: max(numbers, default=0) + 1}
    unseen, taken = "stranger", {value for value in ids if isinstance(value, str)}
    while unseen in taken:
        unseen += "'"
    return {person: unseen}


def _lookalikes(value: Any) -> Iterator[Any]:
    """Yield other ids that careless code confuses with this one, or with a missing id."""
    yield from (None, math.nan, "")
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**52:
        yield from (str(value), f" {value}", f"{value}.0", value + 0.5, -value)
    if isinstance(value, str):
        yield from (value + " ", value + "\0", value.swapcase(), unicodedata.normalize("NFD", value))
        yield from [int(value)] if value.isascii() and value.isdigit() else []


# -- a person leaves --------------------------------------------------------------------------------------------


def people(rows: Sequence[Mapping[str, Any]], person: str | None) -> dict[Hashable, list[int]]:
    """Return the people of a table, each with the positions of their rows.

    >>> people([{"id": 1}, {"id": 2}, {"id": 1.0}], "id")
    {1: [0, 2], 2: [1]}
    """
    found: dict[Hashable, list[int]] = {}
    for i, row in enumerate(rows):
        found.setdefault(i if person is None else identity(row.get(person)), []).append(i)
    return found


def _leaving(table: Rows, person: str | None) -> Iterator[tuple[Hashable, list[int]]]:
    members = people(table, person)
    chosen = list(members)
    if len(members) > _REMOVED:
        owner = {i: key for key, places in members.items() for i in places}
        heaviest = sorted(members, key=lambda key: -len(members[key]))[:3]
        extreme = [owner[i] for i in extreme_rows(table, columns_of(table, person))]
        spaced = chosen[:: math.ceil(len(chosen) / (_REMOVED // 2))]
        chosen = list(dict.fromkeys([*heaviest, chosen[0], chosen[-1], *extreme, *spaced]))[:_REMOVED]
    yield from ((key, members[key]) for key in chosen)
