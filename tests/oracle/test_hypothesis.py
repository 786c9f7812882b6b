"""The hypothesis: sums and products equal numpy's, fits meet the measurements, and both shapes agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.oracle.dense_table import Floats, project, scale, scale_box
from discreet.oracle.fit import Measurement, Table, on_simplex, singles_of, step, total_of
from discreet.oracle.hypothesis import Dense, Factored, hypothesis

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, data=st.data())
def test_a_projection_is_the_sum_over_the_other_columns(shape: list[int], data: st.DataObject) -> None:
    table = np.random.default_rng(1).random(shape)
    keep = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    others = tuple(i for i in range(len(shape)) if i not in keep)
    found = project(table, keep)
    np.testing.assert_allclose(found, table.sum(axis=others))
    assert not np.shares_memory(found, table)


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, data=st.data())
def test_a_factor_multiplies_every_cell_in_place(shape: list[int], data: st.DataObject) -> None:
    rng = np.random.default_rng(2)
    table, columns = rng.random(shape), sorted(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    factor = rng.random([shape[i] for i in columns])
    expected = table * factor.reshape([shape[i] if i in columns else 1 for i in range(len(shape))])
    scale(table, columns, factor)
    np.testing.assert_allclose(table, expected)


def test_a_wide_table_is_scaled_as_well() -> None:
    rng = np.random.default_rng(3)
    table, factor = rng.random((7, 30, 40, 20)), rng.random((7, 20))
    expected = table * factor[:, None, None, :]
    scale(table, [0, 3], factor)
    np.testing.assert_allclose(table, expected)


def test_a_box_is_scaled_and_nothing_else() -> None:
    table = np.ones((4, 5))
    scale_box(table, [slice(1, 3), slice(0, 2)], 3.0)
    assert table.sum() == 20 + 4 * 2
    assert table[1:3, :2].tolist() == [[3.0, 3.0], [3.0, 3.0]]


@settings(max_examples=100, deadline=None)
@given(
    mass=arrays(float, 5, elements=st.floats(0, 1e6)),
    log=arrays(float, 5, elements=st.floats(-3, 3)),
    target=arrays(float, 5, elements=st.floats(-1e3, 1e6)),
    weight=st.floats(1e-3, 1e4),
)
def test_a_step_solves_its_equation(mass, log, target, weight) -> None:  # type: ignore[no-untyped-def]
    theta = step(mass, log, target, weight)
    inside = np.abs(theta) < 49
    left = mass * np.exp(theta) + weight * (log + theta)
    np.testing.assert_allclose(left[inside], target[inside], rtol=1e-5, atol=1e-3)


@settings(max_examples=50, deadline=None)
@given(values=arrays(float, 6, elements=st.floats(-50, 50)), total=st.floats(0.5, 100))
def test_the_simplex_holds_what_adds_up(values, total) -> None:  # type: ignore[no-untyped-def]
    found = on_simplex(values, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total)
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def people(seed: int = 0, rows: int = 40_000) -> tuple[tuple[int, ...], Floats]:
    """Return the counts of four columns in which each depends on the one before."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, rows)
    b = np.clip(a // 3 + rng.integers(-1, 2, rows), 0, 4)
    c = (b + (rng.random(rows) < 0.3)) % 3
    d = (rng.random(rows) < 0.1 + 0.2 * c).astype(int)
    shape = (12, 5, 3, 2)
    return shape, np.bincount(np.ravel_multi_index((a, b, c, d), shape), minlength=360).reshape(shape).astype(
        float
    )


def noisy(
    truth: Floats,
    columns: tuple[int, ...],
    deviation: float,
    rng: np.random.Generator,
    starts: tuple[tuple[int, ...] | None, ...] = (),
) -> Measurement:
    plain = Measurement(columns, project(truth, columns), deviation**2, None, starts)
    values = plain.gathered(plain.values)
    return Measurement(columns, values + rng.normal(0, deviation, values.shape), deviation**2, None, starts)


PAIRS = [(a, b) for a in range(4) for b in range(a + 1, 4)]


@pytest.mark.parametrize("made", [Dense, Factored])
def test_a_fit_to_all_pairs_knows_the_triples_far_better_than_independence_does(made: type) -> None:
    shape, truth = people()
    rng = np.random.default_rng(1)
    known = Measurement((), np.array(truth.sum()), 1.0)
    apart, together = made(shape, known), made(shape, known)
    apart.fit([noisy(truth, (i,), 20, rng) for i in range(4)])
    together.fit([noisy(truth, columns, 20, rng) for columns in [*((i,) for i in range(4)), *PAIRS]])
    for columns in [(0, 1, 2), (1, 2, 3), (0, 2, 3)]:
        far, near = (float(np.abs(h.marginal(columns) - project(truth, columns)).sum()) for h in (apart, together))
        assert near < far / 4
        assert together.marginal(columns).sum() == pytest.approx(together.total, rel=1e-3)


def test_dense_and_factored_agree_where_all_pairs_are_known() -> None:
    shape, truth = people()
    rng = np.random.default_rng(2)
    measured = [noisy(truth, columns, 10, rng) for columns in [*((i,) for i in range(4)), *PAIRS]]
    known = Measurement((), np.array(truth.sum()), 1.0)
    dense, factored = Dense(shape, known), Factored(shape, known)
    dense.fit(measured)
    factored.fit(measured)
    for columns in [(0,), (1, 3), (0, 1, 3)]:
        assert np.abs(dense.marginal(columns) - factored.marginal(columns)).max() < 120


def test_totals_do_not_drift_upwards_where_most_cells_are_empty() -> None:
    """Positive noise on empty cells would add up if the one-way marginals were not kept fixed."""
    shape, rng = (60, 50), np.random.default_rng(3)
    truth = np.zeros(shape)
    truth[:4, :4] = 1000.0
    known = Measurement((), np.array(16_000.0), 100.0)
    believed = Dense(shape, known)
    believed.fit([noisy(truth, columns, 50, rng) for columns in [(0,), (1,), (0, 1)]])
    assert believed.marginal(()).sum() == pytest.approx(16_000, abs=200)
    assert believed.marginal((0,))[:4].sum() > 15_000


def test_parts_sharpen_wide_ranges() -> None:
    """Least squares for two levels: the mean error of a range over half of the cells falls."""
    rng, truth = np.random.default_rng(4), np.full(64, 100.0)
    parts = tuple(range(0, 64, 8))
    errors = np.zeros(2)
    for _ in range(200):
        fine = noisy(truth, (0,), 30, rng)
        coarse = noisy(truth, (0,), 30, rng, (parts,))
        for i, measured in enumerate(([fine], [fine, coarse])):
            errors[i] += abs(singles_of(measured, 6400.0)[0][:32].sum() - 3200)
    assert errors[1] < 0.7 * errors[0]


def test_the_total_is_the_mean_weighted_by_variances() -> None:
    known = Measurement((), np.array(100.0), 1.0)
    other = Measurement((0,), np.array([60.0, 60.0]), 1.0)
    assert total_of([other], known) == pytest.approx((100 + 120 / 2) / 1.5)


@pytest.mark.parametrize("cells", [[(0, 0), (0, 1)], [(0, 0), (2, 1)], [(1, 1)]])
def test_one_number_that_is_far_off_is_learned_and_the_total_kept(cells: list[tuple[int, int]]) -> None:
    table = Table((0, 1, 2), (4, 4, 3), 1600.0)
    mask = np.zeros((4, 4))
    for cell in cells:
        mask[cell] = 1
    table.learn(Measurement((0, 1), np.array(800.0), 100.0, mask))
    found = table.marginal((0, 1))
    assert (found * mask).sum() == pytest.approx(800, rel=0.02)
    assert found.sum() == pytest.approx(1600)
    assert found[3].std() == pytest.approx(0)
    table.fit([Measurement((2,), np.array([800.0, 400.0, 400.0]), 1.0)], total=1600.0, rounds=4)
    np.testing.assert_allclose(table.marginal((2,)), [800, 400, 400], rtol=0.01)
    assert (table.marginal((0, 1)) * mask).sum() == pytest.approx(800, rel=0.02)


def test_a_prior_is_where_the_fit_begins() -> None:
    shares = np.array([[0.4, 0.1], [0.1, 0.4]])
    believed = Dense((2, 2), Measurement((), np.array(1000.0), 1.0), lambda columns: project(shares, columns))
    believed.fit([Measurement((0,), np.array([800.0, 200.0]), 1.0)])
    found = believed.marginal((0, 1))
    np.testing.assert_allclose(found.sum(1), [800, 200], atol=5)
    assert found[0, 0] / found[0, 1] == pytest.approx(4, rel=0.05)


def test_ten_million_cells_are_dense_and_more_are_factored() -> None:
    known = Measurement((), np.array(5.0), 1.0)
    assert isinstance(hypothesis([10] * 3, known), Dense)
    assert isinstance(hypothesis([10] * 8, known), Factored)
