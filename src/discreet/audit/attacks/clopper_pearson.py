"""Bound a probability from a count, at every sample size (Clopper and Pearson 1934).

Claim. Let K be the number of successes in n independent trials, each a success with probability p. Then

    P(lower(K, n, alpha) > p) ≤ alpha     and     P(upper(K, n, alpha) < p) ≤ alpha.

`lower` is the p at which n trials have k successes or more with probability `alpha`: the quantile of order
`alpha` of a Beta(k, n − k + 1) law. `upper` is its mirror image. There is no normal approximation, so the bounds
hold for rare events too: if none of n trials succeeds, the upper bound is about ln(1/alpha)/n, and not 0.

Assumption: SciPy's inverses of the incomplete beta function are within a relative 1e-9 of the truth. Both bounds
are moved outwards by that much, which costs an audited ε no more than 2e-9.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Fix, ParameterError, extra

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MARGIN = 1e-9
"""The relative error that we allow SciPy: the bounds are moved outwards by this much."""


def special_functions() -> ModuleType:
    """Import SciPy's special functions, or say how to install them.

    >>> special_functions().__name__
    'scipy.special'
    """
    with extra("audit", "Attacks need scipy"):
        from scipy import special
    module: ModuleType = special
    return module


def lower(k: ArrayLike, n: int, alpha: float) -> Floats:
    """Return lower bounds on the true probability, each of which fails with probability at most `alpha`.

    >>> lower([0, 50, 100], 100, 0.001).round(4)
    array([0.    , 0.3448, 0.9333])
    """
    counts, special = _counts(k, n, alpha), special_functions()
    some = np.maximum(counts, 1)  # Beta(0, ·) is not a law: no success means no lower bound
    bound: Floats = special.betaincinv(some, n - some + 1, alpha) * (1 - MARGIN)
    return np.where(counts > 0, bound, 0.0)


def upper(k: ArrayLike, n: int, alpha: float) -> Floats:
    """Return upper bounds on the true probability, each of which fails with probability at most `alpha`.

    >>> upper([0, 50, 100], 100, 0.001).round(4)
    array([0.0667, 0.6552, 1.    ])
    """
    counts, special = _counts(k, n, alpha), special_functions()
    most = np.minimum(counts, n - 1)
    bound: Floats = special.betainccinv(most + 1, n - most, alpha) * (1 + MARGIN)
    return np.where(counts < n, np.minimum(bound, 1.0), 1.0)


def _counts(k: ArrayLike, n: int, alpha: float) -> Integers:
    counts: NDArray[Any] = np.asarray(k)
    if counts.dtype.kind not in "iu" and counts.size:
        raise ParameterError(
            "k counts successes, so it must hold integers.", found=counts.dtype, fix=Fix("k", [3, 5])
        )
    if n < 1 or np.any((counts < 0) | (counts > n)):
        raise ParameterError(f"k must lie between 0 and n={n}, and n must be 1 or more.", found=k)
    if not 0 < alpha < 1:
        raise ParameterError(
            "alpha must be above 0 and below 1.", found=alpha, fix=Fix("alpha", 0.001, note="99.9 % confidence")
        )
    return counts.astype(np.int64)
