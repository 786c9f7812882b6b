"""Measure one loss in each amount that a session adds up, and as a Rényi curve. Everything is rounded up.

| loss | pure ε | zCDP ρ | GDP μ | Rényi |
|---|---|---|---|---|
| Laplace, discrete Laplace, binary randomised response, any pure one | yes | staircase | staircase | staircase |
| k-ary randomised response | yes | as pure | its kink | exact |
| exponential mechanism | yes | ε²/8 | that of pure ε/2 | bounded range |
| Gaussian, GaussianDP | – | μ²/2 | μ | α·μ²/2 |
| discrete Gaussian | – | Δ²/(2σ²) | – | α·Δ²/(2σ²) |
| zCDP | – | ρ | – | α·ρ |
| a Rényi curve | – | – | – | interpolated |
| (ε, δ) with δ > 0 | – | – | – | – |
| on a Poisson sample | amplified | the better of unsampled and amplified ε | likewise | binomial sum |

Each row is the pair of laws of that mechanism, for values (vectors too) of the stated sensitivity.
Proofs: docs/theory/conversions.md and subsampling.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy import renyi
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
from discreet.privacy.pld import staircase
from discreet.privacy.rounding import float_above, upward
from discreet.privacy.theorems.subsampling import amplified_epsilon

Floats = NDArray[np.float64]


def pure_epsilon(loss: Loss) -> Fraction | None:
    """Return ε such that the loss is ε-DP, or None if there is none.

    >>> pure_epsilon(Laplace(scale=4, sensitivity=2)), pure_epsilon(Gaussian(sigma=1))
    (Fraction(1, 2), None)
    """
    match loss:
        case Pure() | RandomizedResponse() | Exponential() | PermuteAndFlip() | SparseVector():
            return loss.epsilon
        case Approximate() if loss.delta == 0:
            return loss.epsilon
        case Laplace() | DiscreteLaplace():
            return loss.sensitivity / loss.scale
        case PoissonSubsampled():
            whole = pure_epsilon(loss.loss)
            return None if whole is None else amplified_epsilon(whole, loss.rate)
        case Repeated():
            return _times(loss.count, pure_epsilon(loss.loss))
    return None


def zcdp_rho(loss: Loss) -> Fraction | None:
    """Return ρ such that the loss is ρ-zCDP, or None if there is none.

    Discrete Gaussian noise has the ρ of real Gaussian noise (Canonne, Kamath, Steinke 2020). Sampling does not
    lower the ρ of a Gaussian: its Rényi curve still approaches α·ρ at large orders.

    >>> zcdp_rho(DiscreteGaussian(variance=50)), zcdp_rho(Exponential("0.1"))
    (Fraction(1, 100), Fraction(1, 800))
    >>> float(zcdp_rho(Pure(1)))
    0.46211715726001...
    """
    match loss:
        case ZeroConcentrated():
            return loss.rho
        case GaussianDP():
            return loss.mu**2 / 2
        case Gaussian():
            return (loss.sensitivity / loss.sigma) ** 2 / 2
        case DiscreteGaussian():
            return loss.sensitivity**2 / (2 * loss.variance)
        case Exponential():
            return renyi.bounded_range_rho(loss.epsilon)
        case PoissonSubsampled():
            return _sampled(zcdp_rho, loss)
        case Repeated():
            return _times(loss.count, zcdp_rho(loss.loss))
    steps = _steps(loss)
    return None if steps is None else staircase.rho(*steps)


def gdp_mu_squared(loss: Loss) -> Fraction | None:
    """Return μ² such that the loss is μ-GDP, or None if there is none. It is the squares of μ that add up.

    `DiscreteGaussian` has none here: its trade-off curve is piecewise linear around that of N(0, 1) and N(Δ/σ, 1),
    and its total variation is larger by a factor of about 1 + 1/(24·σ²). In a session use zCDP for it.

    >>> gdp_mu_squared(Gaussian(sigma=10)), gdp_mu_squared(DiscreteGaussian(variance=100))
    (Fraction(1, 100), None)
    """
    match loss:
        case GaussianDP():
            return loss.mu**2
        case Gaussian():
            return (loss.sensitivity / loss.sigma) ** 2
        case Exponential():
            return staircase.mu_squared(loss.epsilon / 2, loss.epsilon / 2)
        case RandomizedResponse() if loss.categories > 2:
            return staircase.response_mu_squared(loss.epsilon, loss.categories)
        case PoissonSubsampled():
            return _sampled(gdp_mu_squared, loss)
        case Repeated():
            return _times(loss.count, gdp_mu_squared(loss.loss))
    steps = _steps(loss)
    return None if steps is None else staircase.mu_squared(*steps)


def renyi_divergence(loss: Loss, order: Floats) -> Floats:
    """Return bounds of the Rényi divergences of these orders (each above 1), in both directions; inf where none.

    >>> renyi_divergence(Gaussian(sigma=10), np.array([2.0, 8.0])).round(12)
    array([0.01, 0.04])
    """
    if not np.all(order > 1):
        raise ParameterError("Rényi orders must be above 1.", found=order.min())
    match loss:
        case Repeated():
            return upward(loss.count * renyi_divergence(loss.loss, order), 1)
        case Renyi():
            return renyi.interpolated(loss, order)
        case Exponential():
            return renyi.bounded_range(loss.epsilon, order)
        case RandomizedResponse() if loss.categories > 2:
            return staircase.response_divergence(loss.epsilon, loss.categories, order)
        case PoissonSubsampled():
            return _sampled_divergence(loss, order)
    if steps := _steps(loss):
        return staircase.divergence(*steps, order)
    rho = zcdp_rho(loss)
    return np.full(order.shape, np.inf) if rho is None else upward(order * float_above(rho), 1)


def _times(count: int, value: Fraction | None) -> Fraction | None:
    return None if value is None else count * value


def _steps(loss: Loss) -> tuple[Fraction, Fraction] | None:
    """The total loss and the step of the staircase that dominates a pure loss."""
    match loss:
        case Laplace():
            return loss.sensitivity / loss.scale, Fraction(0)
        case DiscreteLaplace():
            return loss.sensitivity / loss.scale, 1 / loss.scale
    epsilon = pure_epsilon(loss)
    return None if epsilon is None else (epsilon, epsilon)


def _sampled(view: Callable[[Loss], Fraction | None], loss: PoissonSubsampled) -> Fraction | None:
    """The better of not crediting the sampling and of the amplified ε."""
    epsilon = pure_epsilon(loss)
    bounds = [view(loss.loss), None if epsilon is None else view(Pure(epsilon))]
    return min((bound for bound in bounds if bound is not None), default=None)


def _sampled_divergence(loss: PoissonSubsampled, order: Floats) -> Floats:
    if loss.rate == 0:
        return np.zeros(order.shape)
    curve, inner = renyi_divergence(loss.loss, order), _symmetric(loss.loss)
    if inner is not None and loss.rate < 1 and 0 < curve.max() < np.inf:
        sampled = renyi.poisson_sampled(lambda k: renyi_divergence(inner, k), loss.rate, order)
        curve = np.minimum(curve, sampled)
    epsilon = pure_epsilon(loss)
    least: Floats = np.minimum(curve, np.inf if epsilon is None else float_above(epsilon))
    return least


def _symmetric(loss: Loss) -> Loss | None:
    """A loss that dominates this one and whose pair (P, Q) is swapped by some involution of the outputs."""
    match loss:
        case Renyi() | ZeroConcentrated():
            return None
        case Exponential():
            return Pure(loss.epsilon)
    return None if zcdp_rho(loss) is None else loss
