"""Weigh sets of columns, without listing all triples of very many columns.

Without a workload all sets of three columns have the same weight: d columns have d³/6 of them, too many to list
for some hundreds of columns. A pair then has weight d − 2, and triples are chosen only among the columns of the
pairs that are tied most. All of it follows from public facts and from releases.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import TypeAlias

from discreet.synth.marginals.domain import Columns, Domain
from discreet.synth.selection.select import even_weights, weights

Matter: TypeAlias = Callable[[Sequence[Columns]], dict[Columns, float]]
"""Returns the weights of sets of columns."""

MOST_TRIPLES = 1000
MOST_CELLS = 2**17
"""The most triples that are scored, and the most cells of one of them."""

MOST_COLUMNS = 100
"""The most columns whose triples are all listed; of more, only the columns of the most tied pairs."""


def matter_of(workload: Mapping[Columns, float] | None, domain: Domain) -> Matter:
    """Return the weights of sets: by the workload, or by all sets of three columns if there is none."""
    if workload is None:
        return lambda sets: even_weights(len(domain), sets)
    return lambda sets: weights(workload, sets)


def _wanted(workload: Mapping[Columns, float] | None, domain: Domain) -> Collection[Columns]:
    return [tuple(range(len(domain)))] if workload is None else workload.keys()


def listable(workload: Mapping[Columns, float] | None, domain: Domain) -> bool:
    """Return whether all triples of the workload can be listed. The default workload has all triples."""
    return sum(comb(len(wanted), 3) for wanted in _wanted(workload, domain)) <= comb(MOST_COLUMNS, 3)


def triples_of(
    workload: Mapping[Columns, float] | None, domain: Domain, columns: Collection[int]
) -> list[Columns]:
    """Return the triples of the workload among some columns, if they are small enough.

    >>> triples_of(None, Domain(tuple("abcd"), (2, 2, 2, 90_000)), {0, 1, 2, 3})
    [(0, 1, 2)]
    """
    kept = set(columns)
    found = {t for wanted in _wanted(workload, domain) for t in combinations(sorted(kept.intersection(wanted)), 3)}
    return sorted(t for t in found if domain.cells(t) <= MOST_CELLS)


def most_tied(ties: Mapping[Columns, float]) -> set[int]:
    """Return the columns of the pairs that are tied most, MOST_COLUMNS at most."""
    found: set[int] = set()
    for pair in sorted(ties, key=lambda c: -ties[c]):
        if len(found | set(pair)) > MOST_COLUMNS:
            break
        found |= set(pair)
    return found


def promising(triples: Sequence[Columns], ties: Mapping[Columns, float], matter: Matter) -> list[Columns]:
    """Return the triples to score: all, or if they are too many those whose pairs are tied most."""
    if len(triples) <= MOST_TRIPLES:
        return list(triples)
    weight = matter(triples)

    def worth(triple: Columns) -> float:
        return weight[triple] * sum(ties.get(pair, 0.0) for pair in combinations(triple, 2))

    return sorted(sorted(triples, key=worth, reverse=True)[:MOST_TRIPLES])
