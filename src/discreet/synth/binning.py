"""Columns of many values in few bins, found with the one-way marginals that are measured anyway.

A column of more than FEW numbers, or MANY labels, is cut into at most FINE cells of equal width, and its one-way
marginal is measured over these: one person moves it no further than a coarser one, so fineness costs nothing. From
the noisy marginal, shrunk, come bins of about equal mass, at most 32: a value that many share has a bin of its
own. Everything after the measurement is post-processing. Pairs are measured over bins. Inside of a bin a row
takes one of its cells by their noisy mass, and inside of a cell any value. Tested in
tests/synth/test_binning.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.errors import ParameterError
from discreet.marginals.domain import Floats
from discreet.marginals.evidence import Measurement
from discreet.marginals.shrinkage import shrink
from discreet.oracle.axes import Axis, Bins, axes_of
from discreet.vault.description import Description

FEW, MANY = 32, 128
FINE = 512
BINS = 32


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
    description: Description, columns: Sequence[str], bins: Mapping[str, Bins] | None
) -> tuple[Axis, ...]:
    """Return the axes that one-way marginals are measured over."""
    given = dict(bins or {})
    axes = axes_of(description, columns, {name: given[name] for name in given})
    return tuple(axis if axis.name in given else _fine(axis, description) for axis in axes)


def _fine(axis: Axis, description: Description) -> Axis:
    if axis.levels <= _few(axis, description):
        return replace(axis, starts=tuple(range(axis.levels)))
    count = min(axis.levels, FINE)
    return replace(axis, starts=tuple(i * axis.levels // count for i in range(count)))


def _few(axis: Axis, description: Description) -> int:
    return MANY if description.columns[axis.name].kind in ("category", "boolean") else FEW


def coarse(fine: Axis, measured: Measurement, description: Description, *, keep: bool) -> tuple[Axis, Measurement]:
    """Return the axis in bins, and its measurement added up by them."""
    if keep or len(fine.starts) <= _few(fine, description):
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
    average = float(len(counts) / (1 / each).sum())
    return cut, Measurement(measured.columns, values, average, each)


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


def check(axes: Sequence[Axis]) -> None:
    """Refuse more cells than pairs can be measured over, before anything is charged."""
    sizes = np.array([min(axis.size, BINS + 1) if axis.size > MANY else axis.size for axis in axes], float)
    cells = (sizes.sum() ** 2 - np.square(sizes).sum()) / 2
    if cells > 5e7:
        raise ParameterError(
            f"all pairs of {len(axes)} columns have {cells:,.0f} cells together, and 50,000,000 are the most. "
            "Take fewer columns, or fewer bins: bins={…}."
        )
