"""Boost an additive model privately: noisy histograms of counts, then of residuals, column after column.

The model is f(x) = start + Σ shape_c(cell of column c), and 1/(1 + e^{−f(x)}) the probability of the second
class. The rows of each cell are counted once, with noise. Then, epoch after epoch and column after column, the
residuals y − 1/(1 + e^{−f(x)}) are added up over the cells of the column, with noise, and the shape moves by at
most 1, along

    rate·(noisy sum) / (CURVATURE·(noisy count) + 2·(deviation of the noise)):

a Newton step with a constant curvature, shrunk where noise is large. Over the cells of a number the steps are
smoothed, the more the noisier they are. All of that looks at released numbers only, and the number of rows is
never used.

Claim. Neighbours differ by one person, with all of their rows. The residual of a row is rounded to r/QUANTUM
with |r| ≤ QUANTUM, and depends on the row itself and on released numbers alone. The weights of one person add up
to at most WHOLE, so one person moves a histogram of residuals by at most WHOLE·QUANTUM in l1, hence in l2, and a
histogram of counts by WHOLE. With C columns and T epochs there are C + C·T histograms, whose costs are fixed in
advance: by discrete Gaussian noise of variances v they are Σ Δ²/(2v)-zCDP and μ-Gaussian DP with μ² = Σ Δ²/(v −
9); by discrete Laplace noise of scales s they are Σ (Δ/s)-DP. Sums are exact integers. Theory:
docs/theory/boosting.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.kernel.gaussian_budget import Unit
from discreet.learn.boosting.cells import BINS, CELLS, SIGNS, Block, Cells, histogram
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

QUANTUM = 4096
"""Residuals are multiples of 1/QUANTUM."""

GRID = 2**20
"""Shapes are multiples of 1/GRID, so that their sum over the columns is exact on every machine."""

CURVATURE = 0.18
"""The curvature p·(1 − p) of the logistic loss, about its mean over rows: a constant saves a release."""

_ROUGH = 0.3  # how much the steps of neighbouring cells differ, about, if a number has 16 cells
_SHRINK = 2.0  # deviations of the noise that are added to the curvature of a cell
_LONGEST = 1.0  # the most that one step moves a shape
_FARTHEST = 40.0  # beyond it the logistic function is 0 or 1 to the last digit that counts


@dataclass(frozen=True)
class Shapes:
    """An additive model: one number for each cell of each column, and a start. Everything in it is public.

    Args:
        start: The start, in units of 1/GRID.
        cells: The numbers, in units of 1/GRID.
    """

    start: int
    cells: Integers

    def scores(self, cells: NDArray[np.integer]) -> Floats:
        """Return the log-odds of the second class for rows, given their cells."""
        found: Floats = (self.start + self.cells[cells].sum(axis=1)) / GRID
        return found


@dataclass(frozen=True)
class CyclicBoosting:
    """Epochs of private boosting, column after column.

    Args:
        cells: The cells of the columns.
        counts: The noise of a histogram of counts.
        residuals: The noise of a histogram of residuals.
        epochs: T, how often each column has its turn.
        rate: How much of a Newton step is taken.
    """

    cells: Cells
    counts: Gaussian | Laplace
    residuals: Gaussian | Laplace
    epochs: int
    rate: float

    @classmethod
    def gaussian(cls, cells: Cells, rho: Fraction, *, share: float, epochs: int, rate: float) -> CyclicBoosting:
        """Return the training that ρ pays with Gaussian noise, a share of it for the counts.

        Args:
            cells: The cells of the columns.
            rho: What all histograms together may cost.
            share: The share of the counts.
            epochs: How often each column has its turn.
            rate: How much of a Newton step is taken.
        """
        first, rest = _split(rho, share, len(cells.blocks), epochs)
        return cls(cells, Unit(WHOLE).marginal(first), Unit(WHOLE * QUANTUM).marginal(rest), epochs, rate)

    @classmethod
    def laplace(cls, cells: Cells, epsilon: Fraction, *, share: float, epochs: int, rate: float) -> CyclicBoosting:
        """Return the training that a pure ε pays with Laplace noise, a share of it for the counts.

        Args:
            cells: The cells of the columns.
            epsilon: What all histograms together may cost.
            share: The share of the counts.
            epochs: How often each column has its turn.
            rate: How much of a Newton step is taken.
        """
        first, rest = _split(epsilon, share, len(cells.blocks), epochs)
        counts = Laplace.for_epsilon(first, WHOLE)
        return cls(cells, counts, Laplace.for_epsilon(rest, WHOLE * QUANTUM), epochs, rate)

    @property
    def mechanisms(self) -> list[Gaussian | Laplace]:
        """The noise of every histogram, in order."""
        columns = len(self.cells.blocks)
        return [self.counts] * columns + [self.residuals] * (columns * self.epochs)

    def counted(self, examples: Examples) -> tuple[Floats, bool]:
        """Return the noisy number of rows in each cell, each column with noise of its own cost."""
        size = self.cells.size

        def part(batch: Batch) -> list[Floats]:
            return [histogram(batch.codes[CELLS], batch.weights.astype(np.int64), size)]

        [exact] = examples.total(part)
        noisy = [self._noisy(self.counts, exact[block.cells], WHOLE) for block in self.cells.blocks]
        return np.concatenate([np.asarray(part, float) for part in noisy]) / WHOLE, any(map(_tested, noisy))

    def residual(self, examples: Examples, block: Block, shapes: Shapes) -> tuple[Floats, bool]:
        """Return the noisy sums of the residuals over the cells of one column."""

        def part(batch: Batch) -> list[Floats]:
            cells = batch.codes[CELLS]
            likely = 1 / (1 + np.exp(-np.clip(shapes.scores(cells), -_FARTHEST, _FARTHEST)))
            rest = np.rint(QUANTUM * ((batch.codes[SIGNS] > 0) - likely)).astype(np.int64)
            values = np.clip(rest, -QUANTUM, QUANTUM) * batch.weights.astype(np.int64)
            own = cells[:, [self.cells.blocks.index(block)]] - block.start
            return [histogram(own, values, block.size)]

        [exact] = examples.total(part)
        noisy = self._noisy(self.residuals, exact, WHOLE * QUANTUM)
        return np.asarray(noisy, float) / (WHOLE * QUANTUM), _tested(noisy)

    def run(self, examples: Examples, tell: Callable[[str, float], None]) -> tuple[Shapes, Floats, bool]:
        """Return the model after all epochs, and the noisy counts, on rows made by `placed`."""
        tell("counting", 0.0)
        counts, tested = self.counted(examples)
        shapes = Shapes(0, np.zeros(self.cells.size, np.int64))
        deviation = _deviation(self.residuals) / (WHOLE * QUANTUM)
        turns = len(self.cells.blocks) * self.epochs
        for turn in range(turns):
            tell("boosting", turn / turns)
            block = self.cells.blocks[turn % len(self.cells.blocks)]
            sums, marked = self.residual(examples, block, shapes)
            shapes, tested = self._moved(shapes, block, sums, counts[block.cells], deviation), tested | marked
        return shapes, counts, tested

    def _moved(self, shapes: Shapes, block: Block, sums: Floats, counts: Floats, deviation: float) -> Shapes:
        """Return the model after one step. It looks at released numbers only."""
        held = np.maximum(counts, 0.0)
        curvature = CURVATURE * held + _SHRINK * deviation
        newton = smoothed(block, sums / curvature, (curvature / deviation) ** 2)
        step = np.clip(self.rate * newton, -_LONGEST, _LONGEST)
        # Shapes are centred by the noisy counts, so that the start alone says how frequent the class is.
        mean = float((held * step).sum() / held.sum()) if held.sum() > 0 else 0.0
        cells = shapes.cells.copy()
        cells[block.cells] += np.rint(GRID * (step - mean)).astype(np.int64)
        return Shapes(shapes.start + round(GRID * mean), cells)

    @staticmethod
    def _noisy(mechanism: Gaussian | Laplace, exact: NDArray[Any], most: int) -> Any:
        sensitivity = Sensitivity(l1=most, each=most, l2_squared=most**2)
        return mechanism.release(Exact([int(value) for value in exact], sensitivity))


def smoothed(block: Block, steps: Floats, precision: Floats) -> Floats:
    """Return the steps that minimise Σ precision·(s − step)² + Σ (difference of neighbours)²/rough².

    Cells of a category have no neighbours, so their steps stay as they are.

    >>> from discreet.schema import Integer
    >>> [block] = Cells({"age": Integer(0, 2, missing=0)}).blocks
    >>> smoothed(block, np.array([0.0, 3.0, 0.0]), np.full(3, 1e-9)).round(3).tolist()
    [1.0, 1.0, 1.0]
    """
    if not block.ordered or block.width < 2:
        return steps
    left = np.arange(block.width - 1)
    system, tie = np.diag(precision), block.width / (BINS * _ROUGH**2)
    for one, other in ((left, left + 1), (left + 1, left)):
        system[one, one] += tie
        system[one, other] -= tie
    return np.asarray(np.linalg.solve(system, precision * steps), np.float64)


def _split(total: Fraction, share: float, columns: int, epochs: int) -> tuple[Fraction, Fraction]:
    """Return what one histogram of counts and one of residuals may cost: together never more than the total."""
    first = Fraction(share) * total
    return first / columns, (total - first) / (columns * epochs)


def _deviation(mechanism: Gaussian | Laplace) -> float:
    return sqrt(mechanism.variance) if isinstance(mechanism, Gaussian) else sqrt(2) * float(mechanism.scale)


def _tested(noisy: Any) -> bool:
    return noise.is_test_noise(noisy)
