"""Find what moves cost by reading residual tables: for columns of many values.

The residual of a set, times its weight, is kept once for each of its columns, with that column last, so that the
costs of all values of the column stand side by side; the tables that face one column stand one after the other in
one vector, so that a move is looked up in all of them at once. For a column of two values only their difference is
kept: that is all its moves need. The place of a row in a table of three columns, facing one of them, is its place
in the other two, which is the same for many tables: places are kept for a batch, and found again for a column that
moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.rows.descent import cheapest
from discreet.synth.rows.targets import Residual, Weights, excess
from discreet.synth.rows.tree import Codes, Masks, barred

BATCH = 1024
_KEPT = 1 << 23  # places that are kept for a batch, at most
_FORBIDDEN = np.float32(1e9)
_PLACES = 12  # finding a place costs as much as reading so many numbers
_MOVING = 40  # and moving a row in a table as many

Places = NDArray[np.intp]


@dataclass(frozen=True)
class _Facing:
    """The tables that face one column: where each begins, where it is read, its weight and its values."""

    start: Places
    at: Places
    weight: Residual
    tables: list[Residual]


@dataclass(frozen=True)
class _Turned:
    """The tables that hold a column and face another one: how a move of the first changes them.

    A row is at `start + place·times + own·kept` in a table, `own` being its value of the column that is faced; a
    move by one value shifts it by `step`. Where `two` values are faced, a table has one number for both.
    """

    start: Places
    at: Places
    faced: Places
    times: Places
    kept: Places
    step: Places
    two: NDArray[np.bool_]
    weight: Residual


class Gather:
    """The residuals of rows, as tables."""

    def __init__(
        self, rows: Codes, domain: Domain, wanted: Mapping[Columns, Residual], weights: Weights, impossible: Masks
    ):
        self.domain, self.impossible, self.weights = domain, impossible, weights
        self.touched, self.objective = 0, 0.0
        self.codes: Places = np.ascontiguousarray(rows.T, np.intp)
        self._index = {kept: i for i, kept in enumerate(sorted({o for s in wanted for o in _others(s)}))}
        self.sets = [[s for s in wanted if column in s] for column in range(len(domain))]
        sizes = [self._size(s, column) for column, sets in enumerate(self.sets) for s in sets]
        ends = np.cumsum([0, *sizes]).astype(np.intp)
        self.values: Residual = np.empty(int(ends[-1]), np.float32)
        self.facing = self._facings(ends[:-1])
        self._fill(rows, wanted)
        self.turned = self._turns()
        most = max(sum(view.size for view in facing.tables) for facing in self.facing)
        self.scratch = np.zeros(most, np.float32)
        kept = list(self._index)
        self.high, self.low = (np.array([o[i] if o else 0 for o in kept], np.intp) for i in (0, -1))
        self.times = np.array([domain.sizes[o[1]] if len(o) == 2 else 0 for o in kept], np.intp)[:, None]
        self.once = np.array([len(o) > 0 for o in kept], np.intp)[:, None]
        self.holding = [
            np.array([i for o, i in self._index.items() if c in o], np.intp) for c in range(len(domain))
        ]
        self._batch = min(BATCH, max(128, _KEPT // max(1, len(kept))))
        self._part, self._places = slice(0, 0), np.zeros((len(kept), 0), np.intp)

    def _size(self, columns: Columns, column: int) -> int:
        """Return the numbers that a set keeps for one of its columns."""
        return self.domain.cells(columns) // (2 if self.domain.sizes[column] == 2 else 1)

    def _facings(self, starts: Places) -> list[_Facing]:
        found, first = [], 0
        for column, sets in enumerate(self.sets):
            start = starts[first : first + len(sets)]
            first += len(sets)
            levels = self.domain.sizes[column]
            views = []
            for s, begin in zip(sets, start.tolist(), strict=True):
                view = self.values[begin : begin + self._size(s, column)]
                views.append(view if levels == 2 else view.reshape(-1, levels))
            at = np.array([self._index[_without(s, column)] for s in sets], np.intp)
            weight = np.array([self.weights(s) for s in sets], np.float32)[:, None]
            found.append(_Facing(start, at, weight, views))
        return found

    def _fill(self, rows: Codes, wanted: Mapping[Columns, Residual]) -> None:
        """Write the residuals, once facing each of their columns."""
        views = {
            (s, column): view
            for column, sets in enumerate(self.sets)
            for s, view in zip(sets, self.facing[column].tables, strict=True)
        }
        for columns, table in wanted.items():
            left, weight = excess(rows, table, columns, self.domain), np.float32(self.weights(columns))
            self.objective += float(weight) * float(np.square(left, dtype=float).sum())
            left *= weight
            for i, column in enumerate(columns):
                turned = np.moveaxis(left, i, -1).reshape(-1, self.domain.sizes[column])
                two = self.domain.sizes[column] == 2
                views[columns, column][...] = turned[:, 1] - turned[:, 0] if two else turned

    def _turns(self) -> list[_Turned]:
        listed: list[list[tuple[int, ...]]] = [[] for _ in self.sets]
        weights: list[list[float]] = [[] for _ in self.sets]
        sizes = self.domain.sizes
        for faced, sets in enumerate(self.sets):
            times = 1 if sizes[faced] == 2 else sizes[faced]
            for s, start in zip(sets, self.facing[faced].start.tolist(), strict=True):
                others = _without(s, faced)
                for column in others:
                    weights[column].append(self.weights(s))
                    step = sizes[others[1]] if len(others) == 2 and others[0] == column else 1
                    listed[column].append((start, self._index[others], faced, times, int(times > 1), step * times))
        found = []
        for each, weight in zip(listed, weights, strict=True):
            start, at, faced, times, kept, step = np.array(each, np.intp).reshape(-1, 6).T[:, :, None]
            each_weight = np.array(weight, np.float32)[:, None]
            found.append(_Turned(start, at, faced, times, kept, step, times == 1, each_weight))
        return found

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.codes.shape[1])

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return len(self.codes)

    @property
    def batch(self) -> int:
        """Return how many rows are looked at together."""
        return self._batch

    def result(self) -> Codes:
        """Return the rows as they are now."""
        return np.asfortranarray(self.codes.T, np.int32)

    def alone(self, column: int) -> float:
        """Return the square of one row that moves alone, halved."""
        return float(self.facing[column].weight.sum())

    def gains(self, column: int, part: slice) -> tuple[NDArray[np.float32], Places]:
        """Return what rows gain by their best other value, and that value."""
        if (part.start, part.stop) != (self._part.start, self._part.stop):
            self._part, self._places = part, self._found(slice(None), part)
        size, levels, facing = part.stop - part.start, self.domain.sizes[column], self.facing[column]
        now = self.codes[column, part]
        away = list(barred(column, list(self.codes[:, part]), self.impossible)) if self.impossible else []
        self.touched += size * len(facing.at) * (levels + _PLACES)
        if levels == 2:
            more, one = np.zeros(size, np.float32), np.empty(size, np.float32)  # what 1 costs more than 0
            for table, at in zip(facing.tables, facing.at.tolist(), strict=True):
                more += np.take(table, self._places[at], out=one, mode="clip")
            for mask in away:
                more += np.where(mask[:, 1], _FORBIDDEN, 0) - np.where(mask[:, 0], _FORBIDDEN, 0)
            return np.where(now == 1, more, -more), 1 - now
        cost, taken = np.zeros((size, levels), np.float32), np.empty((size, levels), np.float32)
        for table, at in zip(facing.tables, facing.at.tolist(), strict=True):
            cost += np.take(table, self._places[at], axis=0, out=taken, mode="clip")
        for mask in away:
            cost[mask] += _FORBIDDEN
        return cheapest(cost, now)

    def change(self, column: int, which: Places, to: Places) -> tuple[float, float, None]:
        """Return slope and square of f if these rows move."""
        facing, now = self.facing[column], self.codes[column, which]
        self.touched += len(which) * len(facing.at) * _MOVING
        place = self._places[facing.at[:, None], which - self._part.start]
        first = int(facing.start[0])
        values, moved, start = self.values[first:], self.scratch, facing.start[:, None] - first
        if self.domain.sizes[column] == 2:
            place += start
            sign = (to - now).astype(np.float32)
            np.add.at(moved, place.ravel(), np.tile(sign, len(place)))
            slope, square = 2 * _total(values[place] * sign), 2 * _total(moved[place] * sign * facing.weight)
            moved[place] = 0
            return slope, square, None
        place *= self.domain.sizes[column]
        place += start
        old, new = place + now, place + to
        np.add.at(moved, new.ravel(), np.float32(1))
        np.subtract.at(moved, old.ravel(), np.float32(1))
        slope = 2 * (_total(values[new]) - _total(values[old]))
        square = _total(facing.weight * (moved[new] - moved[old]))
        moved[new] = moved[old] = 0
        return slope, square, None

    def apply(self, column: int, which: Places, to: Places, moves: None) -> None:
        """Move rows, in all tables."""
        inside, now = which - self._part.start, self.codes[column, which]
        facing, levels = self.facing[column], self.domain.sizes[column]
        place = self._places[facing.at[:, None], inside]
        if levels == 2:
            step = facing.weight * (2 * (to - now)).astype(np.float32)
            np.add.at(self.values, (facing.start[:, None] + place).ravel(), step.ravel())
        else:
            place = facing.start[:, None] + place * levels
            one = np.repeat(facing.weight, len(which))
            np.add.at(self.values, (place + to).ravel(), one)
            np.subtract.at(self.values, (place + now).ravel(), one)
        if len(self.domain) > 1:
            self._turn(self.turned[column], which, to - now)
        self.codes[column, which] = to
        changed = self.holding[column]
        self._places[changed] = self._found(changed, self._part)

    def _turn(self, turned: _Turned, which: Places, by: Places) -> None:
        """Move rows in the tables that face other columns."""
        place = self._places[turned.at, which - self._part.start]
        own = self.codes[turned.faced, which]
        old = turned.start + place * turned.times + own * turned.kept
        new = (old + turned.step * by).ravel()
        one = (np.where(turned.two, 2 * own - 1, 1) * turned.weight).astype(np.float32).ravel()
        np.add.at(self.values, new, one)
        np.subtract.at(self.values, old.ravel(), one)

    def _found(self, kept: slice | Places, part: slice) -> Places:
        """Return the places of a batch in tables over one or two columns."""
        codes = self.codes[:, part]
        return codes[self.high[kept]] * self.times[kept] + codes[self.low[kept]] * self.once[kept]


def _others(columns: Columns) -> list[Columns]:
    return [_without(columns, column) for column in columns]


def _without(columns: Columns, column: int) -> Columns:
    return tuple(c for c in columns if c != column)


def _total(numbers: Residual | Floats) -> float:
    """Return a sum of exact numbers, exactly: in 64 bits."""
    return float(numbers.sum(dtype=float))
