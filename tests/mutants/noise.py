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
        "/ (2 * variance))",
        "/ variance)",
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
        "_STRIDE = 12",
        "_STRIDE = 32",
        "tests/noise/test_gaussian_sampler.py",
    ),
    Mutant(
        "test bits: outlive their block",
        "noise/testing.py",
        "block.open = False",
        "pass",
        "tests/noise/test_testing.py",
    ),
]
