"""Divide a feature into cells, each with the log-ratio of how often two laws fell into it.

Log-ratios are shrunk towards 0 by one standard error: a cell that was seen three times must not rank above one
that was seen a thousand times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.blackbox.features import Code, Floats, Rule, Show
from discreet.audit.blackbox.samples import Group, Integers
from discreet.audit.report.event_text import listed, side

OFTEN = 10
"""A value that was seen less often than this has no ratio of its own."""
_ATOMS = 4096  # the largest number of values with their own ratios


@dataclass(frozen=True, eq=False)
class Pair:
    """Samples of both laws, of one kind: the rows of both, and how often each row occurred under each law."""

    rows: Group
    p: Floats
    q: Floats

    def ratios(self, cells: Integers, size: int) -> tuple[Floats, Floats]:
        """Return the log-ratio of each cell, and the number of outcomes in it."""
        p: Floats = np.bincount(cells, self.p, size).astype(np.float64)
        q: Floats = np.bincount(cells, self.q, size).astype(np.float64)
        return log_ratio(p, q), p + q


@dataclass(frozen=True, eq=False)
class Table:
    """Cells with a log-ratio each: a rule, its description, and the distance of the two laws on these cells."""

    rule: Rule
    words: Callable[[float, bool], str]
    distance: float = 0.0


def paired(P: Group, Q: Group) -> Pair:
    """Return samples of two laws side by side."""
    counts = np.concatenate([P.counts, Q.counts])
    whole_rows = None if P.whole is None or Q.whole is None else np.concatenate([P.whole, Q.whole])
    first = np.arange(len(counts)) < len(P)
    rows = Group(np.concatenate([P.numbers, Q.numbers]), counts, whole_rows)
    return Pair(rows, np.where(first, counts, 0.0), np.where(first, 0.0, counts))


def log_ratio(p: Floats, q: Floats) -> Floats:
    """Return ln of the ratio of the rates of cells, shrunk towards 0 by one standard error."""
    ratio = np.log((p + 0.5) / (p.sum() + 0.5)) - np.log((q + 0.5) / (q.sum() + 0.5))
    error = np.sqrt(1 / (p + 0.5) + 1 / (q + 0.5))
    shrunk: Floats = np.sign(ratio) * np.maximum(0, np.abs(ratio) - error)
    return shrunk


def quantiles(values: NDArray[Any], counts: Integers) -> NDArray[Any]:
    """Return all values if they are few; else quantiles, in equal steps, and finer towards both ends."""
    order = np.argsort(values, kind="stable")
    values, ranks = values[order], counts[order].cumsum()
    if len(values) == 0:
        return np.zeros(1)
    new = np.append(True, values[1:] != values[:-1])
    if new.sum() <= 256:
        return np.asarray(values[new])
    total = int(ranks[-1])
    steps = np.append(np.geomspace(OFTEN, total / 2, 48), np.linspace(0, total / 2, 33))
    wanted = np.unique(np.concatenate([steps, total - steps]))
    places = np.searchsorted(ranks, wanted).clip(max=len(values) - 1)
    return np.unique(values[places])


def atoms(pair: Pair, code: Code, show: Show, name: str) -> Table:
    """Return a cell for every code that was seen often, and one for all others."""
    codes, first, cells = np.unique(code(pair.rows), return_index=True, return_inverse=True)
    counts = np.bincount(cells, pair.p + pair.q)
    least = max(OFTEN, np.partition(counts, -_ATOMS)[-_ATOMS] if len(counts) > _ATOMS else 0)
    often = np.flatnonzero(counts >= least)
    place = np.full(len(codes), len(often))
    place[often] = np.arange(len(often))
    ratios, seen = pair.ratios(place[cells], len(often) + 1)
    ratios[seen == 0] = np.nan  # if no rare code was seen, those that come later are in no event
    keys, examples = codes[often], first[often]

    def rule(group: Group) -> Floats:
        found = code(group)
        if not len(keys):
            return np.full(len(group), ratios[-1])
        at = np.searchsorted(keys, found).clip(max=len(keys) - 1)
        scores: Floats = np.where(keys[at] == found, ratios[at], ratios[-1])
        return scores

    def words(threshold: float, above: bool) -> str:
        inside = ratios >= threshold if above else ratios < threshold
        labels = [show(pair.rows, int(examples[i]), int(keys[i])) for i in np.flatnonzero(inside[:-1]).tolist()]
        return f"{name} is {listed(labels + ['any that was rarely seen'] * bool(inside[-1]))}"

    return Table(rule, words)


def bins(pair: Pair, j: int, name: str) -> Table:
    """Return a cell between each two of the quantiles, and one for NaN."""
    column = pair.rows.numbers[:, j]
    real = ~np.isnan(column)
    edges = quantiles(column[real], pair.rows.counts[real])

    def cells(group: Group) -> Integers:
        x = group.numbers[:, j]
        return np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="right"))

    ratios, seen = pair.ratios(cells(pair.rows), len(edges) + 2)
    distance = float(np.abs(ratios) @ seen / seen.sum())

    def words(threshold: float, above: bool) -> str:
        inside = ((ratios >= threshold) == above) & (seen > 0)
        ends = ["-∞", *(f"{edge:.6g}" for edge in edges.tolist()), "∞"]
        turns = np.flatnonzero(np.diff(np.concatenate([[False], inside[:-1], [False]]))).reshape(-1, 2).tolist()
        labels = [f"in [{ends[start]}, {ends[stop]})" for start, stop in turns]
        return f"{name} is {listed(labels + ['NaN'] * bool(inside[-1]))}"

    return Table(lambda group: ratios[cells(group)], words, distance)


def plain(name: str, rule: Rule) -> Table:
    """Return a rule as it is, with its name."""
    return Table(rule, lambda threshold, above: f"{name} is {side(threshold, above)}")
