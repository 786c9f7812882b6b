"""Columns of many values in few bins, found with the one-way marginals that are measured anyway.

A column of more than FEW numbers, or MANY labels, is cut into at most FINE cells of equal width, and its one-way
marginal is measured over these: one person moves it no further than a coarser one, so fineness costs nothing. From
the noisy marginal, shrunk, come bins of about equal mass, at most 32: a value that many share has a bin of its
own. Everything after the measurement is post-processing. Pairs are measured over bins. Inside of a bin a row
takes one of its cells by their noisy mass, and inside of a cell any value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
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
"""Cells that a marginal has which is measured, at most."""

ALL_CELLS = 20_000_000
"""Cells that all pairs have together, at most: a model holds each a few times over."""

MOST_COLUMNS = 500


@dataclass(frozen=True)
class Cut(Axis):
    """A column in bins, with the cells that it was measured in: where each starts, and what it holds."""

    cells: tuple[int, ...] = ()
    masses: tuple[float, ...] = ()

    @cached_property
    def bin_of_cell(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The bin of every cell."""
        return np.asarray(np.searchsorted(self.starts, self.cells, "right") - 1, np.int64)

    def averaged(self, values: Floats, axis: int) -> Floats:
        """Return values by level as means by bin, each cell by its mass."""
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
    """Return the axes that one-way marginals are measured over."""
    if isinstance(columns, str) or not columns:
        raise ParameterError(f'a table has a list of columns, such as ["age", "city"], not {columns!r}.')
    given = {str(name).casefold(): cut for name, cut in (bins or {}).items()}
    found: dict[str, Axis] = {}
    for written in columns:
        cut = {key: given[key] for key in (str(written).casefold(),) if key in given}
        (axis,) = axes_of(metadata, [written], cut)
        if axis.name in found:
            raise ParameterError(f"{axis.name} is named twice. Once is enough.")
        found[axis.name] = axis if cut else _fine(axis, metadata)
    if strange := set(given) - {name.casefold() for name in found}:
        raise ParameterError(f"bins are for columns of the table, and {sorted(strange)[0]!r} is none of them.")
    return tuple(found.values())


def _fine(axis: Axis, metadata: TableMetadata) -> Axis:
    if axis.levels <= _few(axis, metadata):
        return replace(axis, starts=tuple(range(axis.levels)))
    count = min(axis.levels, FINE)
    return replace(axis, starts=tuple(i * axis.levels // count for i in range(count)))


def _few(axis: Axis, metadata: TableMetadata) -> int:
    return MANY if metadata.columns[axis.name].kind in ("category", "boolean") else FEW


def coarse(fine: Axis, measured: Measurement, metadata: TableMetadata, *, keep: bool) -> tuple[Axis, Measurement]:
    """Return the axis in bins, and its measurement added up by them."""
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
    """The noisy cells, shrunk towards all being alike."""
    noisy = measured.values[:cells]
    level = max(float(noisy.sum()), 1.0) / cells
    mean, _ = shrink(noisy, float(np.sqrt(measured.variance)), np.full(cells, level))
    return mean


def _equal(mass: Floats, count: int) -> list[int]:
    """The first cells of bins of about equal mass.

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
    """The bin of every fine cell; what is missing stays last."""
    inside = np.searchsorted(axis.starts, fine.starts, "right") - 1
    return np.append(inside, len(axis.starts)).astype(np.int64)


def check(axes: Sequence[Axis], kept: Collection[str], metadata: TableMetadata) -> None:
    """Refuse more columns or cells than pairs can be measured over, before anything is charged."""
    if len(axes) > MOST_COLUMNS:
        raise ParameterError(
            f"{len(axes):,} columns have {math.comb(len(axes), 2):,} pairs, each of which is looked at, and "
            f"{MOST_COLUMNS} columns are the most. Name those that matter: columns=[…]."
        )
    sizes = [_most(axis, metadata, keep=axis.name in kept) for axis in axes]
    largest = sorted(range(len(axes)), key=sizes.__getitem__)[-2:]
    check_cells([axes[i].name for i in sorted(largest)], [sizes[i] for i in sorted(largest)])
    every = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    if every > ALL_CELLS:
        raise ParameterError(
            f"all pairs of {len(axes)} columns have {every:,} cells together, and {ALL_CELLS:,} are the most. "
            "Take fewer columns, columns=[…], or fewer bins, bins={…}."
        )


def check_cells(names: Sequence[str], sizes: Sequence[int]) -> None:
    """Refuse a marginal of too many cells, before anything is charged."""
    if math.prod(sizes) > MOST_CELLS:
        listed = " × ".join(f"{size:,} {name}" for name, size in zip(names, sizes, strict=True))
        raise ParameterError(
            f"{', '.join(names)} have {math.prod(sizes):,} cells together ({listed}), and {MOST_CELLS:,} are the "
            f"most that are measured. Take fewer columns, or fewer bins: bins={{{names[0]!r}: {BINS}}}."
        )


def _most(axis: Axis, metadata: TableMetadata, *, keep: bool) -> int:
    """How many bins there will be, at most."""
    few = keep or len(axis.starts) <= _few(axis, metadata)
    return axis.size if few else BINS + axis.nullable
