"""Noise: the laws, and where their bits come from."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

NOISE = [
    Mutant(
        "discrete Laplace: scale halved",
        "noise/laplace_sampler.py",
        "SignedGeometric(1 / scale,",
        "SignedGeometric(2 / scale,",
        "tests/noise/test_laplace_sampler.py",
    ),
    Mutant(
        "discrete Laplace: a digit twice as steep",
        "noise/laplace_sampler.py",
        "CutGeometric((1 << start) / scale,",
        "CutGeometric((2 << start) / scale,",
        "tests/noise/test_laplace_sampler.py",
    ),
    Mutant(
        "discrete Gaussian: narrow variance halved",
        "noise/gaussian_sampler.py",
        "Inversion(Centred(variance)",
        "Inversion(Centred(variance / 2)",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "discrete Gaussian: wide variance halved",
        "noise/gaussian_sampler.py",
        "/ (2 * variance)\n",
        "/ variance\n",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "discrete Gaussian: −0 kept",
        "noise/gaussian_sampler.py",
        "keep = proposals != 1",
        "keep = proposals != -1",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "inversion: a word at its threshold decided too early",
        "noise/inversion.py",
        "words < self._low.take(least)",
        "words <= self._low.take(least)",
        "tests/noise/test_inversion.py",
    ),
    Mutant(
        "inversion: lazy bits not drawn",
        "noise/inversion.py",
        "bits.integer(64), known + 64",
        "0, known + 64",
        "tests/noise/test_inversion.py tests/noise/test_laplace_sampler.py",
    ),
    Mutant(
        "coins: over ignored",
        "noise/api.py",
        "exact / scale, _shape(size)",
        "exact, _shape(size)",
        "tests/noise/test_bernoulli_sampler.py",
    ),
    Mutant(
        "uniform: remainder instead of rejection",
        "noise/uniform.py",
        "good = words[words < self._bound][:missing]",
        "good = (words % self._bound)[:missing]",
        "tests/noise/test_uniform.py",
    ),
    Mutant(
        "bits: one key for ever",
        "noise/random_bits.py",
        "_BYTES_PER_KEY = 1 << 20",
        "_BYTES_PER_KEY = 1 << 60",
        "tests/noise/test_random_bits.py",
    ),
    Mutant(
        "exp: upper bound without what was left out",
        "noise/certified_exp.py",
        "return total[0], total[1] + term[1]",
        "return total[0], total[1]",
        "tests/noise/test_certified_exp.py",
    ),
    Mutant(
        "bits: a fork amid a draw goes unnoticed",
        "noise/random_bits.py",
        "if not self._left or self._generation != generation():",
        "if not self._left:",
        "tests/noise/test_random_bits.py",
    ),
    Mutant(
        "discrete Gaussian: the slow branch too often",
        "noise/gaussian_sampler.py",
        "shares_below(sums, _errors(masses), total",
        "shares_below(sums, _errors(masses) << 40, total",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "discrete Gaussian: the second coin as likely as the first",
        "noise/gaussian_sampler.py",
        "heads &= self._first.toss(k, number, bits)",
        "heads &= self._first.toss(k, 1, bits)",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "discrete Gaussian: an odd number of heads accepted",
        "noise/gaussian_sampler.py",
        "if number % 2 == 0:",
        "if number % 3 == 0:",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "reserve: a draw handed out twice in short arrays",
        "noise/sampler_cache.py",
        "self._drawn.extend(drawn[count:])",
        "self._drawn.extend(drawn)",
        "tests/noise/test_api.py",
    ),
    Mutant(
        "powers: an error of one product forgotten",
        "noise/certified_exp.py",
        "power := power * base >> precision for",
        "power := shift_up(power * base, precision) for",
        "tests/noise/test_certified_exp.py",
    ),
    Mutant(
        "test bits: outlive their block",
        "noise/testing.py",
        "block.open = False",
        "pass",
        "tests/noise/test_testing.py",
    ),
]
