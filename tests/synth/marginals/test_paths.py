"""Pairs that follow from other pairs: exact where one column says all, better where several know something."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
from discreet.synth.marginals.domain import Columns
from discreet.synth.marginals.paths import Paths

TOTAL = 1000.0


def joint(*, sizes: tuple[int, ...], seed: int) -> NDArray[Any]:
    """Return the probabilities of a Markov chain over columns of these sizes."""
    rng = np.random.default_rng(seed)
    table: NDArray[Any] = rng.dirichlet(np.full(sizes[0], 2.0))
    for before, size in pairwise(sizes):
        table = table[..., None] * rng.dirichlet(np.full(size, 0.4), size=before)
    return table


def onto(table: NDArray[Any], kept: Columns) -> NDArray[Any]:
    summed: NDArray[Any] = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in kept))
    return TOTAL * summed


def known(table: NDArray[Any], pairs: Sequence[Columns]) -> Paths:
    """Return paths that know these pairs of a table of probabilities."""
    paths = Paths([onto(table, (axis,)) for axis in range(table.ndim)], TOTAL)
    for pair in pairs:
        one, other = onto(table, (pair[0],)), onto(table, (pair[1],))
        exact = onto(table, pair)
        paths.add(pair, exact, float(np.abs(exact - np.multiply.outer(one, other) / TOTAL).sum()))
    return paths


def off(found: NDArray[Any] | None, table: NDArray[Any], pair: Columns) -> float:
    assert found is not None
    return float(np.abs(found - onto(table, pair)).sum()) / TOTAL


@pytest.mark.parametrize("seed", range(5))
def test_a_path_that_is_exact_stays_so_with_other_columns_beside_it(seed: int) -> None:
    """In a chain a → b → c → d → e, a and c are independent given b, whatever d and e know about c."""
    chain = joint(sizes=(3, 4, 3, 4, 2), seed=seed)
    others = [pair for pair in combinations(range(5), 2) if pair != (0, 2)]
    paths = known(chain, others)
    paths.add((0, 1), onto(chain, (0, 1)), TOTAL)  # the strongest ties, so that b comes first
    paths.add((1, 2), onto(chain, (1, 2)), TOTAL)
    assert off(paths.follow((0, 2)), chain, (0, 2)) < 1e-5
    assert off(paths.follow((0, 2), many=False), chain, (0, 2)) < 1e-9


def test_two_columns_that_each_know_a_part_are_both_heard() -> None:
    """u and v depend on c and on d. The path through c alone has half of the relation."""
    table = np.zeros((2, 2, 2, 2))
    for c, d in np.ndindex(2, 2):
        one = 0.1 + 0.4 * c + 0.4 * d
        table[:, :, c, d] = np.multiply.outer([1 - one, one], [1 - one, one]) / 4
    paths = known(table, [pair for pair in combinations(range(4), 2) if pair != (0, 1)])
    alone, together = (off(paths.follow((0, 1), many=many), table, (0, 1)) for many in (False, True))
    assert alone > 0.15
    assert together < 0.5 * alone


def test_a_column_that_is_almost_a_copy_is_heard_beside_a_stronger_one() -> None:
    """Nobody who lives has a cause of death. The tie of `died` with age is weak, and both have strong ties with a
    score. Through the score alone, a group of ages had more persons without a cause than persons who live."""
    rng = np.random.default_rng(4)
    rows = 8000
    age = rng.integers(0, 5, rows)
    score = (age * 3 + rng.integers(0, 7, rows)) % 15
    died = rng.random(rows) < np.array([0.5, 0.05, 0.3, 0.1, 0.4])[age] * np.where(score < 8, 0.4, 1.6)
    cause = np.where(died, rng.integers(0, 8, rows), 8)
    codes, domain = np.stack([age, score, died, cause], axis=1), Domain(tuple("asdc"), (5, 15, 2, 9))
    sets: list[Columns] = [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (1, 3), (2, 3)]
    noisy = [domain.count(codes, s) + rng.normal(0, 20.0, domain.shape(s)) for s in sets]
    model = estimate(Evidence(domain, tuple(Measurement(s, v, 400.0) for s, v in zip(sets, noisy, strict=True))))
    living, without_cause = model.marginal((0, 2))[:, 0], model.marginal((0, 3))[:, 8]
    assert np.abs(living - without_cause).max() < 0.025 * rows  # .030 through the score alone


def test_columns_of_too_many_values_are_not_regressed_on() -> None:
    sizes = (2, 2, 3, 300, 2)
    table = joint(sizes=sizes, seed=1)
    every = [pair for pair in combinations(range(5), 2) if pair != (0, 1)]
    without = [pair for pair in every if 3 not in pair]
    wide, narrow = known(table, every), known(table, without)
    for pair in ((0, 2), (1, 2)):  # the same column comes first in both
        wide.add(pair, onto(table, pair), 2 * TOTAL)
        narrow.add(pair, onto(table, pair), 2 * TOTAL)
    found, expected = wide.follow((0, 1)), narrow.follow((0, 1))
    assert found is not None
    assert expected is not None
    assert np.allclose(found, expected)


def test_a_pair_that_no_column_is_tied_to_follows_from_nothing() -> None:
    table = joint(sizes=(2, 3, 2), seed=0)
    assert known(table, [(0, 1)]).follow((0, 2)) is None
    paths = known(table, [(0, 1), (1, 2)])
    paths.add((1, 2), onto(table, (1, 2)), 0.0)
    assert paths.follow((0, 2)) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 8), st.integers(0, 10_000), st.sampled_from([0.02, 0.3, 3.0]))
def test_tables_that_contradict_each_other_give_counts(columns: int, seed: int, evenness: float) -> None:
    """Noisy tables are of no joint distribution: covariances may have negative eigenvalues of any size."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, columns)
    paths = Paths([np.full(size, TOTAL / size) for size in sizes], TOTAL)
    for one, other in combinations(range(columns), 2):
        drawn = rng.dirichlet(np.full(sizes[one] * sizes[other], evenness)).reshape(sizes[one], sizes[other])
        paths.add((one, other), TOTAL * drawn, float(rng.random()) + 0.1)
    found = paths.follow((0, 1))
    assert found is not None
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.sum() > 0.9 * TOTAL
    assert found.max() < 100 * TOTAL
