"""The theorems of generalisation: published widths, and exact small cases that break a wrong bound."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.kernel.threshold_test import early
from discreet.validity.methods.gaussian import calibrated
from discreet.validity.theorems import concentration, expectation, transfer
from discreet.validity.theorems.gaussian_answers import (
    best_gaussian,
    bnsssu_gaussian,
    jung_gaussian,
    rogers,
    sampling_width,
)
from discreet.validity.theorems.sample_size import queries_allowed, rows_needed, width
from discreet.validity.theorems.sparse_answers import GRAIN, thresholdout
from discreet.validity.theorems.transcript import (
    REASONS,
    blum_hardt,
    log_share,
    refusals_share,
    splitting,
    transcript_width,
)

PUBLISHED = [  # rows, questions, then half-widths at β = 0.05: fixed, split, BNSSSU, Rogers, Jung, Ladder
    (10_000, 100, 0.020, 0.204, 0.436, 0.182, 0.231, 0.150),
    (10_000, 1000, 0.023, 0.728, 0.816, 0.322, 0.430, 0.162),
    (100_000, 1000, 0.0073, 0.230, 0.254, 0.102, 0.135, 0.075),
    (100_000, 10_000, 0.0080, 0.803, 0.469, 0.185, 0.248, 0.080),
    (1_000_000, 1000, 0.0023, 0.073, 0.081, 0.032, 0.043, 0.035),
    (1_000_000, 100_000, 0.0028, 0.872, 0.275, 0.107, 0.143, 0.039),
]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row[0]} rows, {row[1]} questions")
def test_the_widths_are_those_of_the_literature(row: tuple[float, ...]) -> None:
    n, k, *expected = int(row[0]), int(row[1]), *row[2:]
    found = [
        concentration.hoeffding_width(n, 0.05, k),
        splitting(n, k, 0.05),
        bnsssu_gaussian(n, k, 0.05).width,
        rogers(n, k, 0.05).width,
        jung_gaussian(n, k, 0.05).width,
        blum_hardt(n, k, 0.05)[0],
    ]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours <= theirs * 1.005 + 0.0005  # a better optimum may be narrower
        assert ours >= theirs * 0.975 - 0.0005


def test_at_a_small_beta_another_theorem_is_the_narrowest() -> None:
    assert splitting(100_000, 1000, 0.001) == pytest.approx(0.269, abs=0.001)
    assert rogers(100_000, 1000, 0.001).width == pytest.approx(0.324, rel=0.02)
    assert best_gaussian(100_000, 1000, 0.001) == jung_gaussian(100_000, 1000, 0.001)
    assert jung_gaussian(100_000, 1000, 0.001).width == pytest.approx(0.174, abs=0.001)


@pytest.mark.parametrize(("rows", "split", "gaussian"), [(10_000, 28, 6), (30_000, 74, 81), (100_000, 219, 932)])
def test_noise_beats_splitting_from_thirty_thousand_rows_on(rows: int, split: int, gaussian: int) -> None:
    assert queries_allowed("split", rows, 0.1, 0.05) == pytest.approx(split, rel=0.01)
    assert queries_allowed("gaussian", rows, 0.1, 0.05) == pytest.approx(gaussian, rel=0.02)


def test_transcripts_are_as_narrow_as_they_should_be() -> None:
    """h = 10⁴ rows and 1000 questions: .030 without a failure, .061 with 5, .103 with 20."""
    for failures, expected in ((0, 0.031), (5, 0.061), (20, 0.103)):
        assert transcript_width(10_000, 1000, failures, 0.05, values=101) == pytest.approx(expected, abs=0.0015)


# -- fixed questions --------------------------------------------------------------------------------------------


def test_hoeffding_goes_both_ways() -> None:
    for alpha, beta, many in itertools.product((0.1, 0.01), (0.05, 1e-6), (1, 1000)):
        n = concentration.hoeffding_size(alpha, beta, many)
        assert concentration.hoeffding_width(n, beta, many) <= alpha * (1 + 1e-9)
        assert concentration.hoeffding_width(n - 1, beta, many) > alpha
        assert concentration.hoeffding_failure(n, alpha, many) <= beta * (1 + 1e-9)


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_chernoffs_interval_misses_no_more_often_than_it_says(p: float) -> None:
    """Exactly, by adding up the binomial law: an interval from 1/(2n) in the place of 1/n would miss too often."""
    n, beta = 60, 0.05
    missed = 0.0
    for successes in range(n + 1):
        low, high = (
            f(successes / n, n, math.log(2 / beta))
            for f in (concentration.chernoff_low, concentration.chernoff_high)
        )
        assert high - low <= 2 * concentration.hoeffding_width(n, beta) + 1e-9
        if not low <= p <= high:
            missed += math.comb(n, successes) * p**successes * (1 - p) ** (n - successes)
    assert missed <= beta


def test_mcdiarmid_needs_moves() -> None:
    with pytest.raises(ParameterError, match="finite amount"):
        concentration.mcdiarmid_width([0.0], 0.05)


# -- privacy ----------------------------------------------------------------------------------------------------


def test_the_average_gap_is_reached_by_randomised_response() -> None:
    """One row, one bit, told truly with odds e^ε, and h = "equal to what was told"."""
    for epsilon in (0.1, 1.0, 3.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        gap = truth - 0.5  # on the sample, minus on a fair population
        assert gap <= expectation.expected_gap(epsilon) <= expectation.notes_expected_gap(epsilon)
        # The same with a million values, of which the told one is remembered.
        many = 10**6
        told = math.exp(epsilon) / (math.exp(epsilon) + many - 1)
        assert told - 1 / many <= expectation.expected_gap(epsilon)


def test_no_pair_of_probabilities_breaks_the_average_bound() -> None:
    """The bound is the largest a − b with both inequalities of privacy; a smaller formula would be found out."""
    for epsilon, delta in itertools.product((0.05, 0.5, 2.0), (0.0, 0.01, 0.2)):
        b = np.linspace(0, 1, 20_001)
        a = np.minimum(np.exp(epsilon) * b + delta, 1 - (1 - b - delta) / np.exp(epsilon))
        largest = float(np.max(np.minimum(a, 1.0) - b))
        assert largest <= expectation.expected_gap(epsilon, delta) + 1e-12
        assert largest >= expectation.expected_gap(epsilon, delta) - 1e-3


def test_max_information_bounds_an_exact_posterior() -> None:
    """Five bits, and a noisy count of them: the law of ln P(a|S)/P(a) is enumerated."""
    n, epsilon = 5, 0.8
    q = math.exp(-epsilon)
    tables = list(itertools.product((0, 1), repeat=n))
    outputs = range(-60, 66)
    law = {a: [(1 - q) / (1 + q) * q ** abs(a - sum(x)) for x in tables] for a in outputs}
    ratios = []
    for likelihoods in law.values():
        whole = sum(likelihoods) / len(tables)
        ratios += [(math.log(one / whole), one / len(tables)) for one in likelihoods]
    for miss in (0.3, 0.1, 0.01):
        t = transfer.max_information(n, epsilon, miss)
        assert sum(chance for z, chance in ratios if z >= t) <= miss


def test_the_mutual_information_of_noisy_means_is_below_what_the_theorem_takes() -> None:
    """Gaussian noise on the mean of fair bits: the channel's information is below k/(8nσ²) for one answer."""
    n, deviation = 6, 0.3
    x = np.linspace(-3, 4, 20_001)
    means = np.array([sum(bits) / n for bits in itertools.product((0, 1), repeat=n)])
    densities = np.exp(-((x[:, None] - means) ** 2) / (2 * deviation**2)) / math.sqrt(2 * math.pi * deviation**2)
    mixture = densities.mean(axis=1)
    information = float(np.trapezoid((densities * np.log(densities / mixture[:, None])).mean(axis=1), x))
    assert information <= 1 / (8 * n * deviation**2)
    assert sampling_width(10_000, 100, 0.0125, 0.05) < sampling_width(10_000, 100, 0.005, 0.05)


def test_the_theorem_of_bnsssu_refuses_where_it_does_not_apply() -> None:
    with pytest.raises(ParameterError, match="at least"):
        transfer.bnsssu(1000, 0.01, 1e-6)
    with pytest.raises(ParameterError, match="epsilon up to 1/3"):
        transfer.bnsssu(10**6, 0.5, 1e-6)


def test_the_closed_form_of_jung_is_the_best_split() -> None:
    miss, delta, beta = 1e-4, 1e-5, 0.05
    closed = transfer.jung(0.0, miss, 0.0, delta, beta)
    tried = [c + 2 * delta / (beta - miss / c) for c in np.geomspace(1e-5, 1, 4000) if miss / c < beta]
    assert closed == pytest.approx(min(tried), rel=1e-3)


# -- transcripts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("planned", [None, 4])
def test_the_shares_of_all_histories_add_up_to_at_most_one(falling: bool, planned: int | None) -> None:
    """Enumerated: every history of up to five questions, with two or three values and refusals."""
    values, total = 3, 0.0
    outcomes = [None, "refused", *range(values)]
    for t in range(1, 7):
        for history in itertools.product(outcomes, repeat=t - 1):
            shown = [one for one in history if isinstance(one, int)]
            if falling and any(b >= a for a, b in itertools.pairwise(shown)):
                continue
            refusals = history.count("refused")
            total += REASONS**refusals * math.exp(  # each refusal for any of its reasons
                log_share(t, len(shown), values=values, refusals=refusals, falling=falling, planned=planned)
            )
    assert total <= 1


def test_thresholdout_is_narrower_with_more_rows_and_fewer_overfits() -> None:
    def size(rows: int, overfits: int) -> float:
        found = thresholdout(rows, 1000, overfits, 0.05)
        assert found is not None
        return found.width

    assert size(1_000_000, 10) < size(100_000, 10) < size(10_000, 10)
    assert size(100_000, 2) < size(100_000, 10)


def test_sample_sizes_invert_widths() -> None:
    for method in ("split", "guess_and_check", "ladder"):
        n = rows_needed(method, 100, 0.05, 0.05, overfits=5)
        assert width(method, n, 100, 0.05, 5) <= 0.05 < width(method, int(n * 0.99), 100, 0.05, 5)
    with pytest.raises(ParameterError, match="methods are"):
        width("magic", 100, 10, 0.05)


def test_an_alarm_of_thresholdout_is_chosen_by_its_noise_among_all_comparisons() -> None:
    """The margin of a number from the holdout: its noise is the loudest of 2k, and one threshold for each run."""
    n, k, overfits, beta = 10**6, 10**5, 2, 0.05
    found = thresholdout(n, k, overfits, beta)
    assert found is not None
    sampled = transfer.max_information_width(n, k, float(found.epsilon), beta / 2)
    margin = round((found.holdout_width - sampled) * n * GRAIN)
    assert 2 * k * early(found.watch, margin + 1) <= beta / 8 * (1 + 1e-3)
    assert found.runs * math.exp(-(margin + 1) / float(found.watch.threshold_scale)) <= beta / 8 * (1 + 1e-3)


def test_gaussian_answers_are_as_wide_as_all_of_them_together_need() -> None:
    """Both parts of the theorem, in closed form from below: Markov's at β/2, the loudest of k noises at β/2."""
    n, k, beta = 10_000, 100, 0.05
    width, mechanism = calibrated(n, k, beta)
    deviation = math.sqrt(mechanism.variance) / (n * GRAIN)
    information = k / (8 * n * deviation**2)
    loudest = -NormalDist().inv_cdf(beta / (4 * k))
    assert width >= math.sqrt(2 * information / (2 * n * beta)) + 0.999 * deviation * loudest


def test_the_share_of_errors_adds_up_to_at_most_one() -> None:
    """Every prescription of errors and their reasons among k questions."""
    for k in (1, 2, 5, 40):
        total = sum(math.comb(k, r) * REASONS**r * refusals_share(k, r) for r in range(k + 1))
        assert 0.999 <= total <= 1
