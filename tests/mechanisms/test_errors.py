"""`error` against brute force: the law itself, summed without short cuts, and against the textbook's theorem."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms import (
    AboveThreshold,
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    NumericSparse,
    PermuteAndFlip,
    ReportNoisyMax,
    Sparse,
)
from tests.mechanisms.output_laws import (
    at_least,
    every_noise,
    exponential,
    gaussian,
    laplace,
    noisy_max,
    permute_and_flip,
    sparse_chance,
)

CONFIDENCES = ["0.5", "0.95", "0.9999"]
LAWS: dict[type[Any], Callable[..., Any]] = {
    Exponential: exponential,
    PermuteAndFlip: permute_and_flip,
    ReportNoisyMax: noisy_max,
}


def smallest_bound(law: dict[int, Any], confidence: str, dimension: int) -> int:
    """The smallest a with P(|X| ≤ a)^dimension ≥ confidence, by adding up the law."""
    wanted = mpmath.mpf(confidence) ** (mpmath.mpf(1) / dimension)
    inside = mpmath.mpf(0)
    for a in itertools.count():
        inside += law[a] + (law[-a] if a else 0)
        if inside >= wanted:
            return a
    raise AssertionError


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("dimension", [1, 2, 1000])
@pytest.mark.parametrize("parameter", [Fraction(1, 3), Fraction(1), Fraction(25, 2)])
def test_additive_noise_stays_within_the_error_and_the_error_is_the_smallest_such(
    parameter: Fraction, dimension: int, confidence: str
) -> None:
    wanted = smallest_bound(laplace(parameter), confidence, dimension)
    assert Laplace(parameter).error(confidence, dimension) == wanted
    wanted = smallest_bound(gaussian(parameter), confidence, dimension)
    assert Gaussian(parameter).error(confidence, dimension) == wanted


def test_a_sharp_confidence_is_met_with_equality() -> None:
    """P(|Z| ≤ 0) = 1 − q over 1 + q: as a decimal just below it asks for 0, just above it for 1."""
    q = mpmath.exp(-1)
    sure = (1 - q) / (1 + q)
    assert Laplace(1).error(mpmath.nstr(sure - mpmath.mpf("1e-25"), 30)) == 0
    assert Laplace(1).error(mpmath.nstr(sure + mpmath.mpf("1e-25"), 30)) == 1


@pytest.mark.parametrize("variance", [10**8 + 1, 10**12])
def test_the_error_of_a_wide_gaussian_is_at_most_one_too_large(variance: int) -> None:
    error = Gaussian(variance).error("0.95")
    z = mpmath.sqrt(2 * variance) * mpmath.erfinv(mpmath.mpf("0.95"))  # the midpoint rule is good to 1/variance
    assert 0 <= error - (z - mpmath.mpf("0.5")) < 2


def test_errors_grow_with_the_noise_without_end() -> None:
    assert Laplace(2**52).error() == pytest.approx(2**52 * np.log(20), rel=1e-9)
    assert Gaussian(2**104).error() == pytest.approx(2**52 * 1.959964, rel=1e-6)
    assert ReportNoisyMax("1e-9").error(candidates=10) == pytest.approx(
        ReportNoisyMax("1e-3").error(candidates=10) * 1e6, rel=0.01
    )
    assert Sparse("1e-9", 0).error(queries=9) == pytest.approx(Sparse("1e-3", 0).error(queries=9) * 1e6, rel=0.01)
    assert Laplace("1e-9").error() == Gaussian("1e-9").error() == Exponential(10**9).error() == 0
    assert PermuteAndFlip(10**9).error(candidates=10**9) == ReportNoisyMax(10**6).error() == 0


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("candidates", [2, 4])
@pytest.mark.parametrize("kind", list(LAWS))
def test_a_choice_is_within_the_error_for_the_worst_scores_and_the_error_is_the_smallest_such(
    kind: type[Any], candidates: int, confidence: str
) -> None:
    mechanism = kind(1)
    d = mechanism.error(confidence, candidates)
    for distance in {max(0, d - 1), d}:
        worst = LAWS[kind](mechanism, [-(distance + 1)] * (candidates - 1) + [0])
        holds = worst[candidates - 1] >= mpmath.mpf(confidence)
        assert holds == (distance == d)


@pytest.mark.parametrize("kind", list(LAWS))
def test_no_other_scores_are_worse(kind: type[Any]) -> None:
    mechanism = kind(1)
    d = mechanism.error("0.8", candidates=3)
    for below in itertools.product(range(0, 2 * d + 4, 2), repeat=2):
        for place in range(3):
            scores = [-gap for gap in below]
            scores.insert(place, 0)
            law = LAWS[kind](mechanism, scores)
            assert sum(p for r, p in law.items() if scores[r] < -d) <= 0.2 + 1e-9


@pytest.mark.parametrize("candidates", [2, 3, 10, 10_000])
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism(confidence: str, candidates: int) -> None:
    ours, theirs = (kind("0.3", 5).error(confidence, candidates) for kind in (PermuteAndFlip, Exponential))
    assert ours <= theirs <= Exponential("0.3", 5).theorem(confidence, candidates)


def test_one_candidate_is_always_the_best() -> None:
    assert [kind(1).error(candidates=1) for kind in LAWS] == [0, 0, 0]


def test_monotonic_scores_halve_the_error() -> None:
    for kind in LAWS:
        general, monotonic = (kind("0.01", monotonic=flag).error(candidates=50) for flag in (False, True))
        assert monotonic == pytest.approx(general / 2, rel=0.01)


@pytest.mark.parametrize("queries", [1, 10, 1000])
@pytest.mark.parametrize("mechanism", [AboveThreshold(1, 7), Sparse(1, 7, positives=3, monotonic=True)])
def test_answers_are_right_within_the_error_for_the_worst_queries(mechanism: Sparse, queries: int) -> None:
    alpha = mechanism.error("0.95", queries)
    for above in range(min(mechanism.positives, queries) + 1):
        low, high = mechanism.threshold - alpha - 1, mechanism.threshold + alpha + 1
        values = [low] * (queries - above) + [high] * above
        right = [f == high for f in values]
        assert sparse_chance(mechanism, values, right) >= 0.95


@pytest.mark.parametrize("queries", [1, 2, 50])
@pytest.mark.parametrize("mechanism", [AboveThreshold(1, 7), Sparse(1, 7, positives=3, monotonic=True)])
def test_the_error_of_answers_is_the_smallest_against_an_analyst_who_knew_the_line(
    mechanism: Sparse, queries: int
) -> None:
    rho, p = every_noise(mechanism.threshold_scale, 0)

    def chance_that_all_are_right(alpha: int) -> float:
        low_is_below = 1 - at_least(mechanism.query_scale, rho + alpha + 1)
        high_is_above = at_least(mechanism.query_scale, rho - alpha - 1)
        mixes = range(min(mechanism.positives, queries) + 1)
        return float(p @ np.min([low_is_below ** (queries - n) * high_is_above**n for n in mixes], axis=0))

    alpha = mechanism.error("0.9", queries)
    assert chance_that_all_are_right(alpha) >= 0.9 > chance_that_all_are_right(alpha - 1)


@pytest.mark.parametrize("queries", [1, 100, 10**6])
@pytest.mark.parametrize("positives", [1, 10])
def test_errors_are_below_the_theorems(queries: int, positives: int) -> None:
    for kind in (Sparse, NumericSparse):
        mechanism = kind("0.1", 0, positives)
        assert mechanism.error("0.95", queries) <= mechanism.theorem("0.95", queries)
    assert Laplace(10).error("0.95") <= Laplace(10).theorem("0.95") + 1
    assert Gaussian(100).error("0.95") <= Gaussian(100).theorem("0.95")
    assert ReportNoisyMax("0.1").error("0.95", queries + 1) <= ReportNoisyMax("0.1").theorem("0.95", queries + 1)


def test_the_numbers_of_a_numeric_run_have_an_error_of_their_own() -> None:
    mechanism = NumericSparse("0.5", 0, positives=3)
    assert mechanism.number_error("0.95") == Laplace(mechanism.number_scale, 1).error("0.95", dimension=3)


@pytest.mark.parametrize("confidence", [0, 1, -1, "1.5", "nonsense", float("nan"), True])
def test_a_confidence_that_has_no_meaning_is_refused(confidence: Any) -> None:
    for mechanism in (Laplace(1), Gaussian(1), Exponential(1), PermuteAndFlip(1), ReportNoisyMax(1), Sparse(1, 0)):
        with pytest.raises(ParameterError, match="confidence"):
            mechanism.error(confidence)


def test_measured_errors_agree_with_the_declared_one() -> None:
    """Of 20,000 releases about 1,000 lie outside; more than 1,250 or fewer than 500 once in 10¹³."""
    mechanism = Laplace(7)
    outside = np.abs(mechanism.release(Exact([0] * 20_000, 1))) > mechanism.error("0.95")
    assert 500 < np.count_nonzero(outside) < 1_250
