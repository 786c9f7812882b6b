"""Pack expressions into few tables of cells: combinations of intervals of codes that no expression tells apart.

An expression that only compares a column with integers, `c0 >= 40` or `c1 IN (2, 5)`, is constant between the
integers that it names. So its value on a row follows from the interval of each code, and one code of the interval,
its first, stands for all of them. A column that is used in any other way keeps each of its codes. Expressions are
packed together as long as their columns, cut at all the integers that any of them names, have few combinations.
Everything here follows from the expressions and the metadata: no row is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from discreet.engines import nodes
from discreet.engines.nodes import Expression
from discreet.query import ir

MOST_CELLS = 2**16
"""The most combinations of intervals in one table."""

MOST_STARTS = 1000
"""The most intervals of a column: an engine finds the interval of a code by a search that is written out."""

Cuts: TypeAlias = dict[str, frozenset[int] | None]
"""For each column the codes at which an interval begins, without 0; None if every code counts by itself."""


@dataclass(frozen=True)
class Table:
    """The first code of each interval of each column, and the places of the expressions that it is for."""

    starts: Mapping[str, tuple[int, ...] | None]
    places: tuple[int, ...]

    def keys(self) -> list[Expression]:
        """Return the interval of each column, as expressions to group by. A missing code stays missing."""
        return [
            ir.sealed(name) if starts is None else ir.stepped(ir.sealed(name), starts, range(len(starts)))
            for name, starts in self.starts.items()
        ]

    def code(self, column: str, interval: int) -> int:
        """Return the code that stands for an interval."""
        starts = self.starts[column]
        return interval if starts is None else starts[interval]


def cuts(tree: Expression) -> Cuts:
    """Return where an expression tells the codes of its columns apart.

    >>> found = cuts(ir.both(ir.compared(">=", ir.sealed("c0"), ir.number(40)), ir.is_null(ir.sealed("c1"))))
    >>> sorted(found["c0"]), sorted(found["c1"])
    ([40], [])
    >>> cuts(ir.plus(ir.sealed("c0"), 1))
    {'c0': None}
    """
    seen, plain = Counter[str](), Counter[str]()
    points: dict[str, set[int]] = {}
    for node in tree.walk():
        if isinstance(node, nodes.Column):
            seen[node.name] += 1
            points.setdefault(node.name, set())
        elif (compared := _compared(node)) is not None:
            name, edges = compared
            plain[name] += 1
            points.setdefault(name, set()).update(edges)
    # Every use of a column is seen once as a node. If not all are comparisons, the codes themselves matter.
    return {name: frozenset(edges) if seen[name] == plain[name] else None for name, edges in points.items()}


def _compared(node: Expression) -> tuple[str, set[int]] | None:
    """Return the column that a node compares with integers, and where its truth may change; None for others."""
    match node:
        case nodes.Compare(operator, nodes.Column(name), nodes.Int(value)):
            edges = {"<": {value}, ">=": {value}, "<=": {value + 1}, ">": {value + 1}}
            return name, edges.get(operator, {value, value + 1})
        case nodes.In(nodes.Column(name), values) if all(isinstance(one, nodes.Int) for one in values):
            listed = [one.value for one in values if isinstance(one, nodes.Int)]
            return name, {edge for value in listed for edge in (value, value + 1)}
        case nodes.IsNull(nodes.Column(name)):
            return name, set()
    return None


def packed(
    trees: Sequence[Expression], levels: Mapping[str, int], most: int = MOST_CELLS
) -> tuple[list[Table], list[int]]:
    """Return tables that serve the expressions, and the places of those that no table serves.

    Args:
        trees: The expressions.
        levels: The number of codes of each sealed column that has a list of them.
        most: The most cells of a table.

    >>> age = [ir.compared(">=", ir.sealed("c0"), ir.number(cut)) for cut in (18, 65)]
    >>> packed(age, {"c0": 10**6})[0][0].starts
    {'c0': (0, 18, 65)}
    """
    together: dict[frozenset[tuple[str, bool]], tuple[Cuts, list[int]]] = {}
    for place, tree in enumerate(trees):
        wanted = cuts(tree)
        kind = frozenset((name, points is None) for name, points in wanted.items())
        known, places = together.setdefault(kind, ({}, []))
        _merge(known, wanted)
        places.append(place)
    tables: list[tuple[Cuts, list[int]]] = []
    alone: list[int] = []
    for wanted, places in sorted(together.values(), key=lambda one: -_cells(one[0], levels)):
        if not set(wanted) <= set(levels) or _cells(wanted, levels) > most:
            alone += places
            continue
        room = next((table for table in tables if _cells(_both(table[0], wanted), levels) <= most), None)
        if room is None:
            room = ({}, [])
            tables.append(room)
        _merge(room[0], wanted)
        room[1].extend(places)
    return [_table(known, places, levels) for known, places in tables], sorted(alone)


def _merge(known: Cuts, more: Cuts) -> None:
    known.update(_both(known, more))


def _both(known: Cuts, more: Cuts) -> Cuts:
    merged = dict(known)
    for name, points in more.items():
        here = known.get(name, frozenset())
        merged[name] = None if points is None or here is None else here | points
    return merged


def _starts(points: frozenset[int] | None, levels: int) -> tuple[int, ...] | None:
    """Return the first code of each interval; None if every code is its own, or the intervals are too many."""
    if points is None:
        return None
    starts = (0, *sorted(point for point in points if 0 < point < levels))
    return None if len(starts) == levels or len(starts) > MOST_STARTS else starts


def _cells(known: Cuts, levels: Mapping[str, int]) -> int:
    """Return the number of combinations, the missing code of each column included."""
    found = ((levels.get(name, 1), _starts(points, levels.get(name, 1))) for name, points in known.items())
    return prod((most if starts is None else len(starts)) + 1 for most, starts in found)


def _table(known: Cuts, places: Sequence[int], levels: Mapping[str, int]) -> Table:
    return Table({name: _starts(known[name], levels[name]) for name in sorted(known)}, tuple(places))
