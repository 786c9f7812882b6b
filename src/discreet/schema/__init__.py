"""Define the columns that a curator declares: the kind, the bounds, the grid, and how other values are treated.

    Integer(0, 110)                     whole numbers
    Real(0, 500_000, step=100)          numbers on a grid
    Category(["red", "blue"])           one of a list
    Boolean()                           true or false
    Date("2020-01-01", "2029-12-31")    days
    Datetime("2020-01-01", "2030-01-01", step="1h")
    Text()                              any string: partition selection finds its values

Claims. A column maps every source value to a code from 0 to levels − 1, or to missing; the map looks at that value
alone, is fixed before any row is read, and is total: no value of any type makes it raise. A number's value is
offset + scale·code exactly.

Modules:
    numeric: Integer, Real
    temporal: Date, Datetime
    categorical: Category, Boolean, Text
    casts: from the values of a source to codes
    learned: numeric columns whose bounds are learned from the rows
    notation: numbers and dates that are written in another way
    validation: the parameters of a declaration
    describe: columns in words
    identifiers: quoted names, and identifiers for columns without a name
    metadata: TableMetadata, all that is public about a sealed table
    render: metadata for terminals and notebooks
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeAlias

from discreet.errors import Fix, ParameterError
from discreet.schema.casts import Family
from discreet.schema.categorical import Boolean, Category, Text
from discreet.schema.learned import Learned
from discreet.schema.numeric import Integer, Real
from discreet.schema.temporal import Date, Datetime
from discreet.schema.validation import misfit

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Datetime",
    "Family",
    "Integer",
    "Learned",
    "Real",
    "Text",
    "from_json",
]

Column: TypeAlias = Integer | Real | Category | Boolean | Date | Datetime | Text
"""Any column of a sealed table."""

_KINDS: dict[str, type[Column]] = {
    kind.__name__.lower(): kind for kind in (Integer, Real, Category, Boolean, Date, Datetime, Text)
}


def from_json(record: Mapping[str, Any]) -> Column:
    """Return the column that `as_json` wrote, or that a schema file declares.

    >>> from_json({"type": "integer", "lo": 0, "hi": 110})
    Integer(lo=0, hi=110, outside='clamp', missing=None)
    >>> column = Real(0, 1, step="0.1")
    >>> from_json(column.as_json()) == column
    True
    """
    rest = dict(record)
    kind = rest.pop("type", None)
    if kind not in _KINDS:
        raise ParameterError(
            f"The type of a column must be one of {', '.join(_KINDS)}.",
            found=repr(kind),
            fix=Fix("type", "integer"),
        )
    wrong = misfit(_KINDS[kind], (), rest)
    try:
        if not wrong:
            return _KINDS[kind](**rest)
    except TypeError as of_values:
        wrong = str(of_values)
    names = ", ".join(name for name in inspect.signature(_KINDS[kind]).parameters if name != "bounds_cost")
    parameters = f"with {names}" if names else "without parameters"
    raise ParameterError(f"Columns of type {kind} are declared {parameters}.", found=wrong)
