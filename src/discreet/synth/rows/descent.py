"""Move rows until their counts are the wanted ones: a descent that never rises.

    f(rows) = Σ_S w_S Σ_cells (count_S − wanted_S)²    over the listed sets S of one, two and three columns

A batch of rows and a column at a time: every row learns what each value of that column would cost it, the sum of
the residuals count − wanted over the cells it would enter; the rows that gain most take their best other value,
and an exact line search decides how many of them do. If `moved` is the change of all counts, f changes by

    slope + square = 2·Σ w⟨residual, moved⟩ + Σ w‖moved‖²,

which is computed before rows move, and rows move only if it is negative. So f never rises, it is known at any
time, and there is no step to tune. The share of the rows that move at once follows what the line search liked.

All of this is post-processing: it reads the model's answers and a public seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Floats
from discreet.synth.rows.stream import Stream

LEAST = 0.1
"""A sweep that lowers f by less than this share of it is the last."""

SWEEPS = 60
_SHARE, _FEWEST = 0.1, 1e-3  # of the rows that would gain, how many move at once: at first, and at least
_ENOUGH = 0.5  # of the rows that were chosen, the share that the line search must want


class Engine(Protocol):
    """Knows the residuals of rows, what moves would cost, and what was touched to find out."""

    touched: int
    objective: float

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def columns(self) -> int:
        """The number of columns."""

    @property
    def batch(self) -> int:
        """The number of rows that are looked at together."""

    def alone(self, column: int) -> float:
        """Return by how much a move of one row alone raises f beyond its slope: the half of its square."""

    def gains(self, column: int, part: slice) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return by how much ½f falls, to first order, if a row takes its best other value; and that value."""

    def change(self, column: int, which: NDArray[np.intp], to: NDArray[np.intp]) -> tuple[float, float, Any]:
        """Return slope and square of f if these rows move, and what `apply` needs."""

    def apply(self, column: int, which: NDArray[np.intp], to: NDArray[np.intp], moves: Any) -> None:
        """Move rows."""


class Descent:
    """A descent with its state: how boldly each column moves."""

    def __init__(self, engine: Engine, stream: Stream):
        self.engine, self.stream = engine, stream
        self.share = np.full(engine.columns, _SHARE)

    def run(self, work: int, sweeps: int = SWEEPS, say: Callable[[float], None] | None = None) -> None:
        """Sweep until f hardly falls, or, after a first sweep, until so many numbers were touched."""
        last = self.engine.touched + work
        for sweep in range(sweeps):
            before = self.engine.objective
            self.sweep(last if sweep else None)
            if say:
                say(min(1.0, 1 - (last - self.engine.touched) / work))
            if before - self.engine.objective < LEAST * before or self.engine.touched >= last:
                return

    def sweep(self, last: int | None = None) -> None:
        """Look at every batch and column once, in random order, or until so many numbers were touched."""
        engine = self.engine
        parts = max(1, round(engine.rows / engine.batch))
        ends = np.linspace(0, engine.rows, parts + 1).astype(int)
        for part in self.stream.order(parts).tolist():
            for column in self.stream.order(engine.columns).tolist():
                self._move(column, slice(int(ends[part]), int(ends[part + 1])))
            if last is not None and engine.touched >= last:
                return

    def _move(self, column: int, part: slice) -> None:
        engine = self.engine
        gain, best = engine.gains(column, part)
        gain = gain - np.float32(engine.alone(column))  # a row that moves alone must lower f, not only its slope
        good = np.flatnonzero(gain > 0)
        if not len(good):
            return
        chosen = self._chosen(good, gain[good].astype(float), float(self.share[column]))
        full, ideal = len(chosen), 0.0
        while len(chosen):
            which, to = part.start + chosen, best[chosen]
            slope, square, moves = engine.change(column, which, to)
            ideal = -slope / (2 * square) if slope < 0 else 0.0  # of these moves, the share that f would like best
            if slope + square < 0 and (ideal >= _ENOUGH or len(chosen) == 1):
                engine.apply(column, which, to, moves)
                engine.objective += slope + square
                break
            chosen = chosen[: int(len(chosen) * min(max(ideal, 0.1), 0.7))]
        bolder = len(chosen) / full * min(max(ideal, 0.7), 2.0) if len(chosen) else 0.5
        self.share[column] = min(max(self.share[column] * bolder, _FEWEST), 1.0)

    def _chosen(self, good: NDArray[np.intp], gain: Floats, share: float) -> NDArray[np.intp]:
        """Return a share of the rows and at least one, by chances that grow with their gains, in random order."""
        chance = np.minimum(gain * (max(share, 1 / len(good)) / gain.mean()), 1.0)
        steps = np.floor(np.cumsum(chance) + self.stream.uniform(1)[0])  # systematic: as many as expected
        chosen = good[np.diff(steps, prepend=0.0) >= 1]
        return np.asarray(chosen[self.stream.order(len(chosen))])


def cheapest(cost: NDArray[np.float32], now: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return what rows gain by their cheapest other value, and that value.

    >>> gain, best = cheapest(np.array([[3.0, 1.0, 2.0]], np.float32), np.array([0]))
    >>> gain.tolist(), best.tolist()
    ([2.0], [1])
    """
    each = np.arange(len(now))
    here = cost[each, now]
    cost[each, now] = np.inf
    best = cost.argmin(axis=1)
    return here - cost[each, best], best
