"""Rows move towards the wanted counts, and never away from them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.synth.marginals import Domain
from discreet.synth.marginals.domain import Columns
from discreet.synth.rows.descent import Descent
from discreet.synth.rows.gather import Gather
from discreet.synth.rows.products import Products
from discreet.synth.rows.stream import Stream
from discreet.synth.rows.targets import Residual, counts_of
from tests.synth.tables import tied

ENGINES = pytest.mark.parametrize("engine", [Gather, Products])


def wanted_of(domain: Domain, codes: NDArray[Any], rows: int) -> dict[Columns, Residual]:
    sets = [*domain.sets(1), *domain.sets(2), *domain.sets(3)]
    return counts_of({s: np.asarray(domain.count(codes, s) + 0.3, float) for s in sets}, rows)


def shuffled(codes: NDArray[Any], seed: int = 1) -> NDArray[np.int32]:
    """Rows with the right columns, each by itself."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(codes[:, c]) for c in range(codes.shape[1])], axis=1).astype(np.int32)


def weight(columns: Columns) -> float:
    return 0.25 if len(columns) == 3 and columns != (0, 3, 4) else 1.0


def off(rows: NDArray[Any], wanted: dict[Columns, Residual], domain: Domain) -> float:
    return float(
        sum(
            weight(s) * np.square(domain.count(rows, s) - table.astype(float)).sum() for s, table in wanted.items()
        )
    )


@ENGINES
def test_what_is_kept_is_what_a_recount_finds_and_it_never_rises(engine: Any) -> None:
    """f is a sum of exact numbers, so the two agree to the last bit of 64."""
    domain, codes = tied(3000)
    wanted = wanted_of(domain, codes, 3000)
    state = engine(shuffled(codes), domain, wanted, weight, {})
    descent = Descent(state, Stream(1))
    before = [state.objective]
    assert before[0] == pytest.approx(off(shuffled(codes), wanted, domain), rel=1e-12)
    for _ in range(4):
        for column in range(5):
            for start in range(0, 3000, 1000):
                descent._move(column, slice(start, start + 1000))
                before.append(state.objective)
    assert all(later <= earlier for earlier, later in pairwise(before))
    assert before[-1] < before[0] / 20
    assert state.objective == pytest.approx(off(state.result(), wanted, domain), rel=1e-12)


def test_reading_tables_and_multiplying_matrices_make_the_same_moves() -> None:
    domain, codes = tied(2000)
    wanted = wanted_of(domain, codes, 2000)
    mask = np.zeros((6, 6), bool)
    mask[0, 3:] = True
    start = shuffled(codes)
    start[mask[start[:, 0], start[:, 1]], 1] = 0
    found = []
    for engine in (Gather, Products):
        state = engine(start, domain, wanted, weight, {(0, 1): mask})
        descent = Descent(state, Stream(3))
        for column in (1, 3, 0, 2, 4, 1, 0):
            descent._move(column, slice(0, 2000))
        found.append(state.result())
        assert not mask[found[-1][:, 0], found[-1][:, 1]].any()
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], start)


@ENGINES
def test_a_row_alone_moves_only_if_that_lowers_the_sum(engine: Any) -> None:
    """One row in the wrong cell of one column: the slope alone would not tell a gain from a loss."""
    domain = Domain(("a", "b"), (3, 2))
    rows = np.array([[0, 0]], np.int32)
    right = {(0,): [0.0, 1, 0], (1,): [1.0, 0], (0, 1): [[0.0, 0], [1, 0], [0, 0]]}
    almost = {(0,): [0.5, 0.5, 0], (1,): [1.0, 0], (0, 1): [[0.5, 0], [0.5, 0], [0, 0]]}
    for goal, moves in ((right, True), (almost, False)):
        wanted = {s: np.array(table, np.float32) for s, table in goal.items()}
        state = engine(rows, domain, wanted, weight, {})
        Descent(state, Stream(1)).run(10**9)
        assert (state.result()[0, 0] == 1) == moves
        assert state.objective == off(state.result(), wanted, domain)
