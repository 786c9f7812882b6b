"""Read public knowledge for an oracle to start from: a public table, or an earlier oracle.

A prior decides how many answers are free, and nothing else. It may be wrong: the threshold test detects that. It
is mixed with the uniform table, so that no cell is impossible. What an oracle learned is made of released numbers,
so it is public for the next oracle. The new oracle copies it when it is made, and keeps it in its own state.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.oracle.dense_table import Floats
from discreet.oracle.fit import Columns, Measurement, Prior
from discreet.oracle.hypothesis import hypothesis
from discreet.query.bins import Axis
from discreet.schema.metadata import TableMetadata

UNIFORM = 0.02
"""The share of the uniform table in every prior."""


def of_rows(rows: Any, axes: Sequence[Axis], metadata: TableMetadata) -> list[dict[str, Any]]:
    """Return a public table as counted cells, in the form that `restored` reads."""
    codes = np.stack([_codes(rows, axis, metadata) for axis in axes])
    places, counts = np.unique(codes, axis=1, return_counts=True)
    return [{"places": places.tolist(), "counts": counts.tolist()}]


def of_measurements(measured: Sequence[Measurement], total: float) -> list[dict[str, Any]]:
    """Return what an oracle learned, in the form that `restored` reads."""
    listed = [
        {
            "columns": list(m.columns),
            "values": m.values.tolist(),
            "variance": m.variance,
            "weights": None if m.weights is None else m.weights.tolist(),
            "starts": list(m.starts),
        }
        for m in measured
    ]
    return [{"total": total, "measured": listed}]


def restored(records: Sequence[dict[str, Any]], axes: Sequence[Axis]) -> Prior | None:
    """Return the prior from its records, None if there are none."""
    if not records:
        return None
    record, sizes = records[0], [axis.size for axis in axes]
    if "places" in record:
        return _smoothed(_empirical(np.array(record["places"]), np.array(record["counts"]), sizes), sizes)
    learned = hypothesis(sizes, Measurement((), np.array(record["total"]), 1.0))
    learned.fit([_measurement(part) for part in record["measured"]])
    return _smoothed(lambda columns: learned.marginal(columns) / max(learned.total, 1e-300), sizes)


def _measurement(record: dict[str, Any]) -> Measurement:
    weights = record["weights"]
    return Measurement(
        tuple(record["columns"]),
        np.array(record["values"], np.float64),
        record["variance"],
        None if weights is None else np.array(weights, np.float64),
        tuple(None if starts is None else tuple(starts) for starts in record["starts"]),
    )


def _empirical(places: NDArray[np.int64], counts: NDArray[np.int64], sizes: Sequence[int]) -> Prior:
    def shares(columns: Columns) -> Floats:
        shape = [sizes[i] for i in columns]
        flat = np.ravel_multi_index([places[i] for i in columns], shape) if shape else np.zeros(len(counts), int)
        mass = np.bincount(flat, weights=counts, minlength=prod(shape))
        shared: Floats = mass / max(float(mass.sum()), 1.0)
        return shared.reshape(shape)

    return shares


def _smoothed(prior: Prior, sizes: Sequence[int]) -> Prior:
    def mixed(columns: Columns) -> Floats:
        return (1 - UNIFORM) * prior(columns) + UNIFORM / prod(sizes[i] for i in columns)

    return mixed


def _codes(rows: Any, axis: Axis, metadata: TableMetadata) -> NDArray[np.int64]:
    """Return the bin of each value of a public column.

    A value outside of the schema counts as missing, or is in the first bin if nothing may be missing.
    """
    column: Any = metadata.columns[axis.name]
    try:
        values = rows[axis.name]
    except (KeyError, TypeError, IndexError):
        raise ParameterError(
            f"The public table has no column {axis.name}.",
            fix="Add it to the public table, or leave the column out.",
        ) from None
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    starts, missing = np.array(axis.starts), len(axis.starts) if axis.nullable else 0
    known: dict[Any, int] = {}
    for value in set(listed):
        code = None if value is None else column.code(value)
        clamped = None if code is None else min(max(int(code), 0), axis.levels - 1)
        known[value] = missing if clamped is None else int(np.searchsorted(starts, clamped, "right")) - 1
    return np.array([known[value] for value in listed], np.int64)
