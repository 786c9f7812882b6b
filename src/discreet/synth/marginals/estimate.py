"""Estimate a model from measurements: a total, one-way and two-way marginals that agree.

1. The total and the one-way marginals are weighted means of all measurements. The latter are shrunk towards equal
   counts, by as much as noise explains their differences, and projected onto the simplex: in a tiny table they
   become equal. How unequal columns are is learned from all of them together.
2. Each measured pair is shrunk (`empirical_bayes`), towards independence first. That gives a better base: for the
   pair (u, v), the table that follows from other pairs, through the columns that are tied to both (`paths`). The
   pair is shrunk again, towards that base.
   A fiftieth of independence stays in every base, so that no cell is impossible. How far cells are from a base is
   learned from each table, and a little from all of them together. If a score says that a pair is far from
   independence, a law is expected of it in which most cells are empty and few are large.
3. A pair that was not measured is predicted in the same way.
4. Every pair is raked to the one-way marginals: of a measured one, each cell by as much as it may be off, so that
   what was measured precisely keeps its value. Cells that are declared impossible are empty throughout.

All of this is post-processing. Theory: docs/theory/synthesis.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals.domain import Columns, Floats
from discreet.synth.marginals.empirical_bayes import PAIR, TIED, common_law, determined, shrink
from discreet.synth.marginals.ipf import on_simplex, product, rake, rake_loose
from discreet.synth.marginals.measurements import Evidence, Measurement
from discreet.synth.marginals.model import Model
from discreet.synth.marginals.paths import Paths

_KEPT = 0.02  # the share of independence in every base
# The share of what all measured pairs have in common in the law of one: a table of four cells says little about
# its own. With more of it the few pairs that are measured where noise is large follow noise.
_COMMON = 0.2
# From the first distance from independence on, a share of the rows, columns count as tied, and from the second on
# as nearly determined by each other. The largest distance is 2.
_LOOSE, _TIGHT = 0.3, 1.8
_DOUBT = 2.0  # a total of fewer than so many deviations may be noise
_LEAST = 1e-9
_MANY = 5000  # the most pairs without a measurement that follow through more than one column
_FLOOR = 1e-7  # the least share of the total that a base expects in a cell

Masks = Mapping[Columns, NDArray[np.bool_]]


def estimate(
    evidence: Evidence,
    ties: Mapping[Columns, float] | None = None,
    *,
    prior: Mapping[Columns, Floats] | None = None,
    impossible: Masks | None = None,
) -> Model:
    """Return the model of all measurements.

    Args:
        evidence: The measurements.
        ties: The strength of the relation between the columns of pairs, which chooses the paths; by default the
            distance of their measured tables from independence.
        prior: Public two-way marginals to start from, in any scale.
        impossible: Cells of pairs that stay empty.

    >>> from discreet.synth.marginals import Domain, Measurement
    >>> pair = Measurement((0, 1), np.array([[40.0, 10.0], [10.0, 40.0]]), 1.0)
    >>> model = estimate(Evidence(Domain(("a", "b"), (2, 2)), (pair,)))
    >>> bool(abs(model.marginal((0, 1)) - pair.values).max() < 2)
    True
    """
    known = evidence.total()
    total = max(float(known.values), 1.0)
    ones = _ones(evidence, total, least=_DOUBT * float(np.sqrt(known.variance)))
    masks = dict(impossible or {})
    bases = {pair: _independent(pair, ones, total) for pair in evidence.domain.sets(2)}
    plain = dict(bases)
    for pair, table in (prior or {}).items():
        bases[pair] = _mixed(_fitted(table + _FLOOR * table.sum(), pair, ones), plain[pair])
    bases = {pair: _without(table, masks.get(pair)) for pair, table in bases.items()}
    measured = evidence.gathered(2)
    if ties is None:
        ties = {pair: float(np.abs(m.values - plain[pair]).sum()) for pair, m in measured.items()}
    pairs: dict[Columns, Floats] = {}
    variances: dict[Columns, Floats] = {}
    paths = Paths(ones, total)
    for again in (False, True):
        bases |= {pair: np.maximum(bases[pair], _FLOOR * total) for pair in measured}
        law = _law(measured, bases)
        for pair, found in measured.items():
            expected = _tied(law, ties.get(pair, 0.0) / total)
            mean, variances[pair] = shrink(found.values, float(np.sqrt(found.variance)), bases[pair], expected)
            kept = mean + _LEAST * plain[pair]  # otherwise a row that noise emptied could not be filled again
            sure = determined(mean, variances[pair], found.variance)
            margins: dict[Columns, Floats] = {(0,): ones[pair[0]], (1,): ones[pair[1]]}
            pairs[pair] = rake_loose(_without(kept, masks.get(pair)), sure, found.variance, margins, rounds=5)
        for pair in measured:
            paths.add(pair, pairs[pair], ties.get(pair, 0.0))
        if not again and not prior:
            followed = {pair: paths.follow(pair) for pair in measured}
            bases |= {pair: _mixed(table, plain[pair]) for pair, table in followed.items() if table is not None}
    rest = sorted((pair for pair in bases if pair not in measured), key=lambda pair: -ties.get(pair, 0.0))
    for rank, pair in enumerate(rest):
        path = None if prior else paths.follow(pair, many=rank < _MANY)
        pairs[pair] = _fitted(_without(bases[pair] if path is None else path, masks.get(pair)), pair, ones)
        paths.add(pair, pairs[pair], ties.get(pair, 0.0))
    return Model(evidence, total, tuple(ones), pairs, variances, dict(ties), masks)


def _ones(evidence: Evidence, total: float, least: float) -> list[Floats]:
    """Return the one-way marginals. `least` is a number of rows that noise alone could take away.

    Where the noisy total is below that, differences of cells look large beside it, and columns would come out too
    unequal. So they are shrunk and projected as those of `least` rows, and scaled down.
    """
    known, rows = evidence.gathered(1), total if total > least or not np.isfinite(least) else least
    found = [np.full(size, rows / size) for size in evidence.domain.sizes]
    common = common_law([(m.values, float(np.sqrt(m.variance)), found[c]) for (c,), m in known.items()])
    for (column,), measured in known.items():
        mean, _ = shrink(measured.values, float(np.sqrt(measured.variance)), found[column], common)
        found[column] = on_simplex(mean, rows)
    return found if rows == total else [one * (total / rows) for one in found]


def _law(measured: Mapping[Columns, Measurement], bases: Mapping[Columns, Floats]) -> Floats:
    """Return the law of ratios that is expected of a measured pair."""
    if not measured:
        return PAIR
    tables = [(m.values, float(np.sqrt(m.variance)), bases[pair]) for pair, m in measured.items()]
    law: Floats = (1 - _COMMON) * PAIR + _COMMON * common_law(tables, PAIR)
    return law


def _tied(law: Floats, distance: float) -> Floats:
    """Return the law that is expected of a pair with this distance from independence, a share of the rows."""
    tied = min(max((distance - _LOOSE) / (_TIGHT - _LOOSE), 0.0), 1.0)
    expected: Floats = (1 - tied) * law + tied * TIED
    return expected


def _independent(pair: Columns, ones: list[Floats], total: float) -> Floats:
    return product([ones[column] for column in pair], total)


def _fitted(table: Floats, pair: Columns, ones: list[Floats]) -> Floats:
    return rake(table, {(0,): ones[pair[0]], (1,): ones[pair[1]]}, rounds=5)


def _mixed(table: Floats, independent: Floats) -> Floats:
    return (1 - _KEPT) * table + _KEPT * independent


def _without(table: Floats, mask: NDArray[np.bool_] | None) -> Floats:
    return table if mask is None else np.where(mask, 0.0, table)
