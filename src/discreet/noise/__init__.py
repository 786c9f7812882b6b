"""Turn random bits into exact integer noise.

    random_bits         AES-CTR, keyed by the operating system
    certified_exp       integer bounds of exp(−x)
    inversion           samplers that draw more bits where bounds are close
    bernoulli_sampler   biased coins
    uniform             uniform integers
    softmax             one index of many
    laplace_sampler     the discrete Laplace law
    gaussian_sampler    the discrete Gaussian law
    sampler_cache       batches, and single draws in reserve
    api                 the public functions
    testing             deterministic and scripted draws, for tests and auditors

The law of every function is exact given fair bits. No floating-point number takes part in a decision, except in
`softmax`, where all their errors are bounded, and integers decide what floats leave open. The
theory is in `docs/theory/noise.md` and `docs/theory/random-bits.md`.
"""

from discreet.noise.api import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    softmax,
    uniform_below,
)
from discreet.noise.testing import TestNoise, deterministic, is_test_noise

__all__ = [
    "TestNoise",
    "bernoulli",
    "bernoulli_exp",
    "deterministic",
    "discrete_gaussian",
    "discrete_laplace",
    "is_test_noise",
    "softmax",
    "uniform_below",
]
