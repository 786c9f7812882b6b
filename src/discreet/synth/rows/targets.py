"""List the counts that rows should have: the model's answers about one, two and three columns.

Triples that were not measured follow from their pairs by raking (discreet.synth.marginals.model); here all
triples of one shape are raked at once, which is what makes thousands of them affordable. A table of many columns
has more sets than time allows: then those are listed that were measured, and those whose columns are tied most.

Counts are rounded to multiples of 2⁻⁸. Differences of such counts, for up to 2¹⁶ rows, are exact in 32-bit
floats, so a descent on them adds up no round-off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.ipf import rake_many
from discreet.synth.marginals.model import Model
from discreet.synth.rows.tree import Codes, tree

GRID = 256
"""Counts are multiples of 1/GRID."""

MOST_ROWS = 2**16
"""The most rows whose counts are exact."""

MOST_PAIRS = 5000
MOST_CELLS = 2**21
ALL_CELLS = 12_000_000
"""The most pairs that are listed, the most cells of a triple, and of all triples together."""

FOLLOWING = 0.25
"""The weight of a triple that was not measured."""

_AT_ONCE = 1 << 18  # cells that are raked together, so that they fit a cache
_LARGE = 1 << 14  # a triple of so many cells is raked by itself

Tables = dict[Columns, Floats]
Residual = NDArray[np.float32]

Weights = Callable[[Columns], float]
"""Returns how much a set counts: a power of two, so that sums stay exact."""


def pairs_of(model: Model) -> list[Columns]:
    """Return the pairs to list: all, or those of the tree and those furthest from independence."""
    if len(model.pairs) <= MOST_PAIRS:
        return list(model.pairs)
    edges = {(min(edge), max(edge)) for edge in tree(model)}

    def far(pair: Columns) -> float:
        table = model.pairs[pair]
        expected = np.multiply.outer(table.sum(axis=1), table.sum(axis=0)) / max(float(table.sum()), 1e-12)
        return float(np.abs(table - expected).sum())

    kept = edges.union(sorted(model.pairs, key=far, reverse=True)[:MOST_PAIRS])
    return [pair for pair in model.pairs if pair in kept]


def triples_of(model: Model, most: int) -> list[Columns]:
    """Return at most so many triples: those that were measured, and those whose pairs are tied most."""
    domain, ties = model.domain, model.ties
    measured = list(model.triples)
    kept = _columns(model, most)
    others = [t for t in combinations(kept, 3) if t not in model.triples]
    others.sort(key=lambda t: -sum(ties.get(pair, 0.0) for pair in combinations(t, 2)))
    found, cells = list[Columns](), 0
    for triple in (*measured, *others):
        size = domain.cells(triple)
        if len(found) < most and size <= MOST_CELLS and cells + size <= ALL_CELLS:
            found.append(triple)
            cells += size
    return sorted(found)


def _columns(model: Model, most: int) -> Iterable[int]:
    """Return the columns whose triples are looked at: all, or those of the most tied pairs."""
    width = len(model.domain)
    if width**3 <= 120 * most:
        return range(width)
    strongest = sorted(model.ties, key=lambda pair: -model.ties[pair])
    ordered = dict.fromkeys([*(column for pair in strongest for column in pair), *range(width)])
    return sorted(list(ordered)[: max(3, round((120 * most) ** (1 / 3)))])


def weights_of(model: Model) -> Weights:
    """Return the weights of sets: triples that follow from pairs count less than what was measured.

    The model's answers about them assume that three columns have nothing in common beyond their pairs. If a
    measured triple shows that they have, the answers about its relatives contradict it, and should not win.
    """
    measured = set(model.triples)
    return lambda columns: 1.0 if len(columns) < 3 or columns in measured else FOLLOWING


def tables_of(model: Model, sets: Sequence[Columns]) -> Tables:
    """Return the model's answers about these sets of columns, in rows.

    >>> from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
    >>> ones = [Measurement((c,), np.array([30.0, 70.0]), 1.0) for c in range(3)]
    >>> model = estimate(Evidence(Domain(("a", "b", "c"), (2, 2, 2)), tuple(ones)))
    >>> bool(np.allclose(tables_of(model, [(0, 1, 2)])[0, 1, 2], model.marginal((0, 1, 2))))
    True
    """
    found: Tables = {}
    alike: dict[tuple[int, ...], list[Columns]] = defaultdict(list)
    for columns in sets:
        follows = len(columns) == 3 and columns not in model.triples
        if follows and model.domain.cells(columns) < _LARGE:
            alike[model.domain.shape(columns)].append(columns)
        else:
            found[columns] = model.marginal(columns)
    for shape, listed in alike.items():
        step = max(1, _AT_ONCE // int(np.prod(shape)))
        for start in range(0, len(listed), step):
            some = listed[start : start + step]
            found.update(zip(some, _raked(model, some), strict=True))
    return {columns: found[columns] for columns in sets}


def _raked(model: Model, triples: Sequence[Columns]) -> Floats:
    a, b, c = (np.stack([model.ones[t[i]] for t in triples]) / model.total for i in range(3))
    start = model.total * a[:, :, None, None] * b[:, None, :, None] * c[:, None, None, :]
    margins: dict[tuple[int, ...], Floats] = {
        kept: np.stack([model.pairs[t[kept[0]], t[kept[1]]] for t in triples]) for kept in ((0, 1), (0, 2), (1, 2))
    }
    return rake_many(start, margins)


def counts_of(
    tables: Tables, rows: int, left: Mapping[Columns, Residual] | None = None
) -> dict[Columns, Residual]:
    """Return the counts that so many rows should have, rounded; `left` is what earlier rows have too many.

    >>> counts_of({(0,): np.array([1.0, 3.0])}, 200, {(0,): np.array([4.0, -4.0], np.float32)})[0,].tolist()
    [46.0, 154.0]
    """
    found: dict[Columns, Residual] = {}
    for columns, table in tables.items():
        wanted = table * (rows / max(float(table.sum()), 1e-12))
        if left is not None:
            wanted = wanted - left[columns]
        found[columns] = (np.rint(GRID * wanted) / GRID).astype(np.float32)
    return found


def excess(rows: Codes, wanted: Residual, columns: Columns, domain: Domain) -> Residual:
    """Return by how much the counts of rows are above the wanted ones."""
    return (domain.count(rows, columns) - wanted).astype(np.float32)
