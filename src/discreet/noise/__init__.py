"""From random bits to exact integer noise.

    bits ─▶ certified ─▶ inversion, coins, uniform, softmax ─▶ laplace, gaussian ─▶ reserve ─▶ draw
    AES-CTR  bounds of    samplers that take more               the two laws        batches    what is
             exp(−x)      bits where bounds are close                               and stock  asked for

The law of every function is exact given fair bits. No floating-point number takes part in a decision, except in
`softmax`, where the errors of all that take part are bounded, and what they leave open is settled by integers. The
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
