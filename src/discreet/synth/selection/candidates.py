"""Turn noisy scores into candidates: what measuring a pair or a triple could remove, and what it would cost.

All of this reads noisy numbers and public sizes: post-processing. Theory: docs/theory/synthesis.md.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import sqrt

from discreet.synth.marginals.domain import Columns
from discreet.synth.marginals.model import Model
from discreet.synth.released import Released
from discreet.synth.selection.select import (
    C,
    Candidate,
    forest,
    most_of_a_cell,
    removable,
    shrunk,
    single_errors,
    spoiled,
)
from discreet.synth.selection.workload import Matter

SINGLES = 2.0
"""How much more a single column counts than its workload says: shrinkage removes less noise of its few cells."""

_TAKEN = 0.3  # the share of all pairs that is measured, about, where noise is too large for triples
_SURE = 1.5  # a triple's score is lowered by so many deviations, so that a chosen one is off almost surely
_DOUBT = 3.0  # a pair whose score is so many deviations above what noise explains is tied
# A pair may hide a cell that is off by much, though on average over its cells it would not be worth its noise. It
# is measured in any case if its score, less so many deviations, leaves room for a cell off by this share of the
# rows and by so many deviations of a measurement, and if its error after that is below this share of the score.
_HIDDEN_DOUBT, _HIDDEN, _HIDDEN_NOISE, _HIDDEN_COST = 2.0, 0.05, 3.0, 0.6


def worth(
    released: Released, model: Model, matter: Matter, precision: float, *, blurred: bool
) -> tuple[list[Candidate], list[Candidate]]:
    """Return pairs with what measuring them could remove, and the sets to measure in any case.

    The tree of the strongest ties carries what other pairs owe to each other, so its pairs are not left out for
    cells that are empty: they count by the cells that noise spoils (`spoiled`). If scores are blurred, what chance
    and the error of single columns explain does not count; single columns are measured in any case, and so are
    the pair of the largest score, if it is tied beyond doubt, and pairs that may hide a large cell (`_hiding`). Of
    columns of many levels the expected error of all their cells would outweigh even those, and their few large
    cells would be off by more than anything else.

    Args:
        released: What was released, with scores of pairs.
        model: The model that they are distances from.
        matter: The weights of sets of columns.
        precision: That of all measurements of the round together.
        blurred: Whether noise is too large for triples.
    """
    scores, errors = released.scores["pairs"], single_errors(model)
    variance = _TAKEN * len(scores) / precision

    def beyond(score: float, pair: Columns) -> float:
        return removable(score, model.marginal(pair), [errors[column] for column in pair], variance)

    least = released.surely("pairs", _DOUBT)
    tree = {pair for pair in forest(least) if beyond(least[pair], pair) > 0}
    ties = [
        replace(c, cells=spoiled(model.marginal(c.columns), variance)) if c.columns in tree else c
        for c in _scored(released, "pairs", matter, sure=0.0)
    ]
    if not blurred:
        return ties, []
    ties = [replace(c, score=beyond(c.score, c.columns)) for c in ties]
    top = max(least, key=lambda pair: least[pair])
    strong = tree.intersection([top]) | _hiding(released, model, precision)
    sure = [c for c in ties if c.columns in strong]
    return [c for c in ties if c not in sure], [*singles(released, matter), *sure]


def _hiding(released: Released, model: Model, precision: float) -> set[Columns]:
    """Return pairs that may hide a cell which is off by much, of two trees: of the largest scores and cells."""
    least = released.surely("pairs", _HIDDEN_DOUBT)
    cells = {pair: most_of_a_cell(score, model.marginal(pair)) for pair, score in least.items()}
    deviation = sqrt(len(released.domain) / precision)
    bound = max(_HIDDEN * model.total, _HIDDEN_NOISE * deviation)
    return {
        pair
        for pair in {*forest(cells), *forest(least)}
        if cells[pair] > bound and expected_error(model, pair, deviation) < _HIDDEN_COST * least[pair]
    }


def expected_error(model: Model, pair: Columns, deviation: float) -> float:
    """Return the expected distance of a pair that is measured with noise of this deviation, in rows."""
    return C * spoiled(model.marginal(pair), deviation**2) * deviation


def singles(released: Released, matter: Matter) -> list[Candidate]:
    """Return the single columns that matter."""
    sets: list[Columns] = [(column,) for column in range(len(released.domain))]
    weight = matter(sets)
    return [Candidate(c, released.domain.cells(c), SINGLES * weight[c], 0.0) for c in sets if weight[c] > 0]


def measured(released: Released, matter: Matter) -> list[Candidate]:
    """Return the marginals of the first round, with their precision."""
    precisions = {c: p for c, p in released.evidence.precisions().items() if len(c) > 1}
    weight = matter(list(precisions))
    return [Candidate(c, released.domain.cells(c), weight[c], 0.0, p) for c, p in precisions.items()]


def triples(released: Released, matter: Matter) -> list[Candidate]:
    """Return triples with their scores minus the expected error of their pairs."""
    precisions = released.evidence.precisions()
    errors = {c: C * released.domain.cells(c) / sqrt(p) for c, p in precisions.items() if len(c) == 2}
    return [
        replace(c, score=c.score - sum(errors.get(p, 0.0) for p in combinations(c.columns, 2)))
        for c in _scored(released, "triples", matter, sure=_SURE)
    ]


def _scored(released: Released, name: str, matter: Matter, *, sure: float) -> list[Candidate]:
    scores = released.scores[name]
    weight = matter([score.columns for score in scores])
    likely = shrunk([score.value for score in scores], scores[0].deviation) if not sure else None
    values = likely or list(released.surely(name, sure).values())
    return [
        Candidate(score.columns, released.domain.cells(score.columns), weight[score.columns], max(value, 0.0))
        for score, value in zip(scores, values, strict=True)
    ]
