"""Find what moves cost by reading residual tables: for columns of many values.

The residual of a set is kept once for each of its columns, with that column last, so that the costs of all values of
the column stand side by side; the tables that face one column stand one after the other in one vector, so that a move is
looked up in all of them at once. For a column of two values only their difference is kept: that is all its moves need.
The place of a row in a table of three columns, facing one of them, is its place in the other two, which is the same
for many tables: places are kept for a batch, and found again for a column that moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.rows.descent import cheapest
from discreet.synth.rows.targets import Residual, excess
from discreet.synth.rows.tree import Codes, Masks, barred

BATCH = 1024
_KEPT = 1 << 23  # places that are kept for a batch, at most
_FORBIDDEN = np.float32(1e9)
_PLACES = 12  # finding a place costs as much as reading so many numbers
_MOVING = 40  # and moving a row in a table as many

Places = NDArray[np.intp]


@dataclass(frozen=True)
class _Facing:
    """The tables that face one column: their values, where each begins, and which places it is read at."""

    values: Residual
    start: Places
    at: Places
    tables: list[Residual]


@dataclass(frozen=True)
class _Turned:
    """How a move in one column changes the tables that face another: their places, where they begin, and the step."""

    at: Places
    start: Places
    step: Places


class Gather:
    """The residuals of rows, as tables."""

    def __init__(self, rows: Codes, domain: Domain, wanted: Mapping[Columns, Residual], impossible: Masks):
        self.domain, self.impossible, self.touched, self.objective = domain, impossible, 0, 0.0
        self.codes: Places = np.ascontiguousarray(rows.T, np.intp)
        self._index = {kept: i for i, kept in enumerate(sorted({o for s in wanted for o in _others(s)}))}
        turned = self._tables(rows, wanted)
        self.facing = [self._faced(column, turned[column]) for column in range(len(domain))]
        self.turned = [self._turns(column, list(wanted)) for column in range(len(domain))]
        self.scratch = np.zeros(max(facing.values.size for facing in self.facing), np.float32)
        kept = list(self._index)
        self.high, self.low = (np.array([o[i] if o else 0 for o in kept], np.intp) for i in (0, -1))
        self.times = np.array([domain.sizes[o[1]] if len(o) == 2 else 0 for o in kept], np.intp)[:, None]
        self.once = np.array([len(o) > 0 for o in kept], np.intp)[:, None]
        self.holding = [np.array([i for o, i in self._index.items() if c in o], np.intp) for c in range(len(domain))]
        self._batch = min(BATCH, max(128, _KEPT // max(1, len(kept))))
        self._part, self._places = slice(0, 0), np.zeros((len(kept), 0), np.intp)

    def _tables(self, rows: Codes, wanted: Mapping[Columns, Residual]) -> list[dict[Columns, Residual]]:
        """Return the residuals with each of their columns last, by that column."""
        found: list[dict[Columns, Residual]] = [{} for _ in self.domain.sizes]
        for columns, table in wanted.items():
            left = excess(rows, table, columns, self.domain)
            self.objective += float(np.square(left, dtype=float).sum())
            for i, column in enumerate(columns):
                size = self.domain.sizes[column]
                turned = np.moveaxis(left, i, -1).reshape(-1, size)
                found[column][columns] = turned[:, 1] - turned[:, 0] if size == 2 else turned
        return found

    def _faced(self, column: int, tables: dict[Columns, Residual]) -> _Facing:
        ends = np.cumsum([0, *(table.size for table in tables.values())])
        values = np.empty(int(ends[-1]), np.float32)
        views = []
        for table, start in zip(tables.values(), ends, strict=False):
            view = values[start : start + table.size].reshape(table.shape)
            view[...] = table
            views.append(view)
        at = np.array([self._index[_without(s, column)] for s in tables], np.intp)
        tables.clear()
        return _Facing(values, ends[:-1].astype(np.intp), at, views)

    def _turns(self, column: int, sets: list[Columns]) -> list[tuple[int, _Turned]]:
        """Return the other columns, each with the tables that face it and hold this one."""
        found = []
        for last in range(len(self.domain)):
            listed = [s for s in sets if last in s]
            kept = [i for i, s in enumerate(listed) if column in s and column != last]
            if kept:
                others = [_without(listed[i], last) for i in kept]
                step = [self.domain.sizes[o[1]] if len(o) == 2 and o[0] == column else 1 for o in others]
                at = np.array([self._index[o] for o in others], np.intp)
                found.append((last, _Turned(at, self.facing[last].start[kept], np.array(step, np.intp))))
        return found

    @property
    def rows(self) -> int:
        return self.codes.shape[1]

    @property
    def columns(self) -> int:
        return len(self.codes)

    @property
    def batch(self) -> int:
        return self._batch

    def result(self) -> Codes:
        """Return the rows as they are now."""
        return np.asfortranarray(self.codes.T, np.int32)

    def alone(self, column: int) -> float:
        return float(len(self.facing[column].at))

    def gains(self, column: int, part: slice) -> tuple[NDArray[np.float32], Places]:
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
        facing, levels, now = self.facing[column], self.domain.sizes[column], self.codes[column, which]
        self.touched += len(which) * len(facing.at) * _MOVING
        place = self._places[facing.at[:, None], which - self._part.start]
        values, moved = facing.values, self.scratch
        if levels == 2:
            place += facing.start[:, None]
            sign = np.tile((to - now).astype(np.float32), (len(place), 1))
            np.add.at(moved, place.ravel(), sign.ravel())
            slope, square = 2 * _total(values[place] * sign), 2 * _total(moved[place] * sign)
            moved[place] = 0
            return slope, square, None
        place *= levels
        place += facing.start[:, None]
        old, new = (place + now).ravel(), (place + to).ravel()
        _shift(moved, old, new)
        slope = 2 * (_total(values[new]) - _total(values[old]))
        square = _total(moved[new]) - _total(moved[old])
        moved[new] = moved[old] = 0
        return slope, square, None

    def apply(self, column: int, which: Places, to: Places, moves: None) -> None:
        inside, now = which - self._part.start, self.codes[column, which]
        facing, levels = self.facing[column], self.domain.sizes[column]
        place = self._places[facing.at[:, None], inside]
        start = facing.start[:, None]
        if levels == 2:
            step = np.tile((2 * (to - now)).astype(np.float32), (len(place), 1))
            np.add.at(facing.values, (start + place).ravel(), step.ravel())
        else:
            place = start + place * levels
            _shift(facing.values, (place + now).ravel(), (place + to).ravel())
        for last, turned in self.turned[column]:
            old = self._places[turned.at[:, None], inside]
            self._turn(last, turned.start[:, None], old, turned.step[:, None] * (to - now), which)
        self.codes[column, which] = to
        changed = self.holding[column]
        self._places[changed] = self._found(changed, self._part)

    def _turn(self, last: int, start: Places, old: Places, step: Places, which: Places) -> None:
        """Move rows in the tables that have another column last."""
        values, levels, own = self.facing[last].values, self.domain.sizes[last], self.codes[last, which]
        new = old + step
        if levels == 2:
            sign = np.tile((2 * own - 1).astype(np.float32), (len(old), 1)).ravel()
            np.add.at(values, (start + new).ravel(), sign)
            np.subtract.at(values, (start + old).ravel(), sign)
        else:
            _shift(values, (start + old * levels + own).ravel(), (start + new * levels + own).ravel())

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


def _shift(values: Residual, old: Places, new: Places) -> None:
    np.add.at(values, new, np.float32(1))
    np.subtract.at(values, old, np.float32(1))
