"""Define guarantees, and add them up.

    plan      all parameters fixed in advance: epsilon, delta, epsilon_bounds, delta_bounds, tradeoff
    session   the next step depends on the last answer: Session
    losses    the cost of one release, as frozen records
    theorems  composition, conversions, calibration, subsampling, group privacy, odds

Beneath them: `pld` (certified privacy loss distributions), `loss_measures` (one loss in each measure), `renyi`
(Rényi curves), `basic_bounds` (simple bounds of a plan), `tradeoff_curve` (hypothesis tests), `parameters` and
`rounding` (exact parameters, floats rounded up).

>>> from discreet import privacy
>>> round(privacy.epsilon([privacy.Laplace(scale=10) * 20, privacy.Gaussian(sigma=5)], delta=1e-6), 2)
2.04
"""

from discreet.privacy.losses import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianDP,
    Laplace,
    Loss,
    PermuteAndFlip,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Renyi,
    Repeated,
    SparseVector,
    ZeroConcentrated,
)
from discreet.privacy.plan import delta, delta_bounds, epsilon, epsilon_bounds, tradeoff
from discreet.privacy.session import Session
from discreet.privacy.theorems import composition, conversions, subsampling
from discreet.privacy.theorems.calibration import rho_for
from discreet.privacy.theorems.group import for_group
from discreet.privacy.theorems.odds import explain, posterior
from discreet.privacy.tradeoff_curve import TradeOff

__all__ = [
    "Approximate",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "GaussianDP",
    "Laplace",
    "Loss",
    "PermuteAndFlip",
    "PoissonSubsampled",
    "Pure",
    "RandomizedResponse",
    "Renyi",
    "Repeated",
    "Session",
    "SparseVector",
    "TradeOff",
    "ZeroConcentrated",
    "composition",
    "conversions",
    "delta",
    "delta_bounds",
    "epsilon",
    "epsilon_bounds",
    "explain",
    "for_group",
    "posterior",
    "rho_for",
    "subsampling",
    "tradeoff",
]
