"""Decode bins into values of the vault's schema: an Arrow table like the one that was sealed.

Numbers are on their grid, dates within their range, categories by name, and missing values are null. In a bin of
many values each row draws one of its cells by their noisy mass, and one of the cell's values at random. All of it
is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.oracle.linear_query import Decomposition, Value, evaluate
from discreet.query.bins import Axis
from discreet.schema.metadata import TableMetadata
from discreet.synth.adaptive_bins import Cut
from discreet.synth.sample import Codes, Stream
from discreet.synth.structural_zeros import parsed

if TYPE_CHECKING:
    import pyarrow

    from discreet.engines.nodes import Expression

_TRIES = 30
_TABLE = 1 << 16  # up to so many levels are decoded once and looked up


def table(
    rows: Codes, axes: Sequence[Axis], metadata: TableMetadata, *, seed: int, impossible: Sequence[str] = ()
) -> pyarrow.Table:
    """Return rows of codes as values.

    Args:
        rows: The bins of every row, one column for each axis.
        axes: The columns with their bins.
        metadata: The schema of the vault.
        seed: Chooses the values inside the bins.
        impossible: Conditions that no row may meet.
    """
    import pyarrow

    stream = Stream(seed + 1)
    missing = [rows[:, i] >= len(axis.starts) for i, axis in enumerate(axes)]
    bins = [np.where(gone, 0, rows[:, i]) for i, gone in enumerate(missing)]
    levels = [_levels(b, axis, stream) for b, axis in zip(bins, axes, strict=True)]
    for condition in impossible:
        _avoid(parsed(condition, axes, metadata), levels, missing, bins, axes, stream)
    return pyarrow.table(
        {axis.name: _column(levels[i], missing[i], axis, metadata) for i, axis in enumerate(axes)}
    )


def _avoid(
    condition: Decomposition,
    levels: list[NDArray[np.int64]],
    missing: Sequence[NDArray[np.bool_]],
    bins: Sequence[NDArray[np.int64]],
    axes: Sequence[Axis],
    stream: Stream,
) -> None:
    """Draw levels again, inside their bins, for rows that meet an impossible condition: it may cut a bin."""
    columns, where = condition.count.columns, condition.count.where
    for _ in range(_TRIES if where is not None else 0):
        codes = {axes[i].sealed: Value(levels[i], missing[i]) for i in columns}
        met = evaluate(cast("Expression", where), codes)
        wrong = np.flatnonzero(met.value.astype(bool) & ~met.null)
        if not len(wrong):
            return
        for i in columns:
            levels[i][wrong] = _levels(bins[i][wrong], axes[i], stream)


def _column(
    codes: NDArray[np.int64], missing: NDArray[np.bool_], axis: Axis, metadata: TableMetadata
) -> pyarrow.Array:
    import pyarrow

    column: Any = metadata.columns[axis.name]
    kind = _type(column)
    if column.levels <= _TABLE:
        every = pyarrow.array(column.values(list(range(column.levels))), kind)
        return every.take(pyarrow.array(codes, mask=missing))
    values = column.values(codes.tolist())
    return pyarrow.array(values, kind, mask=missing)


def _levels(bins: NDArray[np.int64], axis: Axis, stream: Stream) -> NDArray[np.int64]:
    """Return a level for every row: a cell of its bin, and a value of the cell."""
    starts, ends = np.array(axis.starts), np.array([*axis.starts[1:], axis.levels])
    if isinstance(axis, Cut):
        place = _cells(bins, axis, stream)
        starts, ends = np.array(axis.cells), np.array([*axis.cells[1:], axis.levels])
    else:
        place = bins
    width = ends - starts
    drawn = np.floor(stream.uniform(len(bins)) * width[place]).astype(np.int64)
    return np.asarray(starts[place] + np.minimum(drawn, width[place] - 1), np.int64)


def _cells(bins: NDArray[np.int64], axis: Cut, stream: Stream) -> NDArray[np.int64]:
    mass = np.cumsum(np.array(axis.masses) + 1e-9)
    first = np.searchsorted(axis.bin_of_cell, np.arange(len(axis.starts)))
    last = np.append(first[1:], len(mass)) - 1
    before = np.where(first > 0, mass[first - 1], 0.0)
    goal = before[bins] + stream.uniform(len(bins)) * (mass[last] - before)[bins]
    return np.asarray(np.clip(np.searchsorted(mass, goal, "right"), first[bins], last[bins]), np.int64)


def _type(column: Any) -> pyarrow.DataType:
    import pyarrow

    if column.kind == "category":
        return pyarrow.int64() if isinstance(column.labels[0], int) else pyarrow.string()
    kinds = {"boolean": pyarrow.bool_(), "date": pyarrow.date32(), "datetime": pyarrow.timestamp("us")}
    if column.kind in kinds:
        return kinds[column.kind]
    return pyarrow.int64() if type(column).__name__ == "Integer" else pyarrow.float64()
