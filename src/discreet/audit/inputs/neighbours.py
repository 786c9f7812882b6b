"""Neighbours of a table, searched: the people whose joining or leaving has broken private code before.

Two tables are neighbours if one is the other without one person: one row if no column names people, else all rows
with that person's id. Ids that Python calls equal (1, 1.0) are one person, as are all NaN. What is tried:

* every person removed, or if they are many, some: those with the most rows, with extreme or missing values, the
  first and the last, and others evenly spaced;
* a person added: a copy of someone, at the end, in front or amid the rows; with an extreme value in one column, on
  rows chosen to show every common value of the other columns, so that a filter lets some pass; extreme in all
  columns; with very many rows; with no id, or one that careless code takes for somebody else's.

`bases` are tables to start from, for some code goes wrong only on an empty table, at a certain size, or on a table
that holds extreme values already. The pair (table, neighbour) is tried in one role only. With releases held fixed
each comparison of the two (calls, distances, results) is symmetric, and the other role would only draw other
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
"""How many rows a person with very many rows has."""

_REMOVED = 40  # people removed, at most
_GROWN = 12  # people, up to which every size of a table is tried
_FEW = 8  # neighbours of each of these


@dataclass(frozen=True)
class Table:
    """A table to start from; `most` is how many of its neighbours are worth a try, if not all."""

    name: str
    rows: Rows
    most: int | None = None


@dataclass(frozen=True)
class Neighbour:
    """A table with one person more (`added`) or less than the one it is a neighbour of."""

    name: str
    rows: Rows
    added: bool


def bases(rows: Iterable[Mapping[str, Any]], person: str | None = None) -> Iterator[Table]:
    """Yield the table itself and hostile ones like it, no two of them the same.

    >>> [table.name for table in bases([{"age": 30}])]
    ['the table as given', 'the empty table', 'a table of 2 people', ..., 'the table with extreme rows']
    """
    given = [dict(row) for row in rows]
    distinct: set[Hashable] = set()
    for table in _bases(given, person):
        kept = tagged(glimpse(table.rows))  # as written: 1 and 1.0 are two ways
        if kept not in distinct:
            distinct.add(kept)
            yield table


def neighbours(
    rows: Iterable[Mapping[str, Any]],
    person: str | None = None,
    *,
    like: Iterable[Mapping[str, Any]] | None = None,
) -> Iterator[Neighbour]:
    """Yield neighbours of a table; columns and their types are those of `like`, which is the table itself if None.

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
    """Return so many people with a row each: what is done only for small groups shows at some size."""
    rows: Rows = []
    for row in islice(cycle(given), size):
        rows.append({**row, **_stranger(given + rows, person)})
    return rows


def _retyped(rows: Rows, person: str) -> Rows:
    """Write integer ids as floats in every second row of each person: the same to Python and to databases."""
    again = {i for places in people(rows, person).values() for i in places[1::2]}
    return [
        {**row, person: float(row[person])} if i in again and _is_short(row.get(person)) else row
        for i, row in enumerate(rows)
    ]


def _is_short(value: Any) -> bool:
    """Whether a value is an integer that a float holds exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


# -- a person joins ---------------------------------------------------------------------------------------------


def _added(table: Rows, like: Rows, person: str | None) -> Iterator[Neighbour]:
    stranger, patterns = _stranger(table + like, person), pattern_rows(like, person)
    places = {len(table) // 2: "amid", 0: "in front", len(table): "at the end"}
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
    yield _joined(table, mixed, f"with a person of {MANY:,} rows like all others in front", place=0)
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
    """Return an id that nobody has, of the type that ids have."""
    if person is None:
        return {}
    ids = [row[person] for row in table if row.get(person) is not None]
    numbers = [value for value in ids if isinstance(value, int | float | np.number) and -(2**52) < value < 2**52]
    if numbers or not ids:
        return {person: max(numbers, default=0) + 1}
    unseen, taken = "nobody", {value for value in ids if isinstance(value, str)}
    while unseen in taken:
        unseen += "'"
    return {person: unseen}


def _lookalikes(value: Any) -> Iterator[Any]:
    """Yield ids that are not this one, and that careless code takes for it, or for none."""
    yield from (None, math.nan, "")
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**52:
        yield from (str(value), f" {value}", f"{value}.0", value + 0.5, -value)
    if isinstance(value, str):
        yield from (value + " ", value + "\0", value.swapcase(), unicodedata.normalize("NFD", value))
        yield from [int(value)] if value.isascii() and value.isdigit() else []


# -- a person leaves --------------------------------------------------------------------------------------------


def people(rows: Sequence[Mapping[str, Any]], person: str | None) -> dict[Hashable, list[int]]:
    """Return the people of a table, each with the places of their rows.

    >>> people([{"id": 1}, {"id": 2}, {"id": 1.0}], "id")
    {1: [0, 2], 2: [1]}
    """
    found: dict[Hashable, list[int]] = {}
    for i, row in enumerate(rows):
        found.setdefault(i if person is None else identity(row.get(person)), []).append(i)
    return found


def _leaving(table: Rows, person: str | None) -> Iterator[tuple[Hashable, list[int]]]:
    everyone = people(table, person)
    chosen = list(everyone)
    if len(everyone) > _REMOVED:
        owner = {i: key for key, places in everyone.items() for i in places}
        heaviest = sorted(everyone, key=lambda key: -len(everyone[key]))[:3]
        extreme = [owner[i] for i in extreme_rows(table, columns_of(table, person))]
        spaced = chosen[:: math.ceil(len(chosen) / (_REMOVED // 2))]
        chosen = list(dict.fromkeys([*heaviest, chosen[0], chosen[-1], *extreme, *spaced]))[:_REMOVED]
    yield from ((key, everyone[key]) for key in chosen)
