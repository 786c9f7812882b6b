"""The private algorithm: what it spends, what it finds, and what it reads."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import noise
from discreet.kernel.gaussian_budget import mu, rho_of, spent
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.schema.metadata import UNIT
from discreet.synth.marginals import Domain
from discreet.synth.marginals.domain import Columns
from discreet.synth.measure import Source, _distance, fit, one_way
from discreet.synth.released import Released
from discreet.synth.selection.workload import MOST_COLUMNS, MOST_TRIPLES, most_tied, triples_of
from discreet.synth.synthesize import counts
from tests.synth.tables import tied


def fitted(source: Source, domain: Domain, epsilon: str = "1", **more: object) -> tuple[object, Released]:
    rho = rho_of(epsilon, "1e-9")
    with noise.deterministic(1):
        return fit(source, domain, rho=rho, contribution=UNIT, scale=float(UNIT), **more)  # type: ignore[arg-type]


def distances(model: object, domain: Domain, codes: NDArray[Any], ways: int) -> dict[Columns, float]:
    return {
        c: float(np.abs(model.marginal(c) / model.total - domain.count(codes, c) / len(codes)).sum())  # type: ignore[attr-defined]
        for c in domain.sets(ways)
    }


@pytest.mark.parametrize("epsilon", ["0.01", "1", "30"])
@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_exactly_what_was_charged_is_spent(epsilon: str, columns: int) -> None:
    domain, codes = tied(2000)
    part = Domain(domain.names[:columns], domain.sizes[:columns])
    _, released = fitted(counts(codes[:, :columns], part), part, epsilon)
    rho = rho_of(epsilon, "1e-9")
    assert spent(released.mechanisms) <= rho
    assert 2 * rho * Fraction(99, 100) < mu(released.mechanisms) ** 2 <= 2 * rho * (1 + 1e-12)


def test_every_exact_number_is_read_once_for_every_release() -> None:
    """The source is called only for marginals that are measured or scored, and each call gets its noise."""
    domain, codes = tied()
    asked: list[Columns] = []

    def source(columns: Columns) -> Integers:
        asked.append(columns)
        return counts(codes, domain)(columns)

    _, released = fitted(source, domain)
    listed = [m.columns for m in released.measurements] + [s.columns for v in released.scores.values() for s in v]
    assert sorted(asked) == sorted(listed)
    assert len(released.noises) == len(released.measurements) + len(released.scores)


def copies(rows: int, width: int = 8, levels: int = 4) -> tuple[Domain, NDArray[np.int64]]:
    """Return codes of columns that copy one of two, but for one row in twenty."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, levels, (2, rows))
    columns = [
        np.where(rng.random(rows) < 0.95, hidden[i % 2], rng.integers(0, levels, rows)) for i in range(width)
    ]
    return Domain(tuple("abcdefgh"[:width]), (levels,) * width), np.stack(columns, axis=1)


def test_pairs_are_picked_where_scores_would_be_noise() -> None:
    """With scores, no pair was measured here, and three copies were off by .37 where one value of four is."""
    domain, codes = copies(4000)
    errors = []
    for seed in range(4):
        with noise.deterministic(seed):
            model, released = fit(
                counts(codes, domain), domain, rho=rho_of("0.1", "1e-9"), contribution=UNIT, scale=float(UNIT)
            )
        assert "pairs" not in released.scores
        picked = [score.columns for score in released.scores["picked"]]
        assert len(picked) >= 4
        assert all((one - other) % 2 == 0 for one, other in picked)  # copies of the same hidden column
        assert set(picked) <= {m.columns for m in released.measurements}
        assert len(released.choices) <= len(picked) + 1
        assert mu(released.mechanisms) ** 2 <= 2 * rho_of("0.1", "1e-9") * (1 + 1e-12)
        errors.append(np.mean(list(distances(model, domain, codes, 2).values())))
    assert np.mean(errors) < 0.5  # 0.62 if all columns are independent


def test_what_picking_leaves_is_spent_on_measurements() -> None:
    domain, codes = copies(4000)
    shuffled = np.stack([np.random.default_rng(i).permutation(codes[:, i]) for i in range(codes.shape[1])], axis=1)
    rho = rho_of("0.1", "1e-9")
    none = 0
    for seed in range(12):
        with noise.deterministic(seed):
            _, released = fit(counts(shuffled, domain), domain, rho=rho, contribution=UNIT, scale=float(UNIT))
        assert 2 * rho * Fraction(99, 100) < mu(released.mechanisms) ** 2 <= 2 * rho * (1 + 1e-12)
        none += "picked" not in released.scores
    assert none >= 8  # a pair of independent columns is picked in one run of twelve


def test_a_pair_that_hides_a_large_cell_is_measured_though_it_has_many() -> None:
    """Two columns of 20 and 16 values share one that 39 % of the rows have, and are independent otherwise."""
    rng = np.random.default_rng(0)
    rows, sizes = 2000, (20, 16, 5, 4, 3, 5, 4, 3, 6, 4)
    codes = np.stack([rng.integers(0, size, rows) for size in sizes], axis=1)
    for column in range(3, 10):  # these copy their neighbours, and are more tied
        codes[:, column] = np.where(rng.random(rows) < 0.9, codes[:, column - 1] % sizes[column], codes[:, column])
    both = rng.random(rows) < 0.39
    codes[both, 0], codes[both, 1] = 19, 15
    domain = Domain(tuple("abcdefghij"), sizes)
    worst = []
    for seed in range(4):
        with noise.deterministic(seed):
            model, _ = fit(
                counts(codes, domain), domain, rho=rho_of("1", "1e-9"), contribution=UNIT, scale=float(UNIT)
            )
        worst.append(np.abs(model.marginal((0, 1)) / model.total - domain.count(codes, (0, 1)) / rows).max())
    assert np.mean(worst) < 0.1


def zipf(rows: int = 20_000, levels: int = 200) -> tuple[Domain, NDArray[np.int64]]:
    """Return codes of three columns of many levels, few of them frequent, each partly a copy of the one before."""
    rng = np.random.default_rng(0)
    columns = [np.minimum(rng.zipf(1.5, rows) - 1, levels - 1)]
    for factor in (37, 11):
        fresh = np.minimum(rng.zipf(1.6, rows) - 1, levels - 1)
        columns.append(np.where(rng.random(rows) < 0.35, columns[-1] * factor % levels, fresh))
    return Domain(tuple("abc"), (levels,) * 3), np.stack(columns, axis=1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_the_number_of_rows_is_measured_where_columns_have_many_levels_and_it_is_paid_for(epsilon: str) -> None:
    domain, codes = zipf()
    _, released = fitted(counts(codes, domain), domain, epsilon)
    totals = [m for m in released.measurements if not m.columns]
    assert totals
    assert all(m.values.shape == () for m in totals)
    single = released.evidence.gathered(1)[0,]
    assert released.evidence.total().variance < 20 * single.variance  # 200/3 times without
    rho = rho_of(epsilon, "1e-9")
    assert rho * Fraction(99, 100) < spent(released.noises) <= rho


def test_the_number_of_rows_is_not_measured_where_a_column_of_few_levels_says_it() -> None:
    assert one_way(Domain(("a", "b"), (2, 500))) == {(0,): 1.0, (1,): 1.0}
    assert one_way(Domain(("a",), (500,))) == {(0,): 1.0}
    assert list(one_way(Domain(("a", "b"), (100, 500)))) == [(0,), (1,), ()]


def test_pairs_that_are_tied_strongly_beyond_doubt_are_measured_though_they_have_many_cells() -> None:
    """Three columns need two pairs. With one of them the other's largest cell was off by .09 of all rows."""
    domain, codes = zipf(60_000, 300)
    model, released = fitted(counts(codes, domain), domain, "0.1")
    assert {(0, 1), (1, 2)} <= {m.columns for m in released.measurements}
    off = model.marginal((1, 2)) / model.total - domain.count(codes, (1, 2)) / len(codes)  # type: ignore[attr-defined]
    assert np.abs(off).max() < 0.02


def test_no_cell_of_columns_with_many_levels_is_off_by_many_deviations() -> None:
    """The worst share, mean of eight fits: with totals from columns and raking in proportion it was .0038."""
    domain, codes = zipf()
    worst = []
    for seed in range(8):
        with noise.deterministic(seed):
            model, _ = fit(
                counts(codes, domain),
                domain,
                rho=rho_of("1", "1e-9"),
                contribution=UNIT,
                scale=float(UNIT),
            )
        worst.append(
            max(
                float(np.abs(model.marginal(c) / model.total - domain.count(codes, c) / len(codes)).max())
                for c in [*domain.sets(1), *domain.sets(2)]
            )
        )
    assert np.mean(worst) < 0.0032


def test_pairs_are_found_and_so_is_what_only_three_columns_show() -> None:
    domain, codes = tied()
    model, released = fitted(counts(codes, domain), domain, "3")
    assert np.mean(list(distances(model, domain, codes, 2).values())) < 0.02
    assert (0, 3, 4) in {m.columns for m in released.measurements}
    assert distances(model, domain, codes, 3)[0, 3, 4] < 0.05


def test_noise_has_the_variance_that_is_stated() -> None:
    """Standardised noise of some thousand cells: its mean square is 1 ± 0.3 except with probability below 1e-9."""
    domain, codes = tied()
    _, released = fitted(counts(codes, domain), domain, "0.1")
    z = [(m.values - domain.count(codes, m.columns)).ravel() / np.sqrt(m.variance) for m in released.measurements]
    flat = np.concatenate(z)
    assert len(flat) > 60
    assert abs(np.square(flat).mean() - 1) < 0.9
    scores = list(released.scores["pairs"])
    assert all(s.deviation == scores[0].deviation for s in scores)


def test_a_tiny_table_has_single_columns_only_and_they_cost_the_whole_budget() -> None:
    """At ε = 0.1, scores of pairs have a deviation of ten times these rows: pairs would be chosen by noise."""
    domain, codes = tied(100)
    _, released = fitted(counts(codes, domain), domain, "0.1")
    assert {len(m.columns) for m in released.measurements} == {1}
    assert not released.scores
    rho = rho_of("0.1", "1e-9")
    assert 0.99 * rho < spent(released.noises) <= rho


def test_every_pair_of_many_columns_that_share_one_cause_is_measured() -> None:
    """A pair that is left out follows through one other column only, which loses most of a common cause."""
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 2, (5000, 1))
    codes = cause ^ (rng.random((5000, 30)) < 0.15)
    domain = Domain(tuple(f"c{i}" for i in range(30)), (2,) * 30)
    model, released = fitted(counts(codes, domain), domain, "10")
    assert {m.columns for m in released.measurements if len(m.columns) == 2} == set(domain.sets(2))
    assert max(distances(model, domain, codes, 2).values()) < 0.05


def test_blurred_scores_get_a_larger_share_and_what_they_say_together_is_used() -> None:
    """At ε = 1 a score is off by a fifth of these rows, and the mean of all 105 by a fiftieth."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (1000, 1)) ^ (rng.random((1000, 15)) < 0.1)
    domain = Domain(tuple(f"c{i}" for i in range(15)), (2,) * 15)
    model, released = fitted(counts(codes, domain), domain)
    assert len({m.columns for m in released.measurements if len(m.columns) == 2}) > 90
    assert np.mean(list(distances(model, domain, codes, 2).values())) < 0.35  # 0.65 if they were independent
    rho = rho_of("1", "1e-9")
    assert 0.99 * rho < spent(released.noises) <= rho


def test_a_tiny_table_of_independent_columns_is_no_worse_than_clipped_single_columns() -> None:
    rng = np.random.default_rng(0)
    sizes = (2, 2, 3, 3, 4, 4, 5, 5, 6, 8, 10, 12)
    codes = np.stack([rng.choice(size, 1000, p=rng.dirichlet(np.ones(size))) for size in sizes], axis=1)
    domain = Domain(tuple(f"c{i}" for i in range(len(sizes))), sizes)
    model, released = fitted(counts(codes, domain), domain)
    rho = rho_of("1", "1e-9")
    clipped = []
    for column, size in enumerate(sizes):
        noisy = domain.count(codes, (column,)) + rng.normal(0, np.sqrt(len(sizes) / float(2 * rho)), size)
        clipped.append(np.maximum(noisy, 0) / np.maximum(noisy, 0).sum())
    plain = [
        np.abs(
            np.einsum("i,j,k->ijk", *(clipped[c] for c in columns)) - domain.count(codes, columns) / len(codes)
        ).sum()
        for columns in domain.sets(3)
    ]
    assert np.mean(list(distances(model, domain, codes, 3).values())) < 1.1 * np.mean(plain)
    assert 0.99 * rho < spent(released.noises) <= rho


def test_a_workload_of_pairs_measures_no_triples() -> None:
    domain, codes = tied()
    _, released = fitted(counts(codes, domain), domain, "5", workload={(0, 1): 1.0, (2, 4): 1.0})
    assert {m.columns for m in released.measurements if len(m.columns) > 1} <= {(0, 1), (2, 4)}
    assert {s.columns for s in released.scores["pairs"]} == {(0, 1), (2, 4)}


def test_a_workload_of_single_columns_spends_all_on_them() -> None:
    domain, codes = tied()
    _, released = fitted(counts(codes, domain), domain, workload={(0,): 1.0})
    assert {len(m.columns) for m in released.measurements} == {1}
    assert spent(released.noises) > rho_of("1", "1e-9") * Fraction(99, 100)


@pytest.mark.slow
def test_of_very_many_columns_triples_are_those_of_the_most_tied_pairs() -> None:
    """215,820 triples of 110 columns are not listed; the ten that are tied are found among them all."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (2000, 110))
    codes[:, 105:] = codes[:, 104:105] ^ (rng.random((2000, 5)) < 0.1)
    domain = Domain(tuple(f"c{i}" for i in range(110)), (2,) * 110)
    model, released = fitted(counts(codes, domain), domain, "40")
    scored = [s.columns for s in released.scores["triples"]]
    assert len(scored) == MOST_TRIPLES
    assert len({column for columns in scored for column in columns}) <= MOST_COLUMNS
    assert set(combinations(range(104, 110), 3)) <= set(scored)
    assert rho_of("40", "1e-9") * Fraction(99, 100) < spent(released.noises) <= rho_of("40", "1e-9")
    pair = model.marginal((104, 105))  # type: ignore[attr-defined]
    assert abs((pair[0, 0] + pair[1, 1]) / pair.sum() - 0.9) < 0.05


def test_triples_are_those_of_the_workload_that_are_small_enough() -> None:
    assert triples_of({(0, 1, 2): 1.0}, Domain(tuple("abc"), (60, 60, 60)), range(3)) == []
    assert triples_of(None, Domain(tuple("abcd"), (2, 2, 2, 2)), {0, 1, 3}) == [(0, 1, 3)]
    assert most_tied({(0, 1): 5.0, (2, 3): 9.0}) == {0, 1, 2, 3}


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_table_of_very_few_rows_works(rows: int) -> None:
    domain, codes = tied(10)
    model, released = fitted(counts(codes[:rows], domain), domain, "0.5")
    table = model.marginal((0, 1, 2))  # type: ignore[attr-defined]
    assert np.isfinite(table).all()
    assert table.min() >= 0
    assert spent(released.noises) <= rho_of("0.5", "1e-9")


def test_no_sum_overflows_whatever_the_table_holds() -> None:
    huge = np.full(1000, LIMIT, np.int64)
    assert 0 <= _distance(huge, np.zeros(1000)) < 2**62
    assert 0 <= _distance(np.zeros(1000, np.int64), np.full(1000, 1e300)) < 2**62


def test_the_sensitivity_of_a_distance_is_at_most_that_of_the_marginal() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.random(50) * 100
    for _ in range(200):
        here = rng.integers(0, 100, 50)
        moved = rng.integers(-5, 6, 50)
        there = np.maximum(here + moved, 0)
        assert abs(_distance(here, predicted) - _distance(there, predicted)) <= np.abs(here - there).sum()


def test_progress_is_told_from_beginning_to_end() -> None:
    domain, codes = tied(500)
    told: list[float] = []
    fitted(counts(codes, domain), domain, progress=lambda _what, done: told.append(done))
    assert told == sorted(told)
    assert told[0] <= 0.1


def test_a_tree_of_tied_columns_is_measured_though_most_of_its_cells_are_empty() -> None:
    """Of 90,000 cells few hold rows, and noise spoils few. The pair was left out, and its worst cell was .07."""
    rng = np.random.default_rng(77)
    rows = 60_000

    def rare(skew: float) -> NDArray[np.int64]:
        return np.asarray(np.minimum(rng.zipf(skew, rows) - 1, 299), np.int64)

    first = rare(1.5)
    second = np.where(rng.random(rows) < 0.4, first * 37 % 300, rare(1.5))
    third = np.where(rng.random(rows) < 0.3, second * 11 % 300, rare(1.8))
    domain, codes = Domain(tuple("abc"), (300, 300, 300)), np.stack([first, second, third], axis=1)
    model, released = fitted(counts(codes, domain), domain)
    assert {(0, 1), (1, 2)} <= {m.columns for m in released.measurements}
    off = [
        np.abs(model.marginal(pair) - domain.count(codes, pair)).max() / rows  # type: ignore[attr-defined]
        for pair in domain.sets(2)
    ]
    assert max(off) < 0.01
