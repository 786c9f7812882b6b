"""Draw first rows along a tree of pairs: the one of largest mutual information (Chow and Liu 1968).

Draws are systematic: rows that agree in the parent column are neighbours, and take their quantiles from the
golden-ratio sequence, so that among each few of them every value has about its expected frequency. The tree
knows the impossible cells of its own pairs only; rows in another impossible cell are drawn again (`possible`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.model import Model
from discreet.synth.rows.stream import Stream

_GOLDEN = 0.6180339887498949
_TRIES = 20  # rounds over all conditions, before a row that still breaks one becomes a copy of one that does not

Codes = NDArray[np.int32]
Masks = Mapping[Columns, NDArray[np.bool_]]


def planted(model: Model, count: int, stream: Stream) -> Codes:
    """Return rows along the tree, none of them in an impossible cell if the conditions allow any row."""
    edges = tree(model)
    rows: Codes = np.zeros((count, len(model.domain)), np.int32, order="F")  # by column, as it is read
    root = edges[0][0] if edges else 0
    share = np.cumsum(model.ones[root]) / model.ones[root].sum()
    even = (np.arange(count) + 0.5) / count
    rows[:, root] = np.minimum(np.searchsorted(share, even), model.domain.sizes[root] - 1)
    for parent, child in edges:
        table = model.pairs[min(parent, child), max(parent, child)]
        steps = np.cumsum((table if parent < child else table.T) + 1e-12, axis=1)
        rows[:, child] = _drawn(steps, rows[:, parent], stream)
    return possible(rows, model, stream)


def _drawn(steps: Floats, given: Codes, stream: Stream) -> NDArray[np.intp]:
    """Return a value for every row, by the cumulative law of its parent's value."""
    count = len(given)
    order = np.argsort(given + stream.uniform(count))  # the order is random among rows of one value
    quantiles = np.empty(count)
    quantiles[order] = (np.arange(count) * _GOLDEN + stream.uniform(1)[0]) % 1.0
    # One search for all rows: the law of value v lies between v and v + 1.
    laws = steps / steps[:, -1:] + np.arange(len(steps))[:, None]
    place = np.searchsorted(laws.ravel(), given + quantiles, "right")
    return np.asarray(np.clip(place - given * steps.shape[1], 0, steps.shape[1] - 1), np.intp)


def tree(model: Model) -> list[tuple[int, int]]:
    """Return the tree of largest mutual information, as (parent, child)."""
    width = len(model.domain)
    near, best, parent = np.full((width, width), -np.inf), np.full(width, -np.inf), np.zeros(width, np.int64)
    for pair, table in model.pairs.items():
        near[pair] = near[pair[::-1]] = _information(table)
    outside, child, edges = np.ones(width, bool), 0, []
    for _ in range(width - 1):
        outside[child] = False
        better = near[child] > best
        best, parent = np.where(better, near[child], best), np.where(better, child, parent)
        child = int(np.where(outside, best, -np.inf).argmax())
        edges.append((int(parent[child]), child))
    return edges


def _information(table: Floats) -> float:
    share = table / max(float(table.sum()), 1e-12)
    expected = np.multiply.outer(share.sum(axis=1), share.sum(axis=0))
    inside = (share > 0) & (expected > 0)
    return float((share[inside] * np.log(share[inside] / expected[inside])).sum())


# -- rows outside of impossible cells -----------------------------------------------------------------------------


def possible(rows: Codes, model: Model, stream: Stream) -> Codes:
    """Return the rows, with those in an impossible cell drawn again.

    One column of a broken condition is drawn again from its own law, among the values that break no condition of
    that column; where there is none, the other column has its turn. What is left after a few rounds becomes a
    copy of a row that is possible. If no row is, the conditions contradict each other or the model, and rows
    stay as they are.
    """
    if not model.impossible:
        return rows
    for turn in range(_TRIES):
        for pair, mask in model.impossible.items():
            wrong = np.flatnonzero(mask[rows[:, pair[0]], rows[:, pair[1]]])
            if len(wrong):
                column = pair[turn % 2]
                _redrawn(rows, wrong, column, model, stream)
    bad = broken(rows, model.impossible)
    good = np.flatnonzero(~bad)
    if bad.any() and len(good):
        rows[bad] = rows[good[(stream.uniform(int(bad.sum())) * len(good)).astype(np.intp)]]
    return rows


def broken(rows: Codes, impossible: Masks) -> NDArray[np.bool_]:
    """Return which rows are in an impossible cell.

    >>> broken(np.array([[0, 1], [1, 1]], np.int32), {(0, 1): np.array([[False, True], [False, False]])}).tolist()
    [True, False]
    """
    found = np.zeros(len(rows), bool)
    for pair, mask in impossible.items():
        found |= mask[rows[:, pair[0]], rows[:, pair[1]]]
    return found


def barred(column: int, rows: Sequence[NDArray[np.integer]], impossible: Masks) -> Iterable[NDArray[np.bool_]]:
    """Yield, for each condition on a column, which of its values are impossible for each row, given by columns."""
    for pair, mask in impossible.items():
        if column in pair:
            other = pair[1 - pair.index(column)]
            yield (mask if column == pair[1] else mask.T)[rows[other]]


def _redrawn(rows: Codes, wrong: NDArray[np.intp], column: int, model: Model, stream: Stream) -> None:
    some = rows[wrong]
    law = np.tile(np.maximum(model.ones[column], 1e-9), (len(wrong), 1))
    for away in barred(column, list(some.T), model.impossible):
        law[away] = 0.0
    steps = np.cumsum(law, axis=1)
    any_left = steps[:, -1] > 0
    drawn = (steps < (stream.uniform(len(wrong)) * steps[:, -1])[:, None]).sum(axis=1)
    rows[wrong[any_left], column] = np.minimum(drawn, model.domain.sizes[column] - 1)[any_left]


def placed(rows: Sequence[NDArray[np.integer]], columns: Sequence[int], domain: Domain) -> NDArray[np.intp]:
    """Return the cell of every row in a marginal, from rows given by columns."""
    place = np.zeros(len(rows[0]), np.intp)
    for column in columns:
        place *= domain.sizes[column]
        place += rows[column]
    return place
