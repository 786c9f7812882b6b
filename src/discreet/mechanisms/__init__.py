"""Make private releases: one mechanism each.

    from discreet.mechanisms import Exact, Laplace

    Laplace.for_epsilon(1).release(Exact(1234, sensitivity=1))

    laplace, gaussian                                  additive noise on integers
    exponential, permute_and_flip, report_noisy_max    the best of several candidates (they share `selection`)
    sparse_vector, threshold_run                       queries against a threshold, at once or one at a time
    exact, sensitivity                                 the sealed input, and how much one person can change it
    mechanism                                          the contract of all of them
    tails                                              the size of the noise

All keep one contract, `Mechanism`: `.loss` is the cost of a release, `.release(exact)` makes it, and
`.error(confidence)` is its margin of error.
"""

from discreet.mechanisms.exact import Exact
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.report_noisy_max import ReportNoisyMax
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.mechanisms.sparse_vector import AboveThreshold, NumericSparse, RestartingSparse, Sparse

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
    "RestartingSparse",
    "Sensitivity",
    "Sparse",
]
