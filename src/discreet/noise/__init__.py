"""Random bits to exact integer noise."""

from discreet.noise.deterministic import TestNoise, deterministic, is_test_noise
from discreet.noise.draw import bernoulli, bernoulli_exp, discrete_gaussian, discrete_laplace, uniform_below

__all__ = [
    "TestNoise",
    "bernoulli",
    "bernoulli_exp",
    "deterministic",
    "discrete_gaussian",
    "discrete_laplace",
    "is_test_noise",
    "uniform_below",
]
