"""`error` against brute force: the law itself, summed without short cuts, and against the textbook's theorem."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet import noise
from discreet.errors import LawTooWide, ParameterError
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
from discreet.mechanisms.tails import WIDEST
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
    assert Laplace(parameter).error(confidence, dimension=dimension) == wanted
    wanted = smallest_bound(gaussian(parameter), confidence, dimension)
    assert Gaussian(parameter).error(confidence, dimension=dimension) == wanted


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
    assert Laplace("1e-9").error() == Gaussian("1e-9").error() == Exponential(10**9).error(candidates=2) == 0
    assert PermuteAndFlip(10**9).error(candidates=10**9) == ReportNoisyMax(10**6).error(candidates=2) == 0


SUREST = "0." + "9" * 30
MOST = 2**62 - 1


def test_the_widest_noise_has_an_error_even_for_the_largest_counts() -> None:
    """ln 2⁶² + ln 10³⁰ = 112: so many scales are enough for any of the 2⁶² to go wrong once in 10³⁰."""
    for kind in LAWS:
        choice = kind(Fraction(1, 2**51))
        assert 100 * 2**52 < choice.error(SUREST, candidates=MOST) < 1.01 * choice.theorem(SUREST, candidates=MOST)
    assert 100 < Laplace(2**52).error(SUREST, dimension=MOST) / 2**52 < 113
    assert 14 < Gaussian(2**104).error(SUREST, dimension=MOST) / 2**52 < 16
    sparse = Sparse(Fraction(1, 2**50), 0)
    assert 100 * sparse.query_scale < sparse.error(SUREST, queries=MOST) < sparse.theorem(SUREST, queries=MOST)


def test_the_narrowest_noise_is_zero_even_for_the_largest_counts() -> None:
    for kind in LAWS:
        assert kind(10**400).error(SUREST, candidates=MOST) == 0
    assert Laplace("1e-400").error(SUREST, dimension=MOST) == Gaussian("1e-400").error(SUREST, dimension=MOST) == 0
    assert Sparse(10**400, 0).error(SUREST, queries=MOST) == 0
    assert Sparse(10**400, 0, positives=MOST).split[0] > 0


@pytest.mark.parametrize("bad", [0, -1, "1.5", True, 2**62, 10**400])
def test_a_count_that_has_no_meaning_is_refused_by_name(bad: Any) -> None:
    with pytest.raises(ParameterError, match="candidates"):
        ReportNoisyMax(1).error(candidates=bad)
    with pytest.raises(ParameterError, match="queries"):
        Sparse(1, 0).error(queries=bad)
    with pytest.raises(ParameterError, match="dimension"):
        Gaussian(1).error(dimension=bad)


TOO_WIDE: dict[str, Callable[[], Any]] = {
    "Laplace": lambda: Laplace(2**52 + 1),
    "Laplace for ε": lambda: Laplace.for_epsilon("1e-300"),
    "Gaussian": lambda: Gaussian(2**104 + 1),
    "Gaussian for ρ": lambda: Gaussian.for_rho("1e-40"),
    "Gaussian for ε and δ": lambda: Gaussian.for_budget("1e-30", "1e-30"),
    "Exponential": lambda: Exponential(1, sensitivity=2**52),
    "PermuteAndFlip": lambda: PermuteAndFlip("1e-18"),
    "ReportNoisyMax": lambda: ReportNoisyMax("1e-400"),
    "AboveThreshold": lambda: AboveThreshold(Fraction(1, 2**52), 0, monotonic=True),
    "Sparse": lambda: Sparse(1, 0, positives=2**52),
    "NumericSparse": lambda: NumericSparse("1e-320", 0),
}


@pytest.mark.parametrize("build", TOO_WIDE.values(), ids=TOO_WIDE)
def test_noise_that_could_leave_int64_is_refused_before_anything_is_charged(build: Callable[[], Any]) -> None:
    with pytest.raises(LawTooWide, match="the most is"):
        build()


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("positives", [1, 2, 3, 10, 10**6])
def test_no_noise_of_a_run_is_wider_than_that_of_its_queries(positives: int, monotonic: bool) -> None:
    """So it is enough to look at these when the mechanism is built."""
    mechanism = NumericSparse(1, 0, positives, monotonic=monotonic)
    assert max(mechanism.threshold_scale, mechanism.number_scale) <= mechanism.query_scale


def test_what_is_built_is_what_noise_can_draw() -> None:
    """The two limits are stated in two places: here they are one."""
    noise.discrete_laplace(WIDEST, size=0)
    noise.discrete_gaussian(WIDEST**2, size=0)
    with pytest.raises(LawTooWide):
        noise.discrete_laplace(WIDEST + 1, size=0)
    with pytest.raises(LawTooWide):
        noise.discrete_gaussian(WIDEST**2 + 1, size=0)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("candidates", [2, 4])
@pytest.mark.parametrize("kind", list(LAWS))
def test_a_choice_is_within_the_error_for_the_worst_scores_and_the_error_is_the_smallest_such(
    kind: type[Any], candidates: int, confidence: str
) -> None:
    mechanism = kind(1)
    d = mechanism.error(confidence, candidates=candidates)
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
    ours = PermuteAndFlip("0.3", 5).error(confidence, candidates=candidates)
    theirs = Exponential("0.3", 5).error(confidence, candidates=candidates)
    assert ours <= theirs <= Exponential("0.3", 5).theorem(confidence, candidates=candidates)


def test_one_candidate_is_always_the_best() -> None:
    assert [kind(1).error(candidates=1) for kind in LAWS] == [0, 0, 0]


def test_monotonic_scores_halve_the_error() -> None:
    for kind in LAWS:
        general, monotonic = (kind("0.01", monotonic=flag).error(candidates=50) for flag in (False, True))
        assert monotonic == pytest.approx(general / 2, rel=0.01)


@pytest.mark.parametrize("queries", [1, 10, 1000])
@pytest.mark.parametrize("mechanism", [AboveThreshold(1, 7), Sparse(1, 7, positives=3, monotonic=True)])
def test_answers_are_right_within_the_error_for_the_worst_queries(mechanism: Sparse, queries: int) -> None:
    alpha = mechanism.error("0.95", queries=queries)
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

    alpha = mechanism.error("0.9", queries=queries)
    assert chance_that_all_are_right(alpha) >= 0.9 > chance_that_all_are_right(alpha - 1)


@pytest.mark.parametrize("queries", [1, 100, 10**6])
@pytest.mark.parametrize("positives", [1, 10])
def test_errors_are_below_the_theorems(queries: int, positives: int) -> None:
    for kind in (Sparse, NumericSparse):
        mechanism = kind("0.1", 0, positives)
        assert mechanism.error("0.95", queries=queries) <= mechanism.theorem("0.95", queries=queries)
    assert Laplace(10).error("0.95") <= Laplace(10).theorem("0.95") + 1
    assert Gaussian(100).error("0.95") <= Gaussian(100).theorem("0.95")
    noisy_maximum = ReportNoisyMax("0.1")
    assert noisy_maximum.error("0.95", candidates=queries) <= noisy_maximum.theorem("0.95", candidates=queries)


def test_the_numbers_of_a_numeric_run_have_an_error_of_their_own() -> None:
    mechanism = NumericSparse("0.5", 0, positives=3)
    assert mechanism.number_error("0.95") == Laplace(mechanism.number_scale, 1).error("0.95", dimension=3)


@pytest.mark.parametrize("confidence", [0, 1, -1, "1.5", "nonsense", float("nan"), True])
def test_a_confidence_that_has_no_meaning_is_refused(confidence: Any) -> None:
    for additive in (Laplace(1), Gaussian(1)):
        with pytest.raises(ParameterError, match="confidence"):
            additive.error(confidence)
    for kind in LAWS:
        with pytest.raises(ParameterError, match="confidence"):
            kind(1).error(confidence, candidates=2)
    with pytest.raises(ParameterError, match="confidence"):
        Sparse(1, 0).error(confidence, queries=1)


def test_measured_errors_agree_with_the_declared_one() -> None:
    """Of 20,000 releases about 1,000 lie outside; more than 1,250 or fewer than 500 once in 10¹³."""
    mechanism = Laplace(7)
    outside = np.abs(mechanism.release(Exact([0] * 20_000, 1))) > mechanism.error("0.95")
    assert 500 < np.count_nonzero(outside) < 1_250
