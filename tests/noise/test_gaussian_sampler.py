from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise.gaussian_sampler import Narrow, Rates, Wide, _theta, _total
from discreet.noise.inversion import Inversion
from discreet.noise.sampler_cache import draw
from tests.noise.goodness import FALSE_ALARM, fits, gaussian_pmf, happens, real
from tests.noise.scripted import Counting

VARIANCES = ["1/5", "1", "7/3", "100", "1024", "1025", "4000", "65535.5", "1000000"]


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_law_is_exact(variance: str) -> None:
    assert fits(noise.discrete_gaussian(variance, 1_000_000), gaussian_pmf(Fraction(variance)))


def test_the_variance_may_be_a_long_fraction() -> None:
    assert fits(noise.discrete_gaussian(Fraction(2000.1), 500_000), gaussian_pmf(Fraction(2000.1)))


@pytest.mark.parametrize("variance", ["1", "5000"])
@pytest.mark.parametrize("wrong", ["0.5", "0.95", "1.05"])
def test_a_slightly_wrong_variance_would_be_noticed(variance: str, wrong: str) -> None:
    sample = noise.discrete_gaussian(Fraction(variance) * Fraction(wrong), 1_000_000)
    assert not fits(sample, gaussian_pmf(Fraction(variance)))


def test_rounded_floating_point_noise_would_be_noticed() -> None:
    rounded = np.rint(np.random.default_rng().normal(0, 1, 2_000_000)).astype(np.int64)
    assert not fits(rounded, gaussian_pmf(Fraction(1)))


@pytest.mark.parametrize(("cell_bits", "word_bits"), [(3, 3), (4, 5), (5, 8)])
@pytest.mark.parametrize("variance", ["1/5", "30"])
def test_the_narrow_law_is_the_same_when_most_draws_are_lazy(
    variance: str, cell_bits: int, word_bits: int
) -> None:
    bits = Counting()
    sample = draw(Narrow(Fraction(variance), cell_bits=cell_bits, word_bits=word_bits), 60_000, bits)
    assert bits.lazily > 500
    assert fits(sample, gaussian_pmf(Fraction(variance)))


@pytest.mark.parametrize(("cell_bits", "word_bits"), [(3, 4), (5, 8)])
def test_the_wide_law_is_the_same_when_most_draws_are_lazy(cell_bits: int, word_bits: int) -> None:
    bits = Counting()
    sample = draw(Wide(Fraction(2000), cell_bits=cell_bits, word_bits=word_bits), 60_000, bits)
    assert bits.lazily > 10_000
    assert fits(sample, gaussian_pmf(Fraction(2000)))


def test_one_table_and_blocks_draw_the_same_law() -> None:
    variance = Fraction(1024)
    for sampler in (Narrow(variance), Wide(variance)):
        assert fits(draw(sampler, 500_000, Counting()), gaussian_pmf(variance))


@pytest.mark.parametrize("sigma", [10**4, 10**6, 2**31, 2**52])
def test_a_wide_law_has_the_right_shape_and_even_low_digits(sigma: int) -> None:
    sample = noise.discrete_gaussian(sigma**2, 1_000_000)
    # The continuous law is within 1/sigma of this one, well below what so many draws can tell.
    assert stats.kstest(sample / sigma, "norm").pvalue > FALSE_ALARM
    for shift in range(0, sigma.bit_length() - 8, 5):
        residues = np.bincount(sample >> shift & 31, minlength=32)
        assert stats.chisquare(residues).pvalue > FALSE_ALARM


@pytest.mark.parametrize("variance", ["1/5", "1", "100", "1024"])
def test_the_narrow_table_leaves_less_than_one_draw_in_2_34_open(variance: str) -> None:
    assert _left_open(Narrow(Fraction(variance))._digit._inversion) < 2**-34


@pytest.mark.parametrize("variance", [1025, 2000, 4095, 4096, 4097, 10**6, 3 * 2**60, 2**104])
def test_the_wide_table_leaves_less_than_one_draw_in_2_34_open(variance: int) -> None:
    """The time of these is a hundred times that of others."""
    assert _left_open(Wide(Fraction(variance))._blocks) < 2**-34


def _left_open(inversion: Inversion) -> float:
    """The mass between the bounds of a threshold, and beyond the last."""
    return float((inversion._high - inversion._low).sum()) / 2**48


@pytest.mark.parametrize("k", [0, 1, 20, 200, 511])
def test_a_proposal_survives_its_coins_with_the_chance_of_the_theory(k: int) -> None:
    """The whole-sample tests cannot see this: a wrong s² moves the density of one block by 1/2000."""
    wide, tries = Wide(Fraction(2**20)), 100_000
    m, c = 1 << wide._shift, 1 / 512
    for r in (0, 1, m // 2, m - 1):
        heads, y = min(c * (2 * k + 1), 1), c * (2 * k * r / m + r * r / m**2)
        first, few = np.arange(tries) % 2 == 0, tries if k < 300 else 400
        survives = wide._survives(np.full(tries, k)[:few], first[:few], np.full(tries, r)[:few], Counting())
        assert happens(int(survives[::2].sum()), few // 2, 1 - (1 - np.exp(-y)) / heads)
        assert survives[1::2].all() or k > 255  # who had no heads at first is accepted


@pytest.mark.parametrize("j", [1, 2, 3])
def test_the_coin_of_a_round_has_its_chance_and_is_settled_with_few_bits_as_well(j: int) -> None:
    k, tries = np.repeat([0, 7, 255], 60_000), 60_000
    for word_bits in (2, 32):
        heads = Rates(Fraction(1, 512), word_bits).toss(k, j, Counting()).reshape(3, tries)
        for odd, thrown in zip((1, 15, 511), heads, strict=True):
            assert happens(int(thrown.sum()), tries, odd / 512 / j)


@pytest.mark.parametrize("rate", ["1/3", "1/50", "2"])
@pytest.mark.parametrize("precision", [36, 40, 64, 120])
def test_the_total_mass_is_bounded_with_all_that_was_left_out(rate: str, precision: int) -> None:
    low, high = _total(_theta(Fraction(rate), precision))
    q = mpmath.exp(-real(Fraction(rate)))
    true = (mpmath.jtheta(3, 0, q) + 1) / 2 * mpmath.mpf(2) ** precision
    assert low <= true <= high


def test_zero_is_not_counted_twice() -> None:
    sample = noise.discrete_gaussian(1100, 2_000_000)
    zeros, ones = int(np.sum(sample == 0)), int(np.sum(np.abs(sample) == 1))
    assert stats.binomtest(zeros, zeros + ones, 1 / (1 + 2 * np.exp(-1 / 2200))).pvalue > FALSE_ALARM


def test_a_tiny_variance_is_always_zero() -> None:
    assert not noise.discrete_gaussian("1/1000", 100_000).any()
    assert not noise.discrete_gaussian("1e-30", 100_000).any()
