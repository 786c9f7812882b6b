"""Test quantiles: the sensitivity of scores, the cost of all groups, and intervals that hold for every table."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet import noise
from discreet.audit.attacks import exact as enumeration
from discreet.audit.inputs.subject import Subject
from discreet.errors import QuestionRefused
from discreet.ledger import cost
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip, Sensitivity
from discreet.query.plan.quantiles import (
    CELLS,
    Ranking,
    _enclosed,
    bins,
    cells,
    choose,
    coarsening,
    ranking,
    scores,
)
from discreet.schema.metadata import UNIT
from tests.vault.sealed_rows import term

probabilities = st.sampled_from([Fraction(p) for p in ("1/2", "1/4", "9/10", "999/1000", "0", "1", "1/3")])
histograms = st.lists(st.integers(0, 20) | st.just(0), min_size=1, max_size=8)


def made(
    high: int, p: Any, budget: Any, *, pure: bool = True, groups: int = 1, alpha: Any = "0.05", k: int = 1
) -> Ranking:
    ranks = [Fraction(rank) for rank in (p if isinstance(p, list) else [p])]
    part, left = Fraction(budget), Fraction(alpha)
    return ranking(term(high=high), ranks, part, pure=pure, rows_per_person=k, groups=groups, alpha=left)


@given(
    histogram=histograms,
    person=st.lists(st.integers(0, 9), min_size=8, max_size=8),
    p=probabilities,
)
def test_a_person_changes_every_score_by_at_most_their_weight_times_the_larger_part(
    histogram: list[int], person: list[int], p: Fraction
) -> None:
    theirs = np.array(person[: len(histogram)])
    without = scores(np.array(histogram), p)
    joined = scores(np.array(histogram) + theirs, p)
    most = int(theirs.sum()) * max(p.numerator, p.denominator - p.numerator)
    assert np.abs(joined - without).max() <= most


def test_the_sensitivity_of_scores_is_attained() -> None:
    empty, one = np.zeros(3, np.int64), np.array([0, 0, 7])
    for p in (Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)):
        most = 7 * max(p.numerator, p.denominator - p.numerator)
        attained = max(int(np.abs(scores(one[::s], p) - scores(empty, p)).max()) for s in (1, -1))
        assert attained == most


@given(histogram=histograms, p=probabilities)
def test_some_candidate_always_has_a_score_of_zero(histogram: list[int], p: Fraction) -> None:
    assert scores(np.array(histogram), p).max() == 0


@given(
    weights=st.lists(st.integers(0, 2**62), min_size=1, max_size=6),
    p=probabilities | st.just(Fraction(1, 10**6)),
)
def test_scores_of_giant_tables_are_clipped_and_never_wrap(weights: list[int], p: Fraction) -> None:
    most = 2**61 // len(weights)
    clamped = [min(weight, most) for weight in weights]
    a, b = p.numerator, p.denominator
    target, limit = a * sum(clamped), b * (2**61 // b - 1)
    expected = []
    for x in range(len(clamped)):
        before, upto = sum(clamped[:x]), sum(clamped[: x + 1])
        expected.append(-min(max(0, b * before - target, target - b * upto), limit))
    assert scores(np.array(weights, np.int64), p).tolist() == expected


PAIRS = [  # two groups of three cells; the second table has one person more, in both groups
    ([[1, 0, 2], [0, 3, 0]], [[1, 0, 2.5], [0.5, 3, 0]]),
    ([[0, 0, 0], [0, 0, 0]], [[0.5, 0, 0], [0, 0, 0.5]]),
    ([[2, 2, 0], [1, 0, 0]], [[2, 2, 0.25], [1, 0, 0.75]]),
    ([[0, 1, 0], [0, 0, 1]], [[0, 1, 0], [1, 0, 1]]),
]


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
@pytest.mark.parametrize("p", [pytest.param("1/2", marks=pytest.mark.slow), "9/10"])
def test_all_groups_together_lose_no_more_than_one_choice(kind: Any, p: str) -> None:
    rank = Fraction(p)
    sensitivity = UNIT * max(rank.numerator, rank.denominator - rank.numerator)

    def release(table: Any, mechanism: Any, declared: int) -> Any:
        both = (scores((np.array(group) * UNIT).astype(np.int64), rank) for group in table)
        return tuple(int(mechanism.release(Exact(made, Sensitivity(each=declared)))) for made in both)

    good = kind(2, sensitivity)
    verdict = enumeration.attack(
        Subject(name="two groups", release=lambda t: release(t, good, sensitivity), loss=good.loss, pairs=PAIRS)
    )
    assert not verdict.caught, verdict.words
    low = sensitivity // 4
    bad = kind(2, low)  # built for a quarter of the sensitivity
    caught = enumeration.attack(
        Subject(name="too low", release=lambda t: release(t, bad, low), loss=bad.loss, pairs=PAIRS)
    )
    assert caught.caught


@pytest.mark.parametrize("p", ["1/2", "9/10", "1/10"])
@pytest.mark.parametrize("pure", [True, False])
def test_mechanisms_are_built_for_the_larger_part_of_a_person_s_weight(p: str, pure: bool) -> None:
    how, rank = made(9, p, 1, pure=pure, k=3), Fraction(p)
    for mechanism in how.values:
        assert mechanism.sensitivity == 3 * UNIT * max(rank.numerator, rank.denominator - rank.numerator)


@pytest.mark.parametrize("pure", [True, False])
def test_a_quantile_costs_what_it_was_given(pure: bool) -> None:
    spent = cost(made(100, "1/2", "0.1", pure=pure).losses)
    if pure:
        assert spent.epsilon == Fraction(1, 10)
    else:
        assert Fraction(99, 1000) < spent.rho <= Fraction(1, 10)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("p", ["1/2", "1/10"])
def test_intervals_hold_every_quantile_as_often_as_stated(pure: bool, p: str) -> None:
    """False alarm: below 1e-6, if every interval holds with probability 0.8 at least."""
    groups, levels, rank = 500, 30, Fraction(p)
    rng = np.random.default_rng(3)
    counts = rng.poisson(rng.choice([0.0, 0.3, 3.0], size=(groups, 1)), size=(groups, levels))
    how = made(levels - 1, p, 6, pure=pure, groups=groups, alpha="0.2")
    where, cell = np.repeat(np.arange(groups), levels), np.tile(np.arange(levels), groups)
    ((value, low, high),) = choose(how, groups, where, cell, counts.ravel() * UNIT)
    upto = np.cumsum(counts, axis=1)
    target = rank.numerator * upto[:, -1:] // 1
    right = ((upto - counts) * rank.denominator <= target) & (target <= upto * rank.denominator)
    first, last = right.argmax(axis=1), levels - 1 - right[:, ::-1].argmax(axis=1)
    missed = np.count_nonzero((low > first) | (high < last))
    assert missed <= stats.binom.isf(1e-7, groups, 0.2)
    assert np.all((low <= value) & (value <= high))


@pytest.mark.parametrize(("pure", "most"), [(True, 0.992), (False, 0.962)])
@pytest.mark.parametrize(("levels", "groups"), [(8, 8000), (5001, 2500)])
def test_beside_a_gap_intervals_hold_as_often_as_stated_and_hardly_more(
    pure: bool, most: float, levels: int, groups: int
) -> None:
    """Where the law allows it: both ends err independently of all other bins. False alarm below 1e-6."""
    how = made(levels - 1, "1/2", 1 if pure else "1/10", pure=pure, groups=1)
    where, cell = np.repeat(np.arange(groups), 2), np.tile([levels // 3, levels // 2], groups)
    ((_, low, high),) = choose(how, groups, where, cell, np.full(2 * groups, 400 * UNIT))
    held = np.count_nonzero((low <= levels // 3) & (high >= levels // 2))
    assert stats.binom.ppf(1e-7, groups, 0.95) <= held <= stats.binom.isf(1e-7, groups, most)


@given(histogram=histograms, p=probabilities, data=st.data())
def test_estimates_within_their_margins_give_ends_that_enclose_all_quantiles(
    histogram: list[int], p: Fraction, data: Any
) -> None:
    """The theorem of the interval, without chance: at the two ends that matter no estimate exceeds it."""
    how = made(len(histogram) - 1, p, 1)
    upto = np.cumsum(histogram)
    n = int(upto[-1])
    right = [x for x in range(len(histogram)) if upto[x] - histogram[x] <= p * n <= upto[x]]
    margins = how.margins(how.probabilities[0])
    shape = (1, how.tree.leaves)
    off = np.array([data.draw(st.lists(st.floats(-3, 3), min_size=shape[1], max_size=shape[1]))])
    for x in {right[0], right[-1] - 1} - {-1}:
        off[0, x] = np.clip(off[0, x], -1, 1)
    off[0, -1] = 0.0  # N is known, so that the errors of the others are those of T
    true = (
        np.full(shape, float(n)) if len(histogram) == 1 else np.pad(upto, (0, shape[1] - len(upto)), "edge")[None]
    )
    running = np.where(np.arange(shape[1]) < shape[1] - 1, true + off * margins, true)
    cut = bins([0], how.cells, how.tree.leaves)
    ((_, low, high),) = _enclosed(how, np.array([[0]]), [cut], running)[0:1, 0]
    assert low <= right[0]
    assert high >= right[-1]


@given(
    values=st.lists(st.integers(0, 9999), min_size=1, max_size=9),
    cells=st.integers(1, 10_000),
    leaves=st.sampled_from([16, 32, 64, 288]),
)
def test_bins_cover_all_cells_and_are_finest_beside_the_values(values: list[int], cells: int, leaves: int) -> None:
    chosen = [value % cells for value in values]
    room = max(leaves, 16 * len(values))
    starts = bins(chosen, cells, room)
    assert starts[0] == 0
    assert np.all(np.diff(starts) > 0)
    assert starts[-1] < cells
    assert len(starts) <= room
    assert set(chosen) <= set(starts.tolist())
    assert {value + 1 for value in chosen if value + 1 < cells} <= set(starts.tolist())


@pytest.mark.parametrize("pure", [True, False])
def test_several_quantiles_share_a_tree_and_are_in_order(pure: bool) -> None:
    ranks = ["9/10", "1/4", "1/2", "3/4", "1/1000"]
    how = made(999, ranks, "1/20", pure=pure)
    assert len(how.losses) == len(ranks) + 1
    spent = cost(how.losses)
    assert spent.epsilon == Fraction(1, 20) if pure else Fraction(49, 1000) < spent.rho <= Fraction(1, 20)
    groups = 300
    where, cell = np.repeat(np.arange(groups), 50), np.tile(np.arange(0, 1000, 20), groups)
    found = np.array(choose(how, groups, where, cell, np.full(len(cell), UNIT)))
    assert found.shape == (5, 3, groups)
    assert np.all(np.diff(found, axis=0) >= 0)
    assert np.all((found[:, 1] <= found[:, 0]) & (found[:, 0] <= found[:, 2]))


@pytest.mark.parametrize("pure", [True, False])
def test_three_quantiles_together_are_narrower_than_three_apart(pure: bool) -> None:
    ranks = ["1/4", "1/2", "3/4"]
    together = made(4999, ranks, 1, pure=pure)
    apart = [made(4999, rank, "1/3", pure=pure) for rank in ranks]
    assert max(map(together.rank_error, together.probabilities)) < 0.85 * min(
        one.rank_error(one.probabilities[0]) for one in apart
    )


def test_one_person_in_a_thousand_groups_changes_scores_by_their_weight_there() -> None:
    each = UNIT * 3 // 1000
    before = np.full(10, 50 * UNIT)
    after = before.copy()
    after[4] += each
    changed = np.abs(scores(after, Fraction(1, 2)) - scores(before, Fraction(1, 2))).max()
    assert 1000 * changed <= made(9, "1/2", 1, k=3).values[0].sensitivity


def test_a_million_codes_are_candidates_and_more_are_grouped_into_cells() -> None:
    assert made(CELLS - 1, "1/2", 1).shift == 0
    wide = made(10 * CELLS, "1/2", 1)
    assert wide.cells <= CELLS
    assert wide.codes(np.array([wide.cells - 1]), last=True)[0] == 10 * CELLS
    weight = np.array([1000 * UNIT])
    ((value, low, high),) = choose(wide, 1, np.array([0]), np.array([wide.cells // 3]), weight)
    assert low[0] <= wide.cells // 3 <= high[0]
    assert value[0] == wide.cells // 3 or low[0] < high[0]
    assert coarsening(term(high=99), groups=70_000) == 0
    with pytest.raises(QuestionRefused, match="Ask for at most"):
        coarsening(term(high=999), groups=90_000)


def test_one_code_is_its_own_quantile() -> None:
    one = made(0, "1/2", 1)
    assert [int(x[0]) for x in choose(one, 1, np.array([0]), np.array([0]), np.array([UNIT]))[0]] == [0, 0, 0]
    assert cells(term(low=4, high=4), 0) == 1


def test_ranks_with_too_many_digits_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="at most six digits"):
        made(10, Fraction(0.9), 1)


def test_the_mark_of_test_bits_stays_on_choices() -> None:
    with noise.deterministic(1):
        chosen = choose(made(3, "1/2", 1), 1, np.array([0]), np.array([1]), np.array([UNIT]))
    assert all(noise.is_test_noise(column) for column in chosen[0])
