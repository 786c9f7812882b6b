"""Margin bounds: the textbook's numbers, the lemmas of the proofs by enumeration, and how the bounds compare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.learn.boosting.margin_bounds import (
    breiman_bound,
    entropy_bound,
    information,
    inverse_entropy,
    margin_bounds,
    schapire_bound,
    thresholds,
    written,
)

SIZES = st.integers(2, 10**6)
EXAMPLES = st.integers(1, 10**7)
THETAS = st.floats(0.01, 1)


def test_the_bound_that_the_notes_call_sharper_is_vacuous_where_the_other_is_not() -> None:
    case = {"examples": 10_000, "hypotheses": 200}
    sharper = breiman_bound(0.5, **case)
    assert sharper.vacuous
    assert round(sharper.value, 2) == 1.03
    assert "vacuous" in str(sharper)
    assert round(schapire_bound(0.5, 0, **case).value, 2) == 0.22
    assert round(entropy_bound(0.5, 0, **case).value, 2) == 0.11


def test_breimans_bound_is_sharper_for_many_more_examples() -> None:
    case = {"examples": 10**7, "hypotheses": 200}
    assert breiman_bound(0.5, **case).value < schapire_bound(0.5, 0, **case).value


def test_breimans_bound_applies_only_under_both_of_its_conditions() -> None:
    few = breiman_bound(0.4, examples=10_000, hypotheses=200)  # 4·√(2/200) is 0.4, and "above" excludes it
    assert few.vacuous
    assert "does not apply" in str(few)
    assert not breiman_bound(0.401, examples=10_000, hypotheses=200).reason
    wide = breiman_bound(0.5, examples=3, hypotheses=10**6)
    assert "must be at most 2n" in wide.reason
    assert wide.value == 1


@pytest.mark.parametrize("bound", [schapire_bound, entropy_bound])
def test_no_other_n_gives_a_smaller_bound(bound: object) -> None:
    value = bound(0.3, 0.05, examples=5_000, hypotheses=50)  # type: ignore[operator]
    rare = np.exp(-np.arange(1, 4000) * 0.09 / 8)
    draws = np.arange(1, 4000)
    paid = (draws * math.log(50) + np.log(draws * (draws + 1.0) ** 2 / 0.05)) / 5_000
    tried = 0.05 + 2 * rare + np.sqrt(paid / 2)
    if bound is entropy_bound:
        tried = rare + inverse_entropy(np.minimum(0.05 + rare, 1), paid)
    assert value.value == pytest.approx(tried.min(), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(SIZES, EXAMPLES, THETAS, st.floats(0, 0.9))
def test_relative_entropies_never_lose_to_hoeffding(size: int, n: int, theta: float, share: float) -> None:
    case = {"examples": n, "hypotheses": size}
    ours, theirs = entropy_bound(theta, share, **case), schapire_bound(theta, share, **case)
    assert ours.value <= max(theirs.value, 1.0) + 1e-3 * theirs.value


@settings(max_examples=60, deadline=None)
@given(SIZES, EXAMPLES, THETAS)
def test_what_breiman_promises_follows_from_relative_entropies(size: int, n: int, theta: float) -> None:
    """A bound that is above a proved one is proved: an independent check of a theorem that is cited."""
    cited = breiman_bound(theta, examples=n, hypotheses=size)
    if not cited.vacuous:
        assert entropy_bound(theta, 0, examples=n, hypotheses=size).value <= cited.value


@pytest.mark.parametrize("n", [1, 2, 5, 30, 200])
@pytest.mark.parametrize("p", [0.01, 0.2, 0.5, 0.9])
def test_the_chernoff_bound_in_the_proof_holds_by_enumeration(n: int, p: float) -> None:
    counts = np.arange(n + 1)
    for most in (0.01, 0.1, 0.5, 2.0):
        missed = inverse_entropy(counts / n, most) < p - 1e-9
        assert binom.pmf(counts, n, p)[missed].sum() <= math.exp(-n * most) + 1e-12


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 20, 100, 1000])
def test_the_moment_in_the_proof_with_weights_holds_by_enumeration(n: int) -> None:
    """E e^{n·kl(p̂ ‖ p)} ≤ 2√n, for all p: the summand does not need p = 0 or 1."""
    counts = np.arange(n + 1)
    q = counts / n
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(q > 0, q * np.log(q), 0) + np.where(q < 1, (1 - q) * np.log(1 - q), 0)
    for p in (0.001, 0.1, 0.3, 0.5, 0.8):
        log_kl = n * (entropy - q * math.log(p) - (1 - q) * math.log(1 - p))
        assert np.exp(binom.logpmf(counts, n, p) + log_kl).sum() <= 2 * math.sqrt(n) + 1e-9


@pytest.mark.parametrize("draws", [1, 7, 40, 300])
@pytest.mark.parametrize("theta", [0.1, 0.5, 1.0])
def test_a_vote_of_few_draws_is_close_to_the_vote_of_all(draws: int, theta: float) -> None:
    rare = math.exp(-draws * theta**2 / 8)
    cut = (1 + theta / 2) * draws / 2  # the mean of N signs is at most θ/2 where so many of them are +1
    assert binom.sf(cut, draws, 0.5) <= rare  # the margin is 0 or less, and the draw says more than θ/2
    assert binom.cdf(cut, draws, (1 + theta) / 2) <= rare  # the margin is θ or more, and the draw says less


def test_weights_that_are_spread_cost_less_information() -> None:
    assert information([1, 1, 1, 1], 4) == pytest.approx(0, abs=1e-12)
    assert information([1], 4) == pytest.approx(math.log(4))
    case = {"examples": 100_000, "hypotheses": 1000}
    spread = entropy_bound(0.2, 0.1, weights=[1 / 500] * 500, **case)
    assert spread.value < entropy_bound(0.2, 0.1, **case).value


def test_the_best_threshold_is_found_among_the_margins() -> None:
    rng = np.random.default_rng(0)
    found = rng.normal(0.3, 0.1, 3000).clip(-1, 1)
    theta, share = thresholds(found)
    assert np.all(np.diff(theta) > 0)
    for at, below in zip(theta, share, strict=True):
        assert below == pytest.approx((found < at).mean())
    every = np.linspace(0.01, 0.99, 99)
    shares = np.array([(found < at).mean() for at in every])
    ours = margin_bounds(found, hypotheses=100)[1]
    assert ours.value <= schapire_bound(every, shares, examples=3000, hypotheses=100).value + 1e-9


def test_margins_that_are_all_wrong_give_vacuous_bounds_and_no_error() -> None:
    for bound in margin_bounds([-0.5, -0.1], hypotheses=10):
        assert bound.vacuous
    assert len(written(margin_bounds([0.0], hypotheses=2))) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: schapire_bound(0, 0, examples=10, hypotheses=10),
        lambda: schapire_bound(0.5, 1.5, examples=10, hypotheses=10),
        lambda: schapire_bound(0.5, 0, examples=0, hypotheses=10),
        lambda: schapire_bound(0.5, 0, examples=10, hypotheses=1),
        lambda: schapire_bound(0.5, 0, examples=10, hypotheses=10, alpha=1),
        lambda: schapire_bound(0.5, float("nan"), examples=10, hypotheses=10),
        lambda: breiman_bound(2, examples=10, hypotheses=10),
        lambda: breiman_bound(float("nan"), examples=10, hypotheses=10),
        lambda: margin_bounds([], hypotheses=10),
        lambda: margin_bounds([3.0], hypotheses=10),
        lambda: margin_bounds([float("nan")], hypotheses=10),
        lambda: information([0, 0], 10),
        lambda: information([1, 1, 1], 2),
    ],
)
def test_parameters_without_a_meaning_are_refused(wrong: object) -> None:
    with pytest.raises(ParameterError):
        wrong()  # type: ignore[operator]
