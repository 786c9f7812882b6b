"""Test estimates: if every noise is within its margin, every interval holds the truth."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet import noise
from discreet.ledger import Budget
from discreet.mechanisms import Gaussian, Laplace
from discreet.query.answer import estimates
from discreet.query.answer.estimates import Estimate
from discreet.query.plan import linear_queries
from discreet.query.plan.affine import centred
from discreet.query.plan.error_bounds import joint_margins, margin_of_sum
from discreet.query.plan.estimators import Linear, Mean, Spread
from discreet.query.plan.linear_queries import MOST, LinearQuery
from discreet.query.plan.plan import Plan, plan
from discreet.query.question import Term
from discreet.schema.metadata import UNIT
from tests.vault.sealed_rows import Described, aggregate, question, term

TERMS = [term(high=10), term(high=1), term(high=7, scale="1/10", offset=-3), term(high=2**30, scale=5)]
ESTIMATE: dict[type, Any] = {Linear: estimates.linear, Mean: estimates.mean, Spread: estimates.spread}


def exact(query: LinearQuery, over: Term, codes: Sequence[int]) -> int:
    """Return the sum that the engine would return for rows of full weight."""
    if query in (linear_queries.rows(), linear_queries.rows_with(over)):
        return UNIT * len(codes)
    line, _ = centred(over, MOST // UNIT)
    if query == linear_queries.deviation(over, 1):
        return UNIT * sum(map(line.at, codes))
    square = linear_queries.square(over, 1)
    assert query == square.query
    steps = [round_half_up(Fraction(line.at(c) ** 2), 2 * square.slack or Fraction(1)) for c in codes]
    return int(UNIT * sum((step - square.middle) / square.query.unit for step in steps))


def round_half_up(value: Fraction, step: Fraction) -> Fraction:
    return step * ((2 * value + step) // (2 * step))


def answered(made: Plan, over: Term, codes: Sequence[int], pushes: Sequence[int]) -> Estimate:
    """Return the estimate if the noises are these shares, from −1 to 1, of their margins."""
    (formula,) = made.formulas
    margins = joint_margins([made.noises[query] for query in formula.queries], made.setting.alpha)
    noisy = {
        query: np.array([exact(query, over, codes) + push * margin])
        for query, push, margin in zip(formula.queries, pushes, margins, strict=False)
    }
    found: Estimate = ESTIMATE[type(formula)](formula, noisy, made.noises, made.setting.alpha)
    return found


@pytest.mark.parametrize("budget", [Budget(9), Budget(9, "1e-6")], ids=["pure", "with delta"])
@pytest.mark.parametrize("kind", ["avg", "variance", "stddev"])
@given(
    which=st.integers(0, len(TERMS) - 1),
    shares=st.lists(st.integers(0, 10**6), min_size=1, max_size=60),
    epsilon=st.sampled_from(["1/100", "1", "100", "10000000"]),
)
@example(which=0, shares=[900_000] * 50, epsilon="1")
@example(which=0, shares=[100_000] * 50, epsilon="1")
@example(which=3, shares=[1, 400_000, 999_983], epsilon="10000000")
@settings(max_examples=15, deadline=None)
def test_while_noises_are_within_their_margins_intervals_hold_the_truth(
    kind: str, budget: Budget, which: int, shares: list[int], epsilon: str
) -> None:
    over = TERMS[which]
    codes = [over.high * share // 10**6 for share in shares]
    amount = Fraction(epsilon) if budget.pure else Fraction(epsilon) ** 2 / 2
    made = plan(question(aggregate(kind, over)), Described(), amount=amount, budget=budget)
    values = [over.offset + over.scale * code for code in codes]
    mean = sum(values, Fraction(0)) / len(values)
    variance = sum(((v - mean) ** 2 for v in values), Fraction(0)) / len(values)
    truth = {"avg": float(mean), "variance": float(variance), "stddev": float(variance) ** 0.5}[kind]
    rounding = 1e-15 * truth if kind == "stddev" else 0.0  # of this test's own root
    for pushes in product((-1, 0, 1), repeat=len(made.noises)):
        found = answered(made, over, codes, pushes)
        assert found.low[0] - rounding <= truth <= found.high[0] + rounding, pushes
        assert found.low[0] <= found.value[0] <= found.high[0]


@pytest.mark.parametrize("budget", [Budget(9), Budget(9, "1e-6")], ids=["pure", "with delta"])
def test_where_there_may_be_no_rows_the_average_is_in_the_middle_of_what_is_possible(budget: Budget) -> None:
    over = term(high=10, scale=2, offset=5)
    made = plan(question(aggregate("avg", over)), Described(), epsilon="0.01", budget=budget)
    empty = answered(made, over, [], [0, 0])
    assert (empty.low[0], empty.value[0], empty.high[0]) == (5.0, 15.0, 25.0)
    below = answered(made, over, [], [-1, 0])
    assert (below.low[0], below.value[0], below.high[0]) == (5.0, 15.0, 25.0)
    few = answered(made, over, [10] * 3, [0, 1])  # the sum shows that values are high, for any number of rows
    assert few.high[0] == 25.0
    assert few.value[0] == pytest.approx((few.low[0] + few.high[0]) / 2)


def test_squares_that_were_rounded_have_room_for_it() -> None:
    over = TERMS[3]
    square = linear_queries.square(over, 1)
    assert square.slack > 0
    made = plan(question(aggregate("variance", over)), Described(), epsilon=10**9, budget=Budget(9))
    for code in range(0, over.high, over.high // 97):  # there is too little noise to hide half a step
        found = answered(made, over, [code, over.high - code, over.high // 2], [0, 0, 0])
        values = [over.scale * c for c in (code, over.high - code, over.high // 2)]
        assert found.low[0] <= float(statistics.pvariance(values)) <= found.high[0]


def test_a_spread_of_equal_values_is_near_zero_and_of_opposite_ones_the_largest() -> None:
    over = term(high=10)
    made = plan(question(aggregate("stddev", over)), Described(), epsilon=100, budget=Budget(100))
    assert answered(made, over, [3] * 500, [0, 0, 0]).value[0] == pytest.approx(0, abs=0.01)
    assert answered(made, over, [0, 10] * 250, [0, 0, 0]).value[0] == pytest.approx(5, abs=0.01)
    codes = [1, 5, 5, 9, 2] * 100
    assert answered(made, over, codes, [0, 0, 0]).value[0] == pytest.approx(statistics.pstdev(codes), abs=0.01)


@pytest.mark.parametrize(
    "noises",
    [
        [(Fraction(1), Laplace(scale=30)), (Fraction(-3), Laplace(scale=10))],
        [(Fraction(1), Laplace(scale=30)), (Fraction(1, 100), Laplace(scale=10))],
        [(Fraction(1), Gaussian(variance=900)), (Fraction(2), Gaussian(variance=400))],
    ],
)
def test_the_sum_of_two_noises_stays_within_the_margin(noises: Any) -> None:
    """False alarm: below 1e-7."""
    size, alpha = 200_000, Fraction(1, 10)
    drawn = [
        float(c) * np.asarray(noise.discrete_laplace(law.scale, size))
        if isinstance(law, Laplace)
        else float(c) * np.asarray(noise.discrete_gaussian(law.variance, size))
        for c, law in noises
    ]
    beyond = int(np.count_nonzero(np.abs(sum(drawn)) > margin_of_sum(noises, alpha)))
    assert beyond <= stats.binom.isf(1e-7, size, 0.1)


def test_gaussians_together_have_a_smaller_margin_than_apart() -> None:
    pair = [(Fraction(1), Gaussian(variance=900))] * 2
    alpha = Fraction(1, 20)
    assert margin_of_sum(pair, alpha) < 2 * Gaussian(variance=900).error(1 - alpha / 2)
    assert margin_of_sum([], alpha) == 0
    assert margin_of_sum(pair[:1], alpha) == Gaussian(variance=900).error("0.95")
