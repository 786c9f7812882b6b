"""Sparse vector: the declared loss against the exact law of all answers, releases and runs against that law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from discreet.errors import SensitivityExceeded
from discreet.mechanisms import AboveThreshold, Exact, NumericSparse, Sensitivity, Sparse
from discreet.privacy import losses
from tests.mechanisms.output_laws import (
    FALSE_ALARM,
    laplace,
    log_ratios,
    p_value,
    product,
    shifted,
    sparse,
    sparse_chance,
)

CASES = [
    Sparse(1, threshold=0, positives=1),
    Sparse("1.5", threshold=2, positives=2, sensitivity=2),
    Sparse(1, threshold=0, positives=1, monotonic=True),
    Sparse(2, threshold=1, positives=2, monotonic=True),
    AboveThreshold(2, 0),
]
OFFSETS = [(0, 0, 0), (-9, -9, 9), (-9, 9, 9), (3, -4, 0), (9, 9, 9)]


@pytest.mark.parametrize("mechanism", CASES, ids=str)
def test_no_answers_to_three_queries_give_away_more_than_epsilon(mechanism: Sparse) -> None:
    low = 0 if mechanism.monotonic else -mechanism.sensitivity
    for offsets, move in itertools.product(OFFSETS, itertools.product((low, 0, mechanism.sensitivity), repeat=3)):
        values = [mechanism.threshold + f for f in offsets]
        P, Q = sparse(mechanism, values), sparse(mechanism, [f + d for f, d in zip(values, move, strict=True)])
        assert max(abs(ratio) for ratio in log_ratios(P, Q)) <= float(mechanism.epsilon) + 1e-9


def loss_of_a_long_row(mechanism: Sparse, fall: int) -> float:
    """What is lost at most by many small queries that rise by Δ and then large ones that fall."""
    top, count = mechanism.threshold, 200 * mechanism.sensitivity
    answers = (False,) * count + (True,) * mechanism.positives
    worst = 0.0
    for small, large in itertools.product(range(-40, 20, 4), range(-60, 1, 10)):
        values = [top + small] * count + [top + large] * mechanism.positives
        moved = [top + small + mechanism.sensitivity] * count + [top + large - fall] * mechanism.positives
        P, Q = (sparse_chance(mechanism, v, answers) for v in (values, moved))
        worst = max(worst, abs(math.log(P / Q)))
    return worst


@pytest.mark.parametrize("mechanism", CASES, ids=str)
def test_a_long_row_of_small_queries_before_the_large_ones_comes_close_to_epsilon(mechanism: Sparse) -> None:
    """The proof is tight here: half the noise anywhere, or noise for one side only, would lose more."""
    worst = loss_of_a_long_row(mechanism, fall=0 if mechanism.monotonic else mechanism.sensitivity)
    assert 0.9 * float(mechanism.epsilon) < worst <= float(mechanism.epsilon) + 1e-9


@pytest.mark.parametrize("mechanism", [mechanism for mechanism in CASES if mechanism.monotonic], ids=str)
def test_counts_and_negated_counts_in_one_monotonic_run_would_lose_more_so_it_refuses(mechanism: Sparse) -> None:
    """Each query is monotonic by itself. Together they are worth up to ε₁ + 2ε₂."""
    first, second = mechanism.split
    worst = loss_of_a_long_row(mechanism, fall=mechanism.sensitivity)
    assert 1.3 * float(mechanism.epsilon) < worst <= float(first + 2 * second) + 1e-9
    run = mechanism.start()
    run.ask(Exact(-(10**9), Sensitivity(each=1, monotonic="up")))
    with pytest.raises(SensitivityExceeded, match="a run of its own"):
        run.ask(Exact(0, Sensitivity(each=1, monotonic="down")))


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("positives", [1, 2, 7, 100])
def test_the_split_is_optimal_and_spends_epsilon_to_the_last_digit(positives: int, monotonic: bool) -> None:
    mechanism = Sparse("0.3", 0, positives, monotonic=monotonic)
    first, second = mechanism.split
    sides = 1 if monotonic else 2
    assert first + second == Fraction(3, 10)
    assert float(second / first) == pytest.approx((sides * positives) ** (2 / 3), rel=0.01)
    assert mechanism.threshold_scale == 1 / first
    assert mechanism.query_scale == sides * positives / second


def test_the_numbers_of_a_numeric_run_have_their_own_half_of_epsilon() -> None:
    mechanism = NumericSparse("0.3", 0, positives=4, sensitivity=2)
    assert sum(mechanism.split) + mechanism.numbers == Fraction(3, 10)
    assert mechanism.positives * mechanism.sensitivity / mechanism.number_scale == mechanism.numbers


def test_each_declares_its_whole_epsilon() -> None:
    for mechanism in (*CASES, NumericSparse(1, 0)):
        assert mechanism.loss == losses.SparseVector(mechanism.epsilon)


def test_numbers_lose_no_more_than_their_half() -> None:
    mechanism = NumericSparse(2, 0, positives=1)
    answers, moved = sparse(mechanism, [0, 1]), sparse(mechanism, [1, 0])
    number = laplace(mechanism.number_scale, reach=8)
    P = {(a, x): p * r for a, p in answers.items() for x, r in number.items()}
    Q = {(a, x): p * r for a, p in moved.items() for x, r in shifted(laplace(mechanism.number_scale), 1).items()}
    ratios = log_ratios(P, Q)
    assert max(ratios) <= 2
    assert -min(ratios) <= 2
    assert max(max(ratios), -min(ratios)) > 1.2  # the halves of numbers and answers both count


VALUES = [(0, 1, -2), (3, -4, 5)]


@pytest.mark.parametrize("mechanism", CASES, ids=str)
def test_releases_follow_the_law(mechanism: Sparse) -> None:
    """Fails if noise is halved, dropped from the threshold, or shared by the queries, or if > stands for ≥."""
    for values in VALUES:
        exact = Exact(list(values), Sensitivity(each=mechanism.sensitivity, monotonic="up"))
        draw = lambda exact=exact: tuple(mechanism.release(exact).tolist())  # noqa: E731
        assert p_value(draw, 4_000, sparse(mechanism, values)) > FALSE_ALARM


@pytest.mark.parametrize("mechanism", CASES, ids=str)
def test_runs_follow_the_same_law(mechanism: Sparse) -> None:
    """Fails if a run draws its threshold again for every query, or its query noise once."""
    exacts = [Exact(f, Sensitivity(each=mechanism.sensitivity, monotonic="up")) for f in (0, 1, -2)]

    def draw() -> tuple[bool, ...]:
        run, answers = mechanism.start(), []
        for exact in exacts:
            answers.append(run.ask(exact))
            if not run.left:
                break
        return tuple(answers)

    assert p_value(draw, 4_000, sparse(mechanism, (0, 1, -2))) > FALSE_ALARM


def test_a_comparison_at_the_line_is_above() -> None:
    mechanism = Sparse(10_000, threshold=5, positives=3)  # noise of scale below 1/1000 is zero
    assert mechanism.release(Exact([4, 5, 6], Sensitivity(each=1))).tolist() == [False, True, True]
    run = mechanism.start()
    assert [run.ask(Exact(f, 1)) for f in (4, 5, 6)] == [False, True, True]


@pytest.mark.parametrize("how", ["release", "run"])
def test_numbers_have_fresh_noise_of_their_own_scale(how: str) -> None:
    """Reusing the noise of the comparison would favour large numbers; the law is symmetric."""
    mechanism = NumericSparse(2, threshold=0, positives=2)

    def draw() -> tuple[int | None, int | None]:
        if how == "release":
            first, second = mechanism.release(Exact([500, 500], Sensitivity(each=1)))
        else:
            run = mechanism.start()
            first, second = run.ask(Exact(500, 1)), run.ask(Exact(500, 1))
        return first - 500, second - 500

    near = laplace(mechanism.number_scale, reach=15)
    assert p_value(draw, 4_000, product(near, near)) > FALSE_ALARM


@pytest.mark.parametrize("how", ["release", "run"])
def test_numbers_near_the_threshold_are_not_the_noisy_values_that_were_compared(how: str) -> None:
    mechanism = NumericSparse(1, threshold=0, positives=1)

    def draw() -> int | None:
        if how == "release":
            answer: int | None = mechanism.release(Exact([0], 1))[0]
            return answer
        return mechanism.start().ask(Exact(0, 1))  # type: ignore[no-any-return]

    above = sparse(mechanism, [0])[True,]
    law = {None: 1 - above} | {x: above * p for x, p in laplace(mechanism.number_scale, reach=20).items()}
    assert p_value(draw, 6_000, law) > FALSE_ALARM
