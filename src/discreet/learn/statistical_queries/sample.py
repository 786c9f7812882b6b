"""Read arrays into a sample: integer codes within a declared schema, and one weight per row.

Claim. The codes and the weight of a row depend on that row and on the declared schema alone, and every value of
every type has some: a number outside its bounds moves to the nearer bound (or is missing, if so declared), NaN,
None and values of other types are missing, a label that is not in the list is `other` or missing. A weight that is
not a number counts 0, and any other is moved into 0 … 1 and rounded down to a multiple of 1/UNIT. So two samples
that differ by one row have the same codes elsewhere, and every weighted sum of values in [−1, 1] changes by at
most UNIT times the grid of the values. Neighbours add or remove one row: every row is a person of its own. For
persons with several rows seal a vault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.oracle.linear_query import Value
from discreet.schema import Boolean, Category, Column, Integer, Text
from discreet.schema.metadata import UNIT, TableMetadata

NAME = "sample"
"""The name of the table that a sample stands for."""


@dataclass(frozen=True, repr=False, eq=False)
class Sample:
    """Rows in memory, with a declared schema. They are private: a sample has no repr and is not pickled.

    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 110), "ill": Boolean()}
    >>> Sample.of({"age": [30, 71, float("nan")], "ill": [False, True, True]}, columns)
    <sample over age, ill, sealed>
    """

    metadata: TableMetadata
    codes: Mapping[str, Value]
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Mapping[str, Any] | Any, columns: Mapping[str, Column], weights: Any = None) -> Sample:
        """Return the sample of some arrays.

        Args:
            rows: A mapping from names to lists or arrays of one length; a data frame will do.
            columns: The declared columns by name: no others are read.
            weights: How much each row counts, from 0 to 1; 1 by default.
        """
        metadata = TableMetadata(NAME, columns, person=None)
        listed = {name: _listed(rows, name) for name in columns}
        lengths = {len(values) for values in listed.values()}
        if weights is not None:
            given = np.asarray(weights, dtype=object).tolist()
            lengths.add(len(given))
        if len(lengths) > 1:
            raise ParameterError("The arrays of a sample must have one length.", fix="Give one value per row.")
        count = lengths.pop()
        weight = (
            np.full(count, UNIT, np.int64)
            if weights is None
            else np.array([_weight(one) for one in given], np.int64)
        )
        codes = {
            metadata.sealed_name(name): _encoded(column, listed[name]) for name, column in metadata.columns.items()
        }
        return cls(metadata, codes, weight)

    def __repr__(self) -> str:
        return f"<sample over {', '.join(self.metadata.columns)}, sealed>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A sample is private and is not pickled or copied.")


def _listed(rows: Any, name: str) -> list[Any]:
    try:
        values = rows[name]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ParameterError(
            f"The sample has no column {name}.",
            fix=Fix("rows", {name: [1, 2]}, note="a list or an array for each"),
        ) from None
    plain = values.to_pylist() if hasattr(values, "to_pylist") else values
    array = plain if isinstance(plain, list) else np.asarray(plain)
    return array if isinstance(array, list) else list(array.tolist())


def _weight(value: Any) -> int:
    """Return a weight in units of 1/UNIT, for any value."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return UNIT if value is True or value is np.True_ else 0
    if value != value:
        return 0
    return math.floor(max(0.0, min(1.0, float(max(-1, min(2, value))))) * UNIT)


def _encoded(column: Column, values: list[Any]) -> Value:
    """Return the codes of a column, and where they are missing. Total: no value raises."""
    if isinstance(column, Text):
        raise ParameterError(
            "A sample has no column of undeclared strings.",
            fix="Declare a category, or seal the table in a vault.",
        )
    place = _placer(column)
    known: dict[Any, int | None] = {}
    found = []
    for value in values:
        key = _key(value)
        if key is not None and key not in known:
            known[key] = place(value)
        found.append(None if key is None else known[key])
    filled = [column.filling if code is None else code for code in found]
    null = np.array([code is None for code in filled], bool)
    return Value(np.array([0 if code is None else code for code in filled], np.int64), null)


def _key(value: Any) -> Any:
    """Return what tells values apart (1 and True are equal in Python), and None for those that are missing."""
    try:
        hash(value)
        return None if value is None or bool(value != value) else (type(value), value)
    except Exception:  # an unhashable value, or one whose own code fails, is missing
        return None


def _placer(column: Any) -> Callable[[Any], int | None]:
    """Return the function from a value to its code, None if it is missing: the same map as that of sealing."""
    levels = int(column.levels)
    clamps = getattr(column, "outside", "clamp") == "clamp"
    last = levels - 1 if isinstance(column, Boolean | Category | Integer) else column.code(column.hi)

    def place(value: Any) -> int | None:
        if isinstance(value, float) and math.isinf(value) and not isinstance(column, Boolean | Category):
            return (levels - 1 if value > 0 else 0) if clamps else None
        position = _position(column, value)
        if position is None:
            return None
        # Numbers go to the nearest code, halves upwards; times to the one before them.
        code = int(math.floor(position * 2 + 1) // 2 if column.kind == "number" else math.floor(position))
        bounded = code if isinstance(column, Integer) else position  # an integer is rounded before it is compared
        if not clamps and not 0 <= bounded <= last:
            return None
        return min(max(code, 0), levels - 1)

    return place


def _position(column: Any, value: Any) -> Any:
    """Return where a value lies on the axis of codes; None if it has no place there."""
    if isinstance(column, Boolean) and isinstance(value, int | float) and value in (0, 1):
        return int(value)
    try:
        found = column.code(value)
    except Exception:  # the code of a strange type may fail: then it is missing, as any other strange value
        found = None
    if found is None and isinstance(column, Category) and column.other is not None:
        return column.code(column.other)
    return found
