"""List extreme values for each type of column, and find the rows of a table that represent it best.

NaN, infinities, the largest and smallest doubles, integers at the edges of 32, 53 and 64 bits, strings that are
empty, long, quoted or not declared, the first and the last day, and null: each has broken private code, by an
exception, a sum that wrapped around or a clamp that let it through.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from discreet.audit.attacks.outcomes import glimpse, written

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = list[Row]

_PATTERNS = 6  # most rows into which extreme values are put
_COMMON = 12  # most distinct values of a column that is treated as categories

_LARGEST = 1.7976931348623157e308
_FLOATS = [math.nan, math.inf, -math.inf, -0.0, _LARGEST, -_LARGEST, 5e-324, None]
_INTEGERS = [0, -1, 2**31, -(2**31), 2**63, -(2**63), 2**53 + 1, None]
_TEXTS = ["never seen before", "", "x" * 10_000, "nul \0 quote ' \" and\nline", None]
_FLAGS = [True, False, None]


def identity(value: Any) -> Hashable:
    """Return a key under which equal values are looked up: all NaN are one value.

    >>> identity(float("nan")) == identity(-float("nan")), identity(1) == identity(1.0)
    (True, True)
    """
    if isinstance(value, float) and math.isnan(value):
        return ("NaN",)
    return value if isinstance(value, Hashable) else glimpse(value)


def columns_of(rows: Rows, person: str | None) -> list[str]:
    """Return the columns that any row has, except the one with person ids.

    >>> columns_of([{"id": 1}, {"id": 2, "age": 30}], "id")
    ['age']
    """
    return [column for column in dict.fromkeys(column for row in rows for column in row) if column != person]


def pattern_rows(rows: Rows, person: str | None) -> list[int]:
    """Choose a few rows that together have every common value of every column, as far as possible.

    >>> pattern_rows([{"sex": "f"}, {"sex": "f"}, {"sex": "m"}], None)
    [0, 2]
    """
    columns = columns_of(rows, person)
    common = {c for c in columns if len({identity(row.get(c)) for row in rows}) <= _COMMON}
    shows = [{(c, identity(row.get(c))) for c in common} for row in rows]
    chosen, left = [0], set().union(*shows) - shows[0]
    while left and len(chosen) < _PATTERNS:
        best = max(range(len(rows)), key=lambda i: len(shows[i] & left))
        chosen.append(best)
        left -= shows[best]
    others = (i for i in extreme_rows(rows, columns) if i not in chosen)
    return chosen + list(others)[: _PATTERNS - len(chosen)]


def extreme_rows(rows: Rows, columns: list[str]) -> list[int]:
    """Return the rows where each column has its least and greatest value of each kind, and its first null.

    >>> extreme_rows([{"age": 30}, {"age": None}, {"age": 7}, {"age": 8}], ["age"])
    [2, 0, 1]
    """
    found: list[int] = []
    for column in columns:
        kinds: dict[str, list[int]] = {}
        for i, row in enumerate(rows):
            kinds.setdefault(_kind(row.get(column)), []).append(i)
        for kind, places in kinds.items():
            try:
                ordered = [] if kind == "missing" else sorted(places, key=lambda i: rows[i][column])
            except TypeError:  # these values have no order
                ordered = []
            found += [ordered[0], ordered[-1]] if ordered else places[:1]
    return list(dict.fromkeys(found))


def _kind(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    return "number" if isinstance(value, int | float | np.number) else type(value).__name__


def extreme_values(values: Iterable[Any]) -> list[Any]:
    """Return the extreme values for the types in a column; for all types, if the column has only nulls.

    >>> extreme_values([None, True])
    [True, False, None]
    """
    present = list(dict.fromkeys(type(value) for value in values if value is not None))
    found = [extreme for kind in present for extreme in _extremes_of(kind)] if present else _FLOATS + _TEXTS
    return list({(type(value), repr(value)): value for value in found}.values())


def _extremes_of(kind: type) -> list[Any]:
    if issubclass(kind, bool | np.bool_):
        return _FLAGS
    if issubclass(kind, int | np.integer):
        return _INTEGERS
    if issubclass(kind, float | np.floating):
        return _FLOATS
    if issubclass(kind, str):
        return _TEXTS
    if issubclass(kind, dt.date):  # a datetime is one
        return [kind.min, kind.max, None]
    return [None]


def extreme_everywhere(rows: Rows, person: str | None) -> Iterator[Row]:
    """Yield rows that are extreme in every column at once; each extreme value is in at least one of them.

    >>> list(extreme_everywhere([{"id": 7, "smokes": True}], "id"))
    [{'smokes': True}, {'smokes': False}, {'smokes': None}]
    """
    extreme = {column: extreme_values(row.get(column) for row in rows) for column in columns_of(rows, person)}
    for i in range(max(map(len, extreme.values()), default=0)):
        yield {column: values[i % len(values)] for column, values in extreme.items()}


def shown(value: Any) -> str:
    """Return the repr of a value, cut if it is long.

    >>> shown("a" * 50)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (52 characters)"
    """
    text = written(value)
    return text if len(text) <= 40 else f"{text[:30]}… ({len(text)} characters)"
