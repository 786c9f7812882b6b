"""Convert a release to a table of Arrow, pandas or polars: keys, and x, x_low, x_high for every aggregate x.

Numbers are doubles, whatever their values are; averages and quantiles of dates are timestamps. Keys have the type
of their values. A number whose interval is all that is possible is unknown: its value is null, and its ends are
the bounds. The label goes along in Arrow's metadata, and in pandas' `attrs`, with what is unknown.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, ParameterError
from discreet.render.numbers import instant

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from discreet.release.release import Release


def layout(columns: Iterable[str], keys: Collection[str], named: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the columns of the table of an answer: the name, the key or aggregate behind it, and which part.

    Args:
        columns: The keys and aggregates of the answer in their order.
        keys: Which of them are keys.
        named: The identifier of every key and aggregate.

    >>> layout(["city", "count(*)"], ["city"], {"city": "city", "count(*)": "count"})[:3]
    [('city', 'city', 'key'), ('count', 'count(*)', 'value'), ('count_low', 'count(*)', 'low')]
    """
    taken, found = set(named.values()), []
    for name in columns:
        found.append((named[name], name, "key" if name in keys else "value"))
        for end in () if name in keys else ("low", "high"):
            beside = f"{named[name]}_{end}"
            while beside in taken:
                beside += "_"
            taken.add(beside)
            found.append((beside, name, end))
    return found


def schema(columns: Iterable[tuple[str, str]]) -> pa.Schema:
    """Return the Arrow schema of columns by name and kind: boolean, integer, real, text, date, datetime, null."""
    pyarrow = _module("pyarrow", "pyarrow")
    types = {
        "boolean": pyarrow.bool_(),
        "integer": pyarrow.int64(),
        "real": pyarrow.float64(),
        "text": pyarrow.string(),
        "date": pyarrow.date32(),
        "datetime": pyarrow.timestamp("us"),
        "null": pyarrow.string(),
    }
    return pyarrow.schema([pyarrow.field(name, types[kind]) for name, kind in columns])


def kind(name: str, values: Sequence[Any]) -> str:
    """Return what a column of keys holds: boolean, integer, real, text, date or datetime; null if nothing.

    >>> kind("city", ["Oslo", None]), kind("year", [2024]), kind("x", [])
    ('text', 'integer', 'null')
    """
    found = {_kind(value) for value in {type(value): value for value in values}.values() if value is not None}
    if found == {"integer", "real"}:
        return "real"
    if len(found) > 1:
        raise ParameterError(
            f"The values of the key {name!r} have several types.", found=" and ".join(sorted(found))
        )
    return found.pop() if found else "null"


def arrow(release: Release) -> pa.Table:
    """Return a release as a table of Arrow."""
    pyarrow = _module("pyarrow", "pyarrow")
    columns, kinds = [], []
    for name, (values, axis) in release.typed_table().items():
        if axis not in ("key", "number"):
            values = tuple(None if value is None else instant(value, axis) for value in values)
        columns.append(values)
        kinds.append((name, kind(name, values) if axis == "key" else kind_of(axis)))
    about_schema = schema(kinds)
    arrays = [
        pyarrow.array(values, field.type, from_pandas=False)
        for values, field in zip(columns, about_schema, strict=True)
    ]
    about = {"discreet": json.dumps({**_about(release), "label": release.label.facts}, ensure_ascii=False)}
    table: pa.Table = pyarrow.Table.from_arrays(arrays, schema=about_schema.with_metadata(about))
    return table


def kind_of(axis: str) -> str:
    """Return what a column of numbers holds, by the axis of its aggregate."""
    return "real" if axis == "number" else "datetime"


def pandas(release: Release) -> pd.DataFrame:
    """Return a release as a data frame of pandas."""
    _module("pandas", "pandas")
    frame: pd.DataFrame = arrow(release).replace_schema_metadata(None).to_pandas(date_as_object=False)
    frame.attrs["discreet"] = {**_about(release), "label": release.label.facts}
    return frame


def polars(release: Release) -> pl.DataFrame:
    """Return a release as a data frame of polars."""
    frame: pl.DataFrame = _module("polars", "polars").from_arrow(arrow(release).replace_schema_metadata(None))
    return frame


def _about(release: Release) -> dict[str, Any]:
    return {
        "question": release.question,
        "names": {release.identifiers[name]: name for name in release.columns},
        "confidence": float(release.confidence),
        "cost": release.receipt.spent,
        "unknown": {
            release.identifiers[answer.name]: sum(answer.unknown)
            for answer in release.aggregates
            if any(answer.unknown)
        },
        "at": release.at,
    }


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "real"
        case str():
            return "text"
        case datetime():
            return "datetime"
        case date():
            return "date"
    raise ParameterError("A key must be text, a number, a truth value or a date.", found=repr(value))


def _module(name: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise DiscreetError(
            f"This needs {package}, which is not installed.", fix=f"Install it with: pip install {package}."
        ) from None
