"""Describe the declared columns: what they can hold, and how other values are treated."""

from __future__ import annotations

from discreet.schema import Boolean, Category, Column, Date, Datetime, Integer, Real, Text

_LISTED = 6  # values of a category that are written out


def domain(column: Column) -> str:
    """Describe the values that a column can hold.

    >>> domain(Integer(0, 110)), domain(Real(0, 500_000, step=100))
    ('whole numbers from 0 to 110', 'numbers from 0 to 500000 in steps of 100')
    >>> domain(Category(["red", "blue"], other="another"))
    'one of red, blue, another'
    """
    match column:
        case Integer():
            return f"whole numbers from {column.lo} to {column.hi}{_learned(column)}"
        case Real():
            ends = f"from {_number(column.lo)} to {_number(column.hi)}"
            return f"numbers {ends} in steps of {_number(column.step)}{_learned(column)}"
        case Category():
            listed = ", ".join(map(str, column.labels[:_LISTED]))
            more = f" and {len(column.labels) - _LISTED} more" if len(column.labels) > _LISTED else ""
            return f"one of {listed}{more}"
        case Boolean():
            return "true or false"
        case Date():
            return f"days from {column.lo} to {column.hi}"
        case Datetime():
            return f"times from {column.lo} to {column.hi} in steps of {column.step}"
        case Text():
            return "any string"


def fate(column: Column) -> str:
    """Describe how missing values and values outside the bounds are treated.

    >>> fate(Integer(0, 110))
    'values outside are moved to the nearer bound; missing values form a group, and count in count(*) only'
    >>> fate(Real(0, 1, step="0.1", outside="missing", missing=0))
    'values outside are missing; missing values become 0'
    """
    parts = []
    match column:
        case Integer() | Real() | Date() | Datetime():
            parts.append(
                "values outside are moved to the nearer bound"
                if column.outside == "clamp"
                else "values outside are missing"
            )
        case Category():
            other = "are missing" if column.other is None else f"become {column.other}"
            parts.append(f"values not in the list {other}")
        case Boolean():
            parts.append("values that are neither are missing")
        case Text():
            return "missing values form a group, if partition selection finds it"
    value = column.missing
    filled = _number(value) if isinstance(column, Real) else str(value)
    parts.append(
        "missing values form a group, and count in count(*) only"
        if value is None
        else f"missing values become {filled}"
    )
    return "; ".join(parts)


def _learned(column: Integer | Real) -> str:
    """Say that bounds were learned, and what they cost."""
    return "" if column.bounds_cost is None else f" (bounds learned from the rows, for {column.bounds_cost})"


def _number(value: object) -> str:
    return f"{float(value):.15g}" if value is not None else "none"  # type: ignore[arg-type]
