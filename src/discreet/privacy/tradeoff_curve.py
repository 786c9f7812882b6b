"""Bound how well a test can tell two neighbouring tables apart: the hypothesis-testing view.

A test that wrongly rejects the one table with probability α (false alarm) accepts the other wrongly with
probability at least f(α) (miss). f is the *trade-off curve*; the diagonal 1 − α is blind guessing, and higher is
more private. A release whose privacy profile is δ(ε) in both directions has (Wasserman and Zhou 2010; Dong, Roth,
Su 2022)

    f(α) = sup_{ε ≥ 0} max(0, 1 − δ(ε) − e^ε·α, e^(−ε)·(1 − δ(ε) − α)).

Any set of ε gives a lower bound of f, and everything is rounded down: no test does better than the curve shown.
Closed forms: ε-DP has max(0, 1 − e^ε·α, e^(−ε)·(1 − α)), and μ-GDP has Φ(Φ⁻¹(1 − α) − μ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.privacy.parameters import nonnegative
from discreet.privacy.pld import normal
from discreet.privacy.rounding import ULP, float_above, sum_upward, upward
from discreet.rational import Rational

Floats = NDArray[np.float64]

_ALARMS = np.linspace(0, 1, 201)
_ALARMS.setflags(write=False)  # every curve on the default grid shares it
_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 100, 200)])  # neighbours differ by 6 %


@dataclass(frozen=True, eq=False)
class TradeOff:
    """A trade-off curve: at false alarm rate `alpha[i]` every test misses with probability `beta[i]` or more.

    `advantage` bounds 1 − α − β over all tests, the total variation: 0 is blind, 1 is sure.

    >>> round(pure(1).advantage, 6)
    0.462117
    """

    alpha: Floats
    beta: Floats
    advantage: float


def pure(epsilon: Rational, alpha: Floats = _ALARMS) -> TradeOff:
    """Return the trade-off curve of ε-DP, attained by randomised response.

    >>> pure(0, np.array([0.0, 0.25, 1.0])).beta.round(9)
    array([1.  , 0.75, 0.  ])
    """
    exact = float_above(nonnegative(epsilon, "epsilon"))
    return from_profile(lambda epsilons: np.zeros(epsilons.shape), alpha, np.array([exact]))


def gaussian(mu: Rational, alpha: Floats = _ALARMS) -> TradeOff:
    """Return the trade-off curve of μ-GDP, attained by Gaussian noise of σ = Δ/μ.

    >>> gaussian(1, np.array([0.05])).beta.round(6)
    array([0.740489])
    """
    alarms, shift = _alarms(alpha), float_above(nonnegative(mu, "mu"))
    beta = np.array([_gaussian_miss(shift, a) for a in alarms.tolist()])
    return TradeOff(alarms, beta, normal.gaussian_delta(shift, 0.0)[1])


def from_profile(
    delta: Callable[[Floats], Floats], alpha: Floats = _ALARMS, epsilons: Floats = _EPSILONS
) -> TradeOff:
    """Return the trade-off curve of a privacy profile δ(ε) that holds in both directions.

    >>> open_book = from_profile(lambda epsilons: np.ones(epsilons.shape))
    >>> open_book.advantage
    1.0
    """
    alarms, one = _alarms(alpha), np.ones(alpha.shape)
    deltas, beta = delta(epsilons), np.zeros(alpha.shape)
    for epsilon, missed in zip(epsilons, deltas, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):  # e^ε·α may be inf: such a line says nothing
            steep = -sum_upward(-one, missed * one, np.where(alarms > 0, np.exp(epsilon) * alarms, 0.0))
        flat = -sum_upward(-one, missed * one, alarms) * np.exp(-epsilon)
        beta = np.fmax(beta, np.fmax(steep, flat - 8 * ULP * np.abs(flat)))
    return TradeOff(alarms, beta, min(1.0, float(np.min(_total_variation(epsilons, deltas)))))


def _total_variation(epsilons: Floats, deltas: Floats) -> Floats:
    """δ + (1 − δ)·tanh(ε/2): what (ε, δ)-DP leaves of the total variation, which is δ itself at ε = 0."""
    return np.where(epsilons == 0, deltas, upward(deltas + (1 - deltas) * np.tanh(epsilons / 2), 12))


def _alarms(alpha: Floats) -> Floats:
    if not np.all((alpha >= 0) & (alpha <= 1)):
        raise ParameterError("alpha must hold values between 0 and 1.", found=f"{alpha.min()}…{alpha.max()}")
    return alpha


def _gaussian_miss(mu: float, alpha: float) -> float:
    """Φ(Φ⁻¹(1 − α) − μ) = 1 − Φ(μ + Φ⁻¹(α)), rounded down."""
    if alpha in (0.0, 1.0):
        return 1.0 - alpha
    threshold = sum_upward(mu, normal.quantile(alpha)[1], ulps=1)
    return normal.upper_tail(threshold)[0]
