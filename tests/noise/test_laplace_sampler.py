from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise
from discreet.noise.laplace_sampler import DiscreteLaplace
from discreet.noise.random_bits import system_bits
from discreet.noise.sampler_cache import draw
from tests.noise.goodness import FALSE_ALARM, chi_square, fits, laplace_pmf
from tests.noise.scripted import Counting

SCALES = [Fraction(s) for s in ("1/2", "1", "7/3", "10", "33", "1000")]


@pytest.mark.parametrize("scale", [*SCALES, Fraction(0.1)], ids=str)
def test_the_law_is_exact(scale: Fraction) -> None:
    assert fits(noise.discrete_laplace(scale, 1_000_000), laplace_pmf(scale))


@pytest.mark.parametrize("scale", ["1", "10"])
@pytest.mark.parametrize("wrong", ["0.5", "0.97", "1.03"])
def test_a_slightly_wrong_scale_would_be_noticed(scale: str, wrong: str) -> None:
    sample = noise.discrete_laplace(Fraction(scale) * Fraction(wrong), 1_000_000)
    assert not fits(sample, laplace_pmf(Fraction(scale)))


@pytest.mark.parametrize("scale", ["1/2", "1"])
def test_rounded_floating_point_noise_would_be_noticed(scale: str) -> None:
    rounded = np.rint(np.random.default_rng().laplace(0, float(Fraction(scale)), 2_000_000)).astype(np.int64)
    assert not fits(rounded, laplace_pmf(Fraction(scale)))


@pytest.mark.parametrize("scale", ["1/2", "7/3", "40"])
@pytest.mark.parametrize(("cell_bits", "word_bits"), [(3, 3), (4, 5), (5, 8)])
def test_the_law_is_the_same_when_most_draws_are_lazy(scale: str, cell_bits: int, word_bits: int) -> None:
    bits = Counting()
    sampler = DiscreteLaplace(Fraction(scale), cell_bits=cell_bits, word_bits=word_bits)
    sample = draw(sampler, 60_000, bits)
    assert bits.lazily > 1000
    assert fits(sample, laplace_pmf(Fraction(scale)))


@pytest.mark.parametrize("scale", [10**4, 10**6, 10**9, 2**52])
def test_a_wide_law_has_the_right_shape_and_even_low_digits(scale: int) -> None:
    sample = noise.discrete_laplace(scale, 1_000_000)
    # The continuous law is within 1/scale of this one, well below what so many draws can tell.
    assert stats.kstest(sample / scale, "laplace").pvalue > FALSE_ALARM
    for shift in range(0, scale.bit_length() - 8, 5):
        residues = np.bincount(sample >> shift & 31, minlength=32)
        assert stats.chisquare(residues).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [20_000, 10**6, 10**7])
def test_every_binary_digit_of_a_wide_law_is_cut_geometric(scale: int) -> None:
    sample = noise.discrete_laplace(scale, 1_000_000)
    magnitude = np.where(sample < 0, ~sample, sample)
    for shift in range(scale.bit_length()):
        digit = np.bincount(magnitude >> shift & 31, minlength=32).astype(float)
        law = np.exp(-np.arange(32) * 2.0**shift / scale)
        assert chi_square(digit, len(sample) * law / law.sum())


def test_digits_are_independent_of_each_other_and_of_the_sign() -> None:
    sample = noise.discrete_laplace(10**4, 1_000_000)
    magnitude = np.where(sample < 0, ~sample, sample)
    pairs = np.stack([sample < 0, magnitude & 15, (magnitude >> 9) & 15])
    table = np.histogramdd(pairs.T, bins=(2, 16, 16), range=((0, 2), (0, 16), (0, 16)))[0]
    kept = table.reshape(2, 16, 16)[:, :, table.sum(axis=(0, 1)) > 1000]
    assert stats.chi2_contingency(kept).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", ["1/1000", "1/1000000"])
def test_a_tiny_scale_is_always_zero(scale: str) -> None:
    assert not noise.discrete_laplace(scale, 100_000).any()


def test_a_batch_takes_the_same_number_of_bits_whatever_its_values_are() -> None:
    sampler = DiscreteLaplace(Fraction(20))
    drawn = set()
    for _ in range(200):
        bits = Counting()
        draw(sampler, 1000, bits)
        drawn.add(bits.drawn)
    assert len(drawn) == 1


def test_no_count_is_too_small_for_the_sampler() -> None:
    sampler = DiscreteLaplace(Fraction(1000))
    assert [len(draw(sampler, count, system_bits())) for count in (0, 1, 2)] == [0, 1, 2]
