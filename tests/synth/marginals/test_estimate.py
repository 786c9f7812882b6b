"""Estimates from measurements: the marginals of a model agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
from discreet.synth.marginals.domain import Columns, onto


def chain(rows: int = 20_000, seed: int = 0) -> tuple[Domain, NDArray[Any]]:
    """Return rows of a Markov chain a → b → c → d."""
    rng = np.random.default_rng(seed)
    sizes = (4, 5, 6, 3)
    codes = np.zeros((rows, 4), int)
    codes[:, 0] = rng.integers(0, 4, rows)
    for column in range(1, 4):
        law = rng.dirichlet(np.full(sizes[column], 0.3), size=sizes[column - 1]).cumsum(axis=1)
        codes[:, column] = (
            (law[codes[:, column - 1]] < rng.random(rows)[:, None]).sum(axis=1).clip(0, sizes[column] - 1)
        )
    return Domain(tuple("abcd"), sizes), codes


def measured(domain: Domain, codes: NDArray[Any], sets: list[Columns], deviation: float) -> Evidence:
    rng = np.random.default_rng(9)
    noisy = [domain.count(codes, c) + rng.normal(0, deviation, domain.shape(c)) for c in sets]
    return Evidence(domain, tuple(Measurement(c, v, deviation**2) for c, v in zip(sets, noisy, strict=True)))


def distance(domain: Domain, codes: NDArray[Any], found: NDArray[Any], columns: Columns) -> float:
    return float(np.abs(found / found.sum() - domain.count(codes, columns) / len(codes)).sum())


def test_pairs_that_were_not_measured_follow_through_a_third_column() -> None:
    domain, codes = chain()
    steps: list[Columns] = [(0, 1), (1, 2), (2, 3)]
    model = estimate(measured(domain, codes, steps, 10.0))
    independent = np.multiply.outer(model.ones[0], model.ones[2]) / model.total
    assert distance(domain, codes, model.marginal((0, 2)), (0, 2)) < 0.05
    assert distance(domain, codes, independent, (0, 2)) > 0.2


def test_all_marginals_agree_on_what_they_share() -> None:
    domain, codes = chain()
    model = estimate(measured(domain, codes, [(0, 1), (1, 2), (0, 1, 3)], 30.0))
    for pair in domain.sets(2):
        for column in pair:
            assert np.allclose(onto(model.marginal(pair), pair, (column,)), model.ones[column], rtol=0.02, atol=20)
    for triple in domain.sets(3):
        table = model.marginal(triple)
        assert table.min() >= 0
        assert abs(table.sum() - model.total) < 0.01 * model.total


def test_cells_that_are_impossible_stay_empty() -> None:
    domain, codes = chain()
    mask = np.zeros((4, 5), bool)
    mask[0, 0] = True
    model = estimate(measured(domain, codes, [(0, 1), (1, 2)], 30.0), impossible={(0, 1): mask})
    assert model.marginal((0, 1))[0, 0] == 0
    assert model.marginal((0, 1, 2))[0, 0].max() < 1e-6 * model.total


def test_a_public_prior_fills_in_what_was_not_measured() -> None:
    domain, codes = chain()
    public = {pair: domain.count(codes[::50], pair).astype(float) for pair in domain.sets(2)}
    ones = measured(domain, codes, [(0,), (1,), (2,), (3,)], 30.0)
    with_prior, without = estimate(ones, prior=public), estimate(ones)
    assert distance(domain, codes, with_prior.marginal((0, 1)), (0, 1)) < 0.3
    assert distance(domain, codes, without.marginal((0, 1)), (0, 1)) > 0.5


def test_a_table_without_rows_has_a_model() -> None:
    domain = Domain(("a", "b"), (3, 3))
    empty = Evidence(domain, (Measurement((0, 1), np.full((3, 3), -5.0), 100.0),))
    model = estimate(empty)
    assert model.total == 1.0
    assert np.isfinite(model.marginal((0, 1))).all()


def test_single_columns_become_equal_where_noise_explains_their_differences() -> None:
    """Noise of deviation 215 on cells of 50: projected alone, they would be off by 1.4. Clear differences stay."""
    noise = 20.0 * np.array([20, -11, 5, -15, 8, -3, 14, -20, 1, 3, -8, 12, 15, -14, 2, -2, 9, -10, 4, -2])
    domain, clear = Domain(("a", "b"), (20, 20)), np.linspace(5.0, 95.0, 20)
    model = estimate(Evidence(domain, (Measurement((0,), 50 + noise, 9e4), Measurement((1,), clear, 1.0))))
    assert np.abs(model.ones[0] / model.total - 0.05).sum() < 0.3
    assert np.abs(model.ones[1] - clear).max() < 1.5


def test_a_large_cell_that_was_measured_precisely_is_not_lowered_by_small_ones() -> None:
    """Copies leave less for all other cells, too small to be seen. What these had too much of was taken
    from large cells as well: 3,258 rows, measured as 3,255 ± 10, became 2,816."""
    rng = np.random.default_rng(3)
    rows = 40_000
    first = np.minimum(rng.zipf(1.5, rows) - 1, 199)
    second = np.where(rng.random(rows) < 0.4, first * 37 % 200, np.minimum(rng.zipf(1.5, rows) - 1, 199))
    domain, codes = Domain(("a", "b"), (200, 200)), np.stack([first, second], axis=1)
    truth = domain.count(codes, (0, 1))
    noisy = tuple(
        Measurement(c, domain.count(codes, c) + rng.normal(0, 10.0, domain.shape(c)), 100.0)
        for c in ((0,), (1,), (0, 1))
    )
    found = estimate(Evidence(domain, noisy)).marginal((0, 1))
    large = truth > 400
    assert large.sum() > 8
    off = np.abs(found[large] / truth[large] - 1)
    assert off.max() < 0.08
    assert np.abs(found[large] - truth[large]).max() < 45  # raked in proportion, one was off by 61


def test_a_total_that_noise_took_away_does_not_make_columns_more_unequal() -> None:
    """Noise of deviation 100 makes 6 of 150 rows: the largest of six shares was .24, and is .20."""
    off = np.array([90.0, -160.0, 40.0, -120.0, 60.0, -54.0])
    model = estimate(Evidence(Domain(("a",), (6,)), (Measurement((0,), 25 + off, 1e4),)))
    assert abs(model.total - 6) < 1e-6
    assert model.ones[0].max() < 0.22 * model.total


def test_a_score_far_from_independence_keeps_the_few_large_cells_of_columns_that_determine_each_other() -> None:
    """Sixteen values in a permuted order, cells of three deviations: means of 40 tables of noise."""
    rng = np.random.default_rng(0)
    domain, true = Domain(("a", "b"), (16, 16)), np.zeros((16, 16))
    true[np.arange(16), rng.permutation(16)] = 100.0
    ones = [Measurement((column,), np.full(16, 100.0), 25.0) for column in (0, 1)]
    errors: dict[float, list[float]] = {0.0: [], 3000.0: []}
    for _ in range(40):
        pair = Measurement((0, 1), true + rng.normal(0, 33, true.shape), 33.0**2)
        for tie, found in errors.items():
            model = estimate(Evidence(domain, (*ones, pair)), {(0, 1): tie})
            found.append(float(np.abs(model.marginal((0, 1)) - true).sum()) / 1600)
    assert np.mean(errors[3000.0]) < 0.85 * np.mean(errors[0.0])
