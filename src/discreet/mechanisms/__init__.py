"""One private release each.

    from discreet.mechanisms import Exact, Laplace

    Laplace.for_epsilon(1).release(Exact(1234, sensitivity=1))

Additive noise on integers: `Laplace`, `Gaussian`. The best of several candidates: `Exponential`,
`PermuteAndFlip`, `ReportNoisyMax`. Queries against a threshold: `AboveThreshold`, `Sparse`, `NumericSparse`. All
keep one contract, `Mechanism`: `.loss` is what a release costs, `.release(exact)` makes it, `.error(confidence)`
is how far off it may be.
"""

from discreet.mechanisms.exact import Exact
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.report_noisy_max import ReportNoisyMax
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, NumericSparse, Sparse

__all__ = [
    "AboveThreshold",
    "Exact",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "NumericSparse",
    "PermuteAndFlip",
    "ReportNoisyMax",
    "Sensitivity",
    "Sparse",
]
