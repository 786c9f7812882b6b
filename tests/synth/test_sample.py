"""Sampled rows have the marginals of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.synth.marginals import Domain, Evidence, Measurement, Model, estimate
from discreet.synth.marginals.domain import Columns
from discreet.synth.sample import Stream, sample
from tests.synth.tables import tied

TRIPLES = [(0, 1, 2), (3, 8, 15), (2, 7, 11), (4, 5, 6), (9, 12, 14), (1, 10, 13)]


def model_of(domain: Domain, codes: NDArray[Any], sets: list[Columns]) -> Model:
    return estimate(
        Evidence(domain, tuple(Measurement(c, domain.count(codes, c).astype(float), 1.0) for c in sets))
    )


def off(domain: Domain, rows: NDArray[Any], codes: NDArray[Any], columns: Columns) -> float:
    return float(np.abs(domain.count(rows, columns) / len(rows) - domain.count(codes, columns) / len(codes)).sum())


def test_rows_have_the_two_way_marginals_of_the_model() -> None:
    domain, codes = tied()
    rows = sample(model_of(domain, codes, domain.sets(2)), 20_000)
    assert rows.shape == (20_000, 5)
    assert max(off(domain, rows, codes, pair) for pair in domain.sets(2)) < 0.01


def test_rows_are_nearer_to_the_marginals_than_independent_draws() -> None:
    domain, codes = tied(5000)
    rows = sample(model_of(domain, codes, domain.sets(2)), 5000)
    again = codes[np.random.default_rng(1).integers(0, 5000, 5000)]
    pairs = domain.sets(2)
    assert np.mean([off(domain, rows, codes, p) for p in pairs]) < np.mean(
        [off(domain, again, codes, p) for p in pairs]
    )


def test_rows_keep_what_only_three_columns_show() -> None:
    domain, codes = tied()
    rows = sample(model_of(domain, codes, [*domain.sets(2), (0, 3, 4)]), 20_000)
    assert off(domain, rows, codes, (0, 3, 4)) < 0.12
    assert off(domain, sample(model_of(domain, codes, domain.sets(2)), 20_000), codes, (0, 3, 4)) > 0.5


def test_any_number_of_rows_can_be_had() -> None:
    domain, codes = tied(2000)
    model = model_of(domain, codes, domain.sets(2))
    for count in (1, 10, 60_000):
        rows = sample(model, count, work=10**7)
        assert rows.shape == (count, 5)
        assert rows.min() >= 0
        assert (rows.max(axis=0) < np.array(domain.sizes)).all()


def test_the_same_seed_gives_the_same_rows_and_another_gives_others() -> None:
    domain, codes = tied(2000)
    model = model_of(domain, codes, domain.sets(2))
    first, same, other = (sample(model, 1000, seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_rows_of_strongly_tied_columns_do_not_drift_from_the_answers() -> None:
    """Sixteen yes-no columns that mostly repeat one another: a chain that mixes slowly ends far off."""
    rng = np.random.default_rng(7)
    factor = rng.normal(size=(6000, 1))
    codes = (2.5 * factor + rng.normal(size=(6000, 16)) > rng.normal(size=16)).astype(np.int64)
    domain = Domain(tuple(f"c{i}" for i in range(16)), (2,) * 16)
    noisy = [
        Measurement(
            s, domain.count(codes, s) + rng.normal(0, 20, (2, 2)), 400.0
        )  # as at epsilon 1 and 20,000 rows
        for s in domain.sets(2)
    ]
    model = estimate(Evidence(domain, tuple(noisy)))
    every = domain.sets(3)  # the ratio is 1.13 to 1.31 on tables like this one, and varies more on a few triples
    answers = np.mean(
        [np.abs(model.marginal(s) / model.total - domain.count(codes, s) / 6000).sum() for s in every]
    )
    for seed in (0, 1):
        rows = sample(model, 6000, seed=seed)
        assert np.mean([off(domain, rows, codes, s) for s in every]) < 1.25 * answers


def test_a_block_of_rows_makes_up_for_the_one_before() -> None:
    """Three blocks together differ by as much as the last alone: a third of its share. 0.6 allows for chance."""
    domain, codes = tied(5000)
    model = model_of(domain, codes, domain.sets(2))
    shares = {pair: model.marginal(pair) / model.total for pair in domain.sets(2)}
    alone, together = (
        np.mean([np.abs(domain.count(rows, p) / len(rows) - share).sum() for p, share in shares.items()])
        for rows in (sample(model, count, work=1) for count in (46_667, 140_000))
    )
    assert together < 0.6 * alone


def test_one_column_alone_is_drawn_from_its_marginal() -> None:
    domain = Domain(("a",), (3,))
    model = estimate(Evidence(domain, (Measurement((0,), np.array([10.0, 30.0, 60.0]), 1.0),)))
    assert np.allclose(np.bincount(sample(model, 10_000)[:, 0]) / 10_000, [0.1, 0.3, 0.6], atol=0.02)


def test_no_row_is_in_an_impossible_cell() -> None:
    domain, codes = tied(5000)
    mask = np.zeros((6, 6), bool)
    mask[0, :3] = True
    evidence = Evidence(
        domain, tuple(Measurement(p, domain.count(codes, p).astype(float), 1.0) for p in domain.sets(2))
    )
    rows = sample(estimate(evidence, impossible={(0, 1): mask}), 5000)
    assert not ((rows[:, 0] == 0) & (rows[:, 1] < 3)).any()


def test_the_stream_is_uniform() -> None:
    """Chi-square of 64 bins over 64,000 numbers: below 160 except with probability 1e-9."""
    counted = np.bincount((Stream(3).uniform(64_000) * 64).astype(int), minlength=64)
    assert np.square(counted - 1000).sum() / 1000 < 160
    assert Stream(3).uniform(0).size == 0


def test_eighty_columns_have_rows_whose_strongest_pair_is_kept() -> None:
    width = 80
    domain = Domain(tuple(f"c{i}" for i in range(width)), (2,) * width)
    ones = tuple(Measurement((c,), np.array([60.0, 40.0]), 1.0) for c in range(width))
    pair = Measurement((7, 70), np.array([[60.0, 0.0], [0.0, 40.0]]), 1.0)
    rows = sample(estimate(Evidence(domain, (*ones, pair)), {(7, 70): 96.0}), 200, work=1)
    assert (rows[:, 7] == rows[:, 70]).mean() > 0.97
    assert np.abs(rows.mean(axis=0) - 0.4).max() < 0.03
