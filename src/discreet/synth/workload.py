"""Which sets of columns matter, without listing all triples of very many columns.

Without a workload every set of three columns matters as much as any other: of d columns these are d³/6, which
nobody writes down for some hundreds. A pair then weighs d − 2, and triples are looked for only among the columns
of the pairs that were found to be tied most. All of it follows from what is public or was released.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import TypeAlias

from discreet.synth.marginals.domain import Columns, Domain
from discreet.synth.select import even_weights, weights

Matter: TypeAlias = Callable[[Sequence[Columns]], dict[Columns, float]]
"""How much sets of columns matter."""

MOST_TRIPLES = 1000
MOST_CELLS = 2**17
"""Triples that are scored, and cells that one of them has, at most."""

MOST_COLUMNS = 100
"""Columns whose triples are all listed; of more, those of the pairs that are tied most."""


def matter_of(workload: Mapping[Columns, float] | None, domain: Domain) -> Matter:
    """Return how much sets matter: by the workload, or where there is none by all sets of three columns."""
    if workload is None:
        return lambda sets: even_weights(len(domain), sets)
    return lambda sets: weights(workload, sets)


def _wanted(workload: Mapping[Columns, float] | None, domain: Domain) -> Collection[Columns]:
    return [tuple(range(len(domain)))] if workload is None else workload.keys()


def listable(workload: Mapping[Columns, float] | None, domain: Domain) -> bool:
    """Tell whether all triples of the workload can be listed: the default one has as many as columns make."""
    return sum(comb(len(wanted), 3) for wanted in _wanted(workload, domain)) <= comb(MOST_COLUMNS, 3)


def triples_of(
    workload: Mapping[Columns, float] | None, domain: Domain, columns: Collection[int]
) -> list[Columns]:
    """Return the triples among some columns that matter, as far as they are small enough.

    >>> triples_of(None, Domain(tuple("abcd"), (2, 2, 2, 90_000)), {0, 1, 2, 3})
    [(0, 1, 2)]
    """
    kept = set(columns)
    found = {t for wanted in _wanted(workload, domain) for t in combinations(sorted(kept.intersection(wanted)), 3)}
    return sorted(t for t in found if domain.cells(t) <= MOST_CELLS)


def most_tied(ties: Mapping[Columns, float]) -> set[int]:
    """Return the columns of the pairs that are tied most, as many as triples are listed of."""
    found: set[int] = set()
    for pair in sorted(ties, key=lambda c: -ties[c]):
        if len(found | set(pair)) > MOST_COLUMNS:
            break
        found |= set(pair)
    return found


def promising(triples: Sequence[Columns], ties: Mapping[Columns, float], matter: Matter) -> list[Columns]:
    """Return the triples that are scored: all, or if they are too many those whose pairs are tied most."""
    if len(triples) <= MOST_TRIPLES:
        return list(triples)
    weight = matter(triples)

    def worth(triple: Columns) -> float:
        return weight[triple] * sum(ties.get(pair, 0.0) for pair in combinations(triple, 2))

    return sorted(sorted(triples, key=worth, reverse=True)[:MOST_TRIPLES])
