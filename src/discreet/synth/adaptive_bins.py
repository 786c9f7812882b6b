"""Cut columns of many values into few bins, from the one-way marginals that are measured anyway.

A column of more than FEW numbers, or MANY labels, is cut into at most FINE cells of equal width, and its one-way
marginal is measured over these. Its sensitivity is that of a coarser one, so fineness costs nothing. The noisy
marginal is shrunk and then divided into at most 32 bins of about equal mass: a frequent value has a bin of its
own. Everything after the measurement is post-processing. Pairs are measured over bins. Inside a bin a row takes
one of its cells by their noisy mass, and inside a cell any value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.query.bins import Axis, Bins, axes_of
from discreet.query.plan import group_index as cells
from discreet.schema.metadata import TableMetadata
from discreet.synth.marginals import model
from discreet.synth.marginals.domain import Floats
from discreet.synth.marginals.empirical_bayes import shrink
from discreet.synth.marginals.measurements import Measurement

FEW, MANY = 32, 128
FINE = 512
BINS = 32

MOST_CELLS = min(cells.MOST, model.MOST_CELLS)
"""The most cells of a marginal that is measured."""

ALL_CELLS = 20_000_000
"""The most cells of all pairs together: a model holds each of them a few times."""

MOST_COLUMNS = 500


@dataclass(frozen=True)
class Cut(Axis):
    """A column in bins, with the cells that it was measured in: the start and the mass of each."""

    cells: tuple[int, ...] = ()
    masses: tuple[float, ...] = ()

    @cached_property
    def bin_of_cell(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The bin of every cell."""
        return np.asarray(np.searchsorted(self.starts, self.cells, "right") - 1, np.int64)

    def averaged(self, values: Floats, axis: int) -> Floats:
        """Return values by level as means by bin, weighted by the masses of the cells."""
        if not self.cells:
            return super().averaged(values, axis)
        inner = Axis(self.name, self.sealed, self.levels, self.nullable, self.cells)
        cells = np.moveaxis(inner.averaged(values, axis), axis, 0)
        held = np.array([*self.masses, *([1.0] if self.nullable else [])]) + 1e-9
        bins = np.append(self.bin_of_cell, len(self.starts)) if self.nullable else self.bin_of_cell
        cuts = np.unique(bins, return_index=True)[1]
        laid = held.reshape(-1, *[1] * (cells.ndim - 1))
        means = np.add.reduceat(cells * laid, cuts, axis=0) / np.add.reduceat(laid, cuts, axis=0)
        return np.asarray(np.moveaxis(means, 0, axis))


def fine_axes(
    metadata: TableMetadata, columns: Sequence[str], bins: Mapping[str, Bins] | None
) -> tuple[Axis, ...]:
    """Return the axes over which one-way marginals are measured."""
    if isinstance(columns, str) or not columns:
        raise ParameterError(
            "A synthetic table takes a list of columns.",
            found=repr(columns),
            fix=Fix("columns", list(metadata.columns)[:2]),
        )
    given = {str(name).casefold(): cut for name, cut in (bins or {}).items()}
    found: dict[str, Axis] = {}
    for written in columns:
        cut = {key: given[key] for key in (str(written).casefold(),) if key in given}
        (axis,) = axes_of(metadata, [written], cut)
        if axis.name in found:
            raise ParameterError(f"Column {axis.name} is named twice.", found=list(columns), fix="Name it once.")
        found[axis.name] = axis if cut else _fine(axis, metadata)
    if strange := set(given) - {name.casefold() for name in found}:
        raise ParameterError(
            "Bins are for columns of the synthetic table.",
            found=sorted(strange)[0],
            fix=f"Its columns are {', '.join(found)}.",
        )
    return tuple(found.values())


def _fine(axis: Axis, metadata: TableMetadata) -> Axis:
    if axis.levels <= _few(axis, metadata):
        return replace(axis, starts=tuple(range(axis.levels)))
    count = min(axis.levels, FINE)
    return replace(axis, starts=tuple(i * axis.levels // count for i in range(count)))


def _few(axis: Axis, metadata: TableMetadata) -> int:
    return MANY if metadata.columns[axis.name].kind in ("category", "boolean") else FEW


def coarse(fine: Axis, measured: Measurement, metadata: TableMetadata, *, keep: bool) -> tuple[Axis, Measurement]:
    """Return the axis in bins, and its measurement summed by bin."""
    if keep or len(fine.starts) <= _few(fine, metadata):
        return fine, measured
    mass = _smooth(measured, len(fine.starts))
    starts = _equal(mass, BINS)
    cut = Cut(
        fine.name,
        fine.sealed,
        fine.levels,
        fine.nullable,
        tuple(fine.starts[i] for i in starts),
        cells=fine.starts,
        masses=tuple(mass.tolist()),
    )
    edges = [*starts, *([len(fine.starts)] if fine.nullable else [])]
    counts = np.diff([*edges, len(measured.values)]).astype(float)
    values = np.add.reduceat(measured.values, edges)
    each = counts * measured.variance
    return cut, Measurement(measured.columns, values, float(each.mean()), each)


def _smooth(measured: Measurement, cells: int) -> Floats:
    """Return the noisy cells, shrunk towards their mean."""
    noisy = measured.values[:cells]
    level = max(float(noisy.sum()), 1.0) / cells
    mean, _ = shrink(noisy, float(np.sqrt(measured.variance)), np.full(cells, level))
    return mean


def _equal(mass: Floats, count: int) -> list[int]:
    """Return the first cells of bins of about equal mass.

    >>> _equal(np.array([8.0, 1.0, 1.0, 1.0, 1.0, 8.0]), 3)
    [0, 1, 5]
    """
    left, bins = float(mass.sum()), count
    starts, held = [0], float(mass[0])
    for cell in range(1, len(mass)):
        share = left / bins
        full = held >= share or (held + mass[cell] > 1.5 * share and held > 0)
        if full and bins > 1:
            left, bins = left - held, bins - 1
            starts.append(cell)
            held = 0.0
        held += float(mass[cell])
    return starts


def placed(public: Mapping[str, Any], fine: Sequence[Axis], axes: Sequence[Axis]) -> dict[str, Any]:
    """Return the counted cells of a public table over fine axes as cells over their bins."""
    bins = [_bin_of(before, after) for before, after in zip(fine, axes, strict=True)]
    codes = [bin_of[np.array(places, np.int64)] for bin_of, places in zip(bins, public["places"], strict=True)]
    places, inverse = np.unique(np.stack(codes), axis=1, return_inverse=True)
    counts = np.bincount(inverse.ravel(), public["counts"], places.shape[1]).astype(np.int64)
    return {"places": places.tolist(), "counts": counts.tolist()}


def _bin_of(fine: Axis, axis: Axis) -> NDArray[np.int64]:
    """Return the bin of every fine cell. Missing values stay last."""
    inside = np.searchsorted(axis.starts, fine.starts, "right") - 1
    return np.append(inside, len(axis.starts)).astype(np.int64)


def check(axes: Sequence[Axis], kept: Collection[str], metadata: TableMetadata) -> None:
    """Refuse more columns or cells than pairs can be measured over, before anything is charged."""
    if len(axes) > MOST_COLUMNS:
        raise ParameterError(
            f"A synthetic table has at most {MOST_COLUMNS} columns, because every pair of them is scored.",
            found=f"{len(axes):,} columns, {math.comb(len(axes), 2):,} pairs",
            fix=Fix("columns", [axis.name for axis in axes[:2]], note="those that matter"),
        )
    sizes = [_most(axis, metadata, keep=axis.name in kept) for axis in axes]
    largest = sorted(range(len(axes)), key=sizes.__getitem__)[-2:]
    check_cells([axes[i].name for i in sorted(largest)], [sizes[i] for i in sorted(largest)])
    every = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if every > ALL_CELLS:
        raise ParameterError(
            f"All pairs of columns have at most {ALL_CELLS:,} cells together.",
            found=f"{every:,} cells of {len(axes)} columns",
            fix="Take fewer columns, or fewer bins.",
        )


def check_cells(names: Sequence[str], sizes: Sequence[int]) -> None:
    """Refuse a marginal of too many cells, before anything is charged."""
    if math.prod(sizes) > MOST_CELLS:
        listed = " × ".join(f"{size:,} {name}" for name, size in zip(names, sizes, strict=True))
        raise ParameterError(
            f"A marginal has too many cells: {math.prod(sizes):,} cells together ({listed}), and at most "
            f"{MOST_CELLS:,} are measured.",
            fix=[Fix("bins", {names[0]: BINS}), "Or take fewer columns."],
        )


def _most(axis: Axis, metadata: TableMetadata, *, keep: bool) -> int:
    """Return the most bins that there can be."""
    few = keep or len(axis.starts) <= _few(axis, metadata)
    return axis.size if few else BINS + axis.nullable
